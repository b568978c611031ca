"""Files as Anthropic takes them."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from procession.errors import InputError
from procession.messages.parts import FilePart, TextPart
from procession.messages.prompt import PromptMessage
from procession.models.formats.anthropic.files import file_block
from procession.models.formats.anthropic.prompt import messages_piece

PDF = b"%PDF-1.7 ..."


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (
            FilePart(b"\x89PNG\r\n", "image/png"),
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0K"}},
        ),
        (
            FilePart("iVBORw0KGgo=", "image/*"),
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}},
        ),
        (
            FilePart("data:image/jpg;base64,aGk=", "image/jpg"),
            {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "aGk="}},
        ),
        (
            FilePart("https://a.test/x.png", "image/*"),
            {"type": "image", "source": {"type": "url", "url": "https://a.test/x.png"}},
        ),
        (
            FilePart(PDF, "application/pdf", "a.pdf"),
            {
                "type": "document",
                "title": "a.pdf",
                "source": {
                    "type": "base64",
                    "media_type": "application/pdf",
                    "data": base64.b64encode(PDF).decode(),
                },
            },
        ),
        (
            FilePart("https://a.test/x.pdf", "application/pdf"),
            {"type": "document", "source": {"type": "url", "url": "https://a.test/x.pdf"}},
        ),
        (
            FilePart("né".encode(), "text/markdown; charset=utf-8"),
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "né"}},
        ),
        (
            FilePart("e3\n0=", "application/json"),
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "{}"}},
        ),
        (
            FilePart(
                "e30=",
                "text/plain",
                provider_metadata={"anthropic": {"title": "T", "context": "C", "citations": {"enabled": True}}},
            ),
            {
                "type": "document",
                "source": {"type": "text", "media_type": "text/plain", "data": "{}"},
                "title": "T",
                "context": "C",
                "citations": {"enabled": True},
            },
        ),
        (
            FilePart("", "application/pdf", provider_metadata={"anthropic": {"fileId": "file_1"}}),
            {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
        ),
    ],
)
def test_files(part: FilePart, expected: dict[str, Any]) -> None:
    """Images, PDF and text are sent as bytes, as a URL where Anthropic fetches one, or by their id."""
    assert file_block(part) == expected


@pytest.mark.parametrize(
    ("part", "told"),
    [
        (FilePart(b"RIFF....WAVE", "audio/wav"), "'audio/wav'"),
        (FilePart(b"<svg/>", "image/svg+xml"), "'image/svg\\+xml'"),
        (FilePart("https://a.test/x.txt", "text/plain"), "as a URL"),
        (FilePart("no base64!", "text/plain"), "no base64"),
        (FilePart(b"PK", "application/zip"), "'application/zip'"),
    ],
)
def test_files_that_cannot_be_sent(part: FilePart, told: str) -> None:
    """A file that Anthropic does not take is an error that names its type."""
    with pytest.raises(InputError, match=told):
        messages_piece(PromptMessage("user", (part,)))


def test_files_of_a_model_are_left_out() -> None:
    """Files that a model made are left out, and that is told."""
    piece = messages_piece(PromptMessage("assistant", (FilePart(b"x", "image/png"), TextPart("so"))))
    assert [block["type"] for block in piece.entries[0]["content"]] == ["text"]
    assert [change["message"] for change in piece.changes] == ["files that a model made are not sent"]
