"""Development mode: warnings of hooks that hold up the event loop, and of hooks that write to their processor."""

from __future__ import annotations

import time
from typing import Any

import anyio.lowlevel
import pytest
from structlog.testing import capture_logs
from tests.processors.kit import passed, payload_of

from procession.agents.agent import Agent
from procession.processors import log as said_so_far
from procession.processors.development import developing, in_development
from procession.processors.guardrails.pii import PIIDetector
from procession.processors.guardrails.prompt_injection import PromptInjectionDetector
from procession.processors.guardrails.regex_filter import RegexFilter
from procession.processors.processor import Processor
from procession.processors.utility.unicode import UnicodeNormalizer
from procession.runtime.runtime import Runtime
from procession.testing.fake_model import FakeModel

pytestmark = pytest.mark.anyio

WRITES = "a hook wrote to self.{}, which all requests share: use ctx.state"


@pytest.fixture(autouse=True)
def _nothing_said() -> None:
    """Each is warned about once; these tests begin anew."""
    getattr(said_so_far, "_said").clear()  # noqa: B009


def hold_up() -> None:
    """Let nobody else have a turn for longer than a hook may."""
    time.sleep(0.06)


class Keeps(Processor):
    """Keeps on itself what belongs to the request."""

    id = "keeps"
    count = 0

    def __init__(self) -> None:
        super().__init__()
        self.buffer: list[str] = []

    async def process_input(self, ctx: Any) -> None:
        """Count and collect."""
        self.count += 1
        await anyio.lowlevel.checkpoint()
        self.buffer.append("x")


class Blocks(Processor):
    """Does not let others have their turn, though it awaits before and after."""

    id = "blocks"

    async def process_input(self, ctx: Any) -> None:
        """Hold up the event loop between two waits."""
        await anyio.lowlevel.checkpoint()
        hold_up()
        await anyio.lowlevel.checkpoint()


class Slow(Processor):
    """A plain hook that takes its time."""

    id = "slow"

    def process_input(self, ctx: Any) -> None:
        """Hold up the event loop."""
        hold_up()


def warnings_in(logs: list[Any]) -> list[str]:
    """Return what was warned of."""
    return [log["event"] for log in logs if log["log_level"] == "warning"]


async def said_by(agent: Agent, times: int = 2) -> list[str]:
    """Return what was warned of in some calls."""
    with capture_logs() as logs:
        for _ in range(times):
            assert (await agent.generate("Hi")).text == "ok"
    return warnings_in(logs)


def agent_with(*processors: Processor, development: bool = True) -> Agent:
    """Return an agent whose runtime is in development mode, or not."""
    model = FakeModel(["ok"], repeat_last=True)
    return Agent("a", model=model, input_processors=processors, runtime=Runtime(development=development))


async def test_writes_to_the_processor_are_flagged() -> None:
    """CON-001: what a hook writes to ``self`` is told of once, by the attribute's name."""
    assert await said_by(agent_with(Keeps())) == [WRITES.format("buffer"), WRITES.format("count")]


async def test_an_async_hook_that_blocks_is_flagged() -> None:
    """CON-002: an async hook that holds up the event loop is told of once; the hook itself works as ever."""
    advice = "an async hook took over 50 ms: call what blocks in a thread: anyio.to_thread.run_sync"
    assert await said_by(agent_with(Blocks())) == [advice]


async def test_a_plain_hook_that_blocks_is_flagged() -> None:
    """CON-002: a plain hook that takes over 50 ms is told of, naming ``blocking``; one in a thread is not."""
    assert await said_by(agent_with(Slow())) == ["a plain hook took over 50 ms: set blocking = True"]

    class Threaded(Slow):
        id = "threaded"
        blocking = True

    assert await said_by(agent_with(Threaded())) == []


async def test_off_it_says_nothing_and_wraps_nothing() -> None:
    """Without it the very methods are called."""
    assert await said_by(agent_with(Keeps(), Slow(), Blocks(), development=False), times=1) == []
    assert not in_development()


async def test_the_environment_switches_it_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """``PROCESSION_DEV=1`` does it for every processor, also in a workflow without an agent."""
    monkeypatch.setenv("PROCESSION_DEV", "1")
    with capture_logs() as logs:
        await passed(payload_of("process_input"), Slow())
    assert warnings_in(logs) == ["a plain hook took over 50 ms: set blocking = True"]
    monkeypatch.setenv("PROCESSION_DEV", "0")
    assert not in_development()
    with developing(True):
        assert in_development()


async def test_errors_and_verdicts_pass_a_watched_hook() -> None:
    """What a hook raises or decides is the same with the watch round it, also after a wait."""

    class Aborts(Processor):
        id = "aborts"

        async def process_input(self, ctx: Any) -> None:
            await anyio.lowlevel.checkpoint()
            ctx.abort("no")

    class Hangs(Processor):
        id = "hangs"
        timeout = 0.01
        fails_closed = True

        async def process_input(self, ctx: Any) -> None:
            await anyio.sleep_forever()

    blocked = await agent_with(Aborts()).generate("Hi")
    assert blocked.tripwire is not None and blocked.tripwire.reason == "no"
    late = await agent_with(Hangs()).generate("Hi")
    assert late.tripwire is not None and late.tripwire.metadata == {"kind": "guard_timeout"}


async def test_the_built_ins_write_nothing() -> None:
    """CON-001: no guard of the library keeps anything of a request on itself."""
    guards = (UnicodeNormalizer(), RegexFilter(presets=["pii"]), PIIDetector(), PromptInjectionDetector())
    model = FakeModel(["ok"], repeat_last=True)
    agent = Agent(
        "a",
        model=model,
        input_processors=guards,
        output_processors=[guards[1], guards[2]],
        runtime=Runtime(development=True),
    )
    assert [each for each in await said_by(agent) if "wrote to self" in each] == []
    async with agent.stream("mail me at eva@example.net") as stream:
        with capture_logs() as logs:
            await stream.result()
    assert [each for each in warnings_in(logs) if "wrote to self" in each] == []
