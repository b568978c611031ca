"""
Broadcast: one writer, many readers, who may join at any time and all see the same sequence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import anyio
import anyio.lowlevel

from procession.runtime.events import Entry, EventMaker, Gap, WorkflowEvent
from procession.runtime.inbox import BUFFER, Inbox, WhenFull, is_output

__all__ = ["Broadcast", "EventReader"]


class Broadcast:
    """
    The log of a run and its readers.

    ``replay=False`` keeps no outputs for readers that join later, so that memory stays flat.
    """

    __slots__ = (
        "_drained", "_inboxes", "began", "closed", "flowing", "full", "input", "log", "replay", "run_id", "taps",
        "workflow_id",
    )  # fmt: skip

    def __init__(self, run_id: str, *, replay: bool = True) -> None:
        self.run_id = run_id
        self.replay = replay
        self.workflow_id = ""
        self.input: object = None
        """What the run was started with."""
        self.began = 0.0
        """When the run was started."""
        self.log: list[Entry] = []
        self.closed = False
        self.full = False
        """Whether some reader lags behind, so that the writer should wait: see :meth:`relieve`."""
        self.flowing = True
        """Whether the writer waits for slow readers at all."""
        self.taps: tuple[Callable[[Entry], None], ...] = ()
        self._inboxes: tuple[Inbox, ...] = ()
        self._drained: anyio.Event | None = None

    @property
    def quiet(self) -> bool:
        """
        Whether nobody listens: entries may then be appended to ``log`` directly.
        """
        return not (self._inboxes or self.taps)

    def publish(self, entry: Entry) -> None:
        """
        Add *entry* to the log and hand it to every reader.
        """
        if self.closed:
            return
        log = self.log
        if self.replay or not is_output(entry):
            log.append(entry)
        else:
            if not log or not isinstance(log[-1], Gap):
                log.append(Gap())
            gap = log[-1]
            assert isinstance(gap, Gap)
            gap.count += 1
        for tap in self.taps:
            tap(entry)
        for inbox in self._inboxes:
            inbox.put(entry)
            inbox.wake()
            if inbox.full or inbox.filling:
                self.full = self.flowing

    async def relieve(self) -> None:
        """
        Wait until no reader lags far behind who has to be waited for; the others are given one turn.
        """
        for _ in range(2):  # trio may take up whoever waits at a checkpoint before those who were woken by then
            if any(inbox.filling for inbox in self._inboxes):
                await anyio.lowlevel.checkpoint()
        while self.flowing and any(inbox.full for inbox in self._inboxes):
            self._drained = anyio.Event()
            await self._drained.wait()
        self.full = False

    def flow(self) -> None:
        """
        Wait for no reader any longer.
        """
        self.flowing = False
        self.drain()

    def drain(self) -> None:
        """
        Let the writer look again whether it may go on.
        """
        if self._drained is not None:
            self._drained.set()
            self._drained = None

    def close(self) -> None:
        """
        Accept nothing more and let every reader come to its end.
        """
        self.closed = True
        self.wake()

    def wake(self) -> None:
        """
        Let every reader that waits look again.
        """
        for inbox in self._inboxes:
            inbox.wake()

    def join(self, when_full: WhenFull = "block", buffer: int = BUFFER) -> EventReader:
        """
        Return a reader that begins with the first event.
        """
        # A reader that has come to a gap gets a copy of it: the log's own may still grow.
        entries = [_copy(entry) if isinstance(entry, Gap) else entry for entry in self.log]
        inbox = Inbox(entries, when_full, buffer, kept=self.replay)
        self._inboxes += (inbox,)
        return EventReader(self, inbox)

    def leave(self, inbox: Inbox) -> None:
        """
        Forget a reader.
        """
        inbox.closed = True
        inbox.wake()
        if inbox in self._inboxes:
            self._inboxes = tuple(other for other in self._inboxes if other is not inbox)
            self.drain()


class EventReader:
    """
    The events of a run, one after the other: ``async for event in run.events()``.

    A reader that is read no more holds up a run unless it is gone: leave its ``async for``, or close it, also with
    ``with run.events() as events``.
    """

    __slots__ = ("_batch", "_begun", "_broadcast", "_inbox", "_maker", "_next", "_read")

    def __init__(self, broadcast: Broadcast, inbox: Inbox) -> None:
        self._broadcast = broadcast
        self._inbox = inbox
        self._maker = EventMaker(broadcast.run_id)
        self._batch: Iterator[WorkflowEvent] = iter(())
        self._begun = False
        self._read = 0
        self._next = 0
        """The number of the event that would come next, if none were left out."""

    @property
    def waiting(self) -> int:
        """
        How many entries of the run's log wait to be read, each of which is an event or a few.
        """
        return self._inbox.waiting

    @property
    def dropped(self) -> int:
        """
        How many outputs were left out before the event that was read last: of so many the numbers are missing.
        """
        return self._next - self._read

    def __aiter__(self) -> EventReader:
        return self

    async def __anext__(self) -> WorkflowEvent:
        inbox = self._inbox
        inbox.begun = True
        while True:
            for event in self._batch:
                self._read += 1
                self._next = event.seq + 1
                return event
            if not self._begun and self._broadcast.began:
                self._begun = True
                broadcast = self._broadcast
                self._batch = iter((self._maker.begin(broadcast.workflow_id, broadcast.began, broadcast.input),))
            elif inbox.waiting:
                entries = inbox.take()
                self._broadcast.drain()
                maker = self._maker
                self._batch = iter([event for entry in entries for event in maker.events_of(entry)])
            elif self._broadcast.closed or inbox.closed:
                self.close()
                raise StopAsyncIteration
            else:
                await self._wait(inbox)

    async def _wait(self, inbox: Inbox) -> None:
        if inbox.signal is None:
            inbox.signal = anyio.Event()
        try:
            await inbox.signal.wait()
        except BaseException:  # whoever was reading may never come back
            inbox.begun = False
            self._broadcast.drain()
            raise

    def close(self) -> None:
        """
        Read no more: the run no longer waits for this reader.
        """
        self._broadcast.leave(self._inbox)

    def __enter__(self) -> EventReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


def _copy(gap: Gap) -> Gap:
    return Gap(gap.count)
