"""What a hook may not get around: its verdict, its time limit, and what an error may tell of it."""

from __future__ import annotations

import time
from typing import Any, Literal

import anyio
import pytest
from tests.processors.kit import at, passed, payload_of, texts, through

from procession.agents.agent import Agent
from procession.errors import ProcessorError
from procession.messages.chunks import Chunk, ErrorChunk
from procession.processors.violation import Violation
from procession.steps.scope import RequestScope
from procession.steps.signals import Tripwire
from procession.testing.fake_model import FakeModel

pytestmark = pytest.mark.anyio

# -- verdicts inside a task group


@pytest.mark.parametrize("swallow", [False, True])
@pytest.mark.parametrize(
    "hook", ["process_input", "process_input_step", "process_output_result", "process_tool_result"]
)
async def test_an_abort_in_a_task_group_of_the_hook(hook: str, swallow: bool) -> None:
    """A verdict that comes out of a hook's own task group is the same verdict: noted, and told once."""
    told: list[Violation] = []
    scope = RequestScope()

    async def act(ctx: Any) -> None:
        async def check() -> None:
            try:
                ctx.abort("no", metadata={"a": 1})
            except BaseException:
                if not swallow:
                    raise

        async with anyio.create_task_group() as group:
            group.start_soon(check)

    result = await through(payload_of(hook), at(hook, act, on_violation=told.append), scope=scope)
    assert result.status == "blocked"
    assert result.tripwire is not None and (result.tripwire.reason, result.tripwire.processor_id) == ("no", "guard")
    assert [(each.message, each.outcome) for each in told] == [("no", "blocked")]
    assert scope.violations == told


async def test_a_signal_raised_in_a_task_group_without_the_context() -> None:
    """A tripwire that was raised by hand is found in the group as well."""
    from procession.messages.chunks import TripwireInfo

    async def act(ctx: Any) -> None:
        async with anyio.create_task_group() as outer, anyio.create_task_group():
            outer.start_soon(anyio.lowlevel.checkpoint)
            raise Tripwire(TripwireInfo("by hand"))

    result = await through(payload_of("process_input"), at("process_input", act))
    assert result.tripwire is not None and result.tripwire.reason == "by hand"


async def test_a_group_of_ordinary_errors_is_a_failure() -> None:
    """Exceptions out of a task group are the processor's failure, like one exception."""

    async def act(ctx: Any) -> None:
        async with anyio.create_task_group():
            raise ValueError("x")

    with pytest.raises(ProcessorError, match="ExceptionGroup"):
        await passed(payload_of("process_input"), at("process_input", act))


async def test_what_is_no_verdict_leaves_a_task_group_as_it_is() -> None:
    """An interrupt that comes out of a task group is not taken for a failure of the processor."""

    async def act(ctx: Any) -> None:
        raise BaseExceptionGroup("several", [KeyboardInterrupt(), ValueError()])

    with pytest.raises(BaseExceptionGroup) as caught:
        await passed(payload_of("process_input"), at("process_input", act, on_error="skip"))
    assert caught.value.split(KeyboardInterrupt)[0] is not None


# -- time limits


async def _shielded(ctx: Any) -> None:
    with anyio.CancelScope(shield=True):
        await anyio.sleep(0.05)


async def _swallowing(ctx: Any) -> None:
    try:
        await anyio.sleep_forever()
    except BaseException:
        pass


def _plain(ctx: Any) -> None:
    time.sleep(0.03)
    ctx.messages[-1].text = "late"


@pytest.mark.parametrize("act", [_shielded, _swallowing, _plain])
@pytest.mark.parametrize("kind", ["stop", "skip", "guard"])
async def test_what_ignores_its_time_limit_is_late_all_the_same(
    act: Any, kind: Literal["stop", "skip", "guard"]
) -> None:
    """A hook that took longer than it may has failed, whether or not it could be interrupted; its edits are dropped."""
    kinds: dict[str, dict[str, Any]] = {"stop": {}, "skip": {"on_error": "skip"}, "guard": {"fails_closed": True}}
    options = kinds[kind]
    scope = RequestScope()
    payload = payload_of("process_input")
    result = await through(payload, at("process_input", act, timeout=0.01, **options), scope=scope)
    if kind == "stop":
        with pytest.raises(ProcessorError, match="took longer than 0.01 s"):
            result.unwrap()
    elif kind == "skip":
        assert texts(result.unwrap().messages)[-1] == "Hi"
        assert [violation.outcome for violation in scope.violations] == ["timeout"]
    else:
        assert result.tripwire is not None and result.tripwire.metadata == {"kind": "guard_timeout"}


async def test_a_verdict_that_comes_late_counts() -> None:
    """A hook that was too slow and has decided before is taken at its word."""

    def act(ctx: Any) -> None:
        try:
            ctx.abort("no")
        except BaseException:
            time.sleep(0.03)

    result = await through(payload_of("process_input"), at("process_input", act, timeout=0.01))
    assert result.tripwire is not None and result.tripwire.reason == "no"


# -- what an error says


async def test_the_text_of_a_hooks_exception_stays_with_its_cause() -> None:
    """An error names processor, hook and kind of exception; what the exception says may be private."""

    def act(ctx: Any) -> None:
        raise ValueError("the text was eva@example.net")

    agent = Agent("x", model=FakeModel(["ok"]), input_processors=[at("process_input", act)])
    with pytest.raises(ProcessorError) as caught:
        await agent.generate("hi")
    assert (
        str(caught.value) == "processor 'guard' failed in process_input: ValueError (at process_input/processor:guard)"
    )
    assert str(caught.value.__cause__) == "the text was eva@example.net"
    sent: list[Chunk] = []
    async with agent.stream("hi") as stream:
        async for chunk in stream:
            sent.append(chunk)
    assert isinstance(sent[-1], ErrorChunk)
    assert "eva@" not in str(sent[-1].error)
