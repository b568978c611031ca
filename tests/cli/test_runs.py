"""``runs``: the runs of a store, looked at and gone on with."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Command

from procession.cli.questions import Question
from procession.errors import InputError
from procession.runtime.durable.reader import Waiting


@pytest.fixture
def kept(procession: Command, flow: Path) -> Path:
    """Return a store with a run that went well, one that failed and one that waits."""
    store = flow.parent / "runs.db"
    for text, status in (("hello", 0), ("broken", 1), ("ask", 4)):
        done = procession("run", flow, "--text", text, "--store", store, "--run-id", f"run-{text}", "-q")
        assert done.returncode == status, done.stderr
    return store


def data(done: Any) -> Any:
    """Return the one line of JSON that a command wrote."""
    assert done.stdout.count(b"\n") == 1, done
    return json.loads(done.stdout)


def test_list(procession: Command, kept: Path) -> None:
    """Runs are listed, the newest first, by status and workflow, page by page."""
    lines = procession("runs", "list", "--store", kept).stdout.decode().splitlines()
    assert [line.split()[0] for line in lines] == ["run-ask", "run-broken", "run-hello"]
    assert len({line.index("flow") for line in lines}) == 1  # ids are as wide as the widest
    told = data(procession("runs", "list", "--store", kept, "--status", "failed", "--json"))
    assert [run["run_id"] for run in told["runs"]] == ["run-broken"] and told["next"] is None
    assert told["runs"][0].keys() == {
        "run_id", "workflow", "kind", "status", "held", "created_at", "updated_at", "resource", "thread", "parent_run_id",
        "forked_at",
    }  # fmt: skip
    page = data(procession("runs", "list", "--store", kept, "--limit", "2", "--json"))
    assert page["next"] == "run-broken"
    rest = data(procession("runs", "list", "--store", kept, "--after", page["next"], "--json"))
    assert [run["run_id"] for run in rest["runs"]] == ["run-hello"]
    wrong = procession("runs", "list", "--store", kept, "--status", "lost")
    assert wrong.returncode == 2 and b"suspended" in wrong.stderr


def test_show(procession: Command, kept: Path) -> None:
    """A run is shown with its steps and what it waits for, also as JSON."""
    text = procession("runs", "show", "run-ask", "--store", kept).stdout.decode()
    assert "waits at decide (label go)" in text and "‖ suspended" in text and "shout" in text
    told = data(procession("runs", "show", "run-ask", "--store", kept, "--json"))
    assert told["waiting"] == [{"step": "decide", "label": "go", "payload": {"question": "Shall it go on?"}}]
    assert (told["input"], told["status"], told["parent_run_id"]) == ("ask", "suspended", None)
    failed = data(procession("runs", "show", "run-broken", "--store", kept, "--json"))
    assert "it broke" in failed["error"]["message"]


def test_resume(procession: Command, flow: Path, kept: Path) -> None:
    """A run that waits is answered once, by yes or no, or by JSON; a second answer finds nothing that waits."""
    wrong = procession("runs", "resume", flow, "run-ask", "--answer", '"perhaps"', "--store", kept)
    assert wrong.returncode == 2 and b"Traceback" not in wrong.stderr
    done = procession("runs", "resume", flow, "run-ask", "--label", "go", "--answer", "true", "--store", kept)
    assert (done.returncode, done.stdout) == (0, b"ASK: True\n"), done.stderr
    again = procession("runs", "resume", flow, "run-ask", "--approve", "--store", kept)
    assert again.returncode == 2 and again.stdout == b""
    assert data(procession("runs", "show", "run-ask", "--store", kept, "--json"))["output"] == "ASK: True"


def test_fork(procession: Command, flow: Path, kept: Path) -> None:
    """A run is taken up from a step as a new one, with another output of a step before; the old one stays as it is."""
    forked = procession(
        "runs",
        "fork",
        flow,
        "run-broken",
        "--at",
        "decide",
        "--output",
        'shout="FINE"',
        "--run-id",
        "new",
        "--store",
        kept,
    )
    assert (forked.returncode, forked.stdout) == (0, b"FINE\n"), forked.stderr
    told = data(procession("runs", "show", "new", "--store", kept, "--json"))
    assert (told["parent_run_id"], told["forked_at"], told["output"]) == ("run-broken", "decide", "FINE")
    assert data(procession("runs", "show", "run-broken", "--store", kept, "--json"))["status"] == "failed"


def test_cancel(procession: Command, kept: Path) -> None:
    """A run that waits is cancelled; one that has ended is not."""
    done = procession("runs", "cancel", "run-ask", "--store", kept, "--json")
    assert (done.returncode, data(done)["status"]) == (0, "cancelled")
    ended = procession("runs", "cancel", "run-hello", "--store", kept)
    assert ended.returncode == 2 and b"has ended: it is success" in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["show", "none"], b"there is no run none\n  hint: the last ones are run-ask"),
        (["resume", "flow.py", "run-ask"], b"resumed with one answer"),
        (["resume", "flow.py", "run-ask", "--text", "a", "--approve"], b"resumed with one answer"),
        (["fork", "flow.py", "run-hello", "--at", "nowhere"], b"nowhere"),
        (["fork", "flow.py", "run-hello", "--output", "shout"], b"has no value"),
        (["fork", "flow.py", "run-hello", "--output", "shout={"], b"the output of shout is no JSON"),
        (["resume", "other.py", "run-ask", "--approve"], b"is one of 'flow', not of 'other'"),
        (["resume", "flow.py", "run-hello", "--approve"], b"has ended: it is success\n  hint: procession runs fork"),
    ],
)
def test_mistakes(procession: Command, flow: Path, kept: Path, arguments: list[str], said: bytes) -> None:
    """What cannot be done is a sentence with the name that is meant, and status 2."""
    (flow.parent / "other.py").write_text(flow.read_text().replace('"flow", str', '"other", str'))
    done = procession("runs", *arguments, "--store", kept)
    assert done.returncode == 2 and said in done.stderr and b"Traceback" not in done.stderr, done.stderr


BOT = """
import os
from procession import Agent, Runtime, tool
from procession.storage.sqlite.journal import SQLiteJournal
from procession.testing.fake_model import FakeModel, Reply, ScriptedCall


@tool(requires_approval=True)
def pay(amount: int) -> str:
    \"\"\"Pay.\"\"\"
    return f"paid {amount}"


def agent():
    script = ["Done."] if "RESUMED" in os.environ else [Reply(tool_calls=[ScriptedCall("pay", {"amount": 5})]), "Done."]
    return Agent("bot", model=FakeModel(script), tools=[pay], runtime=Runtime(SQLiteJournal("bot.db")))
"""


def test_the_run_of_an_agent(procession: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of an agent that waits for a yes is found in the agent's own store, and goes on there."""
    (tmp_path / "bot.py").write_text(BOT)
    (tmp_path / "begin.py").write_text(
        "import anyio\nfrom bot import agent\n"
        "print(anyio.run(lambda: agent().generate('Pay five.', run_id='pay-1')).status)\n"
    )
    begun = subprocess.run([sys.executable, "begin.py"], cwd=tmp_path, capture_output=True, timeout=50, check=False)
    assert begun.stdout == b"suspended\n", begun.stderr
    monkeypatch.setenv("RESUMED", "1")
    told = data(procession("runs", "show", "pay-1", "--target", "bot.py", "--json"))
    (asked,) = told["waiting"]
    assert (told["kind"], asked["tool"], asked["args"], asked["kind"]) == ("agent", "pay", {"amount": 5}, "approval")
    graph = procession("graph", "bot.py", "--run", "pay-1")
    assert graph.returncode == 2 and b"no steps are written down" in graph.stderr
    fork = procession("runs", "fork", "bot.py", "pay-1")
    assert fork.returncode == 2 and b"cannot be forked" in fork.stderr
    done = procession("runs", "resume", "bot.py", "pay-1", "--approve", "--json")
    assert (done.returncode, data(done)["status"]) == (0, "success"), done.stderr


@pytest.mark.parametrize(
    "answer",
    [
        ("--approve",),
        ("--decline", "--step", "call-1"),
        ("--answer", '{"call-1": {"approved": true}}', "--step", "bot"),
    ],
)
def test_an_agent_that_runs_as_a_step(
    procession: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: tuple[str, ...]
) -> None:
    """The call that an agent waits for, which `run --store` has run, is shown with its tool, and answered by a yes or no."""
    (tmp_path / "bot.py").write_text(BOT.replace(', runtime=Runtime(SQLiteJournal("bot.db"))', ""))
    begun = procession("run", "bot.py", "--text", "Pay five.", "--store", "bot.db", "--run-id", "pay-1")
    assert begun.returncode == 4
    assert b'waits at bot, --step call-1: {"tool": "pay", "args": {"amount": 5}}' in begun.stderr
    monkeypatch.setenv("RESUMED", "1")
    done = procession("runs", "resume", "bot.py", "pay-1", *answer, "--store", "bot.db")
    assert (done.returncode, done.stdout.decode()) == (0, "Done.\n"), done.stderr


def test_cancelling_with_a_target_ends_agents_inside(procession: Command, tmp_path: Path) -> None:
    """Where the workflow is named, the run of an agent that waits in a step of a cancelled run does not wait on."""
    (tmp_path / "bot.py").write_text(BOT.replace(', runtime=Runtime(SQLiteJournal("bot.db"))', ""))
    for id in ("pay-1", "pay-2"):
        procession("run", "bot.py", "--text", "Pay five.", "--store", "bot.db", "--run-id", id, "-q")
    done = procession("runs", "cancel", "pay-1", "--target", "bot.py", "--store", "bot.db", "--json")
    assert (done.returncode, data(done)["status"]) == (0, "cancelled"), done.stderr
    told = data(procession("runs", "list", "--store", "bot.db", "--status", "suspended", "--json"))
    assert {run["run_id"] for run in told["runs"]} == {"pay-2", "pay-2:bot"}


def test_several_calls_need_a_name() -> None:
    """An answer goes to the call that is named, through the agents around it; where several wait, one must be named."""
    inner = {"agent": "clerk", "run_id": "r:c2", "calls": [_call("p1", kind="suspended")]}
    waiting = [
        Waiting(
            path="bot",
            step_id="bot",
            payload={"agent": "bot", "run_id": "r", "calls": [_call("c1"), _call("c2", inner)]},
        ),
        Waiting(path="form", step_id="form", payload={"agent": "of change"}),
    ]
    assert Question(approve=False, step="c1").to_step(False, waiting, "r") == ("bot", {"c1": {"approved": False}})
    assert Question(text="Oslo", step="c2").to_step("Oslo", waiting, "r") == ("bot", {"c2": {"p1": "Oslo"}})
    assert Question(approve=True, step="form").to_step(True, waiting, "r") == ("form", True)
    given = {"c1": {"approved": True}, "c2": {"p1": "Oslo"}}
    assert Question(answer="{}", step="bot").to_step(given, waiting, "r") == ("bot", given)
    assert Question(approve=True).to_step(True, waiting, "r") == (None, True)  # the runtime asks which step is meant
    with pytest.raises(InputError, match="asks 2 questions: c1, c2"):
        Question(approve=True, step="bot").to_step(True, waiting, "r")


def _call(id: str, payload: Any = None, kind: str = "approval") -> dict[str, Any]:
    return {"question_id": id, "tool_call_id": id, "tool_name": "pay", "args": {}, "kind": kind, "payload": payload}
