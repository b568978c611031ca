"""
Parts: what a message is made of, and the sequence that holds them.

Each part is an immutable value.  ``Parts`` is a persistent sequence: a step of the agent loop appends its parts
as one segment and shares all earlier segments, so a long run costs the same per step as a short one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, TypeAlias, overload

from procession.messages.value import Value

__all__ = [
    "Approval",
    "DataPart",
    "ErrorPart",
    "FilePart",
    "Metadata",
    "Part",
    "Parts",
    "ReasoningPart",
    "SourcePart",
    "StepStartPart",
    "TextPart",
    "ToolCallPart",
    "ToolState",
]

Metadata: TypeAlias = Mapping[str, Any] | None
ToolState = Literal[
    "partial-call", "call", "result", "approval-requested", "approval-responded", "output-error", "output-denied"
]
"""Where a tool call stands.  ``partial-call`` is still streaming and never stored."""


class TextPart(Value):
    """
    Text that a person or a model said.
    """

    type: ClassVar[str] = "text"
    text: str
    provider_metadata: Metadata = None


class ReasoningPart(Value):
    """
    What a model thought aloud; ``signature`` and ``redacted`` go back to the provider byte for byte.
    """

    type: ClassVar[str] = "reasoning"
    text: str
    signature: str | None = None
    redacted: str | None = None
    provider_metadata: Metadata = None


class FilePart(Value):
    """
    A file or an image: ``data`` is bytes, base64 text, a ``data:`` URI or a URL.
    """

    type: ClassVar[str] = "file"
    data: str | bytes
    media_type: str
    filename: str | None = None
    provider_metadata: Metadata = None


class SourcePart(Value):
    """
    Where an answer comes from: a URL or a document.
    """

    type: ClassVar[str] = "source"
    id: str
    source_type: Literal["url", "document"] = "url"
    url: str | None = None
    title: str | None = None
    media_type: str | None = None
    filename: str | None = None
    provider_metadata: Metadata = None


class Approval(Value):
    """
    Whether a person allowed a tool call; ``approved`` is ``None`` while nobody has answered.
    """

    id: str
    approved: bool | None = None
    reason: str | None = None


class ToolCallPart(Value):
    """
    One tool call with everything that has become of it so far.
    """

    type: ClassVar[str] = "tool-invocation"
    tool_call_id: str
    tool_name: str
    args: Any
    state: ToolState = "call"
    result: Any = None
    error_text: str | None = None
    is_error: bool = False
    raw_input: str | None = None
    approval: Approval | None = None
    model_output: Any = None
    provider_executed: bool = False
    title: str | None = None
    provider_metadata: Metadata = None


class StepStartPart(Value):
    """
    The border between two steps of one assistant message.
    """

    type: ClassVar[str] = "step-start"
    model: str | None = None


class ErrorPart(Value):
    """
    The error that ended a turn.
    """

    type: ClassVar[str] = "error"
    name: str
    message: str


class DataPart(Value):
    """
    Data of the application: ``type`` starts with ``data-``.  It is shown and stored, never sent to a model.
    """

    type: str
    data: Any
    id: str | None = None


Part: TypeAlias = TextPart | ReasoningPart | FilePart | SourcePart | ToolCallPart | StepStartPart | ErrorPart | DataPart


class Parts(Sequence[Part]):
    """
    An immutable sequence of parts that is cheap to extend.

    It is a chain of segments, newest first.  ``extended`` shares the whole chain; ``replaced`` copies only the
    segments behind the place that changes.  Equality is that of the flat sequence.

    >>> a = Parts([TextPart("one")])
    >>> b = a.extended([StepStartPart(), TextPart("two")])
    >>> len(a), len(b), b[-1].text
    (1, 3, 'two')
    """

    __slots__ = ("_flat", "before", "length", "segment")

    before: Parts | None
    """The parts of earlier steps, shared with older versions of the message."""
    length: int
    """How many there are; ``len(...)`` for those who count often."""
    segment: tuple[Part, ...]
    """The parts since then."""

    def __init__(self, parts: Iterable[Part] = (), before: Parts | None = None) -> None:
        self.segment = tuple(parts)
        self.before = before
        self.length: int = len(self.segment) + (before.length if before is not None else 0)
        self._flat: tuple[Part, ...] | None = self.segment if before is None else None

    def extended(self, parts: Iterable[Part]) -> Parts:
        """
        Return these parts followed by *parts* as a segment of their own.
        """
        return Parts(parts, self if self.length else None)

    def replaced(self, index: int, part: Part) -> Parts:
        """
        Return these parts with *part* at *index* (from 0; negative counts from the end).
        """
        if index < 0:
            index += self.length
        if not 0 <= index < self.length:
            raise IndexError(index)
        # Link by link and not by recursion: a long run has more links than Python has frames.
        later: list[tuple[Part, ...]] = []
        link = self
        while link.before is not None and index < link.length - len(link.segment):
            later.append(link.segment)
            link = link.before
        at = index - link.length + len(link.segment)
        made = Parts((*link.segment[:at], part, *link.segment[at + 1 :]), link.before)
        for segment in reversed(later):
            made = Parts(segment, made)
        return made

    @property
    def flat(self) -> tuple[Part, ...]:
        """
        All parts as one tuple, made once.
        """
        if self._flat is None:
            segments: list[tuple[Part, ...]] = []
            link: Parts | None = self
            while link is not None:
                if link._flat is not None:
                    segments.append(link._flat)
                    break
                segments.append(link.segment)
                link = link.before
            self._flat = tuple(part for segment in reversed(segments) for part in segment)
        return self._flat

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[Part]:
        return iter(self.flat)

    def __reversed__(self) -> Iterator[Part]:
        link: Parts | None = self
        while link is not None:
            yield from reversed(link.segment)
            link = link.before

    @overload
    def __getitem__(self, index: int) -> Part: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Part, ...]: ...
    def __getitem__(self, index: int | slice) -> Part | tuple[Part, ...]:
        if isinstance(index, int) and 0 > index >= -len(self.segment):
            return self.segment[index]
        return self.flat[index]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Parts):
            return self is other or (self.length == other.length and self.flat == other.flat)
        if isinstance(other, (tuple, list)):
            return self.flat == tuple(other)  # pyright: ignore[reportUnknownArgumentType]
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self.flat)

    def __repr__(self) -> str:
        return repr(list(self.flat))

    def __deepcopy__(self, memo: dict[int, Any]) -> Parts:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return (Parts, (self.flat,))
