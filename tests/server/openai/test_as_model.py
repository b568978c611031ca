"""An agent that is served is the model of another one, by our own client."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel
from tests.server.live import Live, live

from procession.agents.agent import Agent
from procession.errors import ModelError
from procession.messages.message import Message
from procession.messages.parts import FilePart, TextPart
from procession.models.openai_chat import OpenAIChatModel
from procession.processors.processor import processor
from procession.server.app import App
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, fail, say
from procession.tools.tool import Tool


class Place(BaseModel):
    city: str


def model_of(server: Live, **options: Any) -> OpenAIChatModel:
    """Return a served agent as a model."""
    return OpenAIChatModel("inner", base_url=f"{server.url}/v1", api_key="tok", provider="procession", **options)


async def test_text_and_tokens_come_through() -> None:
    """The outer agent streams what the inner one says, and its tokens are those of the inner one's calls."""
    inner = FakeModel(say("Hel", "lo"))
    async with live(App(agents=[Agent("inner", model=inner)], token="tok")) as server:
        async with Agent("outer", model=model_of(server), instructions="Be kind.").stream("Hi") as stream:
            pieces = [piece async for piece in stream.text_stream]
            result = await stream.result()
    assert (pieces, result.text, result.finish_reason) == (["Hel", "lo"], "Hello", "stop")
    assert result.usage.total_tokens == 15
    assert [(message.role, message.text) for message in inner.requests[0].messages] == [
        ("user", "Be kind."), ("user", "Hi"),
    ]  # fmt: skip


async def test_tools_of_the_outer_agent_are_called_by_the_inner_one() -> None:
    """The inner agent's tools run there, the outer one's here."""
    look: Tool[Any] = Tool(name="look", parameters={"type": "object"}, execute=lambda args, ctx: "a door")
    door: Tool[Any] = Tool(name="door", parameters={"type": "object"}, execute=lambda args, ctx: f"opened {args['n']}")
    inner = FakeModel([call_tool("look", {}), say("A door.") + call_tool("door", {"n": 1}), "It is open."])
    async with live(App(agents=[Agent("inner", model=inner, tools=[look])], token="tok")) as server:
        result = await Agent("outer", model=model_of(server), tools=[door]).generate("Open it")
    assert [call.tool_name for call in result.tool_calls] == ["door"]
    assert result.final_text == "It is open."
    assert "opened 1" in str(inner.requests[2].messages)


async def test_values_and_pictures_come_through() -> None:
    """A structured answer and a picture in the question work as with any other model."""
    inner = FakeModel('{"city": "Paris"}')
    picture = FilePart(b"GIF89a", "image/gif")
    async with live(App(agents=[Agent("inner", model=inner)], token="tok")) as server:
        result = await Agent("outer", model=model_of(server)).generate(
            Message("user", [TextPart("Where?"), picture]), structured_output=Place
        )
    assert result.object == Place(city="Paris")
    (part,) = [part for part in inner.requests[0].messages[-1].content if isinstance(part, FilePart)]
    assert (part.media_type, part.data) == ("image/gif", "R0lGODlh")


async def test_a_blocked_answer_and_an_error_come_through() -> None:
    """What the inner agent's guards block ends as a model's own filter does; its failure is a failure of the model."""
    guard = processor(hook="process_input", id="guard")(lambda ctx: ctx.abort("no", message="Not that."))
    blocked = Agent("inner", model=FakeModel("x"), input_processors=[guard])
    async with live(App(agents=[blocked], token="tok")) as server:
        result = await Agent("outer", model=model_of(server)).generate("Hi")
    assert (result.text, result.finish_reason) == ("Not that.", "content-filter")
    broken = FakeModel(fail("a private text", status=500))
    async with live(App(agents=[Agent("inner", model=broken)], token="tok")) as server:
        with pytest.raises(ModelError) as error:
            await Agent("outer", model=model_of(server, max_retries=0)).generate("Hi")
    assert "private" not in str(error.value)
    assert len(broken.requests) == 1
