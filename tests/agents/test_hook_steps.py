"""When each hook fires in a run, and what it is shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.agents.kit import HOOKS, WAYS, ask, at, counted_tool, list_of, spy

from procession.agents.agent import Agent
from procession.errors import RunCancelled, StepError
from procession.messages.chunks import Finish, StepFinish, ToolCall
from procession.messages.message_list import MessageList
from procession.messages.prompt import PromptMessage
from procession.messages.usage import Usage
from procession.processors.hooks import INPUT_HOOKS, OUTPUT_HOOKS, Hook
from procession.steps.signals import Bail
from procession.steps.step import StepContext, step
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, fail, say
from procession.workflows.workflow import create_workflow

both_ways = pytest.mark.parametrize("way", WAYS)
STEP_HOOKS = [hook for hook in HOOKS if hook not in ("process_input", "process_output_result", "process_api_error")]


async def watched(way: str, hook: str, note: Callable[[Any], Any], *, text: str = "Hi", **options: Any) -> list[Any]:
    """Run a turn of two steps with a tool between them and return what *note* read from each context of *hook*."""
    seen: list[Any] = []

    def look(ctx: Any) -> Any:
        seen.append(note(ctx))
        return ctx.chunk if hook == "process_output_stream" else None

    tool, _ = counted_tool()
    script: list[Any] = [say("Let me see.") + call_tool("lookup", {"q": 1}), say("Found.")]
    if hook == "process_api_error":
        script.insert(0, fail("overloaded", status=503))
    lists: dict[str, Any] = {list_of(hook): [at(hook, look)]}
    seen_by_caller = await ask(Agent("parrot", model=FakeModel(script), tools=[tool], **lists, **options), way, text)
    if hook != "process_api_error":
        assert seen_by_caller.result.status == "completed"
    return seen


@both_ways
async def test_the_order_of_the_hooks(way: str) -> None:
    """The hooks fire in one order: input once, the step's hooks per step, the result once."""
    calls: list[str] = []
    processor = spy(calls)
    tool, tool_calls = counted_tool()
    model = FakeModel([say("a") + call_tool("lookup"), say("b")])
    agent = Agent("parrot", model=model, tools=[tool], input_processors=[processor], output_processors=[processor])
    await ask(agent, way)
    hooks = [call.removeprefix("spy.process_") for call in calls]
    squeezed = [hook for index, hook in enumerate(hooks) if index == 0 or hooks[index - 1] != hook]
    step = ["input_step", "llm_request", "output_stream", "llm_response", "output_step"]
    assert squeezed == [
        "input", *step, "tool_result", "output_stream", *step, "output_stream", "output_result",
    ]  # fmt: skip
    assert len(tool_calls) == 1


@both_ways
@pytest.mark.parametrize("hook", HOOKS)
async def test_a_list_serves_its_hooks(way: str, hook: str) -> None:
    """A processor takes part in the hooks of the list that it stands in, and in no other."""
    tool, _ = counted_tool()
    for name, hooks in (("input_processors", INPUT_HOOKS), ("output_processors", OUTPUT_HOOKS)):
        calls: list[str] = []
        script: list[Any] = (
            [fail("overloaded", status=503)] if hook == "process_api_error" else [call_tool("lookup"), "done"]
        )
        lists: dict[str, Any] = {name: [spy(calls)]}
        await ask(Agent("parrot", model=FakeModel(script), tools=[tool], **lists), way)
        assert (f"spy.{hook}" in calls) is (Hook(hook) in hooks)


@both_ways
@pytest.mark.parametrize("hook", STEP_HOOKS)
async def test_step_hooks_are_told_the_step(way: str, hook: str) -> None:
    """``step_number`` is the number of the step that makes, or made, the model call."""
    numbers = await watched(way, hook, lambda ctx: (ctx.step_number, ctx.retry_count))
    assert sorted(set(numbers)) == ([(0, 0)] if hook == "process_tool_result" else [(0, 0), (1, 0)])


@both_ways
@pytest.mark.parametrize(
    ("hook", "expected"),
    [
        ("process_input", [0]),
        ("process_input_step", [0, 1]),
        ("process_llm_request", [0, 1]),
        ("process_output_stream", [0, 1]),
        ("process_api_error", [0]),
        ("process_llm_response", [1, 2]),
        ("process_output_step", [1, 2]),
        ("process_tool_result", [1]),
        ("process_output_result", [2]),
    ],
)
async def test_steps_are_those_before_or_with_the_present_one(way: str, hook: str, expected: list[int]) -> None:
    """``steps`` ends before this step on the way in, and with it once the model has answered."""
    seen = await watched(way, hook, lambda ctx: len(ctx.steps))
    assert sorted(set(seen)) == expected


@both_ways
async def test_a_snapshot_of_steps_does_not_grow(way: str) -> None:
    """What a hook was shown as ``steps`` stays what it was."""
    shown: list[Any] = []
    await watched(way, "process_input_step", lambda ctx: shown.append(ctx.steps))
    assert [len(steps) for steps in shown] == [0, 1]


@both_ways
@pytest.mark.parametrize("hook", HOOKS)
async def test_what_every_hook_is_given(way: str, hook: str) -> None:
    """Run id, agent, the request's values, a state, a writer and the message list are there in every hook."""

    def read(ctx: Any) -> Any:
        assert isinstance(ctx.message_list, MessageList)
        assert ctx.state is ctx.state
        assert ctx.writer is not None
        assert ctx.tracing_context is None
        assert ctx.hook.value == hook
        assert ctx.processor_id == "guard"
        return ctx.run_id, ctx.agent.id, ctx.request_context.get("tenant")

    tool, _ = counted_tool()
    seen: list[Any] = []

    def look(ctx: Any) -> Any:
        seen.append(read(ctx))
        return ctx.chunk if hook == "process_output_stream" else None

    script: list[Any] = [fail("overloaded")] if hook == "process_api_error" else [call_tool("lookup"), "done"]
    lists: dict[str, Any] = {list_of(hook): [at(hook, look)]}
    agent = Agent("parrot", model=FakeModel(script), tools=[tool], **lists)
    await ask(agent, way, run_id="run-1", request_context={"tenant": "acme"})
    assert set(seen) == {("run-1", "parrot", "acme")}


@both_ways
@pytest.mark.parametrize("hook", HOOKS)
async def test_every_hook_may_write_data(way: str, hook: str) -> None:
    """What a hook writes reaches the reader as a ``data-*`` chunk."""
    wrote: list[bool] = []

    async def write(ctx: Any) -> Any:
        if not wrote:
            wrote.append(True)
            await ctx.writer.custom({"type": "data-note", "data": {"from": hook}})
        return ctx.chunk if hook == "process_output_stream" else None

    tool, _ = counted_tool()
    script: list[Any] = [fail("overloaded")] if hook == "process_api_error" else [call_tool("lookup"), "done"]
    lists: dict[str, Any] = {list_of(hook): [at(hook, write)]}
    seen = await ask(Agent("parrot", model=FakeModel(script), tools=[tool], **lists), way)
    assert [chunk.data for chunk in seen.chunks if chunk.type == "data-note"] == [{"from": hook}]  # type: ignore[attr-defined]


@both_ways
async def test_messages_in_scope(way: str) -> None:
    """Each hook is shown its part of the conversation, context and system messages never among it."""
    scopes = {
        hook: await watched_scope(way, hook)
        for hook in HOOKS
        if hook not in ("process_api_error", "process_output_stream", "process_llm_request", "process_llm_response")
    }
    assert scopes == {
        "process_input": [["Hi"]],
        "process_input_step": [["(facts)", "Hi"], ["(facts)", "Hi", "Let me see."]],
        "process_output_step": [["(facts)", "Hi", "Let me see."], ["(facts)", "Hi", "Let me see.Found."]],
        "process_tool_result": [["(facts)", "Hi", "Let me see."]],
        "process_output_result": [["Let me see.Found."]],
    }


async def watched_scope(way: str, hook: str) -> list[list[str]]:
    """Return the texts that *hook* was shown, call by call."""
    seen: list[list[str]] = []
    tool, _ = counted_tool()
    lists: dict[str, Any] = {
        list_of(hook): [at(hook, lambda ctx: seen.append([message.text for message in ctx.messages]))]
    }
    model = FakeModel([say("Let me see.") + call_tool("lookup"), say("Found.")])
    agent = Agent("parrot", model=model, tools=[tool], instructions="Be brief.", **lists)
    await ask(agent, way, context=[{"role": "user", "content": "(facts)"}])
    return seen


@both_ways
async def test_output_step_is_shown_the_step(way: str) -> None:
    """``process_output_step`` has the step's text, tool calls, finish reason and usage."""
    seen = await watched(
        way, "process_output_step", lambda ctx: (ctx.text, len(ctx.tool_calls), ctx.finish_reason, ctx.usage)
    )
    assert seen == [("Let me see.", 1, "tool-calls", Usage(10, 5)), ("Found.", 0, "stop", Usage(10, 5))]


@both_ways
async def test_tool_result_is_shown_the_call(way: str) -> None:
    """``process_tool_result`` has the tool's name, arguments, call id and raw result."""
    seen = await watched(
        way, "process_tool_result", lambda ctx: (ctx.tool_name, ctx.tool_call_id, ctx.args, ctx.result, ctx.is_error)
    )
    assert seen == [("lookup", "call-1", {"q": 1}, "found", False)]


@both_ways
async def test_llm_request_is_shown_the_prompt(way: str) -> None:
    """``process_llm_request`` has the prompt as it will be sent, a list of its own."""
    seen = await watched(way, "process_llm_request", lambda ctx: (ctx.prompt, ctx.prompt is ctx.prompt, ctx.model.id))
    assert [[message.role for message in prompt] for prompt, _, _ in seen] == [
        ["user"], ["user", "assistant", "tool"],
    ]  # fmt: skip
    assert all(isinstance(prompt[0], PromptMessage) for prompt, _, _ in seen)
    assert {(same, model) for _, same, model in seen} == {(False, "fake")}


@both_ways
async def test_llm_response_is_shown_the_models_own_chunks(way: str) -> None:
    """``process_llm_response`` has what the model said, before ``process_output_stream`` changed any of it."""
    seen: list[Any] = []
    agent = Agent(
        "parrot", model=FakeModel("secret"),
        input_processors=[at("process_llm_response", lambda ctx: seen.append((ctx.chunks, ctx.from_cache)), id="a")],
        output_processors=[at("process_output_stream", lambda ctx: None, id="b")],
    )  # fmt: skip
    result = (await ask(agent, way)).result
    chunks, from_cache = seen[0]
    assert result.text == ""
    assert [chunk.type for chunk in chunks][-4:] == ["text-start", "text-delta", "text-end", "finish"]
    assert (chunks[-2 - 1].text, from_cache) == ("secret", False)


@both_ways
async def test_output_result_is_shown_the_turn(way: str) -> None:
    """``ctx.result`` is the turn: text, reason, steps and usage; the text as earlier processors left it."""
    seen: list[Any] = []

    def hide(ctx: Any) -> None:
        for message in ctx.messages:
            message.text = message.text.replace("secret", "***")

    agent = Agent(
        "parrot", model=FakeModel("a secret"),
        output_processors=[
            at("process_output_result", lambda ctx: seen.append(ctx.result), id="before"),
            at("process_output_result", hide, id="hide"),
            at("process_output_result", lambda ctx: seen.append(ctx.result), id="after"),
        ],
    )  # fmt: skip
    result = (await ask(agent, way)).result
    assert [one.text for one in seen] == ["a secret", "a ***"]
    assert (seen[0].finish_reason, len(seen[0].steps), seen[0].usage) == ("stop", 1, Usage(10, 5))
    assert (result.text, result.final_text, result.steps[0].text) == ("a ***", "a ***", "a ***")


@both_ways
async def test_edits_after_a_step_are_in_the_result(way: str) -> None:
    """What ``process_output_step`` hides of a step is hidden in the result; ``step-finish`` says what was streamed."""

    def hide(ctx: Any) -> None:
        ctx.messages[-1].text = "***"

    told: list[str] = []

    def tell(step: Any) -> None:
        told.append(step.text)

    agent = Agent("parrot", model=FakeModel("secret"), output_processors=[at("process_output_step", hide)])
    seen = await ask(agent, way, on_step_finish=tell)
    assert (seen.result.text, seen.result.final_text, told) == ("***", "***", ["***"])
    assert [chunk.text for chunk in seen.chunks.of(StepFinish)] == ["secret"]
    assert [chunk.text for chunk in seen.chunks.of(Finish)] == ["***"]


@both_ways
async def test_edits_of_an_accepted_step_outlive_a_tripwire(way: str) -> None:
    """What was hidden of an accepted step stays hidden where a later step is blocked."""

    def hide_then_stop(ctx: Any) -> None:
        if ctx.step_number:
            ctx.abort("no")
        ctx.messages[-1].text = "***"

    tool, _ = counted_tool()
    agent = Agent(
        "parrot", model=FakeModel([say("secret") + call_tool("lookup"), "more"]), tools=[tool],
        output_processors=[at("process_output_step", hide_then_stop)],
    )  # fmt: skip
    assert (await ask(agent, way)).result.text == "***"


@both_ways
async def test_state_is_shared_by_all_hooks_of_an_id(way: str) -> None:
    """The state of a processor is one dict per request, in both lists and in every hook."""

    class Counting:
        id = "counting"

        def process_input(self, ctx: Any) -> None:
            ctx.state["n"] = 1

        def process_output_result(self, ctx: Any) -> None:
            ctx.state["n"] += 1
            seen.append(ctx.state["n"])

    seen: list[int] = []
    agent = Agent(
        "parrot", model=FakeModel("x", repeat_last=True),
        input_processors=[Counting()], output_processors=[Counting()],
    )  # fmt: skip
    await ask(agent, way)
    await ask(agent, way)
    assert seen == [2, 2]


@both_ways
async def test_a_user_turn_that_guards_emptied_does_not_reach_the_model(way: str) -> None:
    """Where processors removed every user message, the run trips with ``nothing_left``."""
    model = FakeModel("x")
    agent = Agent("parrot", model=model, input_processors=[at("process_input", lambda ctx: [])])
    seen = await ask(agent, way)
    assert seen.tripwire.metadata == {"kind": "nothing_left"}
    assert (seen.tripwire.processor_id, seen.chunks.types[-1]) == ("guard", "tripwire")
    assert model.requests == []


@both_ways
async def test_a_dropped_tool_call_is_not_executed(way: str) -> None:
    """A tool call that ``process_output_stream`` drops never runs and is in no message."""
    tool, calls = counted_tool()

    def drop(ctx: Any) -> Any:
        return None if isinstance(ctx.chunk, ToolCall) else ctx.chunk

    model = FakeModel([say("Hm.") + call_tool("lookup", {"q": 1}, finish="stop")])
    agent = Agent("parrot", model=model, tools=[tool], output_processors=[at("process_output_stream", drop)])
    result = (await ask(agent, way)).result
    assert (calls, result.tool_calls, result.text) == ([], (), "Hm.")
    assert "lookup" not in str(result.messages)


@both_ways
@pytest.mark.parametrize(
    "hook", ["process_input", "process_input_step", "process_output_step", "process_output_result"]
)
@pytest.mark.parametrize("scope", ["workflow", "branch", "run"])
async def test_a_step_that_bails_beside_processors(way: str, hook: str, scope: Any) -> None:
    """A plain step may end its own workflow of processors; it cannot end the run past the processors behind it."""

    @step
    def leave(ctx: StepContext[Any]) -> None:
        ctx.bail(ctx.input, scope=scope)

    skipped: list[str] = []
    early = create_workflow("early", kind="processor").then(at(hook, lambda ctx: None)).then(leave)
    early = early.then(at(hook, lambda ctx: skipped.append("skipped"), id="rest")).commit()
    stops = at(hook, lambda ctx: ctx.abort("looked"), id="behind")
    lists: dict[str, Any] = {list_of(hook): [early, stops]}
    seen = await ask(Agent("parrot", model=FakeModel("x"), **lists), way)
    assert skipped == []
    if scope != "run":  # outside of any arm, a branch is the workflow
        assert seen.tripwire.processor_id == "behind"
    else:
        assert isinstance(seen.error, StepError)
        assert "scope=" in str(seen.error)
        assert seen.chunks.types[-1:] == (["error"] if seen.chunks.types else [])


@both_ways
async def test_a_hook_that_ends_the_loop_is_no_success(way: str) -> None:
    """A hook of the stream that raises what steps end with has not brought the run to its end."""

    def leave(ctx: Any) -> None:
        raise Bail(scope="run")

    seen = await ask(Agent("parrot", model=FakeModel("x"), output_processors=[at("process_output_stream", leave)]), way)
    assert isinstance(seen.error, RunCancelled)
    assert seen.chunks.types == ["start", "error"]
