"""
RunLog: what happened in one run, as it is shown: events as JSON, numbered from 0, for any number of readers.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Collection, Mapping
from itertools import islice
from threading import Lock
from typing import Any, Final

import anyio

from procession.server.redaction import Redactor, redacted
from procession.steps.event_loop import poster

__all__ = ["LARGEST", "LoggedEvent", "RunLog", "to_text"]

LARGEST: Final = 256 * 1024
"""How many characters an event may have as JSON; of a larger one only what it was about is kept."""
_TERMINAL: Final = frozenset({"run.finished", "run.suspended"})


class LoggedEvent:
    """
    One event of a log.
    """

    __slots__ = ("_raw", "_redact", "_text", "seq", "type")

    def __init__(self, seq: int, type: str, raw: str, redact: Redactor | None = None) -> None:
        self.seq = seq
        self.type = type
        self._raw = raw
        self._redact = redact
        self._text: str | None = raw if redact is None else None

    @property
    def text(self) -> str:
        """
        All of it as JSON in one line, as it may be shown: what follows ``data:`` in a stream of events.

        It is redacted when it is first asked for, so that runs which nobody looks at pay nothing for it.
        """
        if self._text is None:
            event = json.loads(self._raw)
            event["payload"] = redacted(event.get("payload"), self._redact)
            self._text = self._raw = to_text(event)
        return self._text

    @property
    def data(self) -> dict[str, Any]:
        """
        The event as JSON values, made anew each time.
        """
        made: dict[str, Any] = json.loads(self.text)
        return made

    @property
    def size(self) -> int:
        """
        How many characters it has.
        """
        return len(self._raw)

    def __repr__(self) -> str:
        return f"LoggedEvent({self.seq}, {self.type!r})"


class RunLog:
    """
    The events of one run.  It only grows, and where it has more than *max_events*, or *max_size* characters, the oldest
    are dropped: whoever asks for those is told by an event ``log.dropped`` how many are missing.

    >>> log = RunLog("r", max_events=2)
    >>> for number in range(3):
    ...     _ = log.append("node.started", {"node_path": str(number)})
    >>> [(event.seq, event.type) for event in log.kept(-1)]
    [(0, 'log.dropped'), (1, 'node.started'), (2, 'node.started')]
    """

    __slots__ = (
        "_events",
        "_lock",
        "_waiting",
        "ended",
        "max_events",
        "max_size",
        "next_seq",
        "redact",
        "run_id",
        "size",
    )

    def __init__(
        self,
        run_id: str,
        *,
        max_events: int = 10_000,
        max_size: int = 16 * 1024 * 1024,
        redact: Redactor | None = None,
    ) -> None:
        self.run_id = run_id
        self.max_events = max_events
        self.max_size = max_size
        self.redact = redact
        self.next_seq = 0
        """The number of the event that comes next."""
        self.size = 0
        """How many characters its events have."""
        self.ended = False
        """Whether nothing follows, until somebody goes on with the run."""
        self._events: list[LoggedEvent] = []
        self._waiting: set[Callable[[], None]] = set()
        self._lock = Lock()  # a run may go on in another thread than its readers

    @property
    def last_seq(self) -> int:
        """
        The number of the last event, -1 before the first.
        """
        return self.next_seq - 1

    @property
    def first_seq(self) -> int:
        """
        The number of the oldest event that is kept.
        """
        return self.next_seq - len(self._events)

    def append(self, type: str, event: Mapping[str, Any], *, masked: bool = False) -> LoggedEvent:
        """
        Add an *event*, all but its number, and hand it to every reader; *masked* says that it may be shown as it is.
        """
        with self._lock:
            seq = self.next_seq
            text = to_text({"seq": seq, **event, "type": type})
            if len(text) > LARGEST:
                cut = {**event, "payload": {"withheld": "too large", "characters": len(text)}}
                text = to_text({"seq": seq, **cut, "type": type})
            made = LoggedEvent(seq, type, text, None if masked else self.redact)
            self._events.append(made)
            self.next_seq = seq + 1
            self.size += made.size
            while len(self._events) > self.max_events or (self.size > self.max_size and len(self._events) > 1):
                self.size -= self._events.pop(0).size
            self.ended = type in _TERMINAL
        self._wake()
        return made

    def close(self) -> None:
        """
        Let every reader come to its end: the log is kept no longer.
        """
        self.ended = True
        self._wake()

    def kept(
        self, after: int = -1, *, types: Collection[str] | None = None, limit: int | None = None
    ) -> list[LoggedEvent]:
        """
        Return the events behind number *after*, at most *limit*, of these *types* or of all.

        Where some of them were dropped, the first is of the type ``log.dropped`` and has the number of the last of those.
        """
        with self._lock:
            first = self.first_seq
            missing = [self._dropped(max(after, -1) + 1, first - 1)] if max(after, -1) + 1 < first else []
            at = max(0, after + 1 - first)
            if types is None:
                found = self._events[at:] if limit is None else self._events[at : at + limit]
            else:
                found = [event for event in islice(self._events, at, None) if event.type in types]
        return (missing + found)[:limit]

    def _dropped(self, begin: int, end: int) -> LoggedEvent:
        payload = {"from": begin, "to": end, "dropped": end - begin + 1}
        return LoggedEvent(
            end, "log.dropped", to_text({"seq": end, "run_id": self.run_id, "type": "log.dropped", "payload": payload})
        )

    async def read(self, after: int = -1, *, types: Collection[str] | None = None) -> AsyncGenerator[LoggedEvent, None]:
        """
        Yield the events behind number *after*, and those that are still to come, until the run has ended or waits.

        A reader that is slow holds nothing up: it reads on where it stands, as long as that is kept.
        """
        news = anyio.Event()
        post = poster()

        def wake() -> None:
            post(lambda: news.set())

        self._waiting.add(wake)
        try:
            while True:
                ended = self.ended  # looked at first: what came before the end is read below
                batch = self.kept(after, limit=256)
                for event in batch:
                    after = event.seq
                    if types is None or event.type in types or event.type == "log.dropped":
                        yield event
                if batch:
                    continue
                if ended:
                    return
                await news.wait()
                news = anyio.Event()
        finally:
            self._waiting.discard(wake)

    def _wake(self) -> None:
        for wake in tuple(self._waiting):
            wake()


def to_text(event: Mapping[str, Any]) -> str:
    """
    Return JSON values as one line.
    """
    # Escaped: a text may hold half a pair of surrogates, which no encoding knows.
    return json.dumps(event, separators=(",", ":"), allow_nan=False)
