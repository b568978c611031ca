"""Images and files: what a caller hands over reaches the model, byte for byte."""

from __future__ import annotations

import base64
import json
from typing import Any

import httpx
import pytest
from tests.agents.kit import WAYS, ask, at

from procession.agents.agent import Agent
from procession.messages.convert import to_db
from procession.messages.message import Message
from procession.messages.parts import FilePart, TextPart
from procession.models.openai_chat import OpenAIChatModel
from procession.processors.guardrails.pii import PIIDetector
from procession.processors.memory.memory import Memory
from procession.storage.memory import InMemoryStore
from procession.testing.fake_model import FakeModel

pytestmark = pytest.mark.anyio

both_ways = pytest.mark.parametrize("way", WAYS)
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01"
PDF = b"%PDF-1.7\n1 0 obj\n"
FORM = {
    "role": "user",
    "content": [
        {"type": "text", "text": "What is it?"},
        {"type": "image", "image": PNG},
        {"type": "file", "data": base64.b64encode(PDF).decode(), "filename": "bill.pdf"},
        {"type": "image", "image": "https://a.example/cat.png", "mediaType": "image/png"},
    ],
}
PARTS = Message(
    "user",
    [
        TextPart("What is it?"),
        FilePart(PNG, "image/png"),
        FilePart(PDF, "application/pdf", "bill.pdf"),
        FilePart("https://a.example/cat.png", "image/png"),
    ],
)


def uri(data: bytes, kind: str) -> str:
    """Return a file as the wire has it."""
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


WIRE = [
    {"type": "text", "text": "What is it?"},
    {"type": "image_url", "image_url": {"url": uri(PNG, "image/png")}},
    {"type": "file", "file": {"filename": "bill.pdf", "file_data": uri(PDF, "application/pdf")}},
    {"type": "image_url", "image_url": {"url": "https://a.example/cat.png"}},
]


@both_ways
@pytest.mark.parametrize("message", [FORM, PARTS], ids=["form", "parts"])
async def test_an_image_and_a_file_reach_the_server(way: str, message: Any) -> None:
    """Text, image, file and URL are in the request in their order, past a guard, each with its media type."""
    bodies: list[Any] = []

    def answer(request: httpx.Request) -> httpx.Response:
        bodies.append(json.loads(request.content))
        return httpx.Response(200, json={"choices": [{"message": {"content": "A cat."}, "finish_reason": "stop"}]})

    model = OpenAIChatModel("m", base_url="http://test/v1", api_key="k", transport=httpx.MockTransport(answer))
    agent = Agent("a", model=model, input_processors=[PIIDetector(strategy="redact")])
    seen = await ask(agent, way, [message])
    assert seen.result.text == "A cat."
    assert bodies[0]["messages"] == [{"role": "user", "content": WIRE}]


@both_ways
async def test_a_redactor_leaves_files_as_they_are(way: str) -> None:
    """Only the text beside an image changes (D19)."""
    model = FakeModel("A cat.")
    message = {"role": "user", "content": [{"type": "text", "text": "For eva@example.net"}, *FORM["content"][1:]]}
    await ask(Agent("a", model=model, input_processors=[PIIDetector(strategy="redact")]), way, [message])
    text, *files = model.requests[0].messages[0].content
    assert isinstance(text, TextPart)
    assert "eva@example.net" not in text.text
    assert [(file.data, file.media_type) for file in files if isinstance(file, FilePart)] == [
        (PNG, "image/png"),
        (base64.b64encode(PDF).decode(), "application/pdf"),
        ("https://a.example/cat.png", "image/png"),
    ]


@both_ways
async def test_an_image_is_remembered(way: str) -> None:
    """The next turn's request has the image of the last one, as it was."""
    model = FakeModel(["A cat.", "Yes."])
    agent = Agent("a", model=model, memory=Memory(InMemoryStore()))
    await ask(agent, way, [PARTS], thread="t", resource="eva")
    await ask(agent, way, "Sure?", thread="t", resource="eva")
    assert model.requests[1].messages[0].content == model.requests[0].messages[0].content == tuple(PARTS.parts)


@both_ways
async def test_a_file_that_cannot_be_sent_is_an_error(way: str) -> None:
    """A type that the provider has no place for is named, and nothing is sent without it."""
    asked: list[Any] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(500)

    model = OpenAIChatModel("m", base_url="http://test/v1", api_key="k", transport=httpx.MockTransport(answer))
    seen = await ask(Agent("a", model=model), way, [Message("user", [FilePart(b"PK", "application/zip", "a.zip")])])
    assert "'application/zip' cannot be sent" in str(seen.error)
    assert asked == []


def upload_forms(ctx: Any) -> Any:
    """Put an address in place of each attachment, in messages as documents store them."""
    forms = [to_db(message) for message in ctx.view]
    for form in forms:
        for attachment in form["content"].get("experimental_attachments", ()):
            attachment["url"] = "https://up.example/1"
    return forms


def upload_drafts(ctx: Any) -> Any:
    """The same, in the messages that a hook is given."""
    for message in ctx.messages:
        found = message.content.experimental_attachments
        message.content.experimental_attachments = [{**one, "url": "https://up.example/1"} for one in found]
    return ctx.messages


@both_ways
@pytest.mark.parametrize("upload", [upload_forms, upload_drafts])
async def test_a_file_that_a_processor_uploads(way: str, upload: Any) -> None:
    """Where a processor puts an address in place of an attachment, its data is neither sent nor stored."""
    model, store = FakeModel("ok"), InMemoryStore()
    agent = Agent("see", model=model, memory=Memory(store), input_processors=[at("process_input", upload)])
    content = {
        "format": 2,
        "parts": [{"type": "text", "text": "Look."}],
        "experimental_attachments": [{"url": uri(PNG, "image/png"), "contentType": "image/png"}],
    }
    await ask(agent, way, {"role": "user", "content": content}, thread="t", resource="r")
    expected = [TextPart("Look."), FilePart("https://up.example/1", "image/png")]
    assert list(model.requests[0].messages[-1].content) == expected
    assert (await store.messages("t"))[0].parts == expected
