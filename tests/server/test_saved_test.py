"""A run saved as a test: it passes, and fails where the code has changed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.server.live import live

from procession.errors import RequestRefused
from procession.server.app import App
from procession.server.saved_test import saved_test

PROJECT = '''
import re
from procession import Agent, Processor, StepContext, create_workflow, step, tool
from procession.processors.guardrails.pii import PIIDetector
from procession.runtime.runtime import Runtime
from procession.server.app import App
from procession.testing.fake_model import FakeModel, Reply, ScriptedCall

class NoShouting(Processor):
    id = "no-shouting"
    def process_input(self, ctx):
        if ctx.view[-1].text.isupper():
            ctx.abort("shouting")

class Calm(Processor):
    id = "calm"
    mutates = True
    def process_output_stream(self, ctx):
        chunk = ctx.part
        return chunk.replace(text=chunk.text.replace("!", ".")) if chunk.type == "text-delta" else chunk

@tool
def find(number: str) -> str:
    """Say where an order is."""
    global CALLS
    CALLS += 1
    return f"order {number} is on its way"

CALLS = 0
SCRIPT = [Reply(text=["Let me ", "look!"], tool_calls=[ScriptedCall("find", {"number": "7"})]), Reply(text=["It is ", "there!"])]
support = Agent("support", model=FakeModel(SCRIPT * 9), tools=[find],
                input_processors=[NoShouting()], output_processors=[Calm()])

@step
def double(ctx: StepContext[int]) -> int:
    return ctx.input * 2

@step
def text(ctx: StepContext[int]) -> str:
    if ctx.input > 100:
        raise ValueError("too many")
    return f"{ctx.input} pieces"

pieces = create_workflow("pieces", int).then(double).then(text).commit()
guards = create_workflow("guards", kind="processor").then(PIIDetector(redaction="placeholder")).commit()
app = App(agents=[support], workflows=[pieces, guards], redact=None)
'''


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The code of a project, imported from a file."""
    (tmp_path / "shop_code.py").write_text(PROJECT)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "shop_code", raising=False)
    import shop_code  # type: ignore[import-not-found] # pyright: ignore[reportMissingImports]

    yield shop_code
    sys.modules.pop("shop_code", None)


def pytest_of(folder: Path, made: Any) -> subprocess.CompletedProcess[str]:
    """Run the files of a test by pytest, in a process of its own."""
    for name, text in made["files"].items():
        (folder / name).write_text(text, encoding="utf-8")
    environment = {
        **os.environ,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]),
    }
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, f"{made['name']}.py"],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


async def test_a_run_of_an_agent_becomes_a_test_that_needs_no_key_and_no_tool(project: Any, tmp_path: Path) -> None:
    """The model's answers and the tools' results are replayed, and the test fails where a processor is another one."""
    result = await project.support.generate("Where is it?")
    assert result.text == "Let me look.It is there."
    made = saved_test(project.app, project.app.runs.get(result.run_id), "shop_code:support")
    (tmp_path / "shop_code.py").write_text(
        PROJECT.replace("FakeModel(SCRIPT * 9)", "FakeModel([])").replace(
            "CALLS += 1", 'raise RuntimeError("was called")'
        )
    )
    ran = pytest_of(tmp_path, made)
    assert ran.returncode == 0, ran.stdout
    (tmp_path / "shop_code.py").write_text(PROJECT.replace('replace("!", ".")', 'replace("!", "?")'))
    ran = pytest_of(tmp_path, made)
    assert ran.returncode == 1 and "Let me look?" in ran.stdout


async def test_a_verdict_becomes_a_test(project: Any, tmp_path: Path) -> None:
    """A run that was blocked is one in the test too; without the guard the test fails."""
    result = await project.support.generate("WHERE IS IT")
    assert result.tripwire is not None
    made = saved_test(project.app, project.app.runs.get(result.run_id), "shop_code:app")
    assert pytest_of(tmp_path, made).returncode == 0
    (tmp_path / "shop_code.py").write_text(PROJECT.replace("input_processors=[NoShouting()], ", ""))
    assert pytest_of(tmp_path, made).returncode == 1


@pytest.mark.parametrize("given", [21, 70])
async def test_a_run_of_a_workflow_becomes_a_test(project: Any, tmp_path: Path, given: int) -> None:
    """Output or error are what they were, until a step is another one."""
    result = await project.app.runtime.run(project.pieces, given)
    made = saved_test(project.app, project.app.runs.get(result.run_id), "shop_code:app")
    ran = pytest_of(tmp_path, made)
    assert ran.returncode == 0, ran.stdout
    (tmp_path / "shop_code.py").write_text(PROJECT.replace("ctx.input * 2", "ctx.input * 3" if given == 21 else "1"))
    assert pytest_of(tmp_path, made).returncode == 1


@pytest.mark.parametrize("hook", ["process_input", "process_output_stream"])
async def test_a_run_of_one_hook_becomes_a_test(project: Any, tmp_path: Path, hook: str) -> None:
    """What a hook was run with over HTTP is in the test, and what it left."""
    async with live(project.app) as server:
        samples = await server.get("/api/workflows/guards/samples")
        body = next(each["body"] for each in samples if each["hook"] == hook)
        run = await server.post("/api/workflows/guards/runs", {**body, "wait": True})
        assert "[EMAIL]" in str(run["output"]) or hook == "process_output_stream"
        made = await server.get(f"/api/runs/{run['run_id']}/test", params={"target": "shop_code:guards"})
    ran = pytest_of(tmp_path, made)
    assert ran.returncode == 0, ran.stdout
    (tmp_path / "shop_code.py").write_text(PROJECT.replace('redaction="placeholder"', 'redaction="mask"'))
    assert pytest_of(tmp_path, made).returncode == 1


async def test_no_test_is_made_that_would_hold_masks(project: Any) -> None:
    """Where values are masked in what leaves the process, a test of them is refused, and says how to get one."""
    app = App(workflows=[project.pieces, project.guards])
    from procession.workflows.workflow import create_workflow

    mail = create_workflow("mail", str).map(lambda text: text).commit()
    result = await app.runtime.run(mail, "to eva@example.com")
    with pytest.raises(RequestRefused, match="masked") as caught:
        saved_test(app, app.runs.get(result.run_id), None)  # type: ignore[arg-type]
    assert caught.value.status == 409
    plain = await app.runtime.run(project.pieces, 4)
    made = saved_test(app, app.runs.get(plain.run_id), None)  # type: ignore[arg-type]
    assert "FILL_IN" in made["files"][f"{made['name']}.py"] and made["notes"]
    own = App(workflows=[mail], redact=lambda text: text)
    result = await own.runtime.run(mail, "hello")
    with pytest.raises(RequestRefused, match="function of your own"):
        saved_test(own, own.runs.get(result.run_id), None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "target", ["shop", "shop:app; import os", "a.b:c d", "x:class", "os:system('x')", "a:b\nimport os"]
)
async def test_nothing_but_a_name_gets_into_the_source(project: Any, target: str) -> None:
    """A target that is no module:name is refused, so that no code of whoever asks gets into the file."""
    result = await project.app.runtime.run(project.pieces, 4)
    with pytest.raises(RequestRefused, match="module:name"):
        saved_test(project.app, project.app.runs.get(result.run_id), target)


async def test_no_test_is_made_of_a_run_with_a_file(project: Any) -> None:
    """Contents of files are cut off in what is shown: a test that would be given the cut is refused."""
    photo = {"type": "file", "data": "A" * 4000, "mediaType": "image/png"}
    result = await project.support.generate({"role": "user", "content": [{"type": "text", "text": "See:"}, photo]})
    with pytest.raises(RequestRefused, match="file"):
        saved_test(project.app, project.app.runs.get(result.run_id), None)
