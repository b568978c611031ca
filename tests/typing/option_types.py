"""What a call may say: read by type checkers, run by nobody.  A mistake in an option is an error in the editor."""

from collections.abc import Sequence
from typing import assert_type

from procession import Agent, AgentResult, AgentStream
from procession.agents.options import CallOptions, ResumeOptions
from procession.agents.output import AgentStep
from procession.messages.message import SystemMessage
from procession.processors.contexts import InputStepContext
from procession.processors.processor import StepOverrides
from procession.steps.abort import AbortSignal
from procession.testing.fake_model import FakeModel

agent = Agent("parrot", model=FakeModel("Hello."))


def enough(steps: Sequence[AgentStep]) -> bool:
    """End the run after two steps."""
    return len(steps) == 2


def cool(ctx: InputStepContext) -> StepOverrides:
    """Ask for little imagination."""
    return {"model_settings": {"temperature": 0}}


async def right(thread: str | None) -> None:
    """Say things that a call may say; ``None`` says nothing."""
    result = await agent.generate(
        "Hi",
        request_context={"plan": "paid"},
        thread=thread,
        resource="r",
        thread_policy="queue",
        model=["openai/gpt-5-mini", FakeModel("x")],
        instructions=SystemMessage("Be brief."),
        system=["Speak English.", "Be kind."],
        tool_choice={"type": "tool", "tool_name": "search"},
        active_tools=["search"],
        model_settings={"temperature": 0.5},
        max_steps=3,
        stop_when=[enough],
        max_processor_retries=None,
        guard_mode="concurrent",
        output_processors=[],
        prepare_step=cool,
        abort_signal=AbortSignal(),
        run_id="run-1",
        on_chunk=print,
    )
    assert_type(result, AgentResult)
    assert_type(agent.generate_sync("Hi", max_steps=1), AgentResult)
    assert_type(agent.stream("Hi", replay=False, max_steps=1), AgentStream)
    assert_type(await agent.resume("run-1", {}, resource="r"), AgentResult)
    assert_type(agent.resume_stream("run-1", {}, resource="r"), AgentStream)
    assert_type(await agent.approve("run-1", resource="r"), AgentResult)
    assert_type(await agent.decline("run-1", reason="no", resource="r"), AgentResult)

    where: CallOptions = {"thread": "t", "resource": "r"}
    await agent.generate("Hi", **where)
    again: ResumeOptions = {"resource": "r"}
    assert_type(await agent.approve("run-1", **again), AgentResult)


async def wrong() -> None:
    """Mistype an option, or give it a value that it cannot have."""
    await agent.generate("Hi", max_stepz=3)  # type: ignore[call-overload]
    await agent.generate("Hi", max_steps="3")  # type: ignore[call-overload]
    await agent.generate("Hi", guard_mode="beside")  # type: ignore[call-overload]
    await agent.generate("Hi", structured_output=int, max_stepz=3)  # type: ignore[call-overload]
    agent.generate_sync("Hi", max_stepz=3)  # type: ignore[call-overload]
    agent.stream("Hi", max_stepz=3)  # type: ignore[call-overload]
    await agent.resume("run-1", {}, max_stepz=3)  # type: ignore[call-overload]
    agent.resume_stream("run-1", {}, max_stepz=3)  # type: ignore[call-arg]
    await agent.resume("run-1", {}, system="Be kind.")  # type: ignore[call-overload]
    await agent.approve("run-1", max_stepz=3)  # type: ignore[call-arg]
    await agent.decline("run-1", max_stepz=3)  # type: ignore[call-arg]
