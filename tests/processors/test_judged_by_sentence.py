"""AskingGuard(stream_by=...): a streamed answer judged sentence by sentence, and nothing shown that was not judged."""

from __future__ import annotations

import re
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.processors.asking_kit import ANSWER, FIRST, SECOND, TEXTS, THIRD, Blocks, Blunt, Finder, names
from tests.processors.stream_kit import deltas, made, push, streamed, texts

from procession.agents.agent import Agent
from procession.errors import ProcessorDefinitionError
from procession.messages.chunks import (
    TextDelta,
)
from procession.messages.text.sentences import Sentences
from procession.processors.detect.detector import Verdict
from procession.processors.guardrails.pii import PIIDetector
from procession.steps.scope import RequestScope
from procession.steps.signals import Tripwire
from procession.testing.fake_model import FakeModel

pytestmark = pytest.mark.anyio

# -- what is asked, and what is shown


def _solid(text: str) -> str:
    """Return *text* without white space: of a stretch of nothing else nobody is asked."""
    return "".join(text.split())


@pytest.mark.parametrize("strategy", ["block", "redact"])
@pytest.mark.parametrize("stream_by", ["sentence", 40])
@settings(max_examples=60)
@given(text=TEXTS, places=st.lists(st.integers(0, 400), max_size=12), context=st.sampled_from([0, 20]))
def test_no_cut_changes_what_is_asked(
    strategy: str, stream_by: Any, text: str, places: list[int], context: int
) -> None:
    """However a text is cut the detector is asked the same, and the reader has the same, or the same verdict; and never more
    than what the detector was asked about."""
    edges = [0, *sorted(min(place, len(text)) for place in places), len(text)]
    cut = [text[start:end] for start, end in zip(edges, edges[1:], strict=False)]

    async def outcome(pieces: list[str]) -> tuple[list[str], str, str | None]:
        finder = Finder()
        stream = made(names(finder, strategy, stream_by=stream_by, context=context, detection_types=None))
        shown: list[str] = []
        try:
            for piece in pieces:
                shown += texts(await push(stream, TextDelta(piece)))
                if strategy == "block":
                    assert text.startswith("".join(shown))
                    assert context or _solid("".join(finder.asked)).startswith(_solid("".join(shown)))
            shown += texts(await stream.flush())
        except Tripwire as tripwire:
            return finder.asked, "", tripwire.info.reason
        return finder.asked, "".join(shown), None

    whole = anyio.run(outcome, [text])
    for pieces in (cut, list(text)):
        assert anyio.run(outcome, pieces) == whole


@settings(max_examples=60)
@given(text=TEXTS)
def test_a_detector_that_decides_by_sentence_gives_what_the_whole_text_gives(text: str) -> None:
    """Where each finding lies in one sentence the joined output is the guard of the whole text (D18)."""
    by_sentence = "".join(texts(anyio.run(streamed, deltas(*text), names(Finder()))))
    by_block = "".join(texts(anyio.run(streamed, deltas(*text), names(Finder(), stream_by="block"))))
    assert by_sentence == by_block


async def test_a_sentence_is_let_go_once_it_was_judged() -> None:
    """The reader has a sentence as soon as the detector has answered, with what comes before it, and not the next one."""
    finder = Finder()
    stream = made(names(finder, context=24))
    shown = ""
    when: list[tuple[int, str]] = []
    for at, character in enumerate(ANSWER):
        new = "".join(texts(await push(stream, TextDelta(character))))
        if new:
            shown += new
            when.append((at, new))
    assert when == [(len(FIRST), FIRST), (len(FIRST + SECOND), SECOND.replace("Eva Holm", "[NAME]"))]
    assert texts(await stream.flush()) == [THIRD]
    assert finder.asked == [FIRST, FIRST[-24:] + SECOND, SECOND[-24:] + THIRD]


async def test_nothing_is_shown_before_it_was_judged() -> None:
    """Whenever the detector is asked the reader has nothing of the sentence in hand, nor of any later one (D18)."""
    shown: list[str] = []
    during: list[str] = []
    finder = Finder("not there", meanwhile=lambda: during.append("".join(shown)))
    stream = made(names(finder))
    for piece in re.findall(".{1,7}", ANSWER):
        shown += texts(await push(stream, TextDelta(piece)))
    shown += texts(await stream.flush())
    assert "".join(shown) == ANSWER
    assert during == ["", FIRST, FIRST + SECOND]


async def test_what_spans_two_sentences_is_found_with_the_second() -> None:
    """The detector is shown the end of what went before; of such a finding only the second half can still be hidden."""
    text = FIRST.removesuffix(".") + " by Eva. Holm is what they call her at work, as everybody there knows well."
    finder = Finder(r"Eva\. Holm")
    assert "".join(texts(await streamed(deltas(*text), names(finder)))) == text.replace("Eva. Holm", "Eva.[NAME]")
    with pytest.raises(Tripwire):
        await streamed(deltas(*text), names(Finder(r"Eva\. Holm"), "block"))
    out = await streamed(deltas(*text), names(Finder(r"Eva\. Holm"), context=0))
    assert "".join(texts(out)) == text


async def test_a_verdict_without_places_is_about_the_sentence() -> None:
    """What a detector says of context and sentence together hides the sentence, and leaves what was shown."""
    out = await streamed(deltas(*ANSWER), Blunt(Finder(), strategy="redact", stream_by="sentence"))
    assert "".join(texts(out)) == f"{FIRST}[BAD]{THIRD}"


async def test_what_rules_find_is_held_back_whole() -> None:
    """A rule's match across the border of two sentences is hidden whole, since rules have a window of their own (D18)."""
    text = FIRST + " The card is 4242 4242 4242\n4242, and it is good for a while, as far as anybody knows today."
    for size in (1, 3, 1000):
        finder = Finder()
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        guard = names(finder, detection_types=None)
        out = "".join(texts(await streamed(deltas(*pieces), guard)))
        assert out == text.replace("4242 4242 4242\n4242", "[CREDIT-CARD]")
        assert "4242" not in "".join(finder.asked)


async def test_a_model_is_never_asked_per_delta() -> None:
    """A long answer in single characters is a question per sentence or window, not per delta (08 #58)."""
    for stream_by, most in (("sentence", 20), (400, 6), ("block", 1)):
        finder = Finder()
        await streamed(deltas(*(ANSWER * 5)), names(finder, stream_by=stream_by))
        assert 1 <= len(finder.asked) <= most


@pytest.mark.parametrize("strategy", ["filter", "warn"])
async def test_filter_and_warn_ask_about_whole_blocks(strategy: str) -> None:
    """To drop a block takes all of it, and a guard that changes nothing holds nothing back: one question either way."""
    finder = Finder()
    out = "".join(texts(await streamed(deltas(*ANSWER), names(finder, strategy))))
    assert out == ("" if strategy == "filter" else ANSWER)
    assert finder.asked == [ANSWER]


# -- failures


class Down(Finder):
    """A detector that fails on its second question."""

    async def detect(self, text: str, *, scope: Any = None) -> Verdict:
        """Find it, or fail."""
        if len(self.asked) == 1:
            self.asked.append(text)
            raise RuntimeError("down")
        return await super().detect(text, scope=scope)


async def test_a_sentence_that_could_not_be_judged_is_not_shown() -> None:
    """A detector that fails stops the run with ``guard_failed``; what was judged before it has been shown (D17)."""
    stream = made(names(Down()))
    assert texts(await push(stream, TextDelta(FIRST + " "))) == [FIRST]
    with pytest.raises(Tripwire) as tripwire:
        await push(stream, TextDelta(SECOND[1:] + " "))
    assert tripwire.value.info.metadata == {"kind": "guard_failed"}


@pytest.mark.parametrize("size", [1, 1000])
async def test_a_guard_that_is_skipped_loses_no_text(size: int) -> None:
    """With ``on_error="skip"`` what could not be judged goes on as it came, once; what rules found stays hidden."""
    text = (
        FIRST + " Write to eva@example.net or call Eva Holm, who is there all day and knows what is to be done." + THIRD
    )
    scope = RequestScope()
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    out = await streamed(deltas(*pieces), names(Down(), on_error="skip", detection_types=None), scope=scope)
    assert "".join(texts(out)) == text.replace("eva@example.net", "[EMAIL]")
    assert [violation.outcome for violation in scope.violations if violation.outcome == "error"] == ["error"]


async def test_a_question_that_takes_too_long_is_a_timeout() -> None:
    """The time limit is that of one question: it stops the run with ``guard_timeout``, and nothing of the sentence is shown."""

    class Slow(Finder):
        async def detect(self, text: str, *, scope: Any = None) -> Verdict:
            if self.asked:
                await anyio.sleep_forever()
            return await super().detect(text, scope=scope)

    stream = made(names(Slow(), timeout=0.05))
    assert texts(await push(stream, TextDelta(FIRST + " "))) == [FIRST]
    with pytest.raises(Tripwire) as tripwire:
        await push(stream, TextDelta(SECOND[1:] + " "))
    assert tripwire.value.info.metadata == {"kind": "guard_timeout"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"stream_by": "word"}, "stream_by='word' (hint: it is 'block', 'sentence', or how many"),
        ({"stream_by": 5}, "stream_by=5"),
        ({"stream_by": True}, "stream_by=True"),
        ({"context": -1}, "context=-1 (hint: it is a whole number, at least 0)"),
        ({"context": "all"}, "context='all'"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], words: str) -> None:
    """A wrong option is named, with what would be right."""
    with pytest.raises(ProcessorDefinitionError) as caught:
        PIIDetector(**options)
    assert words in str(caught.value)


def test_the_sizes_are_those_of_the_documents() -> None:
    """docs/guards.md says 80 and 1000 characters."""
    cut = Sentences()
    assert cut.feed("a. " * 26 + "b. c") == ["a. " * 26 + "b."]
    assert [len(one) for one in cut.feed("x" * 2000)] == [1000, 1000]


async def test_an_agent_can_be_asked_what_it_does() -> None:
    """A model in place of a detector is asked the same way."""
    none = '{"categories": null, "detections": null}'
    model = FakeModel([none, none, none])
    agent = Agent(
        "a", model=Blocks(list(ANSWER)),
        output_processors=[PIIDetector(model=model, stream_by="sentence", phase="output")],
    )  # fmt: skip
    assert (await agent.generate("Hi")).text == ANSWER
    assert len(model.requests) == 3
