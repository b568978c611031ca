"""
Rows: what the journal of a run consists of, and how its lines are read.

A run is ``{path: Record}``; each row is one thing that was completed in it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from pydantic_core import to_json as json_of

from procession.errors import StepError, UnreadableRun, UntypedValue
from procession.messages.shapes import is_dict
from procession.messages.tripwire import TripwireInfo
from procession.messages.usage import Usage
from procession.runtime.records import Record
from procession.steps.codec import codec_of
from procession.steps.result import Bailed, Blocked, Cancelled, Failed, Stop, Suspended
from procession.storage.base import JournalRow, RunRow
from procession.workflows.plan import PlanNode

__all__ = [
    "ANSWERED", "COMPLETED", "MEMOIZED", "RETRIED", "SLEEPING", "STOPPED", "SUSPENDED", "History", "KeptNode", "error_data",
    "from_json", "read_rows", "run_data", "spent_data", "stop_data", "to_json",
    "unreadable", "unwrapped",
]  # fmt: skip

COMPLETED = "completed"
"""A step, a map or a pause came to its end, or a branch has chosen."""
RETRIED = "retried"
"""An attempt failed, and another one follows."""
SUSPENDED = "suspended"
"""A step waits for an answer."""
ANSWERED = "answered"
"""The answer to that."""
MEMOIZED = "memoized"
"""What ``ctx.memoize`` keeps."""
SLEEPING = "sleeping"
"""When a pause is over."""
STOPPED = "stopped"
"""A step ended without an output."""


def to_json(data: Mapping[str, Any]) -> str:
    """
    Return *data* as one line of JSON.
    """
    try:
        return json_of(data).decode()  # in a tenth of the time
    except ValueError:  # it is nested more deeply than pydantic puts up with, or an error's words are no Unicode
        return json.dumps(data, separators=(",", ":"))


def from_json(row: JournalRow | RunRow, what: str) -> dict[str, Any]:
    """
    Return the data of a row; *what* is what it is, as an error says it.

    Raises ``UnreadableRun`` where that is none of ours.
    """
    try:
        data: Any = json.loads(row.data) if row.data else {}
    except (ValueError, RecursionError):
        data = None
    if not is_dict(data):
        raise unreadable(what)
    return data


def unreadable(what: str) -> UnreadableRun:
    """
    Return the error that says that *what* is none of ours.
    """
    return UnreadableRun(f"{what} cannot be read", hint="something else has written it, or a newer version")


def run_data(row: RunRow) -> dict[str, Any]:
    """
    Return what is kept of a run as a whole.

    Raises ``UnreadableRun`` where that is none of ours.
    """
    return from_json(row, f"what is kept of run {row.run_id}")


class History:
    """
    What the rows of a run say: what a walk goes on from.
    """

    __slots__ = ("answers", "begun", "labels", "memos", "next_seq", "records", "spent", "state", "uncounted", "waking")

    def __init__(self) -> None:
        self.records: dict[str, Record] = {}
        """Records by path.  Their outputs are still as the row has them, until the walk comes by."""
        self.answers: dict[str, list[Any]] = {}
        """The answers that each step was given, in order."""
        self.labels: set[str] = set()
        """Under which labels answers were given."""
        self.memos: dict[tuple[str, str], Any] = {}
        """What was memoized, by path and key."""
        self.waking: dict[str, float] = {}
        """When each pause is over, in seconds since the epoch."""
        self.spent: dict[str, list[tuple[Usage | None, str, float]]] = {}
        """The model calls that each step has made under a budget, and the money that it has reported."""
        self.begun: set[str] = set()
        """The rounds and items in which something was completed: ``outer/loop[2]``."""
        self.state: dict[str, list[Any]] = {}
        """What steps have set in the shared state, by their path."""
        self.uncounted: dict[str, int] = {}
        """How many attempts of a step were made by the run that this one was forked from."""
        self.next_seq = 0

    @property
    def open(self) -> dict[str, Suspended]:
        """
        What waits for an answer, by path.
        """
        return {
            path: record.stop
            for path, record in self.records.items()
            if isinstance(record.stop, Suspended) and record.stop.number >= len(self.answers.get(path, ()))
        }

    @property
    def parked(self) -> dict[str, Suspended]:
        """
        What lies around a step that waits, and round none that has an answer to go on from, by path.
        """
        answered = {above for path in self.answered for above in _above(path)}
        return {above: stop for path, stop in self.open.items() for above in _above(path) if above not in answered}

    @property
    def answered(self) -> list[str]:
        """
        The paths of the steps whose question was answered, and that have not gone on from that yet.
        """
        open = self.open
        return [
            path for path, record in self.records.items() if isinstance(record.stop, Suspended) and path not in open
        ]


def _above(path: str) -> Iterator[str]:
    """
    Yield the paths of what the step at *path* is part of.
    """
    end = path.rfind("/")
    while end != -1:
        path = path[:end]
        yield path
        end = path.rfind("/")


def read_rows(rows: Iterable[JournalRow]) -> History:
    """
    Return what *rows*, in order, say.

    Raises ``UnreadableRun`` where one of them is none of ours.
    """
    history = History()
    for row in rows:
        what = f"row {row.seq} of its journal"
        data = from_json(row, what)
        history.next_seq = row.seq + 1
        path = row.path
        try:
            match row.kind:
                case "memoized":
                    history.memos[path, data["key"]] = data["out"]
                case "answered":
                    history.answers.setdefault(path, []).append(data["answer"])
                    if data.get("label") is not None:
                        history.labels.add(data["label"])
                case "sleeping":
                    history.waking[path] = data["until"]
                case "completed" | "retried" | "suspended" | "stopped":
                    _read_record(history, row, data)
                case _:
                    raise unreadable(what)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise unreadable(what) from error
        end = path.find("]")
        while end != -1:
            history.begun.add(path[: end + 1])
            end = path.find("]", end + 1)
    return history


def _read_record(history: History, row: JournalRow, data: dict[str, Any]) -> None:
    node = KeptNode(data.get("id", ""), row.path, data.get("kind", "step"))
    record = Record(node, row.path, data.get("from", 0.0))
    record.attempt = row.attempt
    record.ended = data.get("to", 0.0)
    history.records.pop(row.path, None)
    history.records[row.path] = record
    if "spent" in data:
        history.spent[row.path] = [(_read_usage(usage), *rest) for usage, *rest in data["spent"]]
    if row.kind == COMPLETED:
        record.status = "success"
        record.output = data
        if "state" in data:
            history.state[row.path] = data["state"]
    elif row.kind == RETRIED:
        record.attempt = row.attempt + 1
        if data.get("uncounted"):
            history.uncounted[row.path] = row.attempt
    else:
        record.stop = _read_stop(row, data)
        if isinstance(record.stop, Bailed) and "state" in data:
            history.state[row.path] = data["state"]
        record.status = record.stop.status


def unwrapped(kept: Mapping[str, Any] | None) -> Any:
    """
    Return what is kept of a value, as JSON, without what it is kept in.
    """
    if kept is None:
        return None
    return kept["out"] if "out" in kept else kept.get("patch")


class KeptNode(PlanNode):
    """
    What stands for the node of a record that was read, until a walk comes by with the node itself.
    """

    kept_kind: str


def error_data(error: BaseException) -> dict[str, Any]:
    """
    Return what is kept of an error: its class, its code and its words.
    """
    return {"type": type(error).__name__, "code": getattr(error, "code", None), "message": str(error)}


def spent_data(calls: Iterable[tuple[Usage | None, str, float]]) -> list[Any]:
    """
    Return what is kept of what a step has used.
    """
    fields = Usage.__fields__
    return [[usage and [getattr(usage, name) for name in fields], model, money] for usage, model, money in calls]


def _read_usage(kept: Sequence[int] | None) -> Usage | None:
    return Usage(*kept) if kept is not None else None


def stop_data(record: Record, stop: Stop) -> dict[str, Any]:
    """
    Return what is kept of a step that ended without an output.
    """
    data: dict[str, Any] = {
        "id": record.id, "kind": record.kind, "status": stop.status, "at": stop.path, "from": record.started,
        "to": record.ended,
    }  # fmt: skip
    match stop:
        case Failed():
            data["error"] = error_data(stop.error)
            cause = stop.error.__cause__
            wrapped = isinstance(stop.error, StepError) and isinstance(cause, Exception)
            data["cause"] = error_data(cause if wrapped and cause is not None else stop.error)
        case Blocked():
            info = stop.tripwire
            data["tripwire"] = {
                "reason": info.reason, "retry": info.retry, "processor_id": info.processor_id, "message": info.message,
            }  # fmt: skip
            with suppress(UntypedValue):  # a verdict is kept whatever a processor has added to it
                data["metadata"] = codec_of(None).encode(info.metadata, where="metadata")
        case Cancelled():
            data["reason"] = stop.reason
        case Bailed():
            data["scope"] = stop.scope
        case _:
            pass
    return data


def _read_stop(row: JournalRow, data: dict[str, Any]) -> Stop:
    at = data.get("at", row.path)
    if row.kind == SUSPENDED:
        return Suspended(at, data.get("payload"), data.get("label"), data.get("number", 0))
    match data.get("status"):
        case "failed":
            attempt = row.attempt if at == row.path else None  # else that of what contains the step
            error = StepError(data["error"]["message"], path=at, attempt=attempt)
            if (cause := data.get("cause")) is not None:  # under its own name: whoever collects failures is told it
                error.__cause__ = type(cause["type"], (Exception,), {})(cause["message"])
            return Failed(at, error)
        case "blocked":
            metadata = codec_of(None).decode(data.get("metadata"), where="metadata")
            return Blocked(at, TripwireInfo(**data["tripwire"], metadata=metadata))
        case "bailed":
            value = codec_of(None).decode(data.get("out"), where="what it bailed with", path=at)
            return Bailed(at, value, data["scope"])
        case "cancelled":
            return Cancelled(at, data.get("reason", "cancelled"))
        case status:
            raise ValueError(status)
