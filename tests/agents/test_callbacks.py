"""Conditions that end a run, and callbacks: when they are called, what they may answer, and what comes of their errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from structlog.testing import capture_logs
from tests.agents.kit import WAYS, ask, at, counted_tool

from procession.agents.agent import Agent
from procession.agents.callbacks import Iteration
from procession.agents.output import AgentResult, AgentStep
from procession.errors import DefinitionError, ModelError, StepError
from procession.messages.chunks import StepFinish
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, fail, say

both_ways = pytest.mark.parametrize("way", WAYS)
CALLBACKS = ("on_chunk", "on_step_finish", "on_finish", "on_error", "on_abort", "on_iteration_complete")


def looking(*, steps: int = 2, **settings: Any) -> Agent:
    """Return an agent whose model calls a tool in all steps but the last one."""
    script = [*(say(f"{index} ") + call_tool("lookup") for index in range(steps - 1)), say("done")]
    return Agent("guide", model=FakeModel(script), tools=[counted_tool()[0]], **settings)


def noting(into: list[Any], kind: str, answer: Any = None) -> Callable[[Any], Any]:
    """Return a callback that notes what it is told, plain or async."""

    async def later(value: Any) -> Any:
        into.append(value)
        return answer

    def plain(value: Any) -> Any:
        into.append(value)
        return answer

    return later if kind == "async" else plain


both_kinds = pytest.mark.parametrize("kind", ["plain", "async"])


@both_ways
@both_kinds
async def test_a_condition_ends_the_run(way: str, kind: str) -> None:
    """``stop_when`` is asked with the accepted steps where another step would follow, and ends the run; tools have run."""
    seen: list[Sequence[AgentStep]] = []
    agent = looking(steps=5, stop_when=noting(seen, kind, answer=True))
    outcome = await ask(agent, way)
    assert (outcome.result.text, outcome.result.finish_reason) == ("0 ", "tool-calls")
    assert len(outcome.result.tool_results) == 1
    assert [[step.text for step in steps] for steps in seen] == [["0 "]]
    assert [chunk.is_continued for chunk in outcome.chunks if isinstance(chunk, StepFinish)] == [False]
    with pytest.raises(TypeError):
        seen[0][0] = seen[0][0]  # type: ignore[index]


@both_ways
async def test_any_of_several_conditions(way: str) -> None:
    """Any condition of a list ends the run, as ``max_steps`` does; none is asked after a final step."""
    asked: list[int] = []

    def never(steps: Sequence[AgentStep]) -> bool:
        asked.append(len(steps))
        return False

    def two(steps: Sequence[AgentStep]) -> bool:
        return len(steps) == 2

    assert (await ask(looking(steps=5), way, stop_when=[never, two])).result.text == "0 1 "
    assert asked == [1, 2]
    assert (await ask(looking(steps=5), way, stop_when=[never], max_steps=3)).result.text == "0 1 2 "
    assert asked == [1, 2, 1, 2]
    assert (await ask(looking(steps=2, stop_when=two), way, stop_when=never)).result.text == "0 done"
    assert asked == [1, 2, 1, 2, 1]


@both_ways
async def test_no_condition_at_all(way: str) -> None:
    """``stop_when=[]`` of a call switches off the agent's; an agent may have none."""

    def always(steps: Sequence[AgentStep]) -> bool:
        return True

    assert (await ask(looking(stop_when=always), way)).result.text == "0 "
    assert (await ask(looking(stop_when=always), way, stop_when=[])).result.text == "0 done"
    assert (await ask(looking(stop_when=[]), way)).result.text == "0 done"


@both_ways
async def test_a_condition_that_raises(way: str) -> None:
    """A condition that raises fails the run with an error that names it."""

    def enough(steps: Sequence[AgentStep]) -> bool:
        raise ValueError("broken")

    with pytest.raises(StepError, match="stop_when enough raised ValueError: broken"):
        _ = (await ask(looking(), way, stop_when=enough)).result


@both_ways
@both_kinds
async def test_attempts_that_are_sent_back_are_told(way: str, kind: str) -> None:
    """``on_step_finish`` is told each attempt: one that was sent back has the finish reason ``retry``."""

    def guard(ctx: Any) -> None:
        if ctx.retry_count == 0:
            ctx.abort("too short", retry=True)

    told: list[AgentStep] = []
    agent = Agent("guide", model=FakeModel(["no", "yes"]), output_processors=[at("process_output_step", guard)])
    result = (await ask(agent, way, on_step_finish=noting(told, kind), max_processor_retries=1)).result
    assert [(step.step_number, step.finish_reason, step.text) for step in told] == [
        (0, "retry", "no"),
        (0, "stop", "yes"),
    ]
    assert (result.rejected, result.steps) == ((told[0],), (told[1],))


@both_ways
@both_kinds
async def test_iterations_are_told(way: str, kind: str) -> None:
    """``on_iteration_complete`` is told each turn of the loop, before the reader hears that the step is over."""
    told: list[Iteration] = []
    result = (await ask(looking(), way, on_iteration_complete=noting(told, kind))).result
    assert [(each.step.text, len(each.steps), each.is_last) for each in told] == [("0 ", 1, False), ("done", 2, True)]
    assert {each.run_id for each in told} == {result.run_id}
    assert len(told[0].step.tool_results) == 1


@both_ways
@both_kinds
async def test_an_iteration_may_be_the_last(way: str, kind: str) -> None:
    """``continue_: False`` ends the run after this step; the reader is told so."""
    told: list[Iteration] = []
    seen = await ask(looking(steps=5), way, on_iteration_complete=noting(told, kind, {"continue_": False}))
    assert (seen.result.status, seen.result.text, len(told)) == ("completed", "0 ", 1)
    assert [chunk.is_continued for chunk in seen.chunks if isinstance(chunk, StepFinish)] == [False]


@both_ways
async def test_feedback_for_the_next_step(way: str) -> None:
    """``feedback`` is one system message that the next step alone sees, also where it is sent back."""

    def guard(ctx: Any) -> None:
        if ctx.step_number == 1 and ctx.retry_count == 0:
            ctx.abort("no", retry=True)

    def advise(turn: Iteration) -> dict[str, Any] | None:
        return {"feedback": "Look twice."} if len(turn.steps) == 1 else {"continue_": True}

    model = FakeModel([call_tool("lookup"), call_tool("lookup"), call_tool("lookup"), "done"])
    agent = Agent("guide", model=model, tools=[counted_tool()[0]], output_processors=[at("process_output_step", guard)])
    await ask(agent, way, on_iteration_complete=advise, max_processor_retries=1)
    systems = [[each.text for each in request.messages if each.role == "system"] for request in model.requests]
    assert [[text for text in each if text == "Look twice."] for each in systems] == [
        [], ["Look twice."], ["Look twice."], [],
    ]  # fmt: skip


WRONG: list[tuple[Any, str]] = [
    (False, "returned bool"),
    ({"continue": False}, "with 'continue' in it"),
    ({"continue_": "no"}, "continue_ as str"),
    ({"feedback": 5}, "feedback as int"),
]


@both_ways
@pytest.mark.parametrize(("answer", "said"), WRONG)
async def test_answers_that_are_none(way: str, answer: Any, said: str) -> None:
    """What ``on_iteration_complete`` may not return fails the run, saying what to return."""
    seen = await ask(looking(), way, on_iteration_complete=noting([], "plain", answer))
    assert isinstance(seen.error, StepError)
    assert said in seen.error.message
    assert "continue_" in (seen.error.hint or "")


@both_ways
async def test_callbacks_of_the_agent(way: str) -> None:
    """An agent's callbacks are those of every call that does not give its own."""
    steps: list[Any] = []
    results: list[AgentResult] = []
    others: list[Any] = []
    agent = looking(on_step_finish=steps.append, on_finish=results.append)
    result = (await ask(agent, way, on_step_finish=others.append)).result
    assert (steps, others, results) == ([], list(result.steps), [result])


@both_ways
@pytest.mark.parametrize("name", ["on_step_finish", "on_iteration_complete"])
async def test_callbacks_that_raise(way: str, name: str) -> None:
    """What a callback raises while the run goes on is the call's error, and names the callback."""

    async def complain(value: Any) -> None:
        raise ValueError("broken")

    with pytest.raises(StepError, match=f"{name} raised ValueError: broken") as raised:
        _ = (await ask(looking(), way, **{name: complain})).result
    assert isinstance(raised.value.__cause__, ValueError)


@both_ways
async def test_on_error_cannot_change_the_error(way: str) -> None:
    """What ``on_error`` raises is logged without its words; the call raises its own error."""

    def complain(error: Exception) -> None:
        raise ValueError("private")

    agent = Agent("guide", model=FakeModel(fail("down")), on_error=complain)
    with capture_logs() as logs, pytest.raises(ModelError, match="down"):
        _ = (await ask(agent, way)).result
    assert [(entry["event"], entry["error"]) for entry in logs if entry["event"] == "on_error failed"] == [
        ("on_error failed", "ValueError")
    ]
    assert "private" not in str(logs)


@pytest.mark.parametrize("name", [*CALLBACKS, "stop_when"])
def test_an_agent_refuses_what_is_no_callback(name: str) -> None:
    """An agent refuses a callback, or a condition, that is no function."""
    settings: dict[str, Any] = {name: 5}
    with pytest.raises(DefinitionError, match=f"{name} is int|{name}=5"):
        Agent("guide", model=FakeModel("x"), **settings)


@both_ways
async def test_advice_on_a_step_that_is_sent_back_at_its_end_is_dropped(way: str) -> None:
    """Where ``step-finish`` sends a step back, the repeated attempt is told the processor's feedback alone."""
    left = [1]

    def act(ctx: Any) -> Any:
        if ctx.chunk.type == "step-finish" and left:
            left.pop()
            ctx.abort("too short", retry=True)
        return ctx.chunk

    def advise(turn: Iteration) -> Any:
        told.append(turn.step.text)
        return {"feedback": f"advice on {turn.step.text}"}

    told: list[Any] = []
    guard = at("process_output_stream", act)
    agent = looking(
        steps=3,
        output_processors=[guard],
        max_processor_retries=1,
        on_iteration_complete=advise,
    )
    seen = await ask(agent, way)
    assert (seen.result.text, told) == ("1 done", ["0 ", "1 ", "done"])
    model: Any = agent.model
    systems = [[one.text for one in request.messages if one.role == "system"] for request in model.requests]
    assert "too short" in systems[1][0]
    assert "advice" not in str(systems[1])
    assert "advice on 1 " in str(systems[2])
