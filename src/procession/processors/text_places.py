"""
The texts in a message that a guard looks at, and putting what it hid back to where it stood.

Text that a reader sees joined is looked at joined, too: a finding may lie across two blocks of one answer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from procession.messages.message import Message
from procession.messages.parts import FilePart, Part, Parts, StepStartPart, TextPart, ToolCallPart
from procession.messages.text.spans import Region, resolve
from procession.processors.hold_back import digest_of, new_digest
from procession.processors.strings import KEY, Path, replace_strings, shown, strings_in

__all__ = [
    "Change",
    "Finding",
    "Place",
    "Segment",
    "answer_texts",
    "args_texts",
    "changed",
    "file_names",
    "findings",
    "new_texts",
]

FILE_NAME: Path = ("filename",)
"""Where the name of a file stands in its part."""
_RESULT_FIELDS = ("result", "error_text", "model_output")


class Segment(NamedTuple):
    """
    One string of a message: its part, for a tool's result the path in it, and where in the joined text it stands.
    """

    part: int
    path: Path
    start: int
    end: int


class Place(NamedTuple):
    """
    A text to look at.  Places of one *unit* overlap: what is found in them is settled together, and *offset* is where
    this one begins in the unit's text.
    """

    unit: int
    offset: int
    segments: tuple[Segment, ...]

    @property
    def is_joined(self) -> bool:
        """
        Whether it is a text of several parts, which the reader has seen joined.
        """
        return len(self.segments) > 1 and not self.segments[0].path

    def counts(self, region: Region) -> bool:
        """
        Whether *region* is this place's to tell: in a joined text only what lies across a border is.
        """
        if not self.is_joined:
            return True
        return sum(one.start < region.end and region.start < one.end for one in self.segments) > 1


class Change(NamedTuple):
    """
    What stands in place of the characters from *start* up to *end* of the text at *place*.
    """

    place: Place
    start: int
    end: int
    text: str


class Finding(NamedTuple):
    """
    What was found in the *text* of one unit, whose *place* names all of it.
    """

    place: Place
    text: str
    regions: list[Region]

    @property
    def in_result(self) -> bool:
        """
        Whether it is in what a tool answered.
        """
        return bool(self.place.segments[0].path)

    def touched(self) -> Iterator[Segment]:
        """
        Yield the strings that something was found in.
        """
        for one in self.place.segments:
            if any(region.start < one.end and one.start < region.end for region in self.regions):
                yield one

    def changes(self, replacement: Callable[[Region, str], str], notice: str | None) -> list[Change]:
        """
        Return what hides it: a *notice* in place of each string, or what *replacement* says in place of each region.
        """
        if notice is not None:
            return [Change(self.place, one.start, one.end, notice) for one in self.touched()]
        return [
            Change(self.place, one.start, one.end, replacement(one, self.text[one.owner.start : one.owner.end]))
            for one in self.regions
        ]

    def where(self, hidden: Collection[Path] = ()) -> dict[str, Any]:
        """
        Return the part, and for a tool's result the place in it, without the keys that are *hidden*.
        """
        one = next(self.touched(), self.place.segments[0])
        return {"partIndex": one.part, **({"path": shown(one.path, hidden)} if one.path else {})}

    def keys(self) -> Iterator[Path]:
        """
        Yield the paths of the keys that something was found in.
        """
        return (one.path[:-1] for one in self.touched() if one.path[-1:] == (KEY,))


def new_texts(message: Message, *, joined: bool) -> dict[Place, str]:
    """
    Return the texts of a message that came with a call: its text, and what tools answered that the client ran.

    With *joined* the strings of one result are one text, for guards to whom every text is a question.
    """
    found: dict[Place, str] = {}
    for index, part in enumerate(message.parts):
        if isinstance(part, TextPart) and part.text:
            found[Place(len(found), 0, (Segment(index, (), 0, len(part.text)),))] = part.text
        elif isinstance(part, ToolCallPart):
            strings = list(_result_strings(part))
            for group in [strings] if joined and strings else [[one] for one in strings]:
                place = Place(len(found), 0, tuple(_laid_out([(index, *one) for one in group], gap=1)))
                found[place] = "\n".join(text for _, text in group)
    return found


def file_names(message: Message) -> dict[Place, str]:
    """
    Return the names of the files in a message.
    """
    return {
        Place(-1_000_000 - index, 0, (Segment(index, FILE_NAME, 0, len(part.filename)),)): part.filename
        for index, part in enumerate(message.parts)
        if isinstance(part, FilePart) and part.filename
    }


def answer_texts(message: Message, passed: Collection[bytes]) -> dict[Place, str]:
    """
    Return the texts of an answer that are not among those that *passed* in the stream; of a step of several texts
    besides them the whole, which the reader has seen joined.
    """
    found: dict[Place, str] = {}
    for step in _steps(message.parts):
        texts = [text for _, text in step]
        fresh, whole = _not_passed(texts, passed)
        if whole:
            continue
        segments = tuple(_laid_out([(index, (), text) for index, text in step], gap=0))
        unit = segments[0].part
        for at in fresh:
            one = segments[at]
            found[Place(unit, one.start, (one._replace(start=0, end=len(texts[at])),))] = texts[at]
        if len(segments) > 1:
            found[Place(unit, 0, segments)] = "".join(texts)
    return found


def args_texts(message: Message, passed: Collection[bytes]) -> dict[Place, str]:
    """
    Return the texts in what the tools of a message were called with that are not among those that *passed*; names of
    arguments are none.
    """
    found: dict[Place, str] = {}
    for index, part in enumerate(message.parts):
        if isinstance(part, ToolCallPart):
            for path, text in strings_in(part.args):
                if text and path[-1:] != (KEY,) and digest_of(text) not in passed:
                    found[Place(-1 - len(found), 0, (Segment(index, ("args", *path), 0, len(text)),))] = text
    return found


def changed(message: Message, changes: Sequence[Change]) -> tuple[Parts, Any]:
    """
    Return the parts of *message* with *changes* made, and what was hidden, as ``MessageList.replace`` takes it.
    """
    hidden: dict[int, dict[Path, list[tuple[int, int, str]]]] = {}
    for place, start, end, text in changes:
        for one in place.segments:
            if one.start < end and start < one.end:  # the first string has what stands there now, the others lose it
                strings = hidden.setdefault(one.part, {})
                spot = (max(start - one.start, 0), min(end, one.end) - one.start, text)
                strings.setdefault(one.path, []).append(spot)
                text = ""
    parts = message.parts
    for index, strings in hidden.items():
        parts = parts.replaced(index, _changed_part(parts[index], strings))
    if all(() in strings for strings in hidden.values()):
        return parts, {index: strings[()] for index, strings in hidden.items()}
    return parts, True


def _changed_part(part: Part, strings: Mapping[Path, list[tuple[int, int, str]]]) -> Part:
    if isinstance(part, TextPart):
        return part.replace(text=_spliced(part.text, strings[()]))
    if isinstance(part, FilePart):
        return part.replace(filename=_spliced(part.filename or "", strings[FILE_NAME]))
    fields: dict[str, Any] = {}
    for field in (*_RESULT_FIELDS, "args"):

        def change(path: Path, text: str, field: str = field) -> str:
            spots = strings.get((field, *path))
            return text if spots is None else _spliced(text, spots)

        value = getattr(part, field)
        made = replace_strings(value, change)
        if made is not value:
            fields[field] = made
    return part.replace(**fields)


def _spliced(text: str, spots: Sequence[tuple[int, int, str]]) -> str:
    for start, end, new in sorted(spots, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _result_strings(part: ToolCallPart) -> Iterator[tuple[Path, str]]:
    for field in _RESULT_FIELDS:
        value = getattr(part, field)
        if value is not None:
            for path, text in strings_in(value):
                if text:
                    yield (field, *path), text


def _laid_out(strings: Sequence[tuple[int, Path, str]], *, gap: int) -> Iterator[Segment]:
    at = 0
    for index, path, text in strings:
        yield Segment(index, path, at, at + len(text))
        at += len(text) + gap


def _steps(parts: Sequence[Part]) -> Iterator[list[tuple[int, str]]]:
    """
    Yield the texts of each step of an answer, with their parts.
    """
    step: list[tuple[int, str]] = []
    for index, part in enumerate(parts):
        if isinstance(part, TextPart) and part.text:
            step.append((index, part.text))
        elif isinstance(part, StepStartPart) and step:
            yield step
            step = []
    if step:
        yield step


def _not_passed(texts: Sequence[str], passed: Collection[bytes]) -> tuple[list[int], bool]:
    """
    Return which of *texts* have not passed, and whether they have as one block: a source in the middle of a block
    makes two parts of it.
    """
    if not passed:
        return list(range(len(texts))), False
    fresh: list[int] = []
    at = 0
    while at < len(texts):
        digest = new_digest()
        beyond = at
        for end in range(at, len(texts)):
            digest.update(texts[end].encode("utf-8", "surrogatepass"))
            if digest.digest() in passed:
                beyond = end + 1
        if beyond == len(texts) and at == 0:
            return [], True
        if beyond == at:
            fresh.append(at)
        at = max(beyond, at + 1)
    return fresh, False


def findings(texts: Mapping[Place, str], look: Callable[[str], list[Region]]) -> Iterator[Finding]:
    """
    Yield what *look* finds in *texts*, unit by unit; a unit in which there is nothing is left out.
    """
    for _, group in groupby(texts.items(), lambda one: one[0].unit):
        unit = list(group)
        found = [(place.offset, region) for place, text in unit for region in look(text) if place.counts(region)]
        if found:
            regions = [region for _, region in found]
            if len(unit) > 1:
                regions = resolve(span.moved(offset) for offset, region in found for span in region.members)
            yield Finding(*unit[-1], regions)
