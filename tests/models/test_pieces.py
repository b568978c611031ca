"""Pieces: a prompt is converted once, whatever a run adds to it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from procession.agents.agent import Agent
from procession.messages.parts import TextPart
from procession.messages.prompt import PromptMessage
from procession.messages.prompt_memo import PromptMemo
from procession.models.pieces import Piece, changes_of, pieces_of
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool
from procession.tools.tool import tool


class Converter:
    """Converts entries to their text, and counts how many."""

    def __init__(self) -> None:
        self.converted: list[str] = []

    def __call__(self, message: PromptMessage) -> Piece:
        """Convert one entry."""
        self.converted.append(message.text)
        return Piece((message.text,))


def prompt(*texts: str) -> list[PromptMessage]:
    """Return a prompt of these texts."""
    return [PromptMessage("user", (TextPart(text),)) for text in texts]


def test_what_was_there_before_is_kept() -> None:
    """The second call converts what is new, and a change in the middle what follows it."""
    convert, memo = Converter(), PromptMemo()
    for texts in ("ab", "abc", "axc"):
        assert [piece.entries for piece in pieces_of(prompt(*texts), convert, memo=memo, key="f")] == [
            (text,) for text in texts
        ]
    assert "".join(convert.converted) == "ab" + "c" + "xc"


def test_each_format_keeps_its_own() -> None:
    """Two formats that share a run's memo do not see each other's pieces."""
    memo = PromptMemo()
    pieces_of(prompt("a"), lambda message: Piece(("first",)), memo=memo, key="one")
    (piece,) = pieces_of(prompt("a"), lambda message: Piece(("second",)), memo=memo, key="two")
    assert piece.entries == ("second",)


@given(st.lists(st.lists(st.sampled_from("ab"), max_size=4), max_size=6))
def test_keeping_changes_nothing(prompts: list[list[str]]) -> None:
    """Whatever a run's prompts are, pieces that were kept are those that a new conversion would make."""
    memo = PromptMemo()
    for texts in prompts:
        kept = pieces_of(prompt(*texts), Converter(), memo=memo, key="f")
        assert list(kept) == list(pieces_of(prompt(*texts), Converter(), key="f"))


def test_each_change_is_told_once() -> None:
    """What could not be said is listed once, however many entries it concerns."""
    lost = {"type": "other", "message": "files are not sent"}
    other = {"type": "other", "message": "reasoning is not sent"}
    assert changes_of([Piece((), (lost,)), Piece((), (lost, other))]) == (lost, other)


async def test_each_run_has_a_memo() -> None:
    """The calls of one run share a memo, and two runs do not."""

    @tool
    def clock() -> str:
        """Tell the time."""
        return "noon"

    model = FakeModel([call_tool("clock"), "Noon.", "Hello."])
    agent = Agent("a", model=model, tools=[clock])
    await agent.generate("What time is it?")
    await agent.generate("Hello?")
    seen = [request.memo for request in model.requests]
    assert len(seen) == 3
    assert seen[0] is seen[1]
    assert seen[1] is not seen[2]
