"""``run`` with one input: a workflow runs once."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Command
from tests.cli.terminal import terminal


def test_a_text(procession: Command, flow: Path) -> None:
    """--text runs the workflow on a text: standard output has what it gives, standard error a line for each step."""
    done = procession("run", flow, "--text", "hello")
    assert (done.returncode, done.stdout) == (0, b"HELLO\n")
    lines = done.stderr.decode().splitlines()
    assert [line.split()[-1] for line in lines[:2]] == ["shout", "decide"]
    assert all(line.startswith("✓") for line in lines[:2]) and lines[2].endswith("of flow: ✓ success")


@pytest.mark.parametrize(
    ("text", "status", "said"),
    [("broken", 1, "✗ failed"), ("forbidden", 3, "blocked by words: a forbidden word"), ("ask", 4, "waits at decide")],
)
def test_how_it_ended_is_the_exit_status(procession: Command, flow: Path, text: str, status: int, said: str) -> None:
    """A run that failed is 1, one that was blocked 3, one that waits 4, and each says why."""
    done = procession("run", flow, "--text", text)
    assert (done.returncode, done.stdout) == (status, b"")
    assert said in done.stderr.decode() and b"Traceback" not in done.stderr
    assert (b"nothing of it is kept" in done.stderr) is (text == "ask")


def test_as_json(procession: Command, flow: Path) -> None:
    """--json is one line with all there is to say; -q leaves the progress out."""
    done = procession("run", flow, "--text", "forbidden", "--json", "-q", "--run-id", "mine")
    told: dict[str, Any] = json.loads(done.stdout)
    assert (done.returncode, done.stdout.count(b"\n"), done.stderr) == (3, 1, b"")
    steps = told.pop("steps")
    assert told == {
        "run_id": "mine", "workflow": "flow", "kind": "workflow", "status": "blocked", "output": None, "error": None,
        "tripwire": {"reason": "a forbidden word", "retry": False, "processor_id": "words", "message": None},
        "waiting": [],
    }  # fmt: skip
    assert [(each["path"], each["status"], each["attempt"]) for each in steps] == [
        ("shout", "success", 1), ("decide", "blocked", 1),
    ]  # fmt: skip
    failed = json.loads(procession("run", flow, "--text", "broken", "--json", "-q").stdout)
    assert failed["error"]["type"] == "StepError" and "it broke" in failed["error"]["message"]


NUMBERS = """
from procession import StepContext, create_workflow, step
@step
def add(ctx: StepContext[dict[str, int]]) -> int:
    return ctx.input["a"] + ctx.input["b"]
flow = create_workflow("sum", dict[str, int]).then(add).commit()
"""


def test_a_value(procession: Command, tmp_path: Path) -> None:
    """--json-input is JSON for the workflow's type, from the command line, a file or standard input."""
    (tmp_path / "sum.py").write_text(NUMBERS)
    (tmp_path / "in.json").write_text('{"a": 1, "b": 2}')
    for given, input in (('{"a": 1, "b": 2}', b""), ("@in.json", b""), ("-", b'{"a": 1, "b": 2}')):
        done = procession("run", "sum.py", "--json-input", given, input=input)
        assert (done.returncode, done.stdout) == (0, b"3\n"), done.stderr
    done = procession("run", "sum.py", "--json-input", '{"a": "x", "b": 2}')
    assert done.returncode == 1 and b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], b"run needs one input"),
        (["--text", "a", "--json-input", "1"], b"run needs one input"),
        (["--json-input", "{"], b"--json-input is no JSON: "),
        (["--json-input", "@no.json"], b"no.json cannot be read"),
        (["--text", "a", "--output", "-"], b"--output is for many messages"),
        (["--input", "-", "--store", "a.db"], b"are for one run"),
        (["--input", "-", "--output", "-", "--json"], b"standard output has the verdicts"),
    ],
)
def test_mistakes(procession: Command, flow: Path, arguments: list[str], said: bytes) -> None:
    """A mistake is a sentence and status 2, and nothing has run."""
    done = procession("run", flow, *arguments)
    assert (done.returncode, done.stdout) == (2, b"")
    assert said in done.stderr and b"Traceback" not in done.stderr


def test_a_live_tree(flow: Path) -> None:
    """On a terminal the tree of the steps is shown, and stays with what became of each."""
    with terminal(["run", flow.name, "--text", "hello"], cwd=flow.parent) as screen:
        screen.until("flow (workflow)")
        screen.until("✓ success")
        assert screen.ended() == 0
        assert "├─ shout" in screen.text and "HELLO" in screen.text


def test_an_interrupted_run_is_shown_as_it_ended(flow: Path) -> None:
    """Ctrl-C cancels the run, and the tree that stays says so of the step that went on."""
    flow.with_name("endless.py").write_text(
        "import anyio\nfrom procession import StepContext, create_workflow, step\n"
        "@step\nasync def wait(ctx: StepContext[str]) -> str:\n    await anyio.sleep_forever()\n    return ''\n"
        "workflow = create_workflow('endless', str).then(wait).commit()\n"
    )
    with terminal(["run", "endless.py", "--text", "hello"], cwd=flow.parent) as screen:
        screen.until("wait  … running")
        screen.until("wait  ⊘ cancelled", pressing="\x03")
        screen.until("interrupted")
        assert screen.ended() == 130


def test_an_id_that_is_taken(procession: Command, flow: Path, tmp_path: Path) -> None:
    """A run id that the store has is refused before anything runs, and so is a store that cannot be made."""
    for status in (0, 2):
        done = procession("run", flow, "--text", "hello", "--store", "runs.db", "--run-id", "mine")
        assert done.returncode == status
    assert b"the store has a run 'mine' already\n  hint: give another --run-id" in done.stderr
    assert b"shout" not in done.stderr
    done = procession("run", flow, "--text", "hello", "--store", tmp_path / "no" / "runs.db")
    assert done.returncode == 2 and b"cannot be made: No such file or directory" in done.stderr


def test_an_agent(procession: Command, tmp_path: Path) -> None:
    """An agent is asked once, too."""
    (tmp_path / "bot.py").write_text(
        "from procession import Agent\nfrom procession.testing.fake_model import FakeModel\n"
        "def agent():\n    return Agent('bot', model=FakeModel('Good day.'))\n"
    )
    done = procession("run", "bot.py", "--text", "hello", "-q")
    assert (done.returncode, done.stdout) == (0, b"Good day.\n")


def test_many_messages_as_json(procession: Command, pipeline: Path) -> None:
    """Over a file, --json says in a line what the report says."""
    done = procession("run", pipeline, "--input", "-", "--json", input=b'"a"\n"forbidden"\n')
    told = json.loads(done.stdout)
    assert (done.returncode, told["messages"], told["verdicts"], told["status"]) == (3, 2, {"pass": 1, "block": 1}, 3)
