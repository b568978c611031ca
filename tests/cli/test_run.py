"""``procession run``, in a process of its own and in this one."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Command

from procession.cli.main import main


def write(path: Path, *lines: Any) -> Path:
    """Write JSON Lines; bytes go in as they are."""
    path.write_bytes(
        b"".join((each if isinstance(each, bytes) else json.dumps(each).encode()) + b"\n" for each in lines)
    )
    return path


def rows(data: bytes) -> list[dict[str, Any]]:
    """Read JSON Lines."""
    return [json.loads(line) for line in data.splitlines()]


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (["hello", {"text": "secret"}], 0),
        (["hello", "forbidden"], 3),
        (["hello", b"nope"], 2),
        (["forbidden", b"nope", "broken"], 2),
        (["forbidden", "broken"], 1),
        ([], 0),
    ],
)
def test_exit_status(procession: Command, pipeline: Path, tmp_path: Path, lines: list[Any], status: int) -> None:
    """0 if all passed, 3 if something was blocked, 1 if a message failed, 2 if a line was bad: 2 before 1 before 3."""
    done = procession("run", pipeline, "--input", write(tmp_path / "in.jsonl", *lines))
    assert (done.returncode, b"Traceback" in done.stderr) == (status, False), done.stderr


def test_bad_lines_are_named_and_good_ones_processed(procession: Command, pipeline: Path, tmp_path: Path) -> None:
    """Each bad line is reported with its number; the output has one verdict per good line, in the order of the input."""
    source = write(
        tmp_path / "in.jsonl", {"text": "a", "id": 1}, b"{", b"\xff", {"id": 4}, "slow secret", {"message": "c"}
    )
    done = procession("run", pipeline, "--input", source, "--output", tmp_path / "out.jsonl")
    assert done.returncode == 2
    for fault in (b"line 2: not JSON", b"line 3: not UTF-8", b"line 4: no text"):
        assert fault in done.stderr
    written = rows((tmp_path / "out.jsonl").read_bytes())
    assert [(row["line"], row["verdict"], row["text"]) for row in written] == [
        (1, "pass", "a"),
        (5, "redact", "slow [secret]"),
        (6, "pass", "c"),
    ]
    assert written[0]["id"] == 1


def test_standard_input_and_output(procession: Command, pipeline: Path) -> None:
    """With - for both, messages are read from standard input, and nothing but verdicts is on standard output."""
    done = procession("run", pipeline, "--input", "-", "--output", "-", input=b'"hello"\n"forbidden"\n')
    assert done.returncode == 3
    assert [row["verdict"] for row in rows(done.stdout)] == ["pass", "block"]
    assert b"Verdicts" in done.stderr


def test_the_log_is_not_among_the_verdicts(procession: Command, tmp_path: Path) -> None:
    """What the library and the target log goes to standard error, and standard output has verdicts alone."""
    target = tmp_path / "logging_pipeline.py"
    target.write_text(
        "from structlog import get_logger\n"
        "from procession import create_workflow, processor\n"
        "@processor(hook='process_input')\n"
        "async def noisy(ctx):\n"
        "    get_logger().warning('a warning')\n"
        "pipeline = create_workflow('noisy').then(noisy).commit()\n"
    )
    done = procession("run", target, "--input", "-", "--output", "-", "-q", input=b'"hello"\n')
    assert [row["verdict"] for row in rows(done.stdout)] == ["pass"]
    assert b"a warning" in done.stderr


def test_the_report(procession: Command, pipeline: Path, tmp_path: Path) -> None:
    """The report has the messages, the verdicts, the pipeline with what became of one, timings and scores."""
    span = {"start": 3, "end": 9, "type": "secret"}
    labelled: list[dict[str, Any]] = [
        {"text": "my secret", "spans": [span], "verdict": "redact", "tier": "core"},
        {"text": "forbidden", "spans": [], "verdict": "block", "tier": "core"},
    ]
    done = procession("run", pipeline, "--input", write(tmp_path / "in.jsonl", *labelled))
    report = done.stdout.decode()
    for text in (
        "my [secret]",
        "2 messages",
        "Pipeline, and what it did with line 2 (block)",
        "processor:words  in  mutates  ✗ blocked",
        "Timing per guard",
        "p95",
        "100.0 % (1/1)",
    ):
        assert text in report
    assert "my secret" not in report + done.stderr.decode()


def test_the_report_says_why_a_message_failed(procession: Command, pipeline: Path, tmp_path: Path) -> None:
    """The row of a failed message has the error, not the bare word that it failed."""
    done = procession("run", pipeline, "--input", write(tmp_path / "in.jsonl", "broken"))
    (row,) = [line for line in done.stdout.decode().splitlines() if "failed" in line and "it broke" in line]
    assert "ValueError: it broke" in row


def test_quiet(procession: Command, pipeline: Path, tmp_path: Path) -> None:
    """With --quiet there is no report."""
    done = procession("run", pipeline, "--input", write(tmp_path / "in.jsonl", "a"), "--quiet")
    assert done.stdout == b""


def test_corpora_are_scored_after_the_run(procession: Command, pipeline: Path, tmp_path: Path) -> None:
    """Where the input is one of a module's corpora, the others are scored beside it, and change no exit status."""
    pipeline.write_text(pipeline.read_text() + "\ncorpora = {'first half': 'one.jsonl', 'second half': 'two.jsonl'}\n")
    one = write(tmp_path / "one.jsonl", {"text": "a", "verdict": "pass"})
    two = write(tmp_path / "two.jsonl", {"text": "forbidden", "verdict": "pass"}, b"nope")
    done = procession("run", pipeline, "--input", one)
    assert done.returncode == 0
    assert b"first half, 1 message" in done.stdout
    assert b"second half, 1 message" in done.stdout
    assert b"0.0 % (0/1)" in done.stdout
    other = procession("run", pipeline, "--input", write(tmp_path / "three.jsonl", "a"))
    assert b"second half" not in other.stdout
    assert two.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "nothing.py", "--input", "in.jsonl"], "there is no file nothing.py"),
        (["run", "pipeline.py", "--input", "nothing.jsonl"], "nothing.jsonl cannot be read"),
        (["run", "pipeline.py", "--input", "in.jsonl", "--output", "in.jsonl"], "is the input"),
        (["run", "pipeline.py", "--input", "in.jsonl", "--output", "no/where"], "cannot be written"),
        (["run", "pipeline.py", "--input", "in.jsonl", "--model", "openai/gpt-5-mini"], "there is no key"),
        (["run", "pipeline.py", "--input", "in.jsonl", "--base-url", "http://127.0.0.1:9"], "is made already"),
        (["run", "pipeline.py", "--input", "in.jsonl", "--concurrency", "0"], "concurrency"),
        (["run", "pipeline.py"], "--input"),
        (["graph", "pipeline.py", "--format", "pdf"], "png"),
        (["check", "nothing_of_this_name"], "there is no module"),
    ],
)
def test_what_is_wrong_beforehand(
    procession: Command, pipeline: Path, tmp_path: Path, arguments: list[str], message: str, monkeypatch: Any
) -> None:
    """A mistake on the command line is one plain sentence and status 2, never a traceback."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    write(tmp_path / "in.jsonl", "a")
    done = procession(*arguments)
    assert done.returncode == 2
    assert message in done.stderr.decode()
    assert b"Traceback" not in done.stderr
    assert (tmp_path / "in.jsonl").read_text() == '"a"\n'


def test_a_closed_pipe(pipeline: Path, tmp_path: Path) -> None:
    """Where the reader of the output goes away, the command ends quietly."""
    write(tmp_path / "in.jsonl", *["a" * 200] * 2000)
    command = [sys.executable, "-c", "from procession.cli.main import main; main()"]
    arguments = ["run", str(pipeline), "--input", str(tmp_path / "in.jsonl"), "--output", "-"]
    with subprocess.Popen([*command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read()
        assert process.wait(30) == 141
    assert b"Error" not in said
    assert b"Exception" not in said


def test_in_this_process(
    pipeline: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """main() takes arguments and ends in SystemExit with the status."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    source = write(tmp_path / "in.jsonl", "hello", "forbidden")
    with pytest.raises(SystemExit) as ended:
        main(["run", str(pipeline), "--input", str(source), "--concurrency", "1"])
    assert ended.value.code == 3
    assert "forbidden word" in capsys.readouterr().out


@pytest.mark.parametrize("concurrency", [1, 2, 16])
def test_concurrency_changes_nothing_but_speed(
    procession: Command, pipeline: Path, tmp_path: Path, concurrency: int
) -> None:
    """Any number of messages in flight gives the same verdicts in the same order."""
    lines = ["slow" if number % 7 == 0 else "forbidden" if number % 5 == 0 else str(number) for number in range(40)]
    source = write(tmp_path / "in.jsonl", *lines)
    done = procession("run", pipeline, "--input", source, "--output", "-", "-q", "--concurrency", concurrency)
    expected = ["pass" if number % 7 == 0 or number % 5 else "block" for number in range(40)]
    assert [row["verdict"] for row in rows(done.stdout)] == expected
    assert [row["line"] for row in rows(done.stdout)] == list(range(1, 41))
