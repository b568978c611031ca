"""
RunState: a run from the inside, as the walk and its helpers see it.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from types import MappingProxyType
from typing import Any, Protocol

import anyio
import anyio.lowlevel

from procession.messages.chunks import Chunk
from procession.messages.shapes import is_dict
from procession.messages.usage import Usage
from procession.runtime.breath import BREATH, breath
from procession.runtime.broadcast import Broadcast
from procession.runtime.events import Entry, Note
from procession.runtime.meter import Meter
from procession.runtime.observability.logging import step_log
from procession.runtime.records import Record, Records
from procession.runtime.shared_state import SharedState
from procession.steps.request_context import RequestContext
from procession.steps.result import STOPS, Blocked, Stop, Suspended
from procession.steps.scope import GRACE, RequestScope
from procession.steps.signals import signal_of
from procession.steps.spending import Calls
from procession.steps.step import SupportsStep
from procession.workflows.plan import PlanNode

__all__ = ["BESIDE", "Caller", "Keeping", "Past", "RunState", "Walk", "is_within"]

BESIDE = "a branch beside it ended the run"
"""Why a branch was cancelled, or never began: the same whichever of the others it was."""

LATE = "what it belongs to took longer than it may"
"""Why a step was cancelled inside a workflow, or another step, whose time was over."""

SPENT = "the budget of what it belongs to is used up"
"""Why a step was cancelled inside of what has a budget."""


_NOBODY: Set[str] = frozenset()
NOTHING: Mapping[Any, Any] = MappingProxyType({})
"""What a run has none of is this, which nobody can write to."""


class Walk(Protocol):
    """
    Walks compiled nodes: ``runtime/walk.py``.
    """

    def __call__(self, nodes: tuple[PlanNode, ...], value: Any, run: RunState, prefix: str, /) -> Awaitable[Any]:
        """Return the last output, or a ``Stop``."""
        ...


class Caller(Protocol):
    """
    Runs a definition inside a run and returns its output or a ``Stop``: ``runtime/walk.py``.
    """

    def __call__(
        self,
        run: RunState,
        definition: SupportsStep[Any, Any],
        value: Any,
        path: str,
        only: frozenset[str] | None,
        detail: bool,
        /,
    ) -> Awaitable[Any]:
        """Return the output, or a ``Stop``."""
        ...


class Keeping(Protocol):
    """
    Writes down what a run completes, and reads it again: ``runtime/durable/journal.py``.
    """

    async def completed(self, run: RunState, record: Record, output: Any, base: Any = None) -> None:
        """Write that *record* has given *output*; *base* is what a value that is forked was before."""
        ...

    def recall(self, record: Record, node: PlanNode, value: Any) -> Any:
        """Return the output of a *record* that is done, which *node* gave when it was given *value*."""
        ...

    async def settled(self, run: RunState, record: Record) -> None:
        """Write how *record* has ended, where what follows may go on from that: by a bail, or a failure collected."""
        ...

    async def retried(self, record: Record, error: Exception) -> None:
        """Write that an attempt failed and another follows."""
        ...

    async def sleeping(self, path: str, until: float) -> None:
        """Write when a pause is over, in seconds since the epoch."""
        ...

    async def memoized(self, path: str, key: str, tree: Any) -> None:
        """Write what was memoized."""
        ...


class Past(Protocol):
    """
    What a run goes on from: ``runtime/durable/rows.py``.
    """

    @property
    def answers(self) -> Mapping[str, Sequence[Any]]:
        """The answers that each step was given, in order, as the journal has them."""
        ...

    @property
    def waking(self) -> Mapping[str, float]:
        """When each pause is over, in seconds since the epoch."""
        ...

    @property
    def uncounted(self) -> Mapping[str, int]:
        """How many attempts of a step were made by the run that this one was forked from."""
        ...

    @property
    def spent(self) -> Mapping[str, Sequence[tuple[Usage | None, str, float]]]:
        """The model calls that each step has made under a budget, and the money that it has reported, by path."""
        ...

    @property
    def begun(self) -> Set[str]:
        """The rounds and items in which something was completed."""
        ...


class RunState:
    """
    What one run keeps while it goes on.  Steps of the ``inline`` form are given it as their :class:`InlineRun`.
    """

    __slots__ = (
        "_reducers", "_shared", "append", "breathe_at", "broadcast", "caller", "cancelled_because", "caps", "clock",
        "detail", "ending", "follow", "forks", "grace", "history", "init_data", "journal", "labels", "limits", "memos", "origin",
        "parked", "records", "replaying", "request_context", "run_id", "scope", "settled", "sparse", "spent", "watchers",
        "woken",
    )  # fmt: skip

    def __init__(
        self,
        run_id: str,
        *,
        caller: Caller,
        scope: RequestScope,
        init_data: Any = None,
        detail: bool = True,
        replay: bool = True,
        sparse: bool = False,
        grace: float = GRACE,
        reducers: Mapping[str, Callable[[Any, Any], Any]] | None = None,
        shared: SharedState | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.run_id = run_id
        self.caller = caller
        self.scope = scope
        self.request_context: RequestContext = scope.request_context
        self.init_data = init_data
        self.sparse = sparse
        """Whether what goes well is recorded only while somebody listens."""
        self.detail = detail
        """Whether steps inside ``call`` are recorded one by one."""
        self.grace = grace
        self.clock = clock
        self.origin = origin = time.time() - clock()
        self.records: Records = {}
        self.journal: Keeping | None = None
        """Where it is written down what the run completes, if anywhere."""
        self.history: Past | None = None
        """What the run goes on from, where it was begun before."""
        self.follow: Walk | None = None
        """How the plan is walked, where that is not for the engine to say."""
        self.woken: Set[str] = _NOBODY
        """The paths of the steps that have an answer to go on from: the others go on waiting."""
        self.parked: Mapping[str, Suspended] = NOTHING
        """Steps that wait only because of others that they have called, which have no answer: what those ask."""
        self.labels: dict[str, str] | None = None
        """The paths of the steps that asked last under each label, once one has."""
        self.memos: Mapping[tuple[str, str], Any] = NOTHING
        """What steps have memoized, by path and key, as the journal has it."""
        self.replaying = False
        """Whether ``records`` was loaded, so that what is done in it is not done again."""
        self.broadcast = broadcast = Broadcast(run_id, replay=replay)
        self.append: Callable[[Entry], None] = broadcast.log.append
        """Notes an entry; exchanged for ``broadcast.publish`` while somebody listens."""
        self.watchers: tuple[Callable[[Any], None], ...] = ()
        """The taps of whoever observes the run; see :meth:`tell`."""
        self.breathe_at = breath.at + origin + BREATH
        self._reducers = reducers
        self._shared = shared
        self.settled: Set[str] = _NOBODY
        """The paths of containers whose end is written down itself: it is not what follows from the steps in them."""
        self.forks: tuple[tuple[str, frozenset[str]], ...] = ()
        """The prefix and the arms' keys of what is running in branches."""
        self.ending: tuple[tuple[str, frozenset[str]], ...] = ()
        """Those of ``forks`` in which one branch has cancelled the others."""
        self.limits: tuple[tuple[str, anyio.CancelScope], ...] = ()
        """What goes on under a limit of time: the prefix of its paths, and what cancels it."""
        self.caps: tuple[Meter, ...] = ()
        """What goes on under a budget."""
        self.spent: dict[str, Calls] | None = None
        """What steps have used, by path, where that is kept: under a budget, in a run that is."""
        self.cancelled_because = "the task of the run was cancelled"

    def why_cancelled(self, path: str) -> str:
        """
        Return why the step at *path* was cancelled.
        """
        for prefix, keys in self.ending:
            head = path[len(prefix) :].partition("/")[0]
            if path.startswith(prefix) and (head in keys or head.partition("[")[0] in keys):
                return BESIDE
        for prefix, scope in self.limits:
            if scope.cancel_called and path.startswith(prefix):
                return LATE
        for meter in self.caps:
            if meter.exceeded is not None and is_within(path, meter.path):
                return SPENT
        return self.cancelled_because

    def settle(self, path: str) -> None:
        """
        Note that the end of the container at *path* is written down itself.
        """
        if not isinstance(self.settled, set):
            self.settled = set[str]()
        self.settled.add(path)

    def memoize(self, path: str, key: str, tree: Any) -> None:
        """
        Note what the step at *path* has memoized under *key*.
        """
        memos = self.memos
        if not is_dict(memos):
            self.memos = memos = dict[tuple[str, str], Any]()
        memos[path, key] = tree

    @property
    def has_state(self) -> bool:
        """
        Whether something may be set in ``shared``, which is made when it is first asked for.
        """
        return self._shared is not None

    @property
    def shared(self) -> SharedState:
        """
        What steps set for each other to see; made when it is first asked for.
        """
        if self._shared is None:
            self._shared = SharedState(reducers=self._reducers)
        return self._shared

    def now(self) -> float:
        """
        Return the time in seconds since the epoch, which never goes back during a run.
        """
        return self.clock() + self.origin

    def begin(self, workflow_id: str) -> None:
        """
        Note that the run starts.
        """
        broadcast = self.broadcast
        log = step_log(self.run_id)
        if log is not None:
            broadcast.taps += (log,)
            self.listen()
        broadcast.workflow_id = workflow_id
        broadcast.input = self.init_data
        broadcast.began = self.clock() + self.origin
        broadcast.wake()

    def end(self, note: Note) -> None:
        """
        Note how the run has ended, and nothing after that.
        """
        self.append(note)
        self.broadcast.close()
        self.append = _ignore

    def listen(self) -> None:
        """
        Look again whether somebody listens.
        """
        broadcast = self.broadcast
        if broadcast.closed:
            self.append = _ignore
        else:
            self.append = broadcast.log.append if broadcast.quiet else self._publish

    def _publish(self, entry: Entry) -> None:
        self.broadcast.publish(entry)
        if self.broadcast.full:
            self.breathe_at = 0.0

    def is_due(self) -> bool:
        """
        Whether others have waited for their turn for as long as they should: not where another run has let them have it.
        """
        if self.clock() + self.origin <= self.breathe_at:
            return False
        until = breath.at + self.origin + BREATH
        if not self.breathe_at or self.clock() + self.origin > until:
            return True
        self.breathe_at = until
        return False

    async def breathe(self) -> None:
        """
        Let others have their turn, cancellation among them, and wait for slow readers.
        """
        await anyio.lowlevel.checkpoint()
        if self.broadcast.full:
            await self.broadcast.relieve()
        breath.at = now = self.clock()
        self.breathe_at = now + self.origin + BREATH

    async def emit(self, record: Record, chunk: Chunk) -> None:
        """
        Publish *chunk* as an output of the step of *record*, and pass it on to whoever the request names.
        """
        payload = {"output": chunk}
        self.broadcast.publish(Note("node.output", self.now(), record.path, record.id, record.attempt, payload))
        if self.broadcast.full:
            await self.broadcast.relieve()
        emit = self.scope.emit
        if emit is not None:
            waiting = emit(chunk)
            if waiting is not None:
                await waiting

    async def call(
        self, definition: SupportsStep[Any, Any], value: Any, path: str, only: frozenset[str] | None = None
    ) -> Any:
        """
        Run *definition* at *path* and return its output.

        Raises the signal or the error that ended it, already recorded.
        """
        output = await self.caller(self, definition, value, path, only, self.detail)
        if type(output) in STOPS:
            raise signal_of(output)
        return output

    def done(self, record: Record, output: Any) -> Any:
        """
        Note that what *record* is about ended in *output*, which may be a ``Stop``, and return that.
        """
        if record.stop is not None:  # it was left behind while it went on
            return record.stop
        if type(output) in STOPS:
            self.close(record, output)
        else:
            record.output = output
            record.status = "success"
            record.ended = self.clock() + self.origin
            self.append(record)
        return output

    def close(self, record: Record, stop: Stop) -> None:
        """
        Note that the step of *record* ended in *stop*, unless that is for its budget to say.
        """
        if self.caps and not (type(stop) is Blocked and not stop.tripwire.retry):
            for meter in self.caps:
                if meter.exceeded is not None and meter.path == record.path:
                    return
        record.stop = stop
        record.status = stop.status
        record.ended = self.clock() + self.origin
        self.append(record)


def is_within(path: str, above: str) -> bool:
    """
    Return whether *path* is that of what stands at *above*, or of something in it.
    """
    return not above or path == above or path.startswith((above + "/", above + "["))


def _ignore(entry: Entry) -> None:
    """
    Note nothing: the run has ended, and a branch that would not stop has nothing more to say.
    """
