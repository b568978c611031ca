"""Chunks of a run on their way through the output processors: what the reader, the result and the messages get."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.agents.kit import WAYS, ask, at, counted_tool, text_only

from procession.agents.agent import Agent
from procession.messages.chunks import (
    Chunk,
    DataChunk,
    Finish,
    ResponseMetadata,
    StepFinish,
    StepStart,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
)
from procession.messages.text.patterns import Rule
from procession.models.model import ModelRequest
from procession.processors.text_guard import TextGuard
from procession.testing.fake_model import FakeModel, Reply
from procession.testing.script import call_tool, say
from procession.workflows.nodes import Pick
from procession.workflows.workflow import create_workflow

both_ways = pytest.mark.parametrize("way", WAYS)


class Secrets(TextGuard):
    """A guard of one word."""

    id = "secrets"
    rules = (Rule("secret", "secret"),)


class Told:
    """A model that says the chunks it was given, and no others."""

    id = "told"

    def __init__(self, *answers: list[Chunk]) -> None:
        self.answers = list(answers)

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """Say the next answer."""
        for chunk in self.answers.pop(0):
            yield chunk


def change(old: str, new: str, id: str) -> Any:
    """Return a processor that replaces text in single chunks."""

    def act(ctx: Any) -> Any:
        return TextDelta(ctx.chunk.text.replace(old, new), ctx.chunk.id)

    return at("process_output_stream", text_only(act), id=id)


@both_ways
async def test_what_comes_out_is_what_counts(way: str) -> None:
    """Reader, result, messages and the next prompt get the text as the processors left it."""
    tool, _ = counted_tool()
    model = FakeModel([say("a secret ", "plan. ") + call_tool("lookup"), "Done."])
    agent = Agent("parrot", model=model, tools=[tool], output_processors=[change("secret", "***", "a")])
    seen = await ask(agent, way)
    assert seen.chunks.text == seen.result.text == "a *** plan. Done."
    assert [chunk.text for chunk in seen.chunks.of(StepFinish)] == ["a *** plan. ", "Done."]
    assert "secret" not in str([seen.result.messages, model.requests[1].messages])


@both_ways
async def test_a_match_across_chunks_is_hidden(way: str) -> None:
    """A text guard hides what stands across chunks, and lets the held text go before a tool is called."""
    tool, _ = counted_tool()
    model = FakeModel([say("the sec", "ret", " plan, s") + call_tool("lookup"), "no sec"])
    agent = Agent("parrot", model=model, tools=[tool], output_processors=[Secrets(strategy="redact")])
    seen = await ask(agent, way)
    assert seen.chunks.text == seen.result.text == "the [SECRET] plan, sno sec"
    assert [step.text for step in seen.result.steps] == ["the [SECRET] plan, s", "no sec"]
    types = seen.chunks.types
    assert "text-delta" not in types[types.index("tool-call") : types.index("step-finish")]
    assert [outcome.outcome for outcome in seen.result.violations] == ["modified"]


@both_ways
async def test_nothing_of_a_blocked_match_comes_out(way: str) -> None:
    """With ``block`` the reader has what stood before the match, and nothing of it."""
    agent = Agent("parrot", model=FakeModel(say("the ", "se", "cret", " is out")), output_processors=[Secrets()])
    seen = await ask(agent, way)
    assert "the ".startswith(seen.chunks.text)
    assert (seen.tripwire.processor_id, seen.result.text, seen.chunks.types[-1]) == ("secrets", "", "tripwire")


@both_ways
async def test_held_text_goes_with_its_attempt(way: str) -> None:
    """Text that was held when an attempt was sent back does not come out with the next one."""

    def once(ctx: Any) -> Any:
        if ctx.retry_count == 0 and ctx.chunk.text == "bad":
            ctx.abort("again", retry=True)
        return ctx.chunk

    guards = [at("process_output_stream", text_only(once), id="once"), Secrets(strategy="redact")]
    model = FakeModel([Reply(["a sec", "bad"]) if way == "stream" else Reply(["bad"]), "fine"])
    agent = Agent("parrot", model=model, output_processors=guards, max_processor_retries=1)
    seen = await ask(agent, way)
    after = seen.chunks[[chunk.type for chunk in seen.chunks].index("step-finish") + 1 :]
    assert "".join(chunk.text for chunk in after if isinstance(chunk, TextDelta)) == seen.result.text == "fine"


@both_ways
async def test_structure_cannot_be_dropped(way: str) -> None:
    """A processor that drops everything leaves the borders, and the run ends as the model ended it."""
    agent = Agent(
        "parrot", model=FakeModel("secret"), output_processors=[at("process_output_stream", lambda ctx: None)]
    )
    seen = await ask(agent, way)
    assert seen.chunks.types == ["start", "step-start", "step-finish", "finish"]
    assert (seen.result.status, seen.result.finish_reason, seen.result.text) == ("completed", "stop", "")
    assert seen.result.messages == () or seen.result.messages[0].text == ""


@both_ways
async def test_processors_see_the_borders(way: str) -> None:
    """Processors see where steps begin and end, tool calls and results, and the end of the model's stream."""
    seen: list[str] = []

    def note(ctx: Any) -> Any:
        seen.append(ctx.chunk.type)
        return ctx.chunk

    tool, _ = counted_tool()
    model = FakeModel([say("a") + call_tool("lookup"), "b"])
    await ask(Agent("parrot", model=model, tools=[tool], output_processors=[at("process_output_stream", note)]), way)
    for border, count in (("step-start", 2), ("step-finish", 2), ("tool-call", 1), ("tool-result", 1), ("finish", 1)):
        assert seen.count(border) == count, border


@both_ways
async def test_the_chunks_of_a_run_are_kept_for_those_who_ask(way: str) -> None:
    """``ctx.stream_parts`` grows over the steps of a run."""
    counts: list[int] = []

    def note(ctx: Any) -> Any:
        if isinstance(ctx.chunk, (StepStart, Finish)):
            counts.append(len(ctx.stream_parts))
        return ctx.chunk

    tool, _ = counted_tool()
    agent = Agent(
        "parrot", model=FakeModel([call_tool("lookup"), "b"]), tools=[tool],
        output_processors=[at("process_output_stream", note, uses_stream_parts=True)],
    )  # fmt: skip
    await ask(agent, way)
    assert counts == sorted(counts)
    assert counts[0] == 1
    assert counts[-1] > 5


@both_ways
@pytest.mark.parametrize("chosen", ["a", "b"])
async def test_a_map_picks_in_the_stream(way: str, chosen: str) -> None:
    """In a workflow of output processors the branch that a map picks is what the reader gets."""
    branches = [change("x", "one", "a"), change("x", "two", "b")]
    workflow = create_workflow("w", kind="processor").parallel(branches).map(Pick(f"processor:{chosen}")).commit()
    seen = await ask(Agent("parrot", model=FakeModel("x"), output_processors=[workflow]), way)
    assert seen.chunks.text == seen.result.text == {"a": "one", "b": "two"}[chosen]


@both_ways
async def test_guards_side_by_side_in_the_stream(way: str) -> None:
    """Guards in branches hide what each finds, and a verdict of one is the run's."""

    class Plans(Secrets):
        id = "plans"
        rules = (Rule("plan", "plan"),)

    def agent(strategy: str) -> Agent:
        guards = [Secrets(strategy="redact"), Plans(strategy=strategy)]
        workflow = create_workflow("w", kind="processor").parallel(guards).commit()
        return Agent("parrot", model=FakeModel(say("a sec", "ret pl", "an")), output_processors=[workflow])

    assert (await ask(agent("redact"), way)).result.text == "a [SECRET] [PLAN]"
    seen = await ask(agent("block"), way)
    assert seen.tripwire.processor_id == "plans"
    assert "plan" not in seen.chunks.text


@both_ways
async def test_data_of_a_processor_passes_the_others(way: str) -> None:
    """What a processor writes in a hook passes the processors that opted in, may be changed by them, and is kept."""

    async def write(ctx: Any) -> None:
        await ctx.writer.custom({"type": "data-score", "data": 1})

    def double(ctx: Any) -> Any:
        return DataChunk("data-score", ctx.chunk.data * 2) if isinstance(ctx.chunk, DataChunk) else ctx.chunk

    agent = Agent(
        "parrot", model=FakeModel("x"),
        output_processors=[
            at("process_output_step", write, id="a", process_data_parts=True),
            at("process_output_stream", double, id="b", process_data_parts=True),
        ],
    )  # fmt: skip
    seen = await ask(agent, way)
    assert [chunk.data for chunk in seen.chunks.of(DataChunk)] == [2]
    assert [part.type for part in seen.result.messages[0].parts] == ["text", "data-score"]


@both_ways
async def test_a_tool_call_may_be_changed(way: str) -> None:
    """A tool is called as the stream's processors left the call."""

    def redirect(ctx: Any) -> Any:
        return ctx.chunk.replace(args={"q": "safe"}) if isinstance(ctx.chunk, ToolCall) else ctx.chunk

    tool, calls = counted_tool()
    model = FakeModel([call_tool("lookup", {"q": "secret"}), "done"])
    await ask(
        Agent("parrot", model=model, tools=[tool], output_processors=[at("process_output_stream", redirect)]), way
    )
    assert calls == [{"q": "safe"}]


@both_ways
@pytest.mark.parametrize("alone", [False, True])
async def test_what_a_provider_says_of_its_response_reaches_no_reader(way: str, alone: bool) -> None:
    """Metadata behind a call in an open block hold the request: processors see them, readers and ``on_chunk`` do not."""
    told: list[str] = []

    def act(ctx: Any) -> Any:
        told.append(ctx.chunk.type)
        return None if alone and ctx.chunk.type in ("text-end", "tool-call") else ctx.chunk

    private = ResponseMetadata("i", request={"messages": "THE SYSTEM PROMPT"}, raw_response={"headers": {"x": "key"}})
    answer = [TextStart("t"), TextDelta("Hello", "t"), ToolCall("c1", "lookup", {}), private, TextEnd("t")]
    model = Told([*answer, Finish("tool-calls")], [TextDelta("Done."), Finish("stop")])
    watch = at("process_output_stream", act)
    agent = Agent("a", model=model, tools=[counted_tool()[0]], output_processors=[Secrets(strategy="redact"), watch])
    seen = await ask(agent, way)
    assert "response-metadata" in told
    assert [chunk for chunk in seen.chunks if isinstance(chunk, ResponseMetadata)] == []
    assert "THE SYSTEM PROMPT" not in repr(list(seen.chunks))
    assert seen.result.text.startswith("Hello")
