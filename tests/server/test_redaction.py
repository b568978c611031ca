"""Secrets and personal data do not leave the process in what is shown of runs, wherever chunks are cut."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.server.test_run_events import Holds
from tests.server.watch_kit import idle

from procession.agents.agent import Agent
from procession.runtime.runtime import Runtime
from procession.server.redaction import DEFAULT, WITHHELD, redacted
from procession.server.runs import Runs
from procession.server.spread import spread
from procession.server.stream_blocks import StreamBlocks
from procession.testing.fake_model import FakeModel, Reply

KEY = "sk-proj-Ab3dE5gH7jK9mN1pQ3sT"
MAIL = "eva@example.com"


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """What is masked needs no server, and is the same on both."""
    backend: str = request.param
    return backend


def passed(number: int, text: str | None, kind: str = "text-delta", id: str = "t") -> dict[str, Any]:
    chunk = {"type": kind, "id": id} | ({"text": text} if text is not None else {})
    stages = [{"processor": "p", "node_path": "s/p", "out": [dict(chunk)]}]
    return {"number": number, "step_number": 0, "came": dict(chunk), "stages": stages, "left": [dict(chunk)]}


def test_texts_and_keys_are_masked_wherever_they_stand() -> None:
    """In lists and mappings, as values and as keys, numbers untouched."""
    shown = redacted({"a": [f"mail {MAIL}", {"n": 1, MAIL: KEY}], "t": True, "none": None}, DEFAULT)
    assert shown == {"a": ["mail ‹email›", {"n": 1, "‹email›": "‹secret›"}], "t": True, "none": None}


def test_what_cannot_be_looked_at_is_withheld() -> None:
    """A redactor that raises, or gives no text, shows nothing."""

    def broken(text: str) -> Any:
        if text == "bad value":
            raise RuntimeError(text)
        return None if text == "none" else text

    assert redacted(["bad value", "none", "fine"], broken) == [WITHHELD, WITHHELD, "fine"]


@settings(max_examples=60, deadline=None)
@given(cuts=st.lists(st.integers(0, 80), max_size=12), ends=st.booleans())
def test_a_key_that_is_split_over_chunks_is_masked(cuts: list[int], ends: bool) -> None:
    """Wherever it is cut, also over two blocks that follow each other, and in every stage."""
    text = f"The key is {KEY} and the mail {MAIL}, thanks."
    places = sorted({0, len(text), *[cut for cut in cuts if cut < len(text)]})
    blocks = StreamBlocks(DEFAULT)
    shown: list[dict[str, Any]] = []
    for number, (start, end) in enumerate(zip(places, places[1:], strict=False)):
        id = "one" if start < len(text) // 3 else "two"
        shown += [payload for _, payload in blocks.take(number, passed(number, text[start:end], id=id))]
        if ends:
            shown += [payload for _, payload in blocks.take(number, passed(number, None, "text-end", id=id))]
    assert shown == []
    shown += [payload for _, payload in blocks.take(99, passed(99, None, "finish"))]
    told = json.dumps(shown, ensure_ascii=False)
    came = [one["came"] for one in shown]
    left = [chunk for one in shown for chunk in one["left"]]
    made = [chunk for one in shown for chunk in one["stages"][0]["out"]]
    for lane in (came, left, made):
        whole = "".join(str(chunk.get("text", "")) for chunk in lane)
        assert whole == "The key is ‹secret› and the mail ‹email›, thanks."
    assert KEY[:12] not in told and "eva@" not in told


@given(text=st.text(max_size=60), masked=st.text(max_size=60), cuts=st.lists(st.integers(0, 60), max_size=6))
def test_masked_text_is_spread_over_the_pieces_whole(text: str, masked: str, cuts: list[int]) -> None:
    """Whatever a redactor makes of a text, the pieces are as many as before, and together what it made."""
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    pieces = [text[start:end] for start, end in zip(places, places[1:], strict=False)]
    made = spread(pieces, masked)
    assert len(made) == len(pieces) and "".join(made) == masked


def test_blocks_that_alternate_are_looked_at_one_by_one() -> None:
    """A key in one block is found although pieces of another one stand between."""
    blocks = StreamBlocks(DEFAULT)
    for number, (text, id) in enumerate(
        [(f"a {KEY[:14]}", "one"), (" never ", "two"), (KEY[14:], "one"), ("mind", "two")]
    ):
        assert blocks.take(number, passed(number, text, id=id)) == []
    shown = [payload for _, payload in blocks.release()]
    assert [one["came"]["text"] for one in shown] == ["a ‹secret›", " never ", "", "mind"]


@pytest.mark.parametrize(
    "kind", ["raw", "source", "response-metadata", "data-progress", "object", "tool-call", "tool-result"]
)
def test_a_key_is_found_whatever_comes_in_its_middle(kind: str) -> None:
    """A chunk that is no text, such as a provider's own event or a source, ends no text that goes on behind it."""
    blocks = StreamBlocks(DEFAULT)
    assert len(blocks.take(0, passed(0, None, kind))) == 1  # no text is in hand: nothing is waited for
    assert blocks.take(1, passed(1, f"a {KEY[:14]}")) == []
    assert blocks.take(2, passed(2, None, kind)) == []
    assert blocks.take(3, passed(3, f"{KEY[14:]} never mind")) == []
    shown = [payload for _, payload in blocks.take(4, passed(4, None, "finish"))]
    assert [one["came"].get("text") for one in shown] == ["a ‹secret›", None, " never mind", None]
    assert [one["number"] for one in shown] == [1, 2, 3, 4]


def test_what_is_not_masked_stays_where_it_was() -> None:
    """Chunks before, between and behind what was masked are as they came."""
    pieces = ["mail e", "va@x.y", " and ", "k", "ey", " end"]
    assert spread(pieces, "mail ‹email› and ‹secret› end") == ["mail ‹email›", "", " and ", "‹secret›", "", " end"]


def test_a_redactor_that_fails_at_a_stream_withholds_its_text() -> None:
    """The chunks are shown, and nothing that they say."""

    def broken(text: str) -> str:
        if "private" in text:
            raise RuntimeError
        return text

    blocks = StreamBlocks(broken)
    blocks.take(0, passed(0, "pri"))
    blocks.take(1, passed(1, "vate"))
    shown = [payload for _, payload in blocks.take(2, passed(2, None, "finish"))]
    assert [one["came"].get("text") for one in shown] == [WITHHELD, "", None]


def test_text_that_is_too_long_to_be_held_is_withheld() -> None:
    """Nothing grows without a bound, and what was not looked at is not shown."""
    blocks = StreamBlocks(DEFAULT)
    shown: list[Any] = []
    for number in range(30):
        shown += blocks.take(number, passed(number, "x" * 20_000))
    shown += blocks.take(30, passed(30, None, "finish"))
    assert all(set(payload["came"].get("text", "")) <= set(WITHHELD) for _, payload in shown)
    assert len(shown) == 31
    assert len(blocks.take(31, passed(31, "Hello."))) == 0
    assert [payload["came"]["text"] for _, payload in blocks.release()] == ["Hello."]


async def test_nothing_private_is_in_what_is_shown_of_a_run() -> None:
    """Not in events, not in pages, not in the summary: prompt, stream, held text, messages, answer."""
    runs = Runs()
    agent = Agent(
        "a", model=FakeModel(Reply((f"Use {KEY[:9]}", KEY[9:20], f"{KEY[20:]} or ask ev", "a@example.com."))),
        input_processors=[idle("in")], output_processors=[Holds()], runtime=Runtime(observers=[runs]),
    )  # fmt: skip
    async with agent.stream(f"I am {MAIL}, my key is {KEY}.") as stream:
        result = await stream.result()
    assert KEY in result.text
    page = await runs.events(result.run_id, limit=1_000)
    live = [event.text async for event in await runs.read(result.run_id)]
    told = json.dumps([page, await runs.summary(result.run_id), await runs.list()], ensure_ascii=False) + "".join(live)
    for private in (KEY, KEY[9:20], MAIL, MAIL.upper(), "a@example.com"):
        assert private not in told
    assert page["events"][-1]["payload"]["text"] == "Use ‹secret› or ask ‹email›."
    assert [json.loads(text)["seq"] for text in live] == list(range(page["last_seq"] + 1))


def test_numbers_that_are_of_a_card_or_an_account_are_masked() -> None:
    """A model gives a card's number to a tool as a number: what a text would hide, that hides as well."""
    shown = redacted({"card": 4111111111111111, "n": [-4111111111111111, 123456789, 7], "at": 1764563000.5}, DEFAULT)
    assert shown == {"card": "‹card›", "n": ["-‹card›", 123456789, 7], "at": 1764563000.5}
    assert redacted(10**5000, DEFAULT) == WITHHELD


@pytest.mark.parametrize("kind", ["text", "reasoning"])
def test_a_key_that_is_split_over_the_parts_of_a_message_is_masked(kind: str) -> None:
    """A source in the middle of a sentence makes two parts of it; what is in one part alone is found as well."""
    source = {"type": "source", "url": "https://example.com"}
    parts = [{"type": kind, "text": f"a {KEY[:14]}"}, source, {"type": kind, "text": f"{KEY[14:]} never mind"}]
    shown = redacted({"parts": parts}, DEFAULT)["parts"]
    assert shown == [{"type": kind, "text": "a ‹secret›"}, source, {"type": kind, "text": " never mind"}]
    cards = [{"type": kind, "text": "4111 1111 1111 1111"}, {"type": kind, "text": "5 pieces"}]
    assert [one["text"] for one in redacted(cards, DEFAULT)] == ["‹card›", "5 pieces"]


def test_what_stands_in_one_block_alone_is_masked() -> None:
    """The next block does not hide it, although both are looked at as one as well."""
    blocks = StreamBlocks(DEFAULT)
    blocks.take(0, passed(0, "4111 1111 1111 1111", id="one"))
    blocks.take(1, passed(1, "5 pieces", id="two"))
    assert [payload["came"]["text"] for _, payload in blocks.release()] == ["‹card›", "5 pieces"]
