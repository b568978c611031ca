"""
Records: the whole state of a run is ``{path: Record}``.

They are what a journal stores: ``runtime/durable``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from procession.messages.chunks import TripwireInfo
from procession.steps.result import Blocked, Failed, Status, Stop
from procession.workflows.plan import PlanNode

__all__ = ["NotedRecord", "Record", "Records", "StepsView"]

NOTHING: Mapping[str, Any] = {}


class Record:
    """
    What became of one step; it changes until the step has ended.
    """

    __slots__ = ("attempt", "ended", "input", "node", "output", "path", "started", "status", "stop")

    notes: Mapping[str, Any] = NOTHING
    """What its events say besides; see :class:`NotedRecord`."""

    def __init__(self, node: PlanNode, path: str, started: float, input: Any = None) -> None:
        self.node = node
        self.path = path
        self.input = input
        """What the step was given, the object itself."""
        self.status: Status = "running"
        self.output: Any = None
        self.stop: Stop | None = None
        """How the step ended, where it was not by an output; a step's verdict is noted here before it is raised."""
        self.attempt = 1
        self.started = started
        """Seconds since the epoch; 0 where it was never started."""
        self.ended = 0.0

    def copy(self) -> Record:
        """
        Return a record that says the same and changes no more.
        """
        made = type(self)(self.node, self.path, self.started)
        for cls in type(self).__mro__[:-1]:
            for name in vars(cls)["__slots__"]:
                setattr(made, name, getattr(self, name))
        return made

    @property
    def id(self) -> str:
        """
        The id of the step.
        """
        return self.node.id

    @property
    def kind(self) -> str:
        """
        What the record is about: ``step``, ``workflow``, ``map``, ``branch``, ``foreach``, ``loop``, ``sleep`` …
        """
        return self.node.kind or getattr(self.node, "kept_kind", "workflow")  # a node that was read, or the whole run

    @property
    def error(self) -> Exception | None:
        """
        What the step raised.
        """
        return self.stop.error if isinstance(self.stop, Failed) else None

    @property
    def tripwire(self) -> TripwireInfo | None:
        """
        The verdict of the processor that stopped the run here.
        """
        return self.stop.tripwire if isinstance(self.stop, Blocked) else None

    @property
    def seconds(self) -> float:
        """
        How long the step took.
        """
        return self.ended - self.started if self.started and self.ended else 0.0

    def __repr__(self) -> str:
        return f"Record({self.path!r}, {self.status})"


class NotedRecord(Record):
    """
    A record of the few kinds of nodes whose events say more than where, when and what.
    """

    __slots__ = ("notes",)

    def __init__(
        self, node: PlanNode, path: str, started: float, input: Any = None, notes: Mapping[str, Any] = NOTHING
    ) -> None:
        super().__init__(node, path, started, input)
        self.notes = notes


Records: TypeAlias = dict[str, Record]


class StepsView(Mapping[str, Record]):
    """
    The records of a run by path, in the order in which the steps began; a step's id finds its last record.
    """

    __slots__ = ("_records",)

    def __init__(self, records: Records) -> None:
        self._records = records

    def __getitem__(self, key: str) -> Record:
        found = self._records.get(key)
        if found is not None:
            return found
        for record in reversed(self._records.values()):
            if record.id == key:
                return record
        raise KeyError(f"{key!r}: there are records of {', '.join(self._records) or 'no step'}")

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def __repr__(self) -> str:
        return f"StepsView({', '.join(f'{path}: {record.status}' for path, record in self._records.items())})"
