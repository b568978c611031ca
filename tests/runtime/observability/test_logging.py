"""Logging: what an operator is told, and what never."""

from __future__ import annotations

import logging
import subprocess
import sys
from types import ModuleType
from typing import Any

import pytest
import structlog
from tests.runtime.kit import fails, make, plus, run

from procession.messages.chunks import TripwireInfo
from procession.runtime.runtime import Runtime
from procession.steps.retry import RetryPolicy
from procession.steps.signals import Tripwire
from procession.steps.step import Step
from procession.workflows.workflow import create_workflow

SECRET = "the customer's words"


@pytest.fixture
def lines() -> list[Any]:
    """Configure structlog so that each line is kept."""
    kept: list[Any] = []

    def keep(logger: Any, method: str, line: Any) -> Any:
        kept.append({**line, "level": method})
        raise structlog.DropEvent

    structlog.configure(processors=[keep])
    return kept


def guard() -> Step[Any, Any]:
    """Return a processor's step that blocks."""

    class Owner:
        id = "pii"

    def block(ctx: Any) -> None:
        raise Tripwire(TripwireInfo(SECRET, metadata={"text": SECRET}))

    return make("processor:pii", block, kind="processor", owner=Owner())


async def test_steps_are_logged_with_where_they_stand(lines: list[Any]) -> None:
    """Start and end of each step are logged at debug level, bound with run, step and attempt."""
    inner = create_workflow("inner").then(plus("a", 1)).commit()
    await run(create_workflow("w").then(inner).commit(), run_id="r")
    assert [(line["level"], line["event"], line["step"]) for line in lines] == [
        ("debug", "step started", "inner"),
        ("debug", "step started", "inner/a"),
        ("debug", "step ended", "inner/a"),
        ("debug", "step ended", "inner"),
    ]
    assert {line["run_id"] for line in lines} == {"r"}
    assert {line["attempt"] for line in lines} == {1}
    assert lines[-1]["status"] == "success"


async def test_a_block_is_information_and_a_failure_a_warning(lines: list[Any]) -> None:
    """Who blocked and what failed is logged, in which attempt, and why it was in kind but not in words."""
    await run(create_workflow("w").then(guard()).commit())
    step = make("s", fails(ValueError(SECRET)), retry=RetryPolicy(2))
    await run(create_workflow("w").then(step).commit())
    (blocked,) = [line for line in lines if line["event"] == "step blocked"]
    (failed,) = [line for line in lines if line["event"] == "step failed"]
    assert (blocked["level"], blocked["processor"], blocked["retry"]) == ("info", "pii", False)
    assert (failed["level"], failed["error"], failed["cause"]) == ("warning", "StepError", "ValueError")
    assert (failed["step"], failed["attempt"]) == ("s", 2)


async def test_no_payload_is_ever_logged(lines: list[Any]) -> None:
    """Neither values nor the texts of reasons and errors appear in a line."""
    await run(create_workflow("w").then(make("echo", lambda ctx: ctx.input)).then(guard()).commit(), SECRET)
    await run(create_workflow("w").then(make("s", fails(ValueError(SECRET)))).commit(), SECRET)
    assert len(lines) == 8
    assert SECRET not in repr(lines)


async def test_without_structlog_configured_the_standard_logger_is_used(caplog: pytest.LogCaptureFixture) -> None:
    """Lines go to the logger ``procession`` of the standard library, with their values as extras."""
    with caplog.at_level(logging.DEBUG, "procession"):
        await run(create_workflow("w").then(plus("a", 1)).then(guard()).commit(), run_id="r")
    told = [(record.levelname, record.getMessage(), record.__dict__["step"]) for record in caplog.records]
    assert told == [
        ("DEBUG", "step started", "a"),
        ("DEBUG", "step ended", "a"),
        ("DEBUG", "step started", "processor:pii"),
        ("DEBUG", "step ended", "processor:pii"),
        ("INFO", "step blocked", "processor:pii"),
    ]


async def test_levels_are_respected(caplog: pytest.LogCaptureFixture) -> None:
    """Where only warnings are wanted, a block is not logged, and no step is listened to."""
    with caplog.at_level(logging.WARNING, "procession"):
        made = Runtime().create_run(create_workflow("w").then(guard()).commit())
        await made.start(0)
    assert caplog.records == []
    assert made.state.broadcast.taps == ()


def test_structlog_is_not_imported_where_nobody_listens() -> None:
    """A failing run in a program that has configured no logging imports no structlog and prints nothing."""
    program = """
import sys
from procession.runtime.runtime import run_sync
from procession.steps.step import Step
from procession.workflows.workflow import create_workflow
def fail(ctx): raise ValueError
assert run_sync(create_workflow("w").then(Step(id="s", execute=fail)).commit(), 0).status == "failed"
print("structlog" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=50)
    assert (done.stdout.strip(), done.stderr) == ("False", "")


async def test_a_run_while_another_thread_imports_structlog(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of several threads may begin at once: one that finds structlog half imported is none the worse for it."""
    monkeypatch.setitem(sys.modules, "structlog", ModuleType("structlog"))
    assert (await run(create_workflow("w").then(plus("a", 1)).commit())).status == "success"
