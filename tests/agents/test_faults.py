"""Hooks and tools that hang, and those that do not even let themselves be cancelled."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from structlog.testing import capture_logs
from tests.agents.kit import WAYS, ask, at

from procession.agents.agent import Agent
from procession.errors import ProcessorError
from procession.messages.chunks import ToolError
from procession.processors.memory.message_history import MessageHistory
from procession.processors.processor import Processor
from procession.runtime.runtime import Runtime
from procession.storage.memory import InMemoryStore
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, say
from procession.tools.tool import tool
from procession.workflows.workflow import create_workflow

pytestmark = pytest.mark.anyio

GRACE = 0.02


class Stubborn:
    """Code that ignores its cancellation until a test lets it go; the test waits for its end."""

    def __init__(self) -> None:
        self.begun = 0
        self.ended = 0
        self.gate = anyio.Event()

    async def __call__(self, *args: Any) -> str:
        """Go on, whatever happens, in small steps behind a shield."""
        self.begun += 1
        with anyio.CancelScope(shield=True):
            await self.gate.wait()
        self.ended += 1
        return "late"

    async def swallowing(self, *args: Any) -> str:
        """Go on, and swallow every cancellation that comes."""
        self.begun += 1
        while not self.gate.is_set():
            try:
                await self.gate.wait()
            except BaseException:
                with anyio.CancelScope(shield=True):  # not a busy loop
                    await anyio.sleep(0.001)
        self.ended += 1
        return "late"


@pytest.fixture
async def stubborn() -> AsyncIterator[Stubborn]:
    """Give such code, and end it after the test, so that no task of it is left."""
    made = Stubborn()
    yield made
    made.gate.set()
    while made.ended < made.begun:
        await anyio.lowlevel.checkpoint()
    await anyio.lowlevel.checkpoint()


async def _hang(ctx: Any) -> None:
    await anyio.sleep_forever()


# -- what hangs


@pytest.mark.parametrize("way", WAYS)
async def test_a_guard_that_never_answers_fails_closed(way: str) -> None:
    """CAN-004: a guard that hangs trips at its timeout with ``guard_timeout``, and the model is not asked."""
    model = FakeModel(["never"])
    guard = at("process_input", _hang, timeout=0.1, fails_closed=True)
    seen = await ask(Agent("a", model=model, input_processors=[guard]), way)
    assert seen.tripwire.metadata == {"kind": "guard_timeout"}
    assert seen.tripwire.processor_id == "guard"
    assert model.requests == []
    assert seen.result.left_behind == ()


@pytest.mark.parametrize("way", WAYS)
async def test_a_guard_that_never_judges_the_answer_withholds_it(way: str) -> None:
    """CAN-004: where the output is what the guard looks at, no word of it is in the result."""
    guard = at("process_output_result", _hang, timeout=0.05, fails_closed=True)
    seen = await ask(Agent("a", model=FakeModel(["secret"]), output_processors=[guard]), way)
    assert seen.tripwire.metadata == {"kind": "guard_timeout"}
    assert seen.result.text == ""


@pytest.mark.parametrize("way", WAYS)
async def test_a_guard_that_never_answers_and_may_be_skipped(way: str) -> None:
    """CAN-004: with ``on_error="skip"`` the run goes on, and the outcome ``timeout`` is in the result and told."""
    told: list[str] = []
    guard = at("process_input", _hang, timeout=0.05, fails_closed=True, on_error="skip")
    guard.on_violation = lambda violation: told.append(violation.outcome)
    seen = await ask(Agent("a", model=FakeModel(["fine"]), input_processors=[guard]), way)
    assert seen.result.text == "fine"
    assert [violation.outcome for violation in seen.result.violations] == ["timeout"]
    assert told == ["timeout"]


def test_who_asks_a_model_or_a_store_has_a_time_limit() -> None:
    """CAN-004: a processor that asks a model or a store has a limit of 30 seconds unless it names another (D17)."""
    from procession.processors.guardrails.language import LanguageDetector
    from procession.processors.guardrails.pii import PIIDetector
    from procession.processors.guardrails.prompt_injection import PromptInjectionDetector

    model = FakeModel([])
    asking = [PIIDetector(model=model), PromptInjectionDetector(model=model), LanguageDetector(model=model)]
    assert [each.timeout for each in asking] == [30.0] * 3
    assert MessageHistory(InMemoryStore()).timeout == 30.0
    assert PIIDetector().timeout is None
    assert PIIDetector(model=model, timeout=0.1).timeout == 0.1


# -- what ignores its cancellation


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("manner", ["shielded", "swallowing"])
async def test_a_hook_that_ignores_its_cancellation_is_left_behind(way: str, manner: str, stubborn: Stubborn) -> None:
    """The run ends after timeout and grace, fails closed, and says in log and result which hook goes on."""
    act = stubborn.__call__ if manner == "shielded" else stubborn.swallowing

    async def hook(ctx: Any) -> None:
        await act()

    model = FakeModel(["never"])
    guard = at("process_input", hook, timeout=0.01, fails_closed=True)
    agent = Agent("a", model=model, input_processors=[guard], runtime=Runtime(grace=GRACE))
    with capture_logs() as logs:
        seen = await ask(agent, way)
    assert stubborn.ended == 0
    assert seen.tripwire.metadata == {"kind": "guard_timeout"}
    assert seen.result.left_behind == ("processor 'guard' in process_input",)
    assert model.requests == []
    told = [log["name"] for log in logs if "left behind" in log["event"]]
    assert told == ["processor 'guard' in process_input"]


@pytest.mark.parametrize("on_error", ["stop", "skip"])
async def test_what_is_left_behind_is_a_timeout_like_any_other(on_error: str, stubborn: Stubborn) -> None:
    """``on_error`` decides: an error that names the hook, or a run without the processor, untouched by it."""

    async def hook(ctx: Any) -> None:
        await stubborn()
        ctx.message_list.add("late words", "input")

    guard = at("process_input", hook, timeout=0.01, on_error=on_error)
    model = FakeModel(["fine"])
    agent = Agent("a", model=model, input_processors=[guard], runtime=Runtime(grace=GRACE))
    if on_error == "stop":
        with pytest.raises(ProcessorError, match="took longer than 0.01 s and ignored its cancellation"):
            await agent.generate("Hi")
    else:
        result = await agent.generate("Hi")
        stubborn.gate.set()
        while not stubborn.ended:
            await anyio.lowlevel.checkpoint()
        assert result.text == "fine"
        assert [violation.outcome for violation in result.violations] == ["timeout"]
        assert "late words" not in repr(model.requests[0].messages)


async def test_a_cancelled_run_does_not_wait_for_a_hook_that_ignores_it(stubborn: Stubborn) -> None:
    """Whoever cancels the call gets it back within the grace period."""

    async def hook(ctx: Any) -> None:
        await stubborn()

    guard = at("process_input", hook, timeout=60)
    agent = Agent("a", model=FakeModel(["x"]), input_processors=[guard], runtime=Runtime(grace=GRACE))
    with capture_logs() as logs, anyio.move_on_after(0.02) as limit:
        await agent.generate("Hi")
    assert limit.cancelled_caught
    assert stubborn.ended == 0
    assert any("left behind" in log["event"] for log in logs)


async def test_a_stream_that_is_left_does_not_wait_for_a_hook_that_ignores_it(stubborn: Stubborn) -> None:
    """Leaving the block of a stream ends within the grace period as well."""

    async def hook(ctx: Any) -> None:
        await stubborn()

    guard = at("process_input", hook, timeout=60)
    agent = Agent("a", model=FakeModel(["x"]), input_processors=[guard], runtime=Runtime(grace=GRACE))
    with capture_logs():
        async with agent.stream("Hi"):
            while not stubborn.begun:
                await anyio.lowlevel.checkpoint()
    assert stubborn.ended == 0


@pytest.mark.parametrize("others", [0, 2])
async def test_a_tool_that_ignores_its_cancellation_is_left_behind(others: int, stubborn: Stubborn) -> None:
    """A tool past its timeout is an error to the model, also where it does not stop, alone or beside others."""

    @tool(timeout=0.01)
    async def slow() -> str:
        """Do something for ever."""
        return await stubborn()

    @tool
    async def quick() -> str:
        """Do something."""
        return "done"

    calls = call_tool("slow")
    for _ in range(others):
        calls = calls + call_tool("quick")
    model = FakeModel([calls, "fine"])
    agent = Agent("a", model=model, tools=[slow, quick], runtime=Runtime(grace=GRACE))
    with capture_logs():
        result = await agent.generate("Hi")
    assert stubborn.ended == 0
    assert result.text == "fine"
    errors = [chunk.error for chunk in result.tool_results if isinstance(chunk, ToolError)]
    assert [str(error) for error in errors] == ["tool 'slow' took longer than 0.01 s and ignored its cancellation"]
    assert result.left_behind == ("tool 'slow'",)


async def test_cancelling_waits_for_parallel_tools_only_within_the_grace_period(stubborn: Stubborn) -> None:
    """One of several tools that ignores the cancellation of the run holds nobody up, on either event loop."""

    @tool
    async def slow() -> str:
        """Do something for ever."""
        return await stubborn()

    model = FakeModel([call_tool("slow") + call_tool("slow")])
    agent = Agent("a", model=model, tools=[slow], runtime=Runtime(grace=GRACE))
    with capture_logs() as logs, anyio.move_on_after(0.02):
        await agent.generate("Hi")
    assert stubborn.begun == 2
    assert stubborn.ended == 0
    assert any("tool 'slow'" in log.get("name", "") for log in logs)


async def test_a_parallel_branch_that_ignores_its_cancellation_is_left_behind(stubborn: Stubborn) -> None:
    """A branch that blocks decides; its sibling that does not stop is left behind after the grace period."""

    async def hook(ctx: Any) -> None:
        await stubborn()

    def block(ctx: Any) -> None:
        ctx.abort("no")

    both = create_workflow("both", kind="processor")
    both.parallel([at("process_input", hook, id="slow"), at("process_input", block, id="blocks")]).commit()
    agent = Agent("a", model=FakeModel(["x"]), input_processors=[both], runtime=Runtime(grace=GRACE))
    with capture_logs():
        seen = await ask(agent)
    assert stubborn.ended == 0
    assert seen.tripwire.reason == "no"
    assert [name.rsplit("/", 1)[-1] for name in seen.result.left_behind] == ["processor:slow"]


async def test_an_open_runtime_reports_what_it_could_not_end(stubborn: Stubborn) -> None:
    """Leaving the runtime's block waits for what was left behind, drain and grace, and then says what goes on."""

    async def hook(ctx: Any) -> None:
        await stubborn()

    guard = at("process_input", hook, timeout=0.01, on_error="skip")
    with capture_logs() as logs:
        async with Runtime(grace=GRACE, drain=0.01) as runtime:
            agent = Agent("a", model=FakeModel(["fine"]), input_processors=[guard], runtime=runtime)
            assert (await agent.generate("Hi")).text == "fine"
    assert stubborn.ended == 0
    assert [log["left"] for log in logs if "left" in log] == [["processor 'guard' in process_input"]]


async def test_an_open_runtime_waits_for_what_was_left_behind(stubborn: Stubborn) -> None:
    """What ends while the runtime drains is nothing to report."""

    async def hook(ctx: Any) -> None:
        await stubborn()

    class Releases(Processor):
        id = "releases"

        def process_output_result(self, ctx: Any) -> None:
            stubborn.gate.set()

    guard = at("process_input", hook, timeout=0.01, on_error="skip")
    with capture_logs() as logs:
        async with Runtime(grace=GRACE) as runtime:
            agent = Agent(
                "a",
                model=FakeModel([say("fine")]),
                input_processors=[guard],
                output_processors=[Releases()],
                runtime=runtime,
            )
            await agent.generate("Hi")
    assert stubborn.ended == 1
    assert not [log for log in logs if "left" in log]
