"""Our agents against a mock server that others wrote: what it reads and writes owes nothing to our own tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from uuid import uuid4

import pytest
import stamina
from pydantic import BaseModel
from tests.wire.mock_server import mock_server

from procession.agents.agent import Agent
from procession.errors import ModelError
from procession.messages.chunks import ReasoningDelta, TextDelta, ToolResult
from procession.models.anthropic import AnthropicModel
from procession.models.formats.openai.embeddings import Encoding
from procession.models.google import GoogleModel
from procession.models.openai_chat import OpenAIChatModel
from procession.models.openai_embedder import OpenAIEmbedder
from procession.models.openai_responses import OpenAIResponsesModel
from procession.models.wire_model import WireModel
from procession.testing.recorder import record
from procession.tools.tool import tool

CLIENTS: dict[str, tuple[str, Callable[..., WireModel]]] = {
    "chat": ("/v1", partial(OpenAIChatModel, "gpt-5-mini")),
    "responses": ("/v1", partial(OpenAIResponsesModel, "gpt-5-mini")),
    "anthropic": ("/v1", partial(AnthropicModel, "claude-sonnet-4-5")),
    "google": ("/v1beta", partial(GoogleModel, "gemini-2.5-flash")),
}
"""Where the server answers each of our clients."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Run the server for the tests of this file."""
    with mock_server() as url:
        yield url


@pytest.fixture(params=CLIENTS)
def model(request: pytest.FixtureRequest, server: str) -> WireModel:
    """Make each client in turn; the server counts what it has answered apart for each test."""
    path, client = CLIENTS[request.param]
    return client(base_url=server + path, api_key="mock", headers={"x-test-id": uuid4().hex})


@pytest.fixture
def no_waiting() -> Iterator[None]:
    """Let retries follow each other at once."""
    with stamina.set_testing(True, attempts=10, cap=True):
        yield


class Person(BaseModel):
    """Who somebody is."""

    name: str
    age: int


@tool
def track(parcel: str) -> str:
    """Say where a parcel is."""
    return f"{parcel} is in Bergen"


@tool
def opening_hours() -> str:
    """Say when the office is open."""
    return "open all night"


async def test_text_is_streamed(model: WireModel) -> None:
    """The text comes in the pieces that the server sends, with the usage that it counts."""
    async with Agent("a", model=model).stream("Who wrote Peer Gynt?") as stream:
        pieces = [chunk.text async for chunk in stream if isinstance(chunk, TextDelta)]
        result = await stream.result()
    assert "".join(pieces) == result.text == "Henrik Ibsen wrote it, at Ischia and Sorrento."
    assert len(pieces) > 1
    assert result.finish_reason == "stop"
    assert (result.usage.input_tokens, result.usage.output_tokens) == (21, 9)
    assert result.response.model_id is None or result.response.model_id in model.id


async def test_tools_and_a_second_step(model: WireModel) -> None:
    """Two calls of one answer are run, and the server finds instructions, calls and results in the next request."""
    agent = Agent("a", model=model, instructions="Be brief.", tools=[track, opening_hours])
    result = await agent.generate("Where is my parcel?")
    assert [(call.tool_name, call.args) for call in result.tool_calls] == [
        ("track", {"parcel": "Ærø-42"}),
        ("opening_hours", {}),
    ]
    assert [answer.result for answer in result.tool_results if isinstance(answer, ToolResult)] == [
        "Ærø-42 is in Bergen",
        "open all night",
    ]
    assert [step.finish_reason for step in result.steps] == ["tool-calls", "stop"]
    assert result.text == "It is in Bergen; fetch it whenever you like."


async def test_structured_output(model: WireModel) -> None:
    """The answer is an instance of the type that was asked for."""
    result: Any = await Agent("a", model=model, structured_output=Person).generate("Who is it?")
    assert result.object == Person(name="Solveig", age=41)


async def test_reasoning_is_no_text(model: WireModel) -> None:
    """What the model thinks comes in chunks of its own."""
    async with Agent("a", model=model).stream("Think first.") as stream:
        recording = await record(stream)
    assert "".join(chunk.text for chunk in recording.of(ReasoningDelta)) == "Let me see: six times seven."
    assert recording.text == "It is 42."


async def test_answer_that_is_cut_short(model: WireModel) -> None:
    """An answer that the model's limit ended says so."""
    result = await Agent("a", model=model).generate("Keep it short.")
    assert (result.text, result.finish_reason) == ("Once upon a", "length")


@pytest.mark.usefixtures("no_waiting")
async def test_failures_that_pass_are_not_seen(model: WireModel) -> None:
    """A 429 and a 500 cost two more requests, and nothing else."""
    assert (await Agent("a", model=model).generate("Are you there?")).text == "Now I am."


async def test_failure_that_stays(model: WireModel) -> None:
    """A refusal carries its status and the server's own words."""
    with pytest.raises(ModelError, match="Not with this key") as caught:
        await Agent("a", model=model).generate("May I?")
    assert (caught.value.status_code, caught.value.kind, caught.value.retryable) == (403, "rejected", False)
    assert caught.value.request_id is not None


async def test_stream_that_stops_in_the_middle(model: WireModel) -> None:
    """An answer without its end is an error, never a short answer."""
    with pytest.raises(ModelError) as caught:
        await Agent("a", model=model).generate("Tell me all.")
    assert (caught.value.kind, caught.value.retryable) == ("stream", True)


@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize("question", ["Mumble.", "Hang up."])
async def test_server_that_makes_no_sense(model: WireModel, question: str) -> None:
    """What is no JSON, and a connection that is dropped, are a ``ModelError``."""
    with pytest.raises(ModelError):
        await Agent("a", model=model).generate(question)


@pytest.mark.parametrize("encoding", ["float", "base64"])
async def test_embeddings(server: str, encoding: Encoding) -> None:
    """Texts become vectors of the server's length, in their order, in either encoding."""
    embedder = OpenAIEmbedder(
        "text-embedding-3-small",
        base_url=f"{server}/v1",
        api_key="mock",
        encoding=encoding,
        max_batch=2,
        headers={"x-aimock-strict": "false"},  # vectors that no fixture names, made of the text
    )
    vectors = (await embedder.embed(["one", "two", "three", "one"])).vectors
    assert [len(vector) for vector in vectors] == [1536] * 4
    assert vectors[0] == vectors[3] != vectors[1] != vectors[2]
