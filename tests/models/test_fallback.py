"""Several models as one: the next is asked where one fails before it has said anything."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import Any

import anyio
import pytest
from pydantic import BaseModel
from tests.agents.kit import COST, WAYS, ask, at
from tests.models.wire import DONE, WireAnswer, delta, event, serving

from procession.agents.agent import Agent
from procession.errors import DefinitionError, InputError, ModelError, ProcessorError
from procession.messages.chunks import (
    Chunk,
    Finish,
    ReasoningStart,
    ResponseMetadata,
    TextDelta,
    TextStart,
    ToolCall,
    ToolInputStart,
)
from procession.messages.parts import TextPart
from procession.messages.prompt import PromptMessage
from procession.messages.usage import Usage
from procession.models.ask import ask as ask_model
from procession.models.fallback import FallbackModel
from procession.models.model import ModelRequest
from procession.models.openai_chat import OpenAIChatModel
from procession.testing.fake_model import FakeModel
from procession.testing.recorder import Recording, record
from procession.testing.script import fail

both_ways = pytest.mark.parametrize("way", WAYS)
REQUEST = ModelRequest(messages=(PromptMessage("user", (TextPart("Hi"),)),))
METADATA = ResponseMetadata("r1", "m-large", warnings=({"type": "other", "message": "own"},))


class Says:
    """A model that says what a test wrote down: chunks, and exceptions that it raises."""

    def __init__(self, *said: Chunk | BaseException, id: str = "says") -> None:
        self.id = id
        self.said = said
        self.asked = 0
        self.closed = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """Say it."""
        self.asked += 1
        try:
            for each in self.said:
                if isinstance(each, BaseException):
                    raise each
                yield each
        finally:
            self.closed += 1


def spare(text: str = "Hello.") -> FakeModel:
    """Return a model that is well."""
    return FakeModel(text, id="spare", repeat_last=True)


async def heard(*models: Any, **options: Any) -> Recording[Chunk]:
    """Ask *models* as one."""
    return await record(FallbackModel(models, **options).stream(REQUEST))


def metadata_of(chunks: Sequence[Chunk]) -> ResponseMetadata:
    """Return what was said of the response: once, and first."""
    (metadata,) = [chunk for chunk in chunks if isinstance(chunk, ResponseMetadata)]
    assert chunks[0] is metadata
    return metadata


async def test_the_first_answers_where_it_can() -> None:
    """Its chunks come out as they are, but that it is said who answers, and nobody else is asked."""
    first, second = Says(METADATA, TextStart(), TextDelta("Hi."), Finish("stop", Usage(3, 1))), spare()
    assert list(await heard(first, second)) == [METADATA.replace(asked=((first.id, Usage()),)), *first.said[1:]]
    assert (first.closed, second.requests) == (1, [])


@pytest.mark.parametrize(
    "said",
    [
        (),
        (METADATA,),
        (METADATA, TextStart()),
        (METADATA, ReasoningStart()),
    ],
)
@pytest.mark.parametrize("kind", ["rejected", "rate_limited", "unavailable", "stream", "timeout", "other"])
async def test_the_next_answers_where_nothing_was_said(said: tuple[Chunk, ...], kind: Any) -> None:
    """After any failure of a model, a refused request too; what the failed one had begun with never comes out."""
    first = Says(*said, ModelError("a down", kind=kind, status_code=400), id="a")
    chunks = await heard(first, spare())
    metadata = metadata_of(chunks)
    assert (chunks.text, metadata.model_id, metadata.id) == ("Hello.", "spare", "spare-1")
    assert metadata.warnings == ({"type": "other", "message": f"a failed ({kind}, status 400): spare answers instead"},)
    assert chunks.types == ["response-metadata", "text-start", "text-delta", "text-end", "finish"]
    assert first.closed == 1


@pytest.mark.parametrize("said", [TextDelta("He"), ToolInputStart("c", "lookup"), ToolCall("c", "lookup", {})])
async def test_once_something_was_said_the_error_comes_out(said: Chunk) -> None:
    """A reader cannot take back what it was told: the others are not asked, and the error has those before it."""
    down, broken, other = ModelError("a down"), ModelError("b broke", kind="stream"), spare()
    chunks: list[Chunk] = []
    with pytest.raises(ModelError) as caught:
        async for chunk in FallbackModel([Says(down), Says(METADATA, said, broken), other]).stream(REQUEST):
            chunks.append(chunk)
    assert (caught.value, broken.earlier, other.requests) == (broken, (down,), [])
    assert chunks[-1] == said


async def test_all_fail() -> None:
    """The last one's error is raised, with those of the others, also those of a fallback inside."""
    a, b, c, d = (ModelError(name) for name in "abcd")
    inner = FallbackModel([Says(b), Says(c)])
    for models in ([Says(a), inner, Says(d)], [Says(a), Says(b), FallbackModel([Says(c), Says(d)])]):
        with pytest.raises(ModelError) as caught:
            await heard(*models)
        assert (caught.value, caught.value.earlier) == (d, (a, b, c))


@pytest.mark.parametrize("reason", ["error", "other"])
async def test_an_answer_of_nothing_is_a_failure(reason: str) -> None:
    """As agents see it; its tokens were spent, and are counted with the answer's."""
    first = Says(METADATA, Finish(reason, Usage(100, 1)), id="a")
    chunks = await heard(first, FallbackModel([Says(Finish(reason, Usage(20, 2)), id="b"), spare()]))
    assert (chunks.text, [chunk.usage for chunk in chunks if isinstance(chunk, Finish)]) == ("Hello.", [Usage(130, 8)])
    assert metadata_of(chunks).asked == (("a", Usage(100, 1)), ("b", Usage(20, 2)), ("spare", Usage()))
    with pytest.raises(ModelError, match=f"ended with the reason '{reason}' and no answer"):
        await heard(first)
    assert (await heard(Says(), spare())).text == "Hello."


async def test_an_empty_answer_is_an_answer() -> None:
    """A model that has nothing to say, and says that it stopped, is not asked to be replaced."""
    other = spare()
    assert (await heard(Says(Finish("stop")), other)).types == ["response-metadata", "finish"]
    assert other.requests == []


@pytest.mark.parametrize("failure", [ValueError("odd"), OSError()])
async def test_what_a_client_raises_otherwise_is_a_failure_too(failure: Exception) -> None:
    """As for an agent's list: a model may break before it streams and while it does, in words of its own."""

    class Plain:
        id = "plain"

        def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
            raise failure

    for broken in (Plain(), Says(failure, id="plain")):
        assert (await heard(broken, spare())).text == "Hello."
        with pytest.raises(ModelError, match=f"plain failed: {str(failure) or 'OSError'}") as caught:
            await heard(broken)
        assert caught.value.__cause__ is failure


def ours() -> list[Exception]:
    """Return failures that are the caller's to mend."""
    wrapped = ModelError("cannot be sent")
    wrapped.__cause__ = InputError("a file of type 'x/y'")
    return [InputError("there is no key"), wrapped, ProcessorError("guard", processor_id="g", hook="process_input")]


@pytest.mark.parametrize("number", range(3))
async def test_our_own_errors_ask_nobody_else(number: int) -> None:
    """A missing key, a file that cannot be sent, a processor inside: another model would only hide them."""
    error, other = ours()[number], spare()
    with pytest.raises(type(error)) as caught:
        await heard(Says(error), other)
    assert (caught.value, other.requests) == (error, [])


def is_late(error: ModelError) -> bool:
    """Whether a model took too long."""
    return error.kind == "timeout"


@pytest.mark.parametrize("on", [("unavailable", "timeout"), {"timeout"}, is_late])
async def test_on_says_after_which_failures(on: Any) -> None:
    """Kinds, or a function of the error; every other failure comes out at once."""
    assert (await heard(Says(ModelError("late", kind="timeout")), spare(), on=on)).text == "Hello."
    other = spare()
    with pytest.raises(ModelError, match="refused"):
        await heard(Says(ModelError("refused", kind="rejected")), other, on=on)
    assert other.requests == []


async def test_cancellation_asks_nobody_else() -> None:
    """Neither a caller that was cancelled while it waited nor one that leaves the stream is answered by another."""
    asked = anyio.Event()

    async def wait(request: ModelRequest) -> str:
        asked.set()
        await anyio.sleep_forever()
        return "never"

    slow, other = FakeModel(wait, id="slow"), spare()
    model = FallbackModel([slow, other])
    async with anyio.create_task_group() as group:
        group.start_soon(record, model.stream(REQUEST))
        await asked.wait()
        group.cancel_scope.cancel()
    assert (slow.unfinished, other.requests) == (1, [])

    talks = Says(TextDelta("a"), TextDelta("b"))
    stream = FallbackModel([talks, other]).stream(REQUEST)
    assert isinstance(await anext(stream), ResponseMetadata)
    await stream.aclose()
    assert (talks.closed, other.requests) == (1, [])


async def test_one_model_may_stand_twice() -> None:
    """Which asks it again; the same goes for two that are called the same."""
    model = FakeModel([fail("down"), "Hello."])
    assert (await heard(model, model)).text == "Hello."


async def test_a_stream_belongs_to_its_call() -> None:
    """Two calls at the same time do not know of each other: each begins with the first model."""
    model = FallbackModel([FakeModel([fail("down"), "First."]), spare()])
    one, two = model.stream(REQUEST), model.stream(REQUEST)
    await anext(one)
    await anext(two)
    assert ((await record(one)).text, (await record(two)).text) == ("Hello.", "First.")


def test_what_it_is_called() -> None:
    """Its id names its models, unless it has a name of its own; its provider is theirs where they have one in common."""
    a, b = FakeModel([], id="a", provider="x"), FakeModel([], id="b", provider="x")
    model = FallbackModel([a, b])
    assert (model.id, model.provider, repr(model)) == ("fallback(a, b)", "x", "FallbackModel(['a', 'b'])")
    assert FallbackModel([a, spare()], id="chat").id == "chat"
    assert FallbackModel([a, spare()]).provider is None


def test_names_are_resolved_where_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that is missing, or a name of nothing, is found at once: not hidden by the others, nor on the day of need."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert [model.id for model in FallbackModel(["ollama/a", "ollama/b"]).models] == ["ollama/a", "ollama/b"]
    for models in (["openai/gpt-5-mini", "ollama/a"], ["ollama/a", "openai/gpt-5-mini"]):
        with pytest.raises(InputError, match="there is no key for openai/gpt-5-mini"):
            FallbackModel(models)
    with pytest.raises(InputError, match="no provider is called"):
        FallbackModel(["ollama/a", "nowhere/b"])


@pytest.mark.parametrize(
    ("models", "options", "fault"),
    [
        ([], {}, "an empty list"),
        ("ollama/a", {}, "the models of a fallback are str"),
        ([object()], {}, "was given object as a model"),
        (["ollama/a"], {"on": "timeout"}, "was given str"),
        (["ollama/a"], {"on": ["timeouts"]}, "was given 'timeouts'"),
        (["ollama/a"], {"on": 500}, "was given int"),
    ],
)
def test_what_cannot_work_is_refused(models: Any, options: Any, fault: str) -> None:
    """The error says what was given and what to give."""
    with pytest.raises(DefinitionError, match=fault):
        FallbackModel(models, **options)


# -- where models are used


@both_ways
async def test_an_agent_does_not_notice(way: str) -> None:
    """No step is sent back: the answer is that of one call, and its warnings and its response say who gave it."""
    asked: list[str] = []
    notes = at("process_api_error", lambda ctx: asked.append(ctx.error.message))
    model = FallbackModel([FakeModel(fail("down", status=503), id="a"), spare()])
    result = (await ask(Agent("guide", model=model, error_processors=[notes]), way)).result
    assert (result.text, result.rejected, result.usage.total_tokens, asked) == ("Hello.", (), COST, [])
    assert result.response is not None
    assert result.response.model_id == "spare"
    assert [warning["message"] for warning in result.warnings] == [
        "a failed (unavailable, status 503): spare answers instead"
    ]


@both_ways
async def test_an_agent_s_error_has_every_model_s(way: str) -> None:
    """Where all fail the error has the others' once each, whichever way they were listed; a retry begins with the first."""
    a, b, c, d = (ModelError(name) for name in "abcd")
    first = FallbackModel([Says(a), Says(b)])
    seen = await ask(Agent("guide", model=[first, FallbackModel([Says(c), Says(d)])]), way)
    assert (seen.error, d.earlier) == (d, (a, b, c))
    again = at("process_api_error", lambda ctx: {"retry": True})
    models = FakeModel([fail("x"), "Hello."]), FakeModel([fail("y"), "never"])
    agent = Agent("guide", model=FallbackModel(models), error_processors=[again])
    assert (await ask(agent, way)).result.text == "Hello."


@both_ways
async def test_a_processor_s_failure_is_its_own(way: str) -> None:
    """What breaks while the answer is looked at has no other model asked."""

    def broken(ctx: Any) -> None:
        raise ValueError

    other = spare()
    agent = Agent(
        "guide", model=FallbackModel([FakeModel("x"), other]), output_processors=[at("process_output_stream", broken)]
    )
    with pytest.raises(ProcessorError):
        _ = (await ask(agent, way)).result
    assert other.requests == []


async def test_a_question_may_be_put_to_several_models() -> None:
    """It stands wherever a model does: guards and ``ask`` take it, too."""

    class Verdict(BaseModel):
        spam: bool

    model = FallbackModel([FakeModel(fail("down")), FakeModel('{"spam": true}')])
    assert await ask_model(model, instructions="Spam?", content="Buy!", schema=Verdict) == Verdict(spam=True)


# -- over connections

ANSWER = WireAnswer([delta(content="Hel"), delta(content="lo.", finish="stop"), DONE])


def refusal(status: int) -> WireAnswer:
    """Return a server's error."""
    body = b'{"error": {"message": "no"}}'
    return WireAnswer([body], status=status, headers=(("content-type", "application/json"),))


@pytest.mark.parametrize(
    ("first", "kind"),
    [
        (refusal(503), "unavailable, status 503"),
        (refusal(400), "rejected, status 400"),
        (WireAnswer(["close"]), "stream"),
        (WireAnswer([delta(role="assistant"), "close"]), "stream"),
        (WireAnswer([event({"error": {"message": "overloaded"}})]), "stream"),
    ],
)
async def test_a_second_server_answers(first: WireAnswer, kind: str) -> None:
    """Whatever the first one does before its first word: refuse, break off, send an error."""
    async with serving(first) as down, serving(ANSWER) as well:
        models = [
            OpenAIChatModel("m", provider=provider, base_url=server.base_url, max_retries=0)
            for provider, server in (("one", down), ("two", well))
        ]
        chunks = await record(FallbackModel(models).stream(REQUEST))
    assert chunks.text == "Hello."
    (warning,) = metadata_of(chunks).warnings
    assert warning["message"] == f"one/m failed ({kind}): two/m answers instead"
    assert (len(down.bodies), len(well.bodies)) == (1, 1)


async def test_a_server_that_breaks_off_later_is_not_replaced() -> None:
    """Half an answer is an error, and the second server hears of nothing."""
    async with serving(WireAnswer([delta(content="Hel"), "close"])) as down, serving() as well:
        models = [OpenAIChatModel("m", base_url=server.base_url, max_retries=0) for server in (down, well)]
        with pytest.raises(ModelError) as caught:
            await record(FallbackModel(models).stream(REQUEST))
    assert (caught.value.kind, well.bodies) == ("stream", [])
