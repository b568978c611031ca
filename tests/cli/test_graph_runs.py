"""``graph`` with pictures, pages and runs."""

import json
from pathlib import Path

import anyio
import pytest
from tests.cli.conftest import Command

from procession.cli.target import load_target, workflow_of
from procession.runtime.run import RunResult
from procession.runtime.runtime import Runtime
from procession.storage.sqlite.journal import SQLiteJournal


async def kept(flow: Path, store: Path, run_id: str, text: str) -> str:
    """Run the workflow once and keep the run."""
    workflow = workflow_of(load_target(str(flow)))
    async with SQLiteJournal(store) as journal, Runtime(journal) as runtime:
        run = runtime.create_run(workflow, run_id=run_id)
        result: RunResult[object] = await run.start(text)
        return result.status


@pytest.fixture
def runs(flow: Path, tmp_path: Path) -> Path:
    """Return a store in which one run went well and one was blocked."""
    store = tmp_path / "runs.db"
    assert anyio.run(kept, flow, store, "good", "hello") == "success"
    assert anyio.run(kept, flow, store, "stopped", "forbidden") == "blocked"
    return store


def test_pictures(procession: Command, pipeline: Path, tmp_path: Path) -> None:
    """A PNG and a page are written to files, whose names say what they are; the theme is an option."""
    for name, beginning in (("a.png", b"\x89PNG"), ("a.html", b"<!DOCTYPE html>"), ("a.svg", b"<svg")):
        done = procession("graph", pipeline, "-o", tmp_path / name, "--theme", "dark")
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        assert (tmp_path / name).read_bytes().startswith(beginning)
    assert b"prefers-color-scheme" not in (tmp_path / "a.svg").read_bytes()
    assert (
        procession("graph", pipeline, "--format", "png", "--theme", "dark").stdout == (tmp_path / "a.png").read_bytes()
    )


def test_json_by_the_name_that_all_commands_have(procession: Command, pipeline: Path) -> None:
    """--json is --format json, and what changed is JSON as well."""
    assert procession("graph", pipeline, "--json").stdout == procession("graph", pipeline, "--format", "json").stdout
    done = procession("graph", "--diff", pipeline, pipeline, "--json")
    assert json.loads(done.stdout)["breaking"] is False


def test_a_run_is_laid_over_the_graph(procession: Command, flow: Path, runs: Path, tmp_path: Path) -> None:
    """--run says what became of each step, in text, data, pictures and pages."""
    done = procession("graph", flow, "--run", "stopped", "--store", runs)
    assert done.returncode == 0, done.stderr
    assert "✗ blocked" in done.stdout.decode() and "✓" in done.stdout.decode()
    marks = json.loads(procession("graph", flow, "--run", "good", "--store", runs, "--json").stdout)["run"]
    assert {node["path"]: node["status"] for node in marks["nodes"]} == {
        "shout": "success", "decide": "success",
    }  # fmt: skip
    for name in ("run.png", "run.html"):
        assert procession("graph", flow, "--run", "stopped", "--store", runs, "-o", tmp_path / name).returncode == 0
    assert "blocked" in (tmp_path / "run.html").read_text("utf-8")
    assert (tmp_path / "run.png").read_bytes() != procession("graph", flow, "--format", "png").stdout


def test_the_environment_names_the_store(
    procession: Command, flow: Path, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without --store it is the store of PROCESSION_STORE."""
    monkeypatch.setenv("PROCESSION_STORE", str(runs))
    assert procession("graph", flow, "--run", "good").returncode == 0


def test_runs_that_are_not_there(
    procession: Command, flow: Path, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run, a store or a graph that cannot be is named; no file is made by looking."""
    monkeypatch.delenv("PROCESSION_STORE", raising=False)
    for arguments, said in (
        ((flow, "--run", "none", "--store", runs), b"none"),
        ((flow, "--run", "good"), b"there is no store"),
        (("graph.json", "--run", "good", "--store", runs), b"a run is one of code"),
        (("--diff", flow, flow, "--run", "good"), b"--run is for one graph"),
    ):
        done = procession("graph", *arguments)
        assert done.returncode == 2 and said in done.stderr and b"Traceback" not in done.stderr
    assert not (tmp_path / "procession.db").exists()
    other = tmp_path / "other.py"
    other.write_text(flow.read_text().replace('"flow", str', '"other", str'))
    done = procession("graph", other, "--run", "good", "--store", runs)
    assert done.returncode == 2 and b"is one of 'flow', not of 'other'" in done.stderr


def test_check_as_json(procession: Command, pipeline: Path, tmp_path: Path) -> None:
    """check --json says what was found as one line of JSON; the status is the same."""
    done = procession("check", pipeline, "--json")
    assert (done.returncode, json.loads(done.stdout)) == (
        0,
        {"workflow": "pipeline", "ok": True, "steps": 3, "findings": []},
    )
    (tmp_path / "twice.py").write_text(
        "from procession import create_workflow, step\n@step\ndef one(ctx): ...\n"
        "pipeline = create_workflow('twice').then(one).then(one)\n"
    )
    done = procession("check", "twice.py", "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["ok"], [each["code"] for each in found["findings"]]) == (
        1,
        False,
        ["duplicate-step-id"],
    )
    assert found["findings"][0].keys() == {"code", "severity", "message", "steps", "hint", "fix", "source"}
