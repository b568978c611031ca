"""Structured output together with what else may happen to a run: guards beside it, aborts, retries, questions, sub-agents."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.agents.kit import COST, WAYS, ask, at, counted_tool, text_only
from tests.agents.structured_kit import DATA, JSON, Codenames, Person, partials, types
from tests.agents.suspending import asking, doing, go_on, told

from procession.agents.agent import Agent
from procession.errors import InputError, StructuredOutputError
from procession.messages.chunks import Chunk, ObjectDelta, ObjectResult, TextDelta
from procession.models.model import ModelRequest
from procession.models.structured_output import StructuredOutput
from procession.processors.processor import Processor
from procession.runtime.runtime import Runtime
from procession.steps.abort import AbortSignal
from procession.storage.sqlite.journal import SQLiteJournal
from procession.testing.fake_model import FakeModel, Reply
from procession.testing.script import call_tool, fail, say

pytestmark = pytest.mark.anyio
both_ways = pytest.mark.parametrize("way", WAYS)
PIECES = ['{"name": "Bo', 'b", "ci', 'ty": "Paris"}']
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


# -- guards beside the model call


class Slow(Processor):
    """An input guard that takes until the model has answered, and may block then."""

    id = "slow"
    check_only = True

    def __init__(self, answered: anyio.Event, *, blocks: bool = False) -> None:
        super().__init__()
        self.answered = answered
        self.blocks = blocks

    async def process_input(self, ctx: Any) -> None:
        """Wait for the model, and look."""
        await self.answered.wait()
        if self.blocks:
            ctx.abort("not this")


class Telling(FakeModel):
    """A model that says when its answer has been read."""

    def __init__(self, reply: Reply, answered: anyio.Event) -> None:
        super().__init__([reply])
        self.answered = answered

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """Answer, and say so."""
        async for chunk in super().stream(request):
            yield chunk
        self.answered.set()


@both_ways
@pytest.mark.parametrize("blocks", [False, True])
@pytest.mark.parametrize("by_step", [False, True])
async def test_guards_beside_the_model(way: str, blocks: bool, by_step: bool) -> None:
    """Partial values wait for the guards like the text; where one blocks nobody hears of any value."""
    answered = anyio.Event()
    model = Telling(Reply(PIECES), answered)
    step = at("process_input_step", lambda ctx: {"structured_output": Person})
    agent = Agent(
        "a",
        model=model,
        input_processors=[Slow(answered, blocks=blocks), *([step] if by_step else [])],
        guard_mode="concurrent",
    )
    assert agent.guards_beside
    seen = await ask(agent, way, **({} if by_step else {"structured_output": Person}))
    if blocks:
        assert seen.result.status == "blocked" and seen.result.object is None
        assert not {"object", "object-result", "text-delta"} & set(types(seen))
        return
    assert seen.result.object == Person(**DATA)
    assert partials(seen)[-1] == DATA
    assert types(seen)[-2:] == ["object-result", "finish"]
    texts = [at for at, chunk in enumerate(seen.chunks) if isinstance(chunk, TextDelta)]
    values = [at for at, chunk in enumerate(seen.chunks) if isinstance(chunk, ObjectDelta)]
    assert all(value + 1 in texts or value > texts[-1] for value in values)  # each before the text that brought it


@both_ways
async def test_guards_beside_the_model_and_escapes(way: str) -> None:
    """What escapes would hide is hidden also where guards of the input run beside the call."""
    answered = anyio.Event()
    model = Telling(Reply(['{"name": "', *"\\u0048eron", '\\n", "city": "Paris"}']), answered)
    agent = Agent(
        "a",
        model=model,
        input_processors=[Slow(answered)],
        output_processors=[Codenames(strategy="redact")],
        guard_mode="concurrent",
    )
    seen = await ask(agent, way, structured_output=Person)
    assert seen.result.object.name == "[CODENAME]\n"
    assert "Heron" not in repr(seen.chunks) and json.loads(seen.result.text)["name"] == "[CODENAME]\n"


# -- aborts


async def test_an_aborted_answer_has_no_value() -> None:
    """What was streamed before the abort is no value: none in the result, no error, no chunk that says so."""
    signal = AbortSignal()

    def stop(chunk: Chunk) -> None:
        if isinstance(chunk, ObjectDelta) and chunk.object.get("name") == "Bob":
            signal.abort("enough")

    agent = Agent("a", model=FakeModel(Reply(PIECES)))
    chunks: list[Chunk] = []
    async with agent.stream("Hi", structured_output=Person, abort_signal=signal, on_chunk=stop) as stream:
        chunks += [chunk async for chunk in stream]
        result = await stream.result()
    assert (result.status, result.object, result.error) == ("aborted", None, None)
    assert [chunk.type for chunk in chunks][-2:] == ["abort", "finish"]
    assert not any(isinstance(chunk, ObjectResult) for chunk in chunks)
    assert '{"name": "Bob'.startswith(result.text) or result.text.startswith('{"name": "Bo')


@both_ways
@pytest.mark.parametrize("strategy", ["strict", "warn", "fallback"])
async def test_an_abort_while_the_second_model_works(way: str, strategy: Any) -> None:
    """The text that was accepted stays, there is no value and no fallback, and the second model is not waited for."""
    signal = AbortSignal()

    async def hang(request: ModelRequest) -> str:
        signal.abort("enough")
        await anyio.sleep_forever()
        return ""

    fallback: dict[str, Any] = {"fallback_value": DATA} if strategy == "fallback" else {}
    wanted = StructuredOutput(Person, model=FakeModel([hang]), error_strategy=strategy, **fallback)
    agent = Agent("a", model=FakeModel("Bob lives in Paris."))
    seen = await ask(agent, way, structured_output=wanted, abort_signal=signal)
    assert (seen.result.status, seen.result.text) == ("aborted", "Bob lives in Paris.")
    assert (seen.result.object, seen.result.used_fallback, seen.result.steps[-1].object) == (None, False, None)
    assert types(seen)[-2:] == ["abort", "finish"]


# -- attempts


@both_ways
async def test_an_attempt_that_was_sent_back_by_the_stream(way: str) -> None:
    """A value that was growing is dropped with its attempt; the next one begins anew."""
    said: list[str] = []

    def once(ctx: Any) -> Any:
        said.append(ctx.chunk.text)
        if "Eve" in ctx.chunk.text:
            ctx.abort("not her", retry=True)
        return ctx.chunk

    bad = Reply(['{"name": "', 'Eve", "city": "Rome"}'])
    agent = Agent(
        "a",
        model=FakeModel([bad, Reply(PIECES)]),
        output_processors=[at("process_output_stream", text_only(once))],
        max_processor_retries=1,
    )
    seen = await ask(agent, way, structured_output=Person)
    assert (seen.result.object, seen.result.text) == (Person(**DATA), JSON)
    assert [step.object for step in seen.result.rejected] == [None]
    assert "Eve" not in repr(partials(seen))
    assert types(seen).count("object-result") == 1


@both_ways
@pytest.mark.parametrize("spare", [False, True])
async def test_a_model_that_fails_in_the_middle(way: str, spare: bool) -> None:
    """After a failure in the middle of the value it is asked for again, of the same model or the next; none is mixed."""
    broken = Reply(['{"name": "Eve"'], stream_error=fail("cut", status=503))
    models = [FakeModel([broken]), FakeModel([Reply(PIECES)])] if spare else [FakeModel([broken, Reply(PIECES)])]
    again = [] if spare else [at("process_api_error", lambda ctx: {"retry": True})]
    agent = Agent("a", model=models, error_processors=again)
    seen = await ask(agent, way, structured_output=Person)
    assert (seen.result.object, seen.result.text) == (Person(**DATA), JSON)
    assert models[-1].requests[-1].response_format is not None
    assert partials(seen)[-1] == DATA


@both_ways
async def test_an_answer_that_does_not_fit_may_be_sent_back(way: str) -> None:
    """A processor that checks the text has the model asked again: the value is that of the accepted attempt."""

    def check(ctx: Any) -> None:
        if "city" not in ctx.text:
            ctx.abort("city is missing", retry=True)

    model = FakeModel(['{"name": "Eve"}', JSON])
    agent = Agent(
        "a",
        model=model,
        output_processors=[at("process_output_step", check)],
        max_processor_retries=1,
    )
    seen = await ask(agent, way, structured_output=Person)
    assert seen.result.object == Person(**DATA)
    assert "city is missing" in model.requests[1].messages[0].text


# -- questions


@both_ways
@pytest.mark.parametrize("wanted", [Person, SCHEMA])
async def test_a_resumed_run_in_another_process_has_a_value(way: str, wanted: Any, tmp_path: Path) -> None:
    """A schema is kept with the run, a type is given again; partial values come as ever, of the last step alone."""
    asks = [say('{"name": "Eve"') + call_tool("confirm", {}, id="c1")]

    def made(journal: SQLiteJournal, *script: Any) -> Agent:
        return Agent("a", model=FakeModel(script), tools=[doing("confirm", [], asking("?"))], runtime=Runtime(journal))

    async with SQLiteJournal(tmp_path / "runs.db") as journal:
        first = (await ask(made(journal, *asks), way, structured_output=wanted)).result
        assert (first.status, first.object) == ("suspended", None)
    async with SQLiteJournal(tmp_path / "runs.db") as journal:
        agent = made(journal, Reply(PIECES))
        again = {} if wanted is SCHEMA else {"structured_output": wanted}
        if again:
            with pytest.raises(InputError, match="begun with structured_output="):
                await agent.resume(first.run_id, {"c1": 1})
        seen = await go_on(agent, way, first.run_id, {"c1": 1}, **again)
    assert seen.result.object == (DATA if wanted is SCHEMA else Person(**DATA))
    assert seen.result.messages[-1].metadata == {"structuredOutput": DATA}
    assert partials(seen)[-1] == DATA
    assert "Eve" not in repr(partials(seen))


@both_ways
async def test_a_suspended_run_asks_no_second_model(way: str) -> None:
    """The second model is asked once, at the end of the resumed run, about the text of all its steps."""
    second = FakeModel([JSON])
    wanted = StructuredOutput(Person, model=second)
    model = FakeModel([say("Bob. ") + call_tool("confirm", {}, id="c1"), "He lives in Paris."])
    agent = Agent("a", model=model, tools=[doing("confirm", [], asking("?"))], structured_output=wanted)
    first = (await ask(agent, way)).result
    assert second.requests == []
    seen = await go_on(agent, way, first.run_id, {"c1": 1})
    assert seen.result.object == Person(**DATA)
    assert "Bob. He lives in Paris." in second.requests[0].messages[-1].text
    assert seen.result.usage.total_tokens == 3 * COST


# -- sub-agents


@both_ways
async def test_a_sub_agent_with_a_value_of_its_own(way: str) -> None:
    """Its text is the tool's result, its values are its own: the outer value is made of the outer answer alone."""
    inner_json = '{"name": "Eve", "city": "Rome"}'
    child = Agent("child", model=FakeModel(inner_json), structured_output=Person)
    outer = FakeModel([call_tool("agent-child", {"prompt": "Who?"}), JSON])
    agent = Agent("parent", model=outer, tools=[child])
    seen = await ask(agent, way, structured_output=Person)
    assert seen.result.object == Person(**DATA)
    assert told(outer.requests[1]) == [inner_json]
    assert all(value.get("name", "") in "Bob" for value in partials(seen))
    assert types(seen).count("object-result") == 1


@both_ways
async def test_a_sub_agent_whose_answer_does_not_fit(way: str) -> None:
    """It is a tool error that names the error and not the answer; the outer run goes on to its own value."""
    child = Agent("child", model=FakeModel("private words"), structured_output=Person)
    outer = FakeModel([call_tool("agent-child", {"prompt": "Who?"}), JSON])
    seen = await ask(Agent("parent", model=outer, tools=[child]), way, structured_output=Person)
    assert seen.result.object == Person(**DATA)
    [error] = told(outer.requests[1])
    assert StructuredOutputError.__name__ in error and "private" not in error


@both_ways
async def test_a_sub_agent_whose_guards_hid_an_escape(way: str) -> None:
    """What the tool gives back is the text as the sub-agent's guards left its value."""
    child = Agent(
        "child",
        model=FakeModel('{"name": "\\nHeron", "city": "Rome"}'),
        structured_output=Person,
        output_processors=[Codenames(strategy="redact")],
    )
    outer = FakeModel([call_tool("agent-child", {"prompt": "Who?"}), "Done."])
    await ask(Agent("parent", model=outer, tools=[child]), way)
    assert [json.loads(text) for text in told(outer.requests[1])] == [{"name": "\n[CODENAME]", "city": "Rome"}]


async def test_tools_of_a_structured_run_keep_their_results() -> None:
    """Backslashes in what tools return are theirs: only the answer's text is read as JSON."""
    tool, _ = counted_tool(answer="C:\\users\\u0048")
    model = FakeModel([call_tool("lookup"), JSON])
    agent = Agent("a", model=model, tools=[tool], output_processors=[Codenames(strategy="redact")])
    result = await agent.generate("Hi", structured_output=Person)
    assert result.tool_results[0].result == "C:\\users\\u0048"  # type: ignore[union-attr]
    assert result.object == Person(**DATA)
