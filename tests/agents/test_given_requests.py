"""What ``process_llm_request`` returns: a prompt and a response in the documents' form, and what is neither."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from structlog.testing import capture_logs
from tests.agents.kit import WAYS, Seen, ask, at, counted_tool

from procession.agents.agent import Agent
from procession.errors import ModelError, ProcessorError
from procession.ids import new_id
from procession.messages.chunks import Chunk, Finish, TextDelta
from procession.messages.message import SystemMessage
from procession.messages.parts import TextPart
from procession.messages.prompt import PromptMessage
from procession.models.openai_chat import OpenAIChatModel
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool

pytestmark = pytest.mark.anyio
both_ways = pytest.mark.parametrize("way", WAYS)

DOWN = ModelError("down")
USAGE = {"inputTokens": 7, "outputTokens": 2, "totalTokens": 9}
CACHED = [
    {"type": "text-start", "payload": {"id": "t1"}},
    {"type": "text-delta", "payload": {"id": "t1", "text": "kept"}},
    {"type": "text-end", "payload": {"id": "t1"}},
    {"type": "finish", "payload": {"stepResult": {"reason": "stop"}, "output": {"usage": USAGE}}},
]
"""A step's chunks as the documents keep them."""


class _Failing:
    """A model that raises, or whose stream ends with the reason ``error``."""

    id = "failing"

    def __init__(self, failure: Any) -> None:
        self.failure = failure

    async def stream(self, request: Any) -> AsyncIterator[Chunk]:
        """Fail."""
        if isinstance(self.failure, Exception):
            raise self.failure
        for chunk in self.failure:
            yield chunk


async def answered(way: str, response: Any, **options: Any) -> Seen:
    """Ask an agent whose processor gives *response* at its first step; nobody else answers unless *options* say so."""

    def give(ctx: Any) -> Any:
        return {"response": response} if ctx.step_number == 0 else None

    settings: dict[str, Any] = {
        "model": FakeModel([]),
        "input_processors": [at("process_llm_request", give, id="cache")],
        **options,
    }
    return await ask(Agent("parrot", **settings), way)


@both_ways
async def test_a_response_in_the_documents_form(way: str) -> None:
    """The loop makes a stream of the cached chunks: text, usage and reason have the cached values."""
    seen = await answered(way, {"chunks": CACHED})
    assert (seen.result.text, seen.result.finish_reason, len(seen.result.steps)) == ("kept", "stop", 1)
    assert (seen.result.usage.input_tokens, seen.result.usage.output_tokens) == (7, 2)
    assert all(isinstance(chunk, Chunk) for chunk in seen.chunks)
    assert [chunk.text for chunk in seen.chunks if isinstance(chunk, TextDelta)] == ["kept"]


@both_ways
async def test_a_response_passes_the_processors_of_the_stream_and_is_told_as_chunks(way: str) -> None:
    """Guards see a kept answer as chunks, and so does ``process_llm_response``."""
    told: list[Any] = []

    def loud(ctx: Any) -> Any:
        return ctx.chunk.replace(text=ctx.chunk.text.upper()) if isinstance(ctx.chunk, TextDelta) else ctx.chunk

    given = {"chunks": CACHED[1:2], "warnings": [{"type": "w"}], "request": {"m": 1}, "rawResponse": {"status": 200}}
    cache = at("process_llm_request", lambda ctx: {"response": given}, id="cache")
    look = at(
        "process_llm_response",
        lambda ctx: told.append((ctx.chunks, ctx.from_cache, ctx.warnings, ctx.request, ctx.raw_response)),
        id="look",
    )
    seen = await answered(
        way, None, input_processors=[cache, look], output_processors=[at("process_output_stream", loud)]
    )
    assert seen.result.text == "KEPT"
    assert told == [((TextDelta("kept", "t1"), Finish("stop")), True, [{"type": "w"}], {"m": 1}, {"status": 200})]


@both_ways
@pytest.mark.parametrize(
    "chunk", [{"type": "text-delta", "text": "c"}, {"$type": "TextDelta", "text": "c"}, TextDelta("c")]
)
async def test_a_response_without_an_end_is_one_answer(way: str, chunk: Any) -> None:
    """An answer that was kept without its end ends the turn, in whichever form it is."""
    seen = await answered(way, {"chunks": [chunk]})
    assert (seen.result.text, seen.result.finish_reason, len(seen.result.steps)) == ("c", "stop", 1)


@both_ways
async def test_the_tools_of_a_response_without_an_end_run(way: str) -> None:
    """A kept call of a tool is run, and the model goes on from its result."""
    lookup, ran = counted_tool()
    call: Any = {"type": "tool-call", "payload": {"toolCallId": "c1", "toolName": "lookup", "args": {}}}
    seen = await answered(way, {"chunks": [call]}, tools=[lookup], model=FakeModel("So."))
    assert (len(ran), seen.result.steps[0].finish_reason, seen.result.text) == (1, "tool-calls", "So.")


@both_ways
async def test_a_response_that_says_nothing_is_no_failure_of_the_model(way: str) -> None:
    """An empty answer that a processor gives is an empty step, after which the turn goes on."""
    seen = await answered(way, {"chunks": [Finish("other")]}, model=FakeModel("So."))
    assert [(step.text, step.finish_reason) for step in seen.result.steps] == [("", "other"), ("So.", "stop")]


NO_RESPONSES: list[tuple[Any, str]] = [
    ("hello", "response=str"),
    (5, "the response is int"),
    (["hello"], "chunk 0 is str"),
    ([], "has no chunks"),
    ({}, "has no 'chunks'"),
    ({"nochunks": 1}, "has nochunks, which means nothing there"),
    ({"chunks": []}, "has no chunks"),
    ({"chunks": "hello"}, "chunks=str"),
    ({"chunks": ["hello"]}, "chunk 0 is str"),
    ({"chunks": [*CACHED, {"type": "text-delta", "payload": {}}]}, "chunk 4 of type 'text-delta' has no 'text'"),
    ({"chunks": [{"type": "error", "payload": {"error": {}}}]}, "'error', which no model answers"),
    ({"chunks": [Finish("error")]}, "another reason than a model's"),
    ({"chunks": CACHED, "warnings": 5}, "warnings=int"),
]
NO_PROMPTS: list[tuple[Any, str]] = [
    ("hello", "prompt=str"),
    ([1], "entry 0 is int"),
    ([{"role": "robot", "content": "Hi"}], "entry 0 has none of the roles"),
    ([{"role": "user", "content": [{"type": "zzz"}]}], "entry 0, part 0 has the unknown type"),
]


@both_ways
@pytest.mark.parametrize(
    ("returned", "said"),
    [
        *(({"response": response}, said) for response, said in NO_RESPONSES),
        *(({"prompt": prompt}, said) for prompt, said in NO_PROMPTS),
    ],
)
async def test_a_processor_s_mistake_is_never_the_model_s(way: str, returned: Any, said: str) -> None:
    """Neither ``process_api_error`` nor a fallback sees it: the error names the processor, its hook and what is expected."""
    asked = [FakeModel("x"), FakeModel("spare")]
    errors: list[Any] = []
    agent = Agent(
        "parrot",
        model=asked,
        input_processors=[at("process_llm_request", lambda ctx: returned, id="wrong")],
        error_processors=[at("process_api_error", lambda ctx: errors.append(ctx.error), id="look")],
    )
    error = (await ask(agent, way)).error
    assert isinstance(error, ProcessorError)
    assert (error.processor_id, error.hook) == ("wrong", "process_llm_request")
    assert f"process_llm_request returned {next(iter(returned))}=" in str(error)
    assert said in str(error)
    assert '{"prompt": [...], "response": {"chunks": [...]}}' in str(error)
    assert (errors, asked[0].requests, asked[1].requests) == ([], [], [])


@both_ways
async def test_a_prompt_in_the_documents_form(way: str) -> None:
    """Plain objects among entries are read when the hook returns: later processors and the model have entries."""
    shown: list[Any] = []
    plain = {"role": "user", "content": [{"type": "text", "text": "R"}]}
    model = FakeModel("x")
    processors = [
        at("process_llm_request", lambda ctx: {"prompt": [*ctx.prompt, plain]}, id="a"),
        at("process_llm_request", lambda ctx: shown.extend(ctx.prompt), id="b"),
    ]
    assert (await ask(Agent("parrot", model=model, input_processors=processors), way)).result.text == "x"
    wanted = [PromptMessage("user", (TextPart("Hi"),)), PromptMessage("user", (TextPart("R"),))]
    assert shown == list(model.requests[0].messages) == wanted


@both_ways
async def test_a_prompt_in_the_documents_form_reaches_a_provider(way: str) -> None:
    """The client of OpenAI writes such a prompt like any other; no fallback has to step in."""
    bodies: list[Any] = []

    def answer(request: httpx.Request) -> httpx.Response:
        bodies.append(request.read().decode())
        return httpx.Response(401, json={"error": {"message": "no key"}})

    model = OpenAIChatModel("g", base_url="http://test/v1", transport=httpx.MockTransport(answer))
    given = {"prompt": [{"role": "user", "content": [{"type": "text", "text": "Rewritten"}]}]}
    seen = await ask(Agent("parrot", model=model, input_processors=[at("process_llm_request", lambda ctx: given)]), way)
    assert isinstance(seen.error, ModelError)  # the server's, which was asked
    assert seen.error.status_code == 401
    assert "Rewritten" in bodies[0]


@both_ways
@pytest.mark.parametrize("failure", [DOWN, [Finish("error")], [TextDelta("Well"), Finish("error")]])
async def test_a_failed_call_ends_with_an_error_for_who_keeps_answers(way: str, failure: Any) -> None:
    """``process_llm_response`` is called for a call that failed, too, and the last of its chunks says so."""
    kinds: list[str] = []
    look = at("process_llm_response", lambda ctx: kinds.append(ctx.chunks[-1].type), id="look")
    seen = await ask(Agent("parrot", model=_Failing(failure), input_processors=[look]), way)
    assert isinstance(seen.error, ModelError)
    assert kinds == ["error"]


@both_ways
async def test_what_a_failed_call_said_is_no_response(way: str) -> None:
    """A cache that keeps the chunks of a failed call is told so when it gives them back."""
    kept: list[Any] = []
    processors = [
        at("process_llm_request", lambda ctx: {"response": {"chunks": kept}} if kept else None, id="read"),
        at("process_llm_response", lambda ctx: kept.extend(ctx.chunks), id="write"),
    ]
    agent = Agent("parrot", model=FakeModel(DOWN), input_processors=processors)
    assert (await ask(agent, way)).error is DOWN
    error = (await ask(agent, way)).error
    assert isinstance(error, ProcessorError)
    assert error.processor_id == "read"
    assert "no call that failed" in str(error)


@both_ways
async def test_active_tools_that_are_none_are_told_of(way: str) -> None:
    """A name of no tool lets nothing in, and a warning says so; what a later processor brings is there."""
    lookup, _ = counted_tool()
    extra, _ = counted_tool("extra")
    model = FakeModel(["x", "x"])

    def offered() -> list[str]:
        return [tool.name for tool in model.requests[-1].tools]

    only = at("process_input_step", lambda ctx: {"active_tools": ["extra"]}, id=f"only-{way}-{new_id()}")
    with capture_logs() as logs:
        await ask(Agent("parrot", model=model, tools=[lookup], input_processors=[only]), way)
    assert offered() == []
    said = [log["event"] for log in logs if log.get("processor_id") == only.id]
    assert said == ["active_tools names what is no tool of the step: extra; there are lookup"]
    brings = at("process_input_step", lambda ctx: {"tools": [lookup, extra]}, id="brings")
    await ask(Agent("parrot", model=model, tools=[lookup], input_processors=[only, brings]), way)
    assert offered() == ["extra"]


@both_ways
@pytest.mark.parametrize("hook", ["process_output_step", "process_tool_result"])
@pytest.mark.parametrize("tag", [None, "mine"])
async def test_system_messages_behind_an_answer(way: str, hook: str, tag: str | None) -> None:
    """Untagged ones are what they were at the start again before the next step; tagged ones reach the model (D23)."""
    lookup, _ = counted_tool()
    model = FakeModel([call_tool("lookup"), "x"])
    act = at(
        hook, lambda ctx: {"system_messages": [SystemMessage("Be kind.", tag=tag)]} if ctx.step_number == 0 else None
    )
    agent = Agent("parrot", model=model, instructions="Be brief.", tools=[lookup], output_processors=[act])
    await ask(agent, way)
    system = [entry.text for entry in model.requests[1].messages if entry.role == "system"]
    assert system == ["Be brief.", *(["Be kind."] if tag else [])]
