"""Payloads in parallel branches: forked, merged, or chosen by a map."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any

import anyio
import pytest
from tests.processors.kit import at, conversation, ids, payload_of, texts

from procession.errors import MergeConflict, StepError
from procession.messages.chunks import Finish, TextDelta
from procession.messages.message_list import MessageList
from procession.processors.hooks import Hook
from procession.processors.payloads import InputPayload, InputStepPayload, LLMRequestPayload, ToolResultPayload
from procession.runtime.run import RunResult
from procession.runtime.runtime import Runtime
from procession.steps.forkable import Forkable
from procession.workflows.workflow import Workflow, create_workflow

HOOKS = [hook.value for hook in Hook if hook is not Hook.OUTPUT_STREAM]


def both(*acts: Callable[[Any], Any], hook: str = "process_input", **options: Any) -> Workflow[Any, Any]:
    """Return a workflow of processors ``a``, ``b``, ... side by side."""
    processors = [at(hook, act, id=chr(ord("a") + index)) for index, act in enumerate(acts)]
    return create_workflow("both", kind="processor").parallel(processors, **options)


async def run(workflow: Workflow[Any, Any], payload: Any) -> RunResult[Any]:
    """Run *workflow* on *payload*."""
    return await Runtime().run(workflow.commit(), payload)


def say(text: str) -> Callable[[Any], None]:
    """Return an act that makes *text* of the newest message."""

    def act(ctx: Any) -> None:
        ctx.messages[-1].text = text

    return act


def look(ctx: Any) -> None:
    """Change nothing."""


@pytest.mark.parametrize("hook", HOOKS)
def test_payloads_can_be_forked(hook: str) -> None:
    """A payload is what the engine forks; a fork's messages change without the original's."""
    assert isinstance(payload_of(hook), Forkable)
    payload = payload_of(hook)
    fork = payload.fork()
    fork.message_list.add("more")
    assert (payload.phase, fork.phase) == (hook, hook)
    assert len(fork.message_list) == len(payload.message_list) + 1
    said = [name for base in type(payload).__mro__ for name in getattr(base, "__slots__", ()) if name != "message_list"]
    assert "step_number" in said
    assert all(getattr(fork, name) is getattr(payload, name) for name in said)
    assert not hasattr(fork, "__dict__")


@pytest.mark.parametrize("hook", HOOKS)
async def test_branches_do_not_see_each_other(hook: str) -> None:
    """Each branch works on the messages as they were before the branches."""
    seen: list[Any] = []

    def note_and_add(ctx: Any) -> None:
        seen.append(ids(ctx.message_list))
        ctx.message_list.add({"role": "user", "content": "x", "id": f"from-{ctx.processor_id}"})

    result = await run(both(note_and_add, note_and_add, hook=hook), payload_of(hook))
    assert seen == [["c", "m", "u", "a"]] * 2
    assert ids(result.unwrap().message_list) == ["c", "m", "u", "a", "from-a", "from-b"]


async def test_additions_are_kept_in_the_order_of_declaration() -> None:
    """What branches add stands in the order in which the branches were declared, whichever was first."""
    b_is_done = anyio.Event()

    async def late(ctx: Any) -> None:
        await b_is_done.wait()
        ctx.message_list.add({"role": "user", "content": "one", "id": "one"})

    async def early(ctx: Any) -> None:
        ctx.message_list.add({"role": "user", "content": "two", "id": "two"})
        b_is_done.set()

    result = await run(both(late, early), InputPayload(MessageList("Hi")))
    assert texts(result.unwrap().message_list) == ["Hi", "one", "two"]


async def test_a_branch_that_only_looks_undoes_nothing() -> None:
    """A branch that returns its input as it was does not take back what another branch changed."""

    def back(ctx: Any) -> Any:
        return ctx.messages

    for acts in ((say("call [PHONE]"), back), (back, say("call [PHONE]"))):
        result = await run(both(*acts), InputPayload(MessageList("call 555")))
        assert texts(result.unwrap().message_list) == ["call [PHONE]"]


async def test_removing_is_stricter_than_changing() -> None:
    """Where one branch removes a message that another one changes, it is gone."""

    def remove(ctx: Any) -> None:
        ctx.message_list.remove([ctx.view[-1].id])

    messages = MessageList(["one", "two"])
    result = await run(both(say("changed"), remove), InputPayload(messages))
    assert texts(result.unwrap().message_list) == ["one"]


async def test_two_rewrites_of_one_text_are_a_conflict() -> None:
    """Two different rewrites of one text cannot both hold: the error names both branches."""
    result = await run(both(say("public"), say("open")), InputPayload(MessageList("secret")))
    assert isinstance(result.error, MergeConflict)
    assert set(result.error.branches) == {"processor:a", "processor:b"}


async def test_the_same_rewrite_is_no_conflict() -> None:
    """Two branches that do the same agree."""
    result = await run(both(say("one"), say("one")), InputPayload(MessageList("zero")))
    assert texts(result.unwrap().message_list) == ["one"]


async def test_priority_lets_the_first_branch_win() -> None:
    """With ``merge="priority"`` the first branch that changed a thing wins."""
    result = await run(both(look, say("one"), say("two"), merge="priority"), InputPayload(MessageList("zero")))
    assert texts(result.unwrap().message_list) == ["one"]


async def test_chain_runs_one_after_the_other() -> None:
    """With ``merge="chain"`` each branch works on what the one before left."""

    def more(ctx: Any) -> None:
        ctx.messages[-1].text += ctx.processor_id

    result = await run(both(more, more, merge="chain"), InputPayload(MessageList("zero ")))
    assert texts(result.unwrap().message_list) == ["zero ab"]


async def test_a_function_may_merge() -> None:
    """A function of the payload before and the branches' payloads by step id says what goes on."""

    def longest(before: Any, outputs: Mapping[str, Any]) -> Any:
        assert list(outputs) == ["processor:a", "processor:b"]
        return max(outputs.values(), key=lambda output: len(output.message_list.latest_user_text()))

    result = await run(both(say("one"), say("three"), merge=longest), InputPayload(MessageList("zero")))
    assert texts(result.unwrap().message_list) == ["three"]


# -- fields besides the messages


async def test_settings_of_two_branches_are_put_together() -> None:
    """Branches that change different settings, or different keys of one, agree."""
    workflow = both(
        lambda ctx: {"model_settings": {"temperature": 1}, "tool_choice": "none"},
        lambda ctx: {"model_settings": {"top_p": 0, "seed": None}},
        hook="process_input_step",
    )
    payload = (
        await run(workflow, InputStepPayload(conversation(), model_settings={"seed": 7, "stop": ["."]}))
    ).unwrap()
    assert payload.model_settings == {"temperature": 1, "top_p": 0, "stop": ["."]}
    assert payload.tool_choice == "none"


async def test_one_setting_in_two_ways_is_a_conflict() -> None:
    """Two branches that set one thing differently are told of, unless the first one is to win."""

    def choose(value: Any) -> Callable[[Any], Any]:
        return lambda ctx: value

    for first, second in (
        ({"tool_choice": "none"}, {"tool_choice": "required"}),
        ({"model_settings": {"temperature": 0}}, {"model_settings": {"temperature": 1}}),
    ):
        result = await run(
            both(choose(first), choose(second), hook="process_input_step"), payload_of("process_input_step")
        )
        assert isinstance(result.error, MergeConflict)
        assert "processor:a" in result.error.message
        workflow = both(choose(first), choose(second), hook="process_input_step", merge="priority")
        payload = (await run(workflow, payload_of("process_input_step"))).unwrap()
        assert {"tool_choice": payload.tool_choice, "model_settings": payload.model_settings}.items() >= first.items()


async def test_the_first_response_wins_in_branches_too() -> None:
    """Of two responses in place of a model call the first declared branch's counts."""
    workflow = both(
        lambda ctx: {"response": [TextDelta("1")]},
        lambda ctx: {"response": [TextDelta("2")]},
        hook="process_llm_request",
    )
    response = (await run(workflow, LLMRequestPayload(conversation()))).unwrap().response
    assert response is not None
    assert response.chunks == (TextDelta("1"), Finish("stop"))


async def test_a_tools_result_from_one_branch() -> None:
    """A result that one branch redacts is redacted, whatever the others return."""
    workflow = both(look, lambda ctx: {"result": "***"}, hook="process_tool_result")
    assert (await run(workflow, payload_of("process_tool_result"))).unwrap().result == "***"
    both_differ = both(lambda ctx: {"result": "*"}, lambda ctx: {"result": "**"}, hook="process_tool_result")
    result = await run(both_differ, ToolResultPayload(MessageList(), result="raw"))
    assert isinstance(result.error, MergeConflict)


# -- maps


async def picked(
    function: Callable[[Any], Any], *, allow_drop: bool = False, redacting: bool = False
) -> RunResult[Any]:
    """Run two branches with a map behind them."""
    processors = [at("process_input", say("one"), id="a", redacts=redacting), at("process_input", say("two"), id="b")]
    workflow = create_workflow("both", kind="processor").parallel(processors).map(function, allow_drop=allow_drop)
    return await run(workflow, InputPayload(MessageList("zero")))


async def test_what_a_map_picks_is_what_goes_on() -> None:
    """The branch that a map picks is applied, the others are not."""
    for branch, text in (("processor:a", "one"), ("processor:b", "two")):
        result = await picked(itemgetter(branch))
        assert texts(result.unwrap().message_list) == [text]


async def test_a_map_may_pick_nothing() -> None:
    """A map that returns ``None`` leaves the payload as it was before the branches."""
    assert texts((await picked(lambda outputs: None)).unwrap().message_list) == ["zero"]


async def test_a_map_may_return_a_mapping() -> None:
    """Of a mapping of payloads the last one counts."""
    assert texts((await picked(lambda outputs: outputs)).unwrap().message_list) == ["two"]


async def test_a_map_may_build_a_payload() -> None:
    """A map may return a changed copy of a payload."""

    def build(outputs: Mapping[str, Any]) -> Any:
        made = outputs["processor:a"].fork()
        made.message_list.add("three")
        return made

    assert texts((await picked(build)).unwrap().message_list) == ["one", "three"]


async def test_a_plain_map_changes_the_payload() -> None:
    """A map that stands behind no branches is given the payload and may change it."""

    def more(payload: Any) -> Any:
        payload.message_list.add("more")
        return payload

    workflow = create_workflow("w", kind="processor").then(at("process_input", look)).map(more)
    assert texts((await run(workflow, InputPayload(MessageList("Hi")))).unwrap().message_list) == ["Hi", "more"]


@pytest.mark.parametrize("returned", ["text", 3, ["x"]])
async def test_a_map_returns_a_payload(returned: Any) -> None:
    """What is no payload is refused with what may be returned."""
    error = (await picked(lambda outputs: returned)).error
    assert isinstance(error, MergeConflict)
    assert "None for no change" in str(error.hint)


async def test_a_map_that_raises_fails_the_run() -> None:
    """An exception in a map is an error of the step that it is."""
    result = await picked(lambda outputs: outputs["nobody"])
    assert isinstance(result.error, StepError)


async def test_a_map_may_not_drop_a_redaction_unnoticed() -> None:
    """A map that leaves out what a branch hid is an error, unless it says ``allow_drop=True``."""

    def hide(ctx: Any) -> None:
        message = ctx.view[-1]
        ctx.message_list.replace(message.with_text("[HIDDEN]"), redacted=True)

    def two_branches(**options: Any) -> Workflow[Any, Any]:
        processors = [at("process_input", hide, id="a"), at("process_input", look, id="b")]
        workflow: Workflow[Any, Any] = create_workflow("both", kind="processor").parallel(processors)
        return workflow.map(lambda outputs: outputs["processor:b"], **options)

    result = await run(two_branches(), InputPayload(MessageList("secret")))
    assert isinstance(result.error, MergeConflict)
    assert "'processor:a'" in result.error.message
    result = await run(two_branches(allow_drop=True), InputPayload(MessageList("secret")))
    assert texts(result.unwrap().message_list) == ["secret"]


# -- verdicts in branches


async def test_a_block_stops_the_others() -> None:
    """The first block cancels its siblings, which are waited for."""
    ended: list[str] = []

    async def slow(ctx: Any) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("slow")

    async def stop(ctx: Any) -> None:
        await anyio.lowlevel.checkpoint()
        ctx.abort("no")

    result = await run(both(slow, stop), payload_of("process_input"))
    assert (result.status, ended) == ("blocked", ["slow"])
    assert result.tripwire is not None
    assert result.tripwire.processor_id == "b"


async def test_a_condition_is_given_the_payload() -> None:
    """Conditions of a branch see the phase's payload and decide by it."""
    workflow = create_workflow("w", kind="processor").branch(
        [
            (lambda payload: len(payload.messages[-1].text) > 3, at("process_input", say("long"), id="long")),
            (lambda payload: payload.phase == "process_input_step", at("process_input_step", look, id="never")),
        ],
        on_no_match="skip",
    )
    assert texts((await run(workflow, InputPayload(MessageList("lengthy")))).unwrap().message_list) == ["long"]
