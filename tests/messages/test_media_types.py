"""What kind of file it is where nobody says so."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from procession.messages.convert import read_message
from procession.messages.media_types import media_type_of
from procession.messages.parts import FilePart

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
KINDS = [
    (PNG, "image/png"),
    (b"\xff\xd8\xff\xe0\x00\x10JFIF\x00", "image/jpeg"),
    (b"GIF89a\x01\x00\x01\x00", "image/gif"),
    (b"GIF87a\x01\x00\x01\x00", "image/gif"),
    (b"RIFF\x24\x00\x00\x00WEBPVP8 ", "image/webp"),
    (b"%PDF-1.7\n%\xe2\xe3", "application/pdf"),
    (b"RIFF\x24\x00\x00\x00WAVEfmt ", "what/ever"),
    (b"\x89PNG", "what/ever"),
    (b"", "what/ever"),
]


@pytest.mark.parametrize(("data", "kind"), KINDS)
def test_the_first_bytes_tell(data: bytes, kind: str) -> None:
    """Well-known signatures are read from bytes and from base64; all else is what the caller takes it for."""
    assert media_type_of(data, "what/ever") == kind
    assert media_type_of(base64.b64encode(data).decode(), "what/ever") == kind


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ("data:image/webp;base64,aGk=", "image/webp"),
        ("data:,hello", "what/ever"),
        ("https://a.example/b.png", "what/ever"),
        ("no base64 at äll", "what/ever"),
        ("aGk", "what/ever"),
    ],
)
def test_a_text_that_holds_no_file_tells_nothing(data: str, kind: str) -> None:
    """A URI may name its type; a URL is not fetched, and what is no base64 is no error here."""
    assert media_type_of(data, "what/ever") == kind


@pytest.mark.parametrize(
    ("form", "kind"),
    [
        ({"type": "image", "image": PNG}, "image/png"),
        ({"type": "image", "image": bytearray(PNG)}, "image/png"),
        ({"type": "image", "image": PNG, "mediaType": "image/x-mine"}, "image/x-mine"),
        ({"type": "image", "image": b"?"}, "image/jpeg"),
        ({"type": "file", "data": base64.b64encode(b"%PDF-1.7 and more").decode()}, "application/pdf"),
        ({"type": "file", "data": b"?"}, "application/octet-stream"),
    ],
)
def test_a_part_without_a_type_gets_one(form: dict[str, Any], kind: str) -> None:
    """What the caller says counts; where nothing is said, an image of PNG is not sent as one of JPEG."""
    (part,) = read_message({"role": "user", "content": [form]}).parts
    assert isinstance(part, FilePart)
    assert part.media_type == kind
