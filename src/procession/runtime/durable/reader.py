"""
RunStateReader: how a run stands that may be anywhere: suspended, ended, going on in another process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from procession.errors import SchemaError
from procession.messages.value import Value
from procession.runtime.durable.rows import History, read_rows, run_data, unwrapped
from procession.runtime.durable.shapes import codec_for
from procession.runtime.durable.targets import leaf_at, node_at
from procession.runtime.records import Record, StepsView
from procession.steps.codec import codec_of
from procession.steps.result import Suspended
from procession.storage.base import FINAL, JournalRow, RunRow, RunStatus
from procession.workflows.plan import Leaf, Map, Plan

__all__ = ["RunStateReader", "Waiting"]


class Waiting(Value, kw_only=True):
    """
    A step that waits for an answer.
    """

    path: str
    step_id: str
    payload: Any = None
    """What it asks."""
    label: str | None = None
    number: int = 0
    """Which question of the step it is, from 0."""


class RunStateReader:
    """
    How a run stands, read from its journal.  It does not change: read the run again to see more.
    """

    __slots__ = ("_data", "_history", "_plan", "_steps", "row")

    def __init__(self, row: RunRow, rows: Sequence[JournalRow], plan: Plan | None) -> None:
        self.row = row
        """The run as a whole, as the store has it."""
        self._data = run_data(row)
        self._history: History = read_rows(rows)
        self._plan = plan
        self._steps: StepsView | None = None

    @property
    def run_id(self) -> str:
        """
        The id of the run.
        """
        return self.row.run_id

    @property
    def workflow_id(self) -> str:
        """
        The id of its workflow.
        """
        return self.row.owner

    @property
    def status(self) -> RunStatus:
        """
        Where the run stands.
        """
        return self.row.status

    @property
    def is_held(self) -> bool:
        """
        Whether somebody goes on with it: one that is ``running`` and not held has lost its process.
        """
        return self.row.claimed

    @property
    def input(self) -> Any:
        """
        What the run was started with, as JSON.
        """
        return unwrapped(self._data.get("input"))

    @property
    def output(self) -> Any:
        """
        The workflow's output as JSON; ``None`` unless the status is ``success``.
        """
        return self._data.get("output")

    @property
    def error(self) -> Mapping[str, Any] | None:
        """
        What failed it: ``type``, ``code`` and ``message``.
        """
        return self._data.get("error")

    @property
    def tripwire(self) -> Mapping[str, Any] | None:
        """
        The verdict that blocked it: ``reason``, ``retry``, ``processor_id`` and ``message``.
        """
        found: Mapping[str, Any] | None = self._data.get("stop", {}).get("tripwire")
        return found

    @property
    def stopped_at(self) -> str | None:
        """
        The path of the step that ended the run before its last one.
        """
        found: str | None = self._data.get("stop", {}).get("at")
        return found

    @property
    def steps(self) -> StepsView:
        """
        The records of what was completed or has stopped, by path; their outputs are those of :meth:`output_of`, as JSON
        where they do not fit the workflow as it is known here.
        """
        if self._steps is None:
            made: dict[str, Record] = {}
            for path, record in self._history.records.items():
                made[path] = shown = record.copy()
                if record.status == "success":
                    try:
                        shown.output = self._output(record)
                    except SchemaError:
                        shown.output = unwrapped(record.output)
            self._steps = StepsView(made)
        return self._steps

    @property
    def waiting(self) -> tuple[Waiting, ...]:
        """
        The steps that wait for an answer.
        """
        found: list[Waiting] = []
        for path, stop in self._open().items():
            leaf = leaf_at(self._plan, path) if self._plan is not None else None
            payload = stop.payload
            if leaf is not None:
                payload = codec_of(leaf.step.suspend_type).decode(payload, where=f"payload of {path!r}")
            record = self._history.records[path]
            found.append(Waiting(path=path, step_id=record.id, payload=payload, label=stop.label, number=stop.number))
        return tuple(found)

    @property
    def labels(self) -> Mapping[str, str]:
        """
        The paths of the steps that wait, by label.
        """
        return {stop.label: path for path, stop in self._open().items() if stop.label is not None}

    def _open(self) -> Mapping[str, Suspended]:
        return {} if self.row.status in FINAL else self._history.open  # nothing waits any more in what has ended

    def answers_to(self, path: str) -> int:
        """
        Return how many questions of the step at *path* have been answered.
        """
        return len(self._history.answers.get(path, ()))

    def output_of(self, step: str) -> Any:
        """
        Return the output of a step, by its path or its id: as its type where the workflow is known here, else as JSON.

        Raises ``KeyError`` where it has none.
        """
        record = StepsView(self._history.records)[step]
        if record.status != "success":
            raise KeyError(f"step {step!r} has no output: it is {record.status}")
        return self._output(record)

    def _output(self, record: Record) -> Any:
        kept = record.output
        node = node_at(self._plan.nodes, record.path) if self._plan is not None else None
        if not isinstance(node, Leaf | Map) or "out" not in kept:
            return unwrapped(kept)
        return codec_for(node).decode(kept["out"], where=f"kept output of {record.path!r}")

    def __repr__(self) -> str:
        return f"RunStateReader({self.run_id!r}, {self.status})"
