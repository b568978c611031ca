"""The commands besides run, and the command line itself."""

import builtins
import importlib.metadata
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Command

from procession.cli.main import main


def test_version(procession: Command) -> None:
    """--version prints the version."""
    done = procession("--version")
    assert (done.returncode, done.stdout.decode()) == (0, f"procession {importlib.metadata.version('procession')}\n")


@pytest.mark.parametrize(
    "arguments", [["--help"], ["run", "--help"], ["graph", "--help"], ["explain", "--help"], ["check", "--help"]]
)
def test_help(procession: Command, arguments: list[str]) -> None:
    """Every command explains itself."""
    done = procession(*arguments)
    assert done.returncode == 0
    assert b"Usage" in done.stdout


@pytest.mark.parametrize("format", ["ascii", "boxes", "mermaid", "dot", "svg", "json"])
def test_graph(procession: Command, pipeline: Path, format: str) -> None:
    """A target is drawn in each format, on standard output alone."""
    done = procession("graph", pipeline, "--format", format)
    assert (done.returncode, done.stderr) == (0, b"")
    text = done.stdout.decode()
    assert "processor:words" in text
    if format == "json":
        assert json.loads(text)["workflow_id"] == "pipeline"


def test_graph_into_a_file(procession: Command, pipeline: Path, tmp_path: Path) -> None:
    """-o writes the drawing to a file, and a graph as JSON is a target as good as the code it was made from."""
    for format in ("svg", "json"):
        done = procession("graph", pipeline, "--format", format, "-o", tmp_path / f"graph.{format}")
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        assert (tmp_path / f"graph.{format}").read_bytes() == procession("graph", pipeline, "--format", format).stdout
    assert procession("graph", tmp_path / "graph.json").stdout == procession("graph", pipeline).stdout


def test_graph_options(procession: Command, pipeline: Path) -> None:
    """Direction, types, hooks and the length of labels are options."""
    text = procession("graph", pipeline, "--format", "mermaid", "--direction", "LR", "--types").stdout.decode()
    assert text.startswith("flowchart LR") and '|"str"|' in text
    text = procession("graph", pipeline, "--format", "mermaid", "--no-hooks", "--max-label", 6).stdout.decode()
    assert '"proce…<br/>mutates"' in text


def test_graph_diff(procession: Command, pipeline: Path, tmp_path: Path) -> None:
    """--diff says what changed: status 0 where nothing breaks, 1 where something does."""
    more = tmp_path / "more.py"
    more.write_text(pipeline.read_text().replace(".then(answer)", ".map(str, id='size').then(answer)"))
    done = procession("graph", "--diff", pipeline, more)
    assert (done.returncode, done.stdout) == (0, b"+ map 'size' is new\n")
    done = procession("graph", "--diff", more, pipeline)
    assert (done.returncode, done.stdout) == (1, b"! map 'size' is no longer there\n")
    more.write_text(pipeline.read_text().replace(".then(answer)", ".then(answer).map(len, id='size')"))
    done = procession("graph", "--diff", pipeline, more)
    assert done.returncode == 1 and b"! the output of the workflow is that of map 'size'" in done.stdout
    done = procession("graph", "--diff", pipeline, pipeline)
    assert (done.returncode, done.stdout) == (0, b"nothing has changed\n")


def test_graph_diff_formats(procession: Command, pipeline: Path, tmp_path: Path) -> None:
    """What changed is text, JSON or a drawing; either side may be a graph as JSON."""
    kept = tmp_path / "kept.json"
    procession("graph", pipeline, "--format", "json", "-o", kept)
    less = tmp_path / "less.py"
    less.write_text(pipeline.read_text().replace(".then(Words())", ""))
    done = procession("graph", "--diff", kept, less, "--format", "json")
    assert (done.returncode, json.loads(done.stdout)["breaking"]) == (1, True)
    done = procession("graph", "--diff", kept, less, "--format", "mermaid")
    assert done.returncode == 1 and b"classDef removed" in done.stdout
    done = procession("graph", "--diff", less, kept, "--format", "svg", "-o", tmp_path / "changes.svg")
    assert done.returncode == 0 and "+ added" in (tmp_path / "changes.svg").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], b"needs a target, or --diff with two"),
        (["no.py"], b"there is no file no.py"),
        (["no.json"], b"no.json cannot be read"),
        (["--diff", "no.json", "no.json"], b"no.json cannot be read"),
        (["bad.json"], b"bad.json: a graph cannot be read"),
        (["other.json"], b"other.json: a graph: workflow_id: Field required"),
        (["pipeline.py", "--format", "text"], b"text is for what changed"),
        (["pipeline.py", "-o", "no/such/folder.svg"], b"cannot be written"),
        (["pipeline.py", "-o", "graph.jpg"], b"graph.jpg does not say how to draw: it ends in '.jpg'"),
        (["--diff", "pipeline.py", "pipeline.py", "-o", "graph.png"], b"it ends in '.png'"),
        (["pipeline.py", "--diff", "pipeline.py", "pipeline.py"], b"needs a target, or --diff with two"),
    ],
)
def test_graph_mistakes(
    procession: Command, pipeline: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: bytes
) -> None:
    """A mistake is a sentence and status 2."""
    monkeypatch.chdir(pipeline.parent)
    Path("bad.json").write_text("{")
    Path("other.json").write_text("{}")
    done = procession("graph", *arguments)
    assert done.returncode == 2
    assert said in done.stderr and b"Traceback" not in done.stderr


def test_graph_in_plain_characters(procession: Command, pipeline: Path) -> None:
    """--plain draws with ASCII alone, --width cuts."""
    text = procession("graph", pipeline, "--plain", "--width", 30).stdout.decode()
    assert text.isascii()
    assert max(map(len, text.splitlines())) <= 30


def test_graph_where_unicode_cannot_be_printed(
    procession: Command, pipeline: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where standard output knows ASCII alone, the drawing and the report are ASCII."""
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    assert b"+- receive" in procession("graph", pipeline).stdout
    pipeline.write_text(pipeline.read_text().replace('"pipeline", str', '"größe", str'), encoding="utf-8")
    assert b"gr\\xf6\\xdfe (workflow)" in procession("graph", pipeline).stdout
    assert "größe" in procession("graph", pipeline, "--format", "json").stdout.decode()
    done = procession("run", pipeline, "--input", "-", input=b'"hello"\n')
    assert done.returncode == 0
    assert b"+- receive" in done.stdout


def test_check_finds_nothing(procession: Command, pipeline: Path) -> None:
    """A workflow with nothing wrong is status 0."""
    done = procession("check", pipeline)
    assert (done.returncode, done.stdout) == (0, b"pipeline: nothing wrong in 3 steps\n")


def test_check_reports_findings(procession: Command, tmp_path: Path) -> None:
    """What commit() would refuse is listed with code and hint, and is status 1, whether or not it was committed."""
    text = (
        "from procession.workflows.workflow import create_workflow\n"
        "from procession.steps.step import step\n"
        "@step\n"
        "def one(ctx): ...\n"
        "pipeline = create_workflow('twice').then(one).then(one)"
    )
    for end in ("\n", ".commit()\n"):
        (tmp_path / "twice.py").write_text(text + end)
        done = procession("check", "twice.py")
        assert done.returncode == 1
        assert b"error: duplicate" in done.stdout
        assert b"twice: 1 error, 0 warnings" in done.stdout
    run = procession("run", "twice.py", "--input", "-")
    assert run.returncode == 2
    assert b"Traceback" not in run.stderr


def test_check_counts_warnings(procession: Command, tmp_path: Path) -> None:
    """Where nothing is an error and something is a warning, check says so, and is status 0."""
    (tmp_path / "side.py").write_text(
        "from procession.workflows.workflow import create_workflow\n"
        "from procession.processors.processor import Processor\n"
        "class Changer(Processor):\n"
        "    mutates = True\n"
        "    def process_input(self, ctx): ...\n"
        "pipeline = create_workflow('side', kind='processor').parallel([Changer(id='a'), Changer(id='b')]).commit()\n"
    )
    done = procession("check", "side.py")
    assert done.returncode == 0
    assert b"warning: two-mutators-parallel" in done.stdout
    assert done.stdout.endswith(b"side: no errors, 1 warning in 2 steps\n")


def test_the_package_runs_as_a_module(tmp_path: Path) -> None:
    """``python -m procession`` is the command line."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "procession", "--version"],
        capture_output=True,
        cwd=tmp_path,
        timeout=50,
        check=False,
    )
    assert (done.returncode, done.stdout.decode()) == (0, f"procession {importlib.metadata.version('procession')}\n")
    helped = subprocess.run(
        [sys.executable, "-m", "procession", "--help"], capture_output=True, cwd=tmp_path, timeout=50, check=False
    )
    assert b"Usage: procession " in helped.stdout


def test_without_the_extra(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the packages of the extra a plain sentence names it."""
    real = builtins.__import__

    def without(name: str, *arguments: Any) -> Any:
        if name.partition(".")[0] in ("typer", "rich"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *arguments)

    monkeypatch.delitem(sys.modules, "procession.cli.app", raising=False)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 2
    assert "pip install 'procession[cli]'" in capsys.readouterr().err


def test_explain(procession: Command, tmp_path: Path) -> None:
    """``explain`` prints what an agent says of its processors; what is no agent is refused."""
    source = tmp_path / "bot.py"
    source.write_text(
        "from procession import Agent, create_workflow\n"
        "from procession.testing.fake_model import FakeModel\n"
        "def agent():\n"
        "    return Agent('bot', model=FakeModel('x'))\n"
        "flow = create_workflow('flow', int).map(lambda n: n, id='same').commit()\n"
    )
    done = procession("explain", source)
    assert done.returncode == 0
    assert done.stdout.decode().startswith("agent 'bot': model 'fake', at most 5 steps")
    refused = procession("explain", f"{source}:flow")
    assert refused.returncode == 2
    assert b"no agent" in refused.stderr


def test_explain_as_json(procession: Command, tmp_path: Path) -> None:
    """``explain --json`` says who runs where as one line of JSON."""
    (tmp_path / "bot.py").write_text(
        "from procession import Agent, Processor\nfrom procession.testing.fake_model import FakeModel\n"
        "class Look(Processor):\n    id = 'look'\n    def process_input(self, ctx): ...\n"
        "def agent():\n    return Agent('bot', model=FakeModel('x'), input_processors=[Look()])\n"
    )
    done = procession("explain", "bot.py", "--json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["agent"]) == (0, "bot")
    (place,) = [each for each in told["places"] if each["processor"] == "look"]
    assert (place["hook"], place["source"]) == ("process_input", "input_processors")


def test_a_key_as_json(procession: Command) -> None:
    """``db key --json`` has the key in a line of JSON."""
    told = json.loads(procession("db", "key", "--json").stdout)
    assert told.keys() == {"key"} and len(told["key"]) > 20
