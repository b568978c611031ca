"""D18 over every text guard there is: no cut of a text, and nothing that comes in between, changes what a guard does to it."""

from __future__ import annotations

import importlib
import itertools
import pkgutil
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.processors.samples import FOUND, NOISE
from tests.processors.stream_kit import on_text, push, same, side_by_side

import procession.processors
from procession.messages.chunks import (
    Chunk,
    DataChunk,
    FileChunk,
    RawChunk,
    ReasoningDelta,
    ResponseMetadata,
    SourceChunk,
    TextDelta,
    TextEnd,
    TextStart,
    ToolInputStart,
)
from procession.messages.message_list import MessageList
from procession.messages.text.spans import Span, resolve
from procession.processors.asking_guard import AskingGuard
from procession.processors.chain import chain, processor_steps
from procession.processors.detect.detector import Verdict
from procession.processors.guardrails.classifier import ClassifierProcessor
from procession.processors.guardrails.moderation import ModerationProcessor
from procession.processors.guardrails.pii import PIIDetector
from procession.processors.guardrails.prompt_injection import PromptInjectionDetector
from procession.processors.guardrails.regex_filter import RegexFilter
from procession.processors.guardrails.system_prompt import SystemPromptScrubber
from procession.processors.hold_back import Piece, pieces_of
from procession.processors.processor import Processor
from procession.processors.stream import StreamChain
from procession.processors.stream_plan import StreamPlan, stream_plan
from procession.processors.text_guard import TextGuard
from procession.processors.utility.batch_parts import BatchParts
from procession.processors.utility.token_limiter import TokenLimiter
from procession.processors.utility.unicode import UnicodeNormalizer
from procession.steps.scope import RequestScope
from procession.steps.signals import Tripwire
from procession.workflows.workflow import create_workflow

WINDOW = 128
"""How many characters a guard may hold back, besides a word or a match that has not ended (docs/guards.md)."""


class Codes(TextGuard):
    """A guard of the user's, with a ``find`` of its own."""

    id = "codes"

    def find(self, text: str) -> list[Span]:
        """Find codes, which may be parts of one another."""
        return [Span(*match.span(), "code") for match in re.finditer(r"ABC-\d{1,6}|zz+(?!y)", text)]


class Names:
    """A detector that has to be asked, and knows one name."""

    async def detect(self, text: str, *, scope: Any = None) -> Verdict:
        """Find the name."""
        spans = tuple(Span(*match.span(), "name") for match in re.finditer("Eva Holm", text))
        return Verdict({"name": 0.9} if spans else {}, spans)


def _named(text: str) -> dict[str, Any]:
    return {"name": "Eva Holm" in text}


RULES = (
    {"name": "code", "pattern": r"ABC-\d+", "replacement": "<code>"},
    {"name": "twice", "pattern": r"(\w)\1\1", "replacement": "<$1>"},
    {"name": "ahead", "pattern": r"foo(?=bar\d)|foo(?!\w)", "replacement": "<foo>"},
)
SECRET = "Never tell anybody that the garden gate stays open at night."
PLANTED = (
    *FOUND, "ABC-123", "ABC-", "zzz", "zzy", "foobar1", "foo", "aaa", "Eva Holm", "Eva ", "Holm",
    "\u0435v\u0430", "\u0410\u0412\u0421-1", SECRET, SECRET.upper(), "Never tell anybody", "the garden gate stays open", "that the garden g",
)  # fmt: skip
SHORT = ("x ABC-1 y", "a@b.co", "xzzzyzz ", "foobar1", "aaab")
"""Texts that are cut in every way there is."""


def _strategies(guard: type[TextGuard], **options: Any) -> Iterator[tuple[str, TextGuard]]:
    for strategy in guard.strategies:
        yield strategy, guard(strategy=strategy, **options)
        yield f"{strategy} monitor", guard(strategy=strategy, mode="monitor", **options)


def _all() -> Iterator[tuple[str, Processor]]:
    """Yield what takes part in a stream and promises D18, under a name."""
    for strategy, guard in _strategies(PIIDetector):
        yield f"pii {strategy}", guard
    for method in ("hash", "remove", "placeholder"):
        yield f"pii redact {method}", PIIDetector(redaction=method)
    for strategy in ("block", "redact", "filter", "warn"):
        yield f"pii asking {strategy}", PIIDetector(strategy=strategy, detector=Names())  # type: ignore[arg-type]
        by_sentence = PIIDetector(strategy=strategy, detector=Names(), stream_by="sentence")  # type: ignore[arg-type]
        yield f"pii asking by sentence {strategy}", by_sentence
    for strategy, guard in _strategies(RegexFilter, rules=RULES):
        yield f"regex {strategy}", guard
    for strategy in ("block", "redact", "filter", "warn"):
        rules = [
            *RULES,
            {"name": "mail", "pattern": "(?i)[a-z.]{1,20}@[a-z.]{1,20}"},
            {"name": "word", "pattern": r"\w{5,9}"},
        ]
        yield f"regex fold {strategy}", RegexFilter(rules=rules, strategy=strategy, fold=True)  # type: ignore[arg-type]
    yield "regex redact tight", RegexFilter(rules=RULES, strategy="redact", stream_carryover_size=1)
    yield "regex redact presets", RegexFilter(presets=["pii", "secrets", "urls"], strategy="redact", fold=True)
    for strategy, guard in _strategies(ModerationProcessor, words=["foo", "aaa", "eva holm"]):
        yield f"moderation words {strategy}", guard
    yield "moderation substrings block", ModerationProcessor(words=["foo", "aaa", "zzz"], match="substring")
    for strategy, guard in _strategies(SystemPromptScrubber, protect=[SECRET], custom_patterns=["ABC-[0-9]{1,9}"]):
        yield f"scrubber {strategy}", guard
    yield "scrubber redact remove", SystemPromptScrubber(protect=[SECRET], redaction="remove")
    for strategy in ("block", "filter", "warn"):
        named = ClassifierProcessor(classifier=_named, flag_if={"name": True}, strategy=strategy)  # type: ignore[arg-type]
        yield f"classifier {strategy}", named
        yield f"moderation asking {strategy}", ModerationProcessor(detector=Names(), strategy=strategy)  # type: ignore[arg-type]
    for strategy, guard in _strategies(Codes):
        yield f"codes {strategy}", guard
    yield "unicode", UnicodeNormalizer()
    yield "unicode safe", UnicodeNormalizer(profile="safe")


EVERY = dict(_all())
NOT_IN_STREAMS = {PromptInjectionDetector}
"""Guards that only look at what others say to the model."""
NO_GUARDS = {BatchParts, TokenLimiter}
"""What shapes a stream, or ends it, for other reasons than what is said: their promises have tests of their own."""


def _subclasses(kind: type[Any]) -> Iterator[type[Any]]:
    for one in kind.__subclasses__():
        yield one
        yield from _subclasses(one)


def test_no_guard_is_forgotten() -> None:
    """Every processor of the package that takes part in streams stands in the table of these tests."""
    for module in pkgutil.walk_packages(procession.processors.__path__, "procession.processors."):
        importlib.import_module(module.name)
    there = {
        kind
        for kind in _subclasses(Processor)
        if kind.__module__.startswith("procession.")
        and getattr(kind, "process_output_stream", None) is not None
        and kind not in (TextGuard, AskingGuard)
    }
    tested = {type(each) for each in EVERY.values()} | NOT_IN_STREAMS | NO_GUARDS
    assert there <= tested, "add it to _all() above, with each of its strategies"
    for kind in NOT_IN_STREAMS:
        assert getattr(kind(), "process_output_stream", None) is None


# -- what a guard makes of a whole text


class Whole(NamedTuple):
    """What a whole text gives: the joined output, whether a verdict stops it, and how far it may be shown."""

    text: str
    stops: bool
    safe: int
    pieces: Sequence[Piece]
    """The text cut into what was found and the rest; empty where no delay is promised."""


def whole(guard: Any, text: str) -> Whole:
    """Return what *guard* makes of a whole *text*."""
    if isinstance(guard, UnicodeNormalizer):
        return Whole(guard.normalised(text), False, len(text), ())
    regions = list(guard.regions(text))
    if guard.asks:  # the rules first, then the detector, which is shown what they left
        left = guard.guard(text) if guard.strategy == "redact" else text
        names = resolve(Span(*match.span(), "name") for match in re.finditer("Eva Holm", left))
        if guard.strategy == "redact":
            return Whole(guard.joined(pieces_of(left, names)), False, len(text), ())
        regions += names
    if guard.passes or not regions:
        bounded = guard.passes or (guard.strategy != "filter" and not guard.asks)
        return Whole(text, False, len(text), pieces_of(text, []) if bounded else ())
    if guard.strategy == "block":
        return Whole(text, True, min(region.start for region in regions), ())
    if guard.strategy == "filter":
        return Whole("", False, len(text), ())
    pieces = pieces_of(text, regions)
    return Whole(guard.joined(pieces), False, len(text), pieces)


def _taken(guard: Any, pieces: Sequence[Piece], shown: int) -> int:
    """Return how many characters of the original text stand behind the first *shown* ones of the output."""
    at = 0
    for piece in pieces:
        size = len(piece.text if piece.region is None else guard.replacement(piece.region, piece.found()))
        if shown < size:
            return at + (shown if piece.region is None else 0)
        shown -= size
        at += len(piece.text)
    return at


def _longest(want: Whole) -> int:
    """Return the length of the longest word, where what was found, and what it sticks to, counts as one word."""
    masked = "".join(piece.text if piece.region is None else "x" * len(piece.text) for piece in want.pieces)
    return max(map(len, re.split(r"[ \n]", masked)))


# -- ways to stand in a list


def _nested(guard: Any) -> Any:
    inner: Any = create_workflow("inner", kind="processor").then(guard).commit()
    return create_workflow("outer", kind="processor").then(inner).then(on_text(same, id="same")).commit()


def _picked(guard: Any) -> Any:
    return side_by_side(guard, on_text(str.upper, id="upper")).map(lambda outputs: outputs[f"processor:{guard.id}"])


def _picked_two_deep(guard: Any) -> Any:
    inner: Any = _picked(guard).commit()
    return create_workflow("outer", kind="processor").then(on_text(same, id="same")).then(inner).commit()


ARRANGEMENTS: dict[str, Callable[[Any], Any]] = {
    "alone": lambda guard: guard,
    "then": lambda guard: create_workflow("w", kind="processor").then(guard).commit(),
    "nested": _nested,
    "beside": lambda guard: side_by_side(guard, on_text(same, id="same")),
    "picked": _picked,
    "picked two deep": _picked_two_deep,
}


@cache
def plan_of(name: str, arrangement: str) -> StreamPlan:
    """Return how a list with the guard *name* in an *arrangement* is made ready for chunks."""
    plan = stream_plan(chain(processor_steps([ARRANGEMENTS[arrangement](EVERY[name])], where="list"), "list"))
    assert plan is not None
    return plan


# -- one stream


class Shown:
    """What a reader of one stream has, block by block."""

    def __init__(self) -> None:
        self.given: dict[str, str] = {}
        self.texts: dict[str, str] = {}
        self.others: list[Chunk] = []
        self.tripped = False


async def _stream(plan: StreamPlan, chunks: Sequence[Chunk], check: Callable[[Shown], None]) -> Shown:
    stream = StreamChain(plan, RequestScope(run_id="r"), MessageList())
    stream.begin(step_number=0, steps=(), retry_count=0)
    shown = Shown()

    def take(out: list[Chunk]) -> None:
        for one in out:
            if isinstance(one, TextDelta):
                shown.texts[one.id] = shown.texts.get(one.id, "") + one.text
            else:
                shown.others.append(one)

    try:
        for chunk in chunks:
            if isinstance(chunk, TextDelta):
                shown.given[chunk.id] = shown.given.get(chunk.id, "") + chunk.text
            take(await push(stream, chunk))
            check(shown)
        take(await stream.flush())
    except Tripwire:
        shown.tripped = True
    return shown


def placed(chunks: Sequence[Chunk]) -> list[Chunk]:
    """Return the chunks beside text that have a place in the answer."""
    return [chunk for chunk in chunks if not isinstance(chunk, (TextDelta, ResponseMetadata))]


def holds(name: str, arrangement: str, texts: dict[str, str], chunks: Sequence[Chunk]) -> None:
    """Check D18 for one way of sending *texts*, block by block."""
    guard = EVERY[name]
    wanted = {id: whole(guard, text) for id, text in texts.items()}
    bound = WINDOW + max(map(_longest, wanted.values()), default=0)

    def in_time(shown: Shown) -> None:
        for id, text in shown.given.items():
            if wanted[id].pieces and not wanted[id].stops:
                held = len(text) - _taken(guard, wanted[id].pieces, len(shown.texts.get(id, "")))
                assert held <= bound, f"{held} characters of block {id} are held back"

    shown = anyio.run(_stream, plan_of(name, arrangement), chunks, in_time)
    stops = any(each.stops for each in wanted.values())
    assert shown.tripped == stops
    for id, want in wanted.items():
        got = shown.texts.get(id, "")
        if stops:
            assert texts[id].startswith(got)
            assert not want.stops or len(got) <= want.safe, "part of what is blocked comes out"
        else:
            assert got == want.text
    if not stops:
        assert placed(shown.others) == placed(chunks)


# -- the promise

BETWEEN: tuple[Chunk, ...] = (
    SourceChunk(id="s", url="https://a.example"),
    FileChunk("AAAA", "image/png"),
    ReasoningDelta("hm", "r"),
    ToolInputStart("t", "look"),
    RawChunk({}),
    DataChunk("data-x", 1),
    ResponseMetadata(id="r"),
)
TEXTS = st.lists(st.sampled_from(PLANTED) | st.sampled_from(NOISE), max_size=8).map("".join)


@st.composite
def streams(draw: st.DrawFn) -> tuple[dict[str, str], list[Chunk]]:
    """Draw up to three blocks that alternate, each cut at random, with other chunks between."""
    texts = {str(number): draw(TEXTS) for number in range(draw(st.integers(1, 3)))}
    pieces: dict[str, list[str]] = {}
    for id, text in texts.items():
        if draw(st.booleans()):
            places = sorted(draw(st.lists(st.integers(0, len(text)), max_size=9)))
            pieces[id] = [text[start:end] for start, end in itertools.pairwise([0, *places, len(text)])]
        else:
            pieces[id] = list(text)
    chunks: list[Chunk] = [TextStart(id) for id in texts]
    together = draw(st.booleans())
    while pieces:
        id = draw(st.sampled_from(sorted(pieces))) if together else min(pieces)
        if pieces[id]:
            chunks.append(TextDelta(pieces[id].pop(0), id))
        else:
            del pieces[id]
            chunks.append(TextEnd(id))
    for _ in range(draw(st.integers(0, 3))):
        chunks.insert(draw(st.integers(0, len(chunks))), draw(st.sampled_from(BETWEEN)))
    return texts, chunks


@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
@pytest.mark.parametrize("name", EVERY)
@settings(max_examples=6)
@given(drawn=streams())
def test_no_cut_changes_what_a_guard_does(
    name: str, arrangement: str, drawn: tuple[dict[str, str], list[Chunk]]
) -> None:
    """The joined output is the guard of each whole block; a block shows a prefix; no more than the window is held."""
    holds(name, arrangement, *drawn)


@pytest.mark.parametrize("name", EVERY)
def test_every_cut_of_short_texts(name: str) -> None:
    """All ways of cutting a text of a few characters give the same."""
    for text in SHORT:
        places = range(1, len(text))
        for choice in range(2 ** len(places)):
            cut = [0, *(place for bit, place in enumerate(places) if choice >> bit & 1), len(text)]
            chunks = [TextDelta(text[start:end]) for start, end in itertools.pairwise(cut)]
            holds(name, "alone", {"text": text}, [TextStart(), *chunks, TextEnd()])
