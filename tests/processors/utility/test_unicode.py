"""UnicodeNormalizer: one spelling for what looks the same, in new input and in streams."""

from __future__ import annotations

import pytest
from tests.processors.kit import passed
from tests.processors.streams import stream

from procession.errors import ProcessorDefinitionError
from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.messages.parts import FilePart, TextPart
from procession.processors.payloads import InputPayload
from procession.processors.utility.unicode import UnicodeNormalizer

MIXED = "  Ｈｅｌｌｏ\u0007   wo\u200brld\r\n\r\n\n  ﬁne 😀\u0000 é  "


@pytest.mark.parametrize(
    ("normaliser", "expected"),
    [
        (UnicodeNormalizer(), "Hello\u0007 wo\u200brld\n fine 😀\u0000 é"),
        (UnicodeNormalizer(trim=False), " Hello\u0007 wo\u200brld\n fine 😀\u0000 é "),
        (UnicodeNormalizer(strip_control_chars=True), "Hello wo\u200brld\n fine 😀 é"),
        (UnicodeNormalizer(strip_control_chars=True, preserve_emojis=False), "Hello wo\u200brld\n fine é"),
        (UnicodeNormalizer(collapse_whitespace=False), "Hello\u0007   wo\u200brld\r\n\r\n\n  fine 😀\u0000 é"),
        (UnicodeNormalizer(profile="safe"), " Hello world\n\n\n fine 😀 é "),
    ],
    ids=["default", "no-trim", "strip", "no-emoji", "no-collapse", "safe"],
)
def test_profiles(normaliser: UnicodeNormalizer, expected: str) -> None:
    """Each option does what it says, in streams as in whole texts."""
    assert normaliser.normalised(MIXED) == expected
    assert stream(normaliser, MIXED).text == expected


async def test_only_new_text_changes() -> None:
    """Text parts of new input are normalised; files, history and what is fine already stay the same objects."""
    fine = Message.user("fine", id="fine")
    file = FilePart("ＡＢ", "text/plain", "ＡＢ.txt")
    messages = MessageList([Message.user("ｏｌｄ", id="old")], source="memory")
    messages.add([fine, Message("user", [TextPart("ｎｅｗ"), file], id="new")], "input")
    known = messages.view("input")[0]
    out = await passed(InputPayload(messages), UnicodeNormalizer())
    by_id = {message.id: message for message in out.message_list}
    assert (by_id["old"].text, by_id["new"].text) == ("ｏｌｄ", "new")
    assert by_id["new"].parts[1] is file
    assert by_id["fine"] is known


def test_a_wrong_profile_is_refused() -> None:
    """The profiles are named."""
    with pytest.raises(ProcessorDefinitionError, match="'classic', 'safe'"):
        UnicodeNormalizer(profile="strict")  # type: ignore[arg-type]
