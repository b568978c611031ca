"""A changed text of several parts goes back into the parts that it was joined from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from procession.messages.draft import MessageDraft
from procession.messages.message import Message
from procession.messages.parts import StepStartPart, TextPart, ToolCallPart
from procession.messages.spread import spread

WORDS = "the parcel left on Monday and nobody has seen it since then so we ask the driver about that bad road".split()
texts = st.lists(st.text(alphabet="ab1 .[]ß", max_size=12), min_size=1, max_size=4)


@given(texts, st.text(alphabet="ab1 .[]ß", max_size=40))
def test_nothing_is_lost(old: list[str], new: str) -> None:
    """Whatever the new text is, the parts say it, all of it and nothing else, in as many parts as before."""
    made = spread(old, new)
    assert "".join(made) == new
    assert len(made) == len(old)


@given(texts)
def test_what_is_the_same_stays(old: list[str]) -> None:
    """Where nothing is different, nor only capitals, each part keeps its own."""
    assert spread(old, "".join(old)) == old
    assert spread(old, "".join(old).swapcase().replace("SS", "ß")) == [
        text.swapcase().replace("SS", "ß") for text in old
    ]


@pytest.mark.parametrize("stand_in", ["***", "", "[HIDDEN]", "so-so"])
@pytest.mark.parametrize(
    "old",
    [
        ["bad1 ", "bad2"],
        ["Is it bad?", "It is bad."],
        ["A bad one.\n", "And a bad one, too. ", "The end is not bad"],
        ["Not here. ", "Here: bad. ", "Nor here."],
        ["Mail bad, or bad", "Done with bad."],
    ],
)
def test_what_is_replaced_in_the_whole(old: list[str], stand_in: str) -> None:
    """``text.replace`` of the joined text gives what it would give for each part."""
    assert spread(old, "".join(old).replace("bad", stand_in)) == [text.replace("bad", stand_in) for text in old]


def test_long_texts() -> None:
    """In texts too long to compare word by word the border is found by what stands beside it."""
    old = [" ".join(f"{word}{at}{number}" for at in range(60) for word in WORDS) + ". " for number in range(3)]
    assert spread(old, "".join(old).replace("bad", "[X]")) == [text.replace("bad", "[X]") for text in old]


def test_long_texts_that_are_all_new() -> None:
    """A long text that has nothing of the old one stands where the change begins."""
    old = [" ".join(WORDS * 20), " ".join(WORDS * 20)]
    new = "x" * 5000
    assert spread(old, new) == [new, ""]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (["call 555", "now"], "call me", ["call me", ""]),
        (["One.", "Two.", "Three."], "?", ["?", "", ""]),
        (["One. ", "Two. ", "Three."], "One. 2! Three.", ["One. ", "2! ", "Three."]),
        (["One. ", "Two."], "One. Two. And more.", ["One. ", "Two. And more."]),
        (["One. ", "Two."], "So: One. Two.", ["So: One. ", "Two."]),
        (["One. ", "Two."], "Two.", ["", "Two."]),
        (["One. ", "Two."], "One. ", ["One. ", ""]),
    ],
)
def test_where_a_new_text_stands(old: list[str], new: str, expected: list[str]) -> None:
    """What is the same before and behind stays; what is new stands where the change begins."""
    assert spread(old, new) == expected


def test_a_message_and_its_draft_do_the_same() -> None:
    """``with_text`` and ``draft.text`` give each part its share, and take a part out that has lost all it said."""
    call = ToolCallPart("c", "find", {}, "result", "x")
    message = Message("assistant", [TextPart("So bad. "), call, StepStartPart(), TextPart("Too bad."), TextPart("")])
    for new, parts in (
        ("So [X]. Too [X].", [TextPart("So [X]. "), call, StepStartPart(), TextPart("Too [X]."), TextPart("")]),
        ("Gone", [TextPart("Gone"), call, StepStartPart(), TextPart("")]),
        ("", [call, StepStartPart(), TextPart("")]),
    ):
        draft = MessageDraft(message)
        draft.text = new
        assert list(message.with_text(new).parts) == parts
        assert draft.freeze().parts == parts
    assert message.with_text("So bad. Too fine.").parts[0] is message.parts[0]
