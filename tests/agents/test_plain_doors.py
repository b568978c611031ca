"""The doors for plain code: ``generate_sync`` and ``run_sync``; and that no object belongs to an event loop."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import anyio
import anyio.to_thread
import pytest

from procession.agents.agent import Agent
from procession.errors import RunError
from procession.processors.guardrails.pii import PIIDetector
from procession.processors.memory.memory import Memory
from procession.runtime.runtime import Runtime, run_sync
from procession.steps.step import StepContext, step
from procession.storage.memory import InMemoryStore
from procession.testing.fake_model import FakeModel
from procession.workflows.workflow import create_workflow


@step
def shout(ctx: StepContext[str]) -> str:
    """Say it louder."""
    return ctx.input.upper()


LOUD = create_workflow("loud", str).then(shout).commit()
SHARED = Agent(
    "shared",
    model=FakeModel(["ok"], repeat_last=True),
    input_processors=[PIIDetector()],
    memory=Memory(InMemoryStore()),
    runtime=Runtime(),
)
"""Made when this is imported, where no event loop is running."""


def ask_plainly(number: int = 0) -> str:
    """Ask from plain code."""
    return SHARED.generate_sync("Hi", thread=f"t{number}", resource="r").text


def run_plainly(number: int = 0) -> str:
    """Run a workflow from plain code."""
    return run_sync(LOUD, "hello").unwrap()


def test_from_plain_code_one_event_loop_after_the_other() -> None:
    """CON-005: objects made at import time serve one event loop after the other, asyncio's or trio's."""
    assert [ask_plainly() for _ in range(3)] == ["ok"] * 3
    assert [run_sync(LOUD, "hello", backend=name).unwrap() for name in ("asyncio", "trio")] == ["HELLO"] * 2

    async def main() -> str:
        return (await SHARED.generate("Hi", thread="t", resource="r")).text

    assert [anyio.run(main, backend=name) for name in ("trio", "asyncio", "trio")] == ["ok"] * 3


def test_from_plain_scripts() -> None:
    """CON-005: a plain script needs nothing but the call."""
    script = (
        "from procession.agents.agent import Agent\n"
        "from procession.testing.fake_model import FakeModel\n"
        "print(Agent('a', model=FakeModel(['ok'])).generate_sync('hi').text)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "ok"


@pytest.mark.anyio
async def test_inside_a_running_loop_there_is_one_clear_error() -> None:
    """CON-005: the plain forms name the async ones instead of hanging."""
    with pytest.raises(RunError, match=r"generate_sync\(\) was called inside a running.*await generate"):
        ask_plainly()
    with pytest.raises(RunError, match=r"run_sync\(\) was called inside a running event loop.*await run"):
        run_plainly()


@pytest.mark.anyio
async def test_a_worker_thread_may_use_the_plain_forms() -> None:
    """CON-005: a thread started from an event loop has none of its own, and gets one."""
    assert await anyio.to_thread.run_sync(ask_plainly) == "ok"
    assert await anyio.to_thread.run_sync(run_plainly) == "HELLO"


def test_inside_asyncios_own_threads() -> None:
    """CON-005: inside ``asyncio.to_thread`` the plain forms work, under a watchdog, while the loop runs on."""

    async def main() -> list[str]:
        return [await asyncio.wait_for(asyncio.to_thread(call), 5) for call in (ask_plainly, run_plainly)]

    assert asyncio.run(main()) == ["ok", "HELLO"]


def test_from_several_threads_at_once() -> None:
    """CON-005: one agent serves several threads, each with an event loop of its own, also on one thread of a memory."""
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask_plainly, [1, 2, 3, 4] * 5)) == ["ok"] * 20
        assert list(pool.map(run_plainly, range(8))) == ["HELLO"] * 8
