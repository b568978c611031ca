"""Finding and loading targets."""

import sys
from pathlib import Path

import pytest

from procession.cli.target import Target, load_target, workflow_of
from procession.errors import TargetError, WorkflowDefinitionError
from procession.testing.fake_model import FakeModel

HEAD = "from procession.workflows.workflow import create_workflow as create\n"
AGENT = "from procession import Agent\n\nsupport = Agent('support', model='{}')\n"
ONE = "{} = create('{}', str).map(len, id='count').commit()\n"


def write(path: Path, text: str) -> str:
    """Write a file and return its path as text."""
    path.write_text(text)
    return str(path)


@pytest.fixture(autouse=True)
def clean_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Undo what loading does to the import path."""
    monkeypatch.setattr(sys, "path", [*sys.path])


def test_a_file_with_the_usual_names(tmp_path: Path) -> None:
    """Without a name, pipeline goes before workflow; with one, that is taken."""
    path = write(tmp_path / "usual.py", HEAD + ONE.format("workflow", "w") + ONE.format("pipeline", "p"))
    assert workflow_of(load_target(path)).id == "p"
    assert workflow_of(load_target(f"{path}:workflow")).id == "w"


def test_the_only_workflow_needs_no_name(tmp_path: Path) -> None:
    """A module's only workflow is found whatever it is called; of several one must be named."""
    path = write(tmp_path / "only.py", HEAD + ONE.format("mine", "m"))
    assert workflow_of(load_target(path)).id == "m"
    path = write(tmp_path / "several.py", HEAD + ONE.format("mine", "m") + ONE.format("yours", "y"))
    with pytest.raises(TargetError, match="mine, yours: say which"):
        load_target(path)


def test_a_module_of_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dotted name is imported, from the working directory too."""
    (tmp_path / "somepackage").mkdir()
    write(tmp_path / "somepackage" / "flows.py", HEAD + ONE.format("pipeline", "p"))
    monkeypatch.chdir(tmp_path)
    assert workflow_of(load_target("somepackage.flows:pipeline")).id == "p"


def test_a_file_is_loaded_beside_its_neighbours(tmp_path: Path) -> None:
    """A file may import the modules beside it."""
    write(tmp_path / "neighbour_of_target.py", "name = 'n'\n")
    path = write(
        tmp_path / "near.py", HEAD + "from neighbour_of_target import name\npipeline = create(name).map(len)\n"
    )
    assert workflow_of(load_target(path)).id == "n"


def test_a_function_is_called_with_the_model(tmp_path: Path) -> None:
    """A function that returns a workflow is called, with the model where one is given."""
    text = HEAD + "def pipeline(model=None):\n    return create(model.id if model else 'none').map(len)\n"
    target = load_target(write(tmp_path / "factory.py", text))
    assert workflow_of(target).id == "none"
    assert workflow_of(target, FakeModel("x", id="given")).id == "given"


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("x = 1", "x", "'x' is 'int', no workflow"),
        ("x = 1", "y", "there is no 'y' in it"),
        ("pipelin = 1", "pipeline", "did you mean 'pipelin'"),
        ("x = 1", None, "has nothing called 'pipeline' or 'workflow'"),
        ("import nothing_of_this_name", None, "cannot be loaded: .*text.py:1: ModuleNotFoundError"),
        ("1 / 0", None, "text.py:1: ZeroDivisionError"),
        ("raise SystemExit(4)", None, "SystemExit"),
        ("def f(:", None, "text.py:1: "),
        ("def pipeline(a): ...", None, r"pipeline\(\) needs a"),
        ("async def pipeline(): ...", None, r"pipeline\(\) is async"),
        ("def pipeline(): return 1 / 0", None, "text.py:1: ZeroDivisionError"),
        (AGENT.format("gpt-5-mini"), None, "text.py:3: InputError: 'gpt-5-mini': no provider"),
        (AGENT.format("ollama/qwen3"), None, "there are support: say which, .*text.py:support"),
        (AGENT.format("ollama/qwen3") + "\ndef guide(): ...", "guid", "did you mean 'guide'"),
    ],
)
def test_what_cannot_be_loaded(tmp_path: Path, text: str, name: str | None, message: str) -> None:
    """Whatever is wrong with a file is said in one sentence, with its place where it has one."""
    path = write(tmp_path / "text.py", text + "\n")
    with pytest.raises(TargetError, match=message):
        workflow_of(load_target(path if name is None else f"{path}:{name}"))


def test_what_does_not_exist(tmp_path: Path) -> None:
    """A file or module that does not exist is named, a similar file suggested."""
    write(tmp_path / "moderation.py", "")
    with pytest.raises(TargetError, match=r"did you mean .*moderation\.py"):
        load_target(str(tmp_path / "moderaton.py"))
    with pytest.raises(TargetError, match="is a folder"):
        load_target(str(tmp_path))
    with pytest.raises(TargetError, match="there is no module 'nothing_like_this'"):
        load_target("nothing_like_this.at_all:x")


def test_a_made_workflow_takes_no_model(tmp_path: Path) -> None:
    """A model for what is no function of it is refused, not ignored."""
    model = FakeModel("x")
    path = write(tmp_path / "made.py", HEAD + ONE.format("pipeline", "p"))
    with pytest.raises(TargetError, match="made already"):
        workflow_of(load_target(path), model)
    path = write(tmp_path / "deaf.py", HEAD + "def pipeline(): return create('p').map(len)\n")
    with pytest.raises(TargetError, match="takes no model"):
        workflow_of(load_target(path), model)


def test_a_step_becomes_a_workflow(tmp_path: Path) -> None:
    """Whatever can stand in a workflow is a target: a step, a processor."""
    path = write(tmp_path / "steps.py", "from procession.steps.step import step\n@step\ndef one(ctx): ...\n")
    workflow = workflow_of(load_target(f"{path}:one"))
    assert [node.id for node in workflow.nodes] == ["one"]


def test_an_agent_is_a_step_or_its_loop(tmp_path: Path) -> None:
    """An agent is run as a step that takes a prompt; to look at, it is its loop."""
    text = (
        "from procession.agents.agent import Agent\n"
        "from procession.testing.fake_model import FakeModel\n"
        "agent = Agent('support', model=FakeModel('Hello.'))\n"
    )
    target = load_target(write(tmp_path / "agents.py", text))
    assert [node.id for node in workflow_of(target).nodes] == ["support"]
    assert "process_input" in [node.id for node in workflow_of(target, inside=True).nodes]


def test_a_broken_workflow_keeps_its_findings(tmp_path: Path) -> None:
    """A workflow that cannot work is told from a file that cannot be loaded."""
    text = "from procession.errors import WorkflowDefinitionError as E\nraise E('w', [])\n"
    with pytest.raises(WorkflowDefinitionError):
        load_target(write(tmp_path / "broken.py", text))


def test_settings_are_mappings(tmp_path: Path) -> None:
    """What a module declares for the command line is a mapping of texts, or an error."""
    target: Target = load_target(
        write(tmp_path / "sets.py", HEAD + ONE.format("pipeline", "p") + "guards = {'a': 'pii'}\n")
    )
    assert target.setting("guards") == {"a": "pii"}
    assert target.setting("corpora") == {}
    target = load_target(write(tmp_path / "wrong.py", HEAD + ONE.format("pipeline", "p") + "guards = 3\n"))
    with pytest.raises(TargetError, match="guards is no mapping"):
        target.setting("guards")
