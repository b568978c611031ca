"""What a hook's context offers: messages, state, words for outcomes, and what single hooks are given besides."""

from __future__ import annotations

from typing import Any

import pytest
from tests.processors.kit import at, conversation, passed, payload_of, through

from procession.errors import MessageError, ModelError
from procession.messages.chunks import DataChunk, TextDelta, TripwireInfo
from procession.messages.message_list import MessageList
from procession.messages.parts import StepStartPart, TextPart
from procession.processors.contexts import CONTEXTS, InputContext, OutputStreamContext
from procession.processors.hooks import Hook
from procession.processors.payloads import InputPayload, OutputStepPayload, OutputStreamPayload
from procession.processors.processor import Processor
from procession.steps.request_context import RequestContext
from procession.steps.scope import RequestScope
from procession.steps.signals import Tripwire


class Guard(Processor):
    """A processor to make contexts for."""

    id = "guard"
    uses_stream_parts = True

    def process_output_stream(self, ctx: Any) -> Any:
        """Pass."""
        return ctx.chunk


def input_context(scope: RequestScope | None = None) -> InputContext:
    """Return the context of ``process_input`` over a conversation."""
    return InputContext(InputPayload(conversation()), scope or RequestScope(run_id="r"), Guard())


def test_every_hook_has_a_context() -> None:
    """There is one class of context per hook, which knows its hook."""
    assert set(CONTEXTS) == set(Hook)
    assert all(context.hook is hook for hook, context in CONTEXTS.items())


def test_what_every_context_gives() -> None:
    """Run id, the request's values, step number, retry count and the processor's id are there."""
    ctx = input_context(RequestScope(run_id="r", request_context=RequestContext({"tenant": "acme"})))
    assert (ctx.run_id, ctx.request_context.get("tenant"), ctx.processor_id) == ("r", "acme", "guard")
    assert (ctx.step_number, ctx.retry_count, len(ctx.steps), ctx.agent) == (0, 0, 0, None)


def test_drafts_are_made_once_per_context() -> None:
    """``ctx.messages`` is made when it is first read, and each context has its own."""
    ctx = input_context()
    first = ctx.messages
    assert ctx.messages is first
    assert input_context().messages is not first
    ctx.messages[0].text = "edited"
    assert ctx.view[0].text == "before"


def test_state_is_one_dict_per_id() -> None:
    """Contexts of one processor id in one request share a dict; other ids and requests have theirs."""
    scope = RequestScope()
    one, two, other = input_context(scope), input_context(scope), input_context()
    one.state["n"] = 1
    assert two.state == {"n": 1}
    assert other.state == {}
    assert scope.state("somebody-else") == {}


def test_abort_is_noted_before_it_is_raised() -> None:
    """``ctx.abort`` raises a tripwire that is on the context already."""
    ctx = input_context()
    with pytest.raises(Tripwire) as caught:
        ctx.abort("no", retry=True, metadata={"a": 1}, message="Sorry.")
    assert ctx.verdict is caught.value
    assert caught.value.info == TripwireInfo("no", True, {"a": 1}, "guard", "Sorry.")


def test_a_verdict_is_no_exception_to_catch_by_accident() -> None:
    """``except Exception`` does not catch a verdict."""
    assert not issubclass(Tripwire, Exception)


def test_a_warning_is_listed() -> None:
    """``ctx.warn`` puts a finding on the request's list and goes on."""
    scope = RequestScope()
    input_context(scope).warn("odd", metadata=1)
    assert [(one.processor_id, one.message, one.detail, one.outcome, one.hook) for one in scope.violations] == [
        ("guard", "odd", 1, "warned", "process_input")
    ]


# -- stream parts


def stream_context(owner: Any, scope: RequestScope | None = None) -> OutputStreamContext:
    """Return the context of one stream."""
    return OutputStreamContext(OutputStreamPayload(MessageList()), scope or RequestScope(), owner)


def test_stream_parts_end_with_the_present_chunk() -> None:
    """``ctx.stream_parts`` is what the processor received in this run, the present one last."""
    ctx = stream_context(Guard())
    for text in "ab":
        ctx.note(TextDelta(text))
    assert list(ctx.stream_parts) == [TextDelta("a"), TextDelta("b")]
    assert ctx.part is ctx.chunk is ctx.stream_parts[-1]


def test_stream_parts_are_kept_across_steps() -> None:
    """The chunks of a run are kept from one step to the next."""
    scope = RequestScope()
    stream_context(Guard(), scope).note(TextDelta("a"))
    assert list(stream_context(Guard(), scope).stream_parts) == [TextDelta("a")]


def test_stream_parts_are_kept_for_those_who_ask() -> None:
    """A class that does not set ``uses_stream_parts`` is told to."""

    class Other(Guard):
        uses_stream_parts = False

    with pytest.raises(MessageError, match="which are not kept for it") as caught:
        _ = stream_context(Other()).stream_parts
    assert caught.value.hint == "set uses_stream_parts = True on its class"


# -- the writer


async def test_what_a_writer_sends() -> None:
    """A writer takes a chunk or its fields, and hands it on with the sender's id."""
    sent: list[Any] = []
    scope = RequestScope()

    async def write(chunk: Any, *about: str | None) -> None:
        sent.append((chunk, *about))

    scope.resources["write_data"] = write
    writer = input_context(scope).writer
    await writer.custom(DataChunk("data-a", 1))
    await writer.custom({"type": "data-b", "data": 2, "id": "x", "transient": True}, message_id="m")
    assert sent == [(DataChunk("data-a", 1), "guard", None), (DataChunk("data-b", 2, "x", True), "guard", "m")]


async def test_a_writer_without_a_reader() -> None:
    """Where nobody reads, what is written goes nowhere."""
    await input_context().writer.custom({"type": "data-a", "data": 1})


@pytest.mark.parametrize("type_", ["note", "text-delta", None])
async def test_data_has_a_prefix(type_: Any) -> None:
    """A custom chunk whose type does not begin with ``data-`` is refused."""
    with pytest.raises(MessageError, match="a custom chunk of type"):
        await input_context().writer.custom({"type": type_, "data": 1})


async def test_signals_need_an_agent() -> None:
    """``ctx.send_signal`` works within an agent's run only."""
    with pytest.raises(MessageError, match="within an agent's run"):
        await input_context().send_signal({"type": "reactive", "contents": "x"})


# -- single hooks


async def read(hook: str, *names: str) -> list[Any]:
    """Return what the context of *hook* has under *names*."""
    seen: list[Any] = []
    await passed(payload_of(hook), at(hook, lambda ctx: seen.extend(getattr(ctx, name) for name in names)))
    return seen


async def test_what_single_hooks_are_given() -> None:
    """Each hook's context reads the fields of its payload."""
    assert await read("process_input_step", "tool_choice", "active_tools", "tools", "model_settings") == [
        "auto", None, {}, None,
    ]  # fmt: skip
    assert await read("process_llm_response", "chunks", "from_cache", "warnings", "raw_response", "request") == [
        (), False, (), None, None,
    ]  # fmt: skip
    assert await read("process_tool_result", "tool_name", "result", "args", "is_error", "provider_executed") == [
        "lookup", "raw", None, False, False,
    ]  # fmt: skip
    assert await read("process_output_step", "text", "finish_reason", "tool_calls", "provider_metadata") == [
        "", "unknown", (), None,
    ]  # fmt: skip
    error, can_retry = await read("process_api_error", "error", "can_retry")
    assert isinstance(error, ModelError)
    assert can_retry is True
    assert await read("process_output_result", "result") == [None]


async def test_the_text_of_a_step_follows_the_messages() -> None:
    """``ctx.text`` is the step's text as the processors before left it, not that of earlier steps."""
    messages = MessageList("Hi")
    messages.append_response((TextPart("one"), StepStartPart(), TextPart("two"), TextPart(" three")), message_id="a")
    seen: list[str] = []

    def edit(ctx: Any) -> None:
        seen.append(ctx.text)
        ctx.messages[-1].parts[-1].text = " four"

    payload = OutputStepPayload(messages, text="two three", message_id="a")
    await passed(
        payload, at("process_output_step", edit), at("process_output_step", lambda ctx: seen.append(ctx.text), id="b")
    )
    assert seen == ["two three", "two four"]


async def test_an_abort_stops_a_workflow_of_processors() -> None:
    """Outside an agent a verdict blocks the run of the workflow, and those behind do not run."""
    seen: list[str] = []
    result = await through(
        payload_of("process_input"),
        at("process_input", lambda ctx: ctx.abort("no")),
        at("process_input", lambda ctx: seen.append("b"), id="b"),
    )
    assert (result.status, seen) == ("blocked", [])
    assert result.tripwire == TripwireInfo("no", processor_id="guard")
