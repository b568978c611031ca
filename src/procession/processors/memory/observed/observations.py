"""
Observations: what was observed of a thread, as it stands in its note.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias, cast, get_args

from procession.errors import StoreError
from procession.messages.message import Message
from procession.messages.value import Value

__all__ = [
    "NOTHING",
    "Batch",
    "Claim",
    "Observation",
    "Observations",
    "Place",
    "Priority",
    "place_of",
    "read_observations",
]

Priority: TypeAlias = Literal["high", "medium", "low"]
_PRIORITIES = get_args(Priority)
_FORM = 1
"""What this version writes.  It reads nothing that a later one has written."""


class Observation(Value):
    """
    One thing that was observed.
    """

    text: str
    priority: Priority = "medium"
    when: str | None = None
    """What it is about in time, as the observer says: a date, or a date with a time of day."""
    thread_id: str | None = None
    """The thread that it was drawn from, where it is shown to somebody."""


class Place(Value):
    """
    A message of a thread, and its time.
    """

    message_id: str
    time: datetime


class Batch(Value, kw_only=True):
    """
    What was observed of messages that follow each other.
    """

    first: Place
    last: Place
    messages: int
    """How many they were."""
    observations: tuple[Observation, ...]
    reflections: int = 0
    """How often they have been rewritten."""


class Claim(Value):
    """
    Somebody who asks a model at present, and until when nobody else does.
    """

    token: str
    until: float
    """Seconds since the epoch."""


class Observations(Value, kw_only=True):
    """
    What is noted of one thread: batches in the order of its messages, without gaps.
    """

    batches: tuple[Batch, ...] = ()
    active: int = 0
    """How many of them stand in for their messages; those behind were observed ahead of time."""
    claim: Claim | None = None
    failures: int = 0
    """How often it was tried in vain since it last succeeded."""
    not_before: float = 0.0
    """When it may be tried again, in seconds since the epoch."""

    @property
    def shown(self) -> tuple[Batch, ...]:
        """
        The batches that stand in for their messages.
        """
        return self.batches[: self.active]

    @property
    def shown_to(self) -> Place | None:
        """
        The last message that observations stand in for.
        """
        return self.batches[self.active - 1].last if self.active else None

    @property
    def observed_to(self) -> Place | None:
        """
        The last message that was observed.
        """
        return self.batches[-1].last if self.batches else None

    def as_text(self) -> str:
        """
        Return what stands in the note.
        """
        form: dict[str, Any] = {"form": _FORM, "active": self.active, "batches": list(map(_batch_form, self.batches))}
        if self.claim is not None:
            form["claim"] = [self.claim.token, self.claim.until]
        if self.failures:
            form |= {"failures": self.failures, "not_before": self.not_before}
        return json.dumps(form, ensure_ascii=False, separators=(",", ":"))


NOTHING = Observations()


def place_of(message: Message) -> Place:
    """
    Return where a message stands in its thread.
    """
    time = message.created_at
    return Place(message.id, time if time.tzinfo is not None else time.replace(tzinfo=UTC))


def read_observations(text: str) -> Observations:
    """
    Return the observations of which *text* was made.

    Raises ``StoreError``, without a word of it, for anything else, and for what a later version has written.

    >>> read_observations(Observations(failures=2).as_text()).failures
    2
    """
    try:
        form = cast("Mapping[str, Any]", json.loads(text))
        if form["form"] != _FORM:
            raise ValueError("another version")
        claim = form.get("claim")
        read = Observations(
            batches=tuple(map(_read_batch, form["batches"])),
            active=_count(form["active"]),
            claim=Claim(_text(claim[0]), _number(claim[1])) if claim is not None else None,
            failures=_count(form.get("failures", 0)),
            not_before=_number(form.get("not_before", 0.0)),
        )
        if read.active > len(read.batches):
            raise ValueError("more batches are shown than there are")
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        raise StoreError(
            "a thread's note of observations cannot be read",
            hint="something else, or a later version, has written it; memory.forget_observations(...) drops it",
        ) from None
    return read


def _batch_form(batch: Batch) -> dict[str, Any]:
    form: dict[str, Any] = {
        "first": _place_form(batch.first),
        "last": _place_form(batch.last),
        "messages": batch.messages,
        "observations": [[one.text, one.priority, one.when] for one in batch.observations],
    }
    return form | {"reflections": batch.reflections} if batch.reflections else form


def _place_form(place: Place) -> list[str]:
    return [place.message_id, place.time.astimezone(UTC).isoformat()]


def _read_batch(form: Any) -> Batch:
    return Batch(
        first=_read_place(form["first"]),
        last=_read_place(form["last"]),
        messages=_count(form["messages"]),
        observations=tuple(map(_read_observation, form["observations"])),
        reflections=_count(form.get("reflections", 0)),
    )


def _read_place(form: Sequence[Any]) -> Place:
    time = datetime.fromisoformat(_text(form[1]))
    if time.tzinfo is None:
        raise ValueError("a time without its zone")
    return Place(_text(form[0]), time)


def _read_observation(form: Sequence[Any]) -> Observation:
    text, priority, when = form
    if priority not in _PRIORITIES:
        raise ValueError("no priority")
    return Observation(_text(text), priority, _text(when) if when is not None else None)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError("no count")
    return value


def _number(value: Any) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise TypeError("no number")
    return float(value)
