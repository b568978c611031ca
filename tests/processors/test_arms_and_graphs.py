"""
Arms without anything to do, and graphs of processors: what one of them hid stays hidden in what comes out.
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.processors.kit import at, texts

from procession.errors import MergeConflict
from procession.messages.message_list import MessageList
from procession.messages.parts import TextPart
from procession.messages.prompt import PromptMessage
from procession.processors.guardrails.pii import PIIDetector
from procession.processors.payloads import InputPayload, LLMRequestPayload
from procession.runtime.run import RunResult
from procession.runtime.runtime import Runtime
from procession.workflows.workflow import Workflow, create_workflow

MAIL = "mail eva@example.net please"


def pii(id: str = "pii") -> PIIDetector:
    """
    Return a guard that redacts the input.
    """
    return PIIDetector(id=id, phase="input", redaction="placeholder")


def look(ctx: Any) -> None:
    """
    Change nothing.
    """


async def run(workflow: Workflow[Any, Any], payload: Any) -> RunResult[Any]:
    """
    Run *workflow* on *payload*.
    """
    return await Runtime().run(workflow.commit(), payload)


# --- arms without anything to do -----------------------------------------------------


def of_pii(value: Any, outputs: Any) -> Any:
    """
    Go on with what the guard made.
    """
    return outputs["processor:pii"]


@pytest.mark.parametrize("merge", ["strictest", "priority", "chain", of_pii])
@pytest.mark.parametrize("idle_first", [True, False])
async def test_an_arm_without_the_hook_is_no_change(merge: Any, idle_first: bool) -> None:
    """
    Beside an arm that has nothing to do in this hook, what the others did holds under every policy.
    """
    idle = at("process_output_step", look, id="idle")
    arms = [idle, pii()] if idle_first else [pii(), idle]
    result = await run(
        create_workflow("w", kind="processor").parallel(arms, merge=merge), InputPayload(MessageList(MAIL))
    )
    assert texts(result.unwrap().message_list) == ["mail [EMAIL] please"]


async def test_a_map_may_not_pick_an_idle_arm_over_a_redaction() -> None:
    """
    A map that goes on with the arm that had nothing to do is refused where another arm redacted.
    """
    workflow = create_workflow("w", kind="processor").parallel([at("process_output_step", look, id="idle"), pii()])
    workflow.map(lambda outputs: outputs["processor:idle"])
    result = await run(workflow, InputPayload(MessageList(MAIL)))
    assert isinstance(result.error, MergeConflict)
    assert result.error.branches == ("processor:pii",)


async def test_a_map_may_pick_the_arm_that_redacted() -> None:
    """
    A map that goes on with the arm that redacted is fine beside an arm with nothing to do.
    """
    workflow = create_workflow("w", kind="processor").parallel([at("process_output_step", look, id="idle"), pii()])
    workflow.map(lambda outputs: outputs["processor:pii"])
    result = await run(workflow, InputPayload(MessageList(MAIL)))
    assert texts(result.unwrap().message_list) == ["mail [EMAIL] please"]


# --- graphs --------------------------------------------------------------------------


@pytest.mark.parametrize("tail", [False, True])
async def test_a_redaction_before_a_fan_out_holds(tail: bool) -> None:
    """
    What the first step of a graph hid is hidden in what comes out, whether its paths end apart or meet again.
    """
    workflow = create_workflow("w", kind="processor").add(pii())
    workflow.add(at("process_input", look, id="a"), after=["processor:pii"])
    workflow.add(at("process_input", look, id="b"), after=["processor:pii"])
    if tail:
        workflow.add(at("process_input", look, id="c"), after=["processor:a", "processor:b"])
    payload = InputPayload(MessageList(MAIL))
    result = await run(workflow, payload)
    assert result.unwrap() is payload
    assert texts(payload.message_list) == ["mail [EMAIL] please"]


async def test_two_joins_of_the_same_steps() -> None:
    """
    Two steps that wait for the same two see what both added, and what all four added is there once.
    """
    seen: list[list[str]] = []

    def add(ctx: Any) -> None:
        seen.append(texts(ctx.message_list))
        ctx.message_list.add(f"{ctx.processor_id}!", "context")

    workflow = create_workflow("w", kind="processor")
    workflow.add(at("process_input", add, id="a")).add(at("process_input", add, id="b"))
    workflow.add(at("process_input", add, id="c"), after=["processor:a", "processor:b"])
    workflow.add(at("process_input", add, id="d"), after=["processor:b", "processor:a"])
    result = await run(workflow, InputPayload(MessageList("Hi")))
    assert texts(result.unwrap().message_list) == ["Hi", "a!", "b!", "c!", "d!"]
    assert seen == [["Hi"], ["Hi"], ["Hi", "a!", "b!"], ["Hi", "a!", "b!"]]


# --- system messages -----------------------------------------------------------------


@pytest.mark.parametrize("merge", ["strictest", "priority"])
@pytest.mark.parametrize("guard_first", [True, False])
@pytest.mark.parametrize("way", ["added", "returned"])
async def test_a_system_message_does_not_say_what_another_arm_hid(merge: Any, guard_first: bool, way: str) -> None:
    """
    A system message that one arm made from the input says nothing that an arm beside it redacted.
    """

    def instruct(ctx: Any) -> Any:
        if way == "returned":
            return {"messages": list(ctx.view), "system_messages": [ctx.view[-1].text]}
        return ctx.message_list.add_system(ctx.view[-1].text)

    arms = [at("process_input", instruct, id="n"), pii()]
    workflow = create_workflow("w", kind="processor").parallel(arms[::-1] if guard_first else arms, merge=merge)
    messages = MessageList(MAIL)
    messages.add_system("Be brief.")
    messages = (await run(workflow, InputPayload(messages))).unwrap().message_list
    kept = ["Be brief."] if way == "added" else []
    assert [one.text for one in messages.system()] == [*kept, "mail [EMAIL] please"]
    assert texts(messages) == ["mail [EMAIL] please"]


# --- prompts -------------------------------------------------------------------------


async def test_a_copied_prompt_does_not_win_over_a_changed_one() -> None:
    """
    Under "priority" an arm that gave the prompt back as a copy has changed nothing, so the next one's prompt holds.
    """
    prompt = (PromptMessage("user", (TextPart(MAIL),)), PromptMessage("user", (TextPart("hi"),)))
    copies = at("process_llm_request", lambda ctx: {"prompt": [*ctx.prompt]}, id="copies")
    drops = at("process_llm_request", lambda ctx: {"prompt": ctx.prompt[1:]}, id="drops")
    workflow = create_workflow("w", kind="processor").parallel([copies, drops], merge="priority")
    payload = (await run(workflow, LLMRequestPayload(MessageList("hi"), prompt=prompt))).unwrap()
    assert [message.text for message in payload.prompt] == ["hi"]


@pytest.mark.parametrize("guard_first", [True, False])
async def test_a_redacted_prompt_wins_whatever_the_priority(guard_first: bool) -> None:
    """
    Under "priority" the prompt of an arm that redacts holds, although another arm is declared first.
    """
    said = [PromptMessage("user", (TextPart(MAIL + " and thanks"),))]
    hidden = [PromptMessage("user", (TextPart("mail [EMAIL] please"),))]
    other = at("process_llm_request", lambda ctx: {"prompt": said}, id="other")
    guard = at("process_llm_request", lambda ctx: {"prompt": hidden}, id="guard", redacts=True)
    arms = [guard, other] if guard_first else [other, guard]
    workflow = create_workflow("w", kind="processor").parallel(arms, merge="priority")
    prompt = (PromptMessage("user", (TextPart(MAIL),)),)
    payload = (await run(workflow, LLMRequestPayload(MessageList("hi"), prompt=prompt))).unwrap()
    assert list(payload.prompt) == hidden
