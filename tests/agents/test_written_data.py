"""Data that hooks and tools write (``writer.custom``): where it appears in the stream, who sees it, where it is kept."""

from __future__ import annotations

from typing import Any

import pytest
from tests.agents.kit import HOOKS, WAYS, ask, at, list_of
from tests.agents.test_nested_hooks import nested

from procession.agents.agent import Agent
from procession.errors import ProcessorError
from procession.messages.chunks import DataChunk, TextDelta
from procession.messages.message import Message
from procession.messages.parts import DataPart, TextPart
from procession.processors.hooks import Hook
from procession.processors.processor import Processor
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, fail, say
from procession.tools.context import ToolContext
from procession.tools.tool import Tool

pytestmark = pytest.mark.anyio

NOTE = {"type": "data-note", "data": 1}
both_ways = pytest.mark.parametrize("way", WAYS)
every_hook = pytest.mark.parametrize("hook", HOOKS)


def lookup() -> Tool[Any]:
    """Return a tool that answers."""
    return Tool(name="lookup", parameters={"type": "object"}, execute=lambda args, ctx: "found")


def script(hook: str) -> FakeModel:
    """Return a model whose turn has *hook* in it; a failed call is made again."""
    turn = [say("Let me ", "see.") + call_tool("lookup"), say("Found.")]
    return FakeModel([fail("overloaded", status=503), *turn] if hook == "process_api_error" else turn)


def writes(hook: str, note: Any = NOTE, **options: Any) -> Processor:
    """Return a processor that writes *note* in its first call of *hook*, of the stream at the second piece of text."""
    wrote: list[bool] = []

    async def write(ctx: Any) -> Any:
        streams = ctx.hook is Hook.OUTPUT_STREAM
        if not wrote and (not streams or getattr(ctx.chunk, "text", "") in ("see.", "Let me see.")):
            wrote.append(True)
            await ctx.writer.custom(note)
        return ctx.chunk if streams else {"retry": True} if ctx.hook is Hook.API_ERROR else None

    return at(hook, write, id="writes", **options)


def agent_with(hook: str, *processors: Any, model: FakeModel | None = None, **settings: Any) -> Agent:
    """Return an agent with *processors* in the list where *hook* belongs."""
    lists: dict[str, Any] = {list_of(hook): list(processors)}
    return Agent("bot", model=model or script(hook), tools=[lookup()], **lists, **settings)


def data_in(messages: Any) -> list[Any]:
    """Return what data parts say, message by message in one list."""
    return [part.data for message in messages for part in message.parts if isinstance(part, DataPart)]


def idle(hook: str) -> Processor:
    """Return a processor that does nothing."""
    return at(hook, lambda ctx: ctx.chunk if ctx.hook is Hook.OUTPUT_STREAM else None, id="idle")


@pytest.mark.parametrize("inside", [False, True], ids=["alone", "nested"])
@both_ways
@every_hook
async def test_data_is_sent_and_kept(hook: str, way: str, inside: bool) -> None:
    """Data of every hook reaches the reader and stands in the answer, also out of a branch that a map picks."""
    processor = writes(hook)
    agent = agent_with(hook, nested("in", [processor, idle(hook)], "writes") if inside else processor)
    seen = await ask(agent, way)
    assert [chunk.data for chunk in seen.chunks.of(DataChunk)] == [1]
    assert seen.result.text == "Let me see.Found."
    kept = [] if hook == "process_api_error" else [1]  # that attempt was taken back
    assert data_in(seen.result.messages) == kept


@both_ways
@every_hook
async def test_transient_data_is_sent_and_not_kept(hook: str, way: str) -> None:
    """Transient data is shown to the reader and stands in no message."""
    seen = await ask(agent_with(hook, writes(hook, {**NOTE, "transient": True})), way)
    assert [chunk.data for chunk in seen.chunks.of(DataChunk)] == [1]
    assert data_in(seen.result.messages) == []


PLACES = {
    "process_input": ("data-note", "start"),
    "process_input_step": ("start", "data-note", "step-start"),
    "process_llm_request": ("start", "data-note", "step-start"),
    "process_output_stream": ("text-delta", "data-note", "text-delta"),
    "process_llm_response": ("tool-call", "data-note", "tool-result"),
    "process_output_step": ("tool-call", "data-note", "tool-result"),
    "process_tool_result": ("tool-call", "data-note", "tool-result"),
    "process_api_error": ("step-start", "data-note", "step-finish"),
    "process_output_result": ("step-finish", "data-note", "finish"),
}


@every_hook
async def test_data_comes_where_it_was_written(hook: str) -> None:
    """Data goes out at once: before the chunk in hand, between what came before the hook and what comes after it."""
    types = (await ask(agent_with(hook, writes(hook)), "stream")).chunks.types
    at_place = types.index("data-note")
    around = PLACES[hook]
    shift = around.index("data-note")
    assert tuple(types[at_place - shift : at_place - shift + len(around)]) == around


async def tell(args: Any, ctx: Any) -> str:
    """Write data as a tool."""
    await ctx.writer.custom(NOTE)
    return "told"


@both_ways
@pytest.mark.parametrize("writer", [*HOOKS, "tool"])
async def test_data_passes_those_that_opted_in_except_its_sender(writer: str, way: str) -> None:
    """Data of any hook or tool passes the processors of the stream with ``process_data_parts``; not its sender (D18)."""
    seen_by: list[str] = []

    def note(self: Any, ctx: Any) -> Any:
        if isinstance(ctx.chunk, DataChunk):
            seen_by.append(self.id)
        return ctx.chunk

    def watcher(id: str, opted_in: bool) -> Processor:
        class Watcher(Processor):
            process_output_stream = note

        made = Watcher(id=id)
        made.process_data_parts = opted_in
        return made

    hook = "process_output_step" if writer == "tool" else writer
    sender = idle(hook) if writer == "tool" else writes(hook)
    if hook != "process_output_stream":
        setattr(sender, "process_output_stream", note.__get__(sender))  # noqa: B010
    sender.process_data_parts = True
    lists: dict[str, Any] = {list_of(hook): [sender]}
    lists["output_processors"] = [
        *lists.get("output_processors", ()), watcher("opted-in", True), watcher("did-not", False)
    ]  # fmt: skip
    tool: Tool[Any] = Tool(name="lookup", parameters={"type": "object"}, execute=tell)
    await ask(Agent("bot", model=script(hook), tools=[tool if writer == "tool" else lookup()], **lists), way)
    assert seen_by == (["idle", "opted-in"] if writer == "tool" else ["opted-in"])


@both_ways
@every_hook
async def test_dropped_data_is_neither_sent_nor_kept(hook: str, way: str) -> None:
    """A processor that drops a data chunk keeps it from the reader and out of the answer."""

    def drop(ctx: Any) -> Any:
        return None if isinstance(ctx.chunk, DataChunk) else ctx.chunk

    dropper = at("process_output_stream", drop, process_data_parts=True)
    lists: dict[str, Any] = {list_of(hook): [writes(hook)]}
    lists["output_processors"] = [*lists.get("output_processors", []), dropper]
    agent = Agent("bot", model=script(hook), tools=[lookup()], **lists)
    seen = await ask(agent, way)
    assert seen.chunks.of(DataChunk) == []
    assert data_in(seen.result.messages) == []


@both_ways
async def test_data_made_something_else_is_sent_and_not_kept(way: str) -> None:
    """What a processor makes of a data chunk is sent as it is; only data is kept, and text of it is no answer."""

    def speak(ctx: Any) -> Any:
        return TextDelta("(note)") if isinstance(ctx.chunk, DataChunk) else ctx.chunk

    agent = Agent(
        "bot", model=FakeModel("Yes."),
        output_processors=[
            writes("process_output_step"), at("process_output_stream", speak, process_data_parts=True)],
    )  # fmt: skip
    seen = await ask(agent, way)
    assert "(note)" in seen.chunks.text
    assert seen.result.text == "Yes."
    assert data_in(seen.result.messages) == []


# -- which message


@both_ways
@pytest.mark.parametrize("inside", [False, True], ids=["alone", "nested"])
async def test_data_may_go_to_a_message_by_its_id(way: str, inside: bool) -> None:
    """With ``message_id`` the part stands at the end of that message, which keeps its place and source."""
    seen: list[Any] = []

    async def write(ctx: Any) -> None:
        await ctx.writer.custom(NOTE, message_id="asked")

    writer = at("process_output_step", write, id="writes")
    agent = Agent(
        "bot", model=FakeModel("Yes."),
        output_processors=[
            nested("in", [writer, idle("process_output_step")], "writes") if inside else writer,
            at("process_output_result", lambda ctx: look_at_all(ctx, seen), id="look"),
        ],
    )  # fmt: skip
    result = (await ask(agent, way, Message("user", (TextPart("Hi"),), id="asked"))).result
    assert seen == [[("asked", [1]), (result.messages[0].id, [])]]
    assert (len(result.messages), data_in(result.messages)) == (1, [])


def look_at_all(ctx: Any, seen: list[Any]) -> None:
    """Note the data in every message."""
    seen.append([(message.id, data_in([message])) for message in ctx.message_list.view()])


@both_ways
async def test_the_id_of_the_coming_answer(way: str) -> None:
    """The id that ``process_input_step`` is given is that of the answer, before there is one."""

    async def write(ctx: Any) -> None:
        await ctx.writer.custom(NOTE, message_id=ctx.message_id)

    agent = Agent("bot", model=FakeModel("Yes."), input_processors=[at("process_input_step", write)])
    result = (await ask(agent, way)).result
    assert [type(part) for part in result.messages[0].parts] == [DataPart, TextPart]


@both_ways
async def test_data_for_no_message_is_refused(way: str) -> None:
    """An id that no message has is an error that names it, and nothing is sent."""

    async def write(ctx: Any) -> None:
        await ctx.writer.custom(NOTE, message_id="nobody")

    seen = await ask(Agent("bot", model=FakeModel("Yes."), output_processors=[at("process_output_step", write)]), way)
    assert isinstance(seen.error, ProcessorError)
    assert "there is no message 'nobody'" in str(seen.error)
    assert seen.chunks.of(DataChunk) == []


# -- what comes of it


@both_ways
@pytest.mark.parametrize("mode", ["before", "concurrent"])
async def test_a_processor_that_only_checks_may_write(way: str, mode: str) -> None:
    """To write data changes no message that a hook was given: a processor that only checks may do it."""
    agent = agent_with("process_input", writes("process_input", check_only=True), guard_mode=mode)
    seen = await ask(agent, way)
    assert [chunk.data for chunk in seen.chunks.of(DataChunk)] == [1]
    assert data_in(seen.result.messages) == [1]


@both_ways
@pytest.mark.parametrize("hook", [hook for hook in HOOKS if hook not in ("process_input", "process_output_result")])
async def test_data_of_a_rejected_attempt_is_not_kept(hook: str, way: str) -> None:
    """What was written in an attempt that is sent back goes with it."""

    async def write(ctx: Any) -> Any:
        if ctx.retry_count == 0 and ctx.step_number == 0 and getattr(ctx, "chunk", TextDelta("x")).type == "text-delta":
            await ctx.writer.custom(NOTE)
            if ctx.hook is Hook.API_ERROR:
                return {"retry": True}
            ctx.abort("again", retry=True)
        return ctx.chunk if ctx.hook is Hook.OUTPUT_STREAM else None

    turn = [say("one") + call_tool("lookup"), say("two")]
    before = [fail("overloaded", status=503)] if hook == "process_api_error" else turn[:1]
    model = FakeModel([*before, *turn] if hook not in ("process_input_step", "process_llm_request") else turn)
    seen = await ask(agent_with(hook, at(hook, write), model=model, max_processor_retries=1), way)
    assert seen.result.text == "onetwo"
    assert seen.chunks.of(DataChunk)
    assert data_in(seen.result.messages) == []


@both_ways
async def test_a_tool_writes_to_a_message_by_its_id(way: str) -> None:
    """A tool's data may go to a message that it names; without one it stands in the answer; transient data in none."""

    async def execute(args: Any, ctx: Any) -> str:
        await ctx.writer.custom({**NOTE, "data": "there"}, message_id="asked")
        await ctx.writer.custom({**NOTE, "data": "gone", "transient": True}, message_id="asked")
        await ctx.writer.custom({**NOTE, "data": "here"})
        return "told"

    tool: Tool[Any] = Tool(name="lookup", parameters={"type": "object"}, execute=execute)
    kept: list[Any] = []
    reader = at("process_output_result", lambda ctx: kept.append(data_in(ctx.message_list.view("input"))))
    agent = Agent("bot", model=FakeModel([call_tool("lookup"), "Found."]), tools=[tool], output_processors=[reader])
    seen = await ask(agent, way, [Message(id="asked", role="user", parts=(TextPart("Where?"),))])
    assert [chunk.data for chunk in seen.chunks.of(DataChunk)] == ["there", "gone", "here"]
    assert kept == [["there"]]
    assert data_in(seen.result.messages) == ["here"]


@both_ways
async def test_a_tool_that_names_no_message_is_told(way: str) -> None:
    """A message that the run does not have is an error of the tool, and nothing is sent."""

    async def execute(args: Any, ctx: Any) -> str:
        await ctx.writer.custom(NOTE, message_id="elsewhere")
        return "told"

    tool: Tool[Any] = Tool(name="lookup", parameters={"type": "object"}, execute=execute)
    agent = Agent("bot", model=FakeModel([call_tool("lookup"), "Found."]), tools=[tool])
    seen = await ask(agent, way)
    assert "there is no message 'elsewhere'" in str(seen.result.tool_results[0])
    assert seen.chunks.of(DataChunk) == []


async def test_a_tool_run_by_hand_has_no_messages_to_write_to() -> None:
    """Where no agent runs the tool, data for a message goes to whoever listens."""
    sent: list[Any] = []
    await ToolContext(emit=sent.append).writer.custom(NOTE, message_id="asked")
    assert [chunk.data for chunk in sent] == [1]
