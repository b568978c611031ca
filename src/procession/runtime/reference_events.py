"""
Reference events: the events of a run under the names and in the shapes of the documents that the library is modelled on.

It is for clients that know those: ``{"type": "workflow-step-start", "runId": …, "from": "WORKFLOW", "payload": {…}}``,
times in milliseconds, steps of nested workflows as ``outer.inner``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final, TypeAlias

from procession.errors import StepError
from procession.messages.chunks import DataChunk, Finish, StepOutput
from procession.messages.tripwire import TripwireInfo
from procession.messages.usage import NO_USAGE, Usage
from procession.runtime.event_json import plain
from procession.runtime.events import WorkflowEvent

__all__ = ["ReferenceEvents", "ReferenceReader", "as_reference_events"]

Told: TypeAlias = dict[str, Any]

UNSHOWN: Final = frozenset({"branch", "graph", "loop", "parallel"})
"""The kinds of nodes that the reference tells nothing of."""
DEEPEST: Final = 8
"""How many causes of an error are told of."""
STATUS: Final[Mapping[str, str]] = {"blocked": "tripwire", "cancelled": "canceled"}
"""The reference's words for how a run ended, where they are others."""


class ReferenceEvents:
    """
    Makes the reference's events of ours, which it must be given from the first on.

    With *finishes* each result is followed by a ``workflow-step-finish``, as the reference's ``watch`` has it and its
    ``stream`` has not.

    >>> from procession.runtime.events import WorkflowEvent
    >>> made = ReferenceEvents().of(WorkflowEvent(0, 5.0, "r", "run.started", payload={"workflow": "w"}))
    >>> made
    [{'type': 'workflow-start', 'runId': 'r', 'from': 'WORKFLOW', 'payload': {'workflowId': 'w'}}]
    """

    __slots__ = ("_each", "_finishes", "_loops", "_open", "_usage")

    def __init__(self, *, finishes: bool = False) -> None:
        self._finishes = finishes
        self._open: dict[str, Told] = {}
        """What has been told of each step that goes on, by path."""
        self._loops: set[str] = set()
        self._each: dict[str, Told] = {}
        """For each foreach that goes on, what its last item gave."""
        self._usage: Usage = NO_USAGE

    def of(self, event: WorkflowEvent) -> list[Told]:
        """
        Return the reference's events that *event* stands for: none, one or two.
        """
        match event.type:
            case "run.started":
                return [_told(event, "workflow-start", {"workflowId": event.payload["workflow"]})]
            case "node.started":
                return self._started(event)
            case "node.output":
                return self._output(event)
            case "foreach.progress":
                return self._progress(event)
            case "run.suspended" | "run.finished":
                return self._run_ended(event)
            case "node.retrying" | "node.skipped" | "branch.decided" | "merge.applied":
                return []  # the reference tells nothing of them
            case _:
                return self._ended(event)

    def _started(self, event: WorkflowEvent) -> list[Told]:
        kind = event.payload["kind"]
        path = event.node_path
        if kind == "loop":
            self._loops.add(path)
        if kind in UNSHOWN or self._is_item(path):
            return []
        record: Told = {"id": _id(path), "stepName": _id(path)}
        type = "workflow-step-start"
        if kind == "foreach":
            self._each[path] = {}
        else:
            record["stepCallId"] = f"{event.run_id}:{path}"
        record |= {"payload": plain(event.payload["input"]), "startedAt": _milliseconds(event.ts), "status": "running"}
        if kind == "sleep":
            type, record["status"] = "workflow-step-waiting", "waiting"
        elif path.endswith("]"):
            whole, _, number = path[:-1].rpartition("[")
            if whole in self._loops:
                record["metadata"] = {"iterationCount": int(number) + 1}
        self._open[path] = record
        return [_told(event, type, record)]

    def _output(self, event: WorkflowEvent) -> list[Told]:
        chunk: Any = event.payload["output"]
        if isinstance(chunk, DataChunk):
            told: Told = {"type": chunk.type, "data": plain(chunk.data)}
            if chunk.id is not None:
                told["id"] = chunk.id
            if chunk.transient:
                told["transient"] = True
            return [told]
        output = chunk.output if isinstance(chunk, StepOutput) else chunk
        if isinstance(output, Finish):
            self._usage += output.usage
        payload = {"output": plain(output), "runId": event.run_id, "stepName": _id(event.node_path)}
        return [_told(event, "workflow-step-output", payload, source="USER")]

    def _ended(self, event: WorkflowEvent) -> list[Told]:
        path = event.node_path
        if self._is_item(path):
            output = event.payload.get("output")
            self._each[path[: path.rindex("[")]] = {} if output is None else {"iterationOutput": plain(output)}
            return []
        record = self._open.pop(path, None)
        if record is None:  # it never began, or is of a kind that is not shown
            return []
        record = record | _end(event)
        if event.type == "node.suspended":
            return [_told(event, "workflow-step-suspended", record)]
        told = [_told(event, "workflow-step-result", record)]
        if self._finishes:
            names = {key: record[key] for key in ("id", "stepName", "stepCallId") if key in record}
            told.append(_told(event, "workflow-step-finish", names | {"metadata": {}}))
        return told

    def _progress(self, event: WorkflowEvent) -> list[Told]:
        said = event.payload
        payload: Told = {
            "id": _id(event.node_path),
            "stepName": _id(event.node_path),
            "completedCount": said["completed"],
            "totalCount": said["total"],
            "currentIndex": said["index"],
            "iterationStatus": "failed" if said["status"] == "blocked" else said["status"],
        }
        return [_told(event, "workflow-step-progress", payload | self._each.get(event.node_path, {}))]

    def _run_ended(self, event: WorkflowEvent) -> list[Told]:
        said = event.payload
        status = STATUS.get(said["status"], said["status"])
        payload: Told = {"workflowStatus": status, "output": {"usage": _usage(self._usage)}, "metadata": {}}
        if "output" in said:
            payload["finalWorkflowResult"] = plain(said["output"])
        elif "error" in said:
            payload["metadata"] = {"error": _error(said["error"])}
        elif "tripwire" in said:
            payload["tripwire"] = _tripwire(said["tripwire"])
        finish = _told(event, "workflow-finish", payload)
        return [_told(event, "workflow-canceled", {}), finish] if status == "canceled" else [finish]

    def _is_item(self, path: str) -> bool:
        """
        Return whether *path* is that of an item of a foreach, of which its progress tells.
        """
        return path.endswith("]") and path[: path.rindex("[")] in self._each


class ReferenceReader:
    """
    The reference's events of a run, one after the other; see :func:`as_reference_events`.
    """

    __slots__ = ("_events", "_made", "_waiting")

    def __init__(self, events: AsyncIterator[WorkflowEvent], *, finishes: bool) -> None:
        self._events = events
        self._made = ReferenceEvents(finishes=finishes)
        self._waiting: deque[Told] = deque()

    def __aiter__(self) -> ReferenceReader:
        return self

    async def __anext__(self) -> Told:
        while not self._waiting:
            self._waiting.extend(self._made.of(await anext(self._events)))
        return self._waiting.popleft()


def as_reference_events(events: AsyncIterator[WorkflowEvent], *, finishes: bool = False) -> ReferenceReader:
    """
    Return the reference's events of *events*: ``async for told in as_reference_events(run.events())``.

    *events* begin with the first of a run.  See :class:`ReferenceEvents` for *finishes*.
    """
    return ReferenceReader(events, finishes=finishes)


def _told(event: WorkflowEvent, type: str, payload: Told, *, source: str = "WORKFLOW") -> Told:
    return {"type": type, "runId": event.run_id, "from": source, "payload": payload}


def _end(event: WorkflowEvent) -> Told:
    """
    Return what the record of a step says of how it ended.
    """
    said = event.payload
    at = _milliseconds(event.ts)
    match event.type:
        case "node.suspended":
            return {"status": "suspended", "suspendedAt": at, "suspendPayload": plain(said["payload"])}
        case "node.failed":
            return {"status": "failed", "endedAt": at, "error": _error(said["error"])}
        case "node.blocked":
            return {"status": "failed", "endedAt": at, "tripwire": _tripwire(said["tripwire"])}
        case "node.cancelled":
            return {"status": "canceled", "endedAt": at}
        case _:
            status = "bailed" if "bailed" in said else "success"
            return {"status": status, "endedAt": at, "output": plain(said["output"])}


def _id(path: str) -> str:
    """
    Return the reference's name of the step at *path*: without rounds and items.
    """
    return ".".join(part.partition("[")[0] for part in path.split("/"))


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


def _error(error: BaseException, depth: int = 0) -> Told:
    cause = error.__cause__ if depth < DEEPEST else None  # ``raise error from error`` is its own
    if isinstance(error, StepError) and cause is not None:  # what the step raised, not that it did
        return _error(cause, depth + 1)
    told: Told = {"name": type(error).__name__, "message": str(error)}
    return told if cause is None else told | {"cause": _error(cause, depth + 1)}


def _tripwire(info: TripwireInfo) -> Told:
    told: Told = {"reason": info.reason}
    if info.retry:
        told["retry"] = True
    if info.metadata is not None:
        told["metadata"] = plain(info.metadata)
    if info.processor_id is not None:
        told["processorId"] = info.processor_id
    return told


def _usage(usage: Usage) -> Told:
    return {
        "inputTokens": usage.input_tokens,
        "outputTokens": usage.output_tokens,
        "totalTokens": usage.total_tokens,
        "cachedInputTokens": usage.cached_input_tokens,
        "cacheCreationInputTokens": usage.cache_creation_input_tokens,
        "reasoningTokens": usage.reasoning_tokens,
    }
