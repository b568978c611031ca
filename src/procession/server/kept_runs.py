"""
Kept runs: runs that are not in memory, as a store has them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from procession.agents.snapshot import read_snapshot
from procession.errors import MessageError
from procession.runtime.durable.observing import told_so_far
from procession.runtime.durable.reader import RunStateReader
from procession.runtime.event_json import plain
from procession.runtime.records import Record
from procession.runtime.runtime import Runtime
from procession.server.run_json import message_json, shown
from procession.server.run_log import LoggedEvent, to_text
from procession.server.seen_run import waiting_call
from procession.storage.base import RunRow

__all__ = ["kept_events", "kept_heads", "kept_nodes", "kept_summary"]

_CLOSE: Final = 0.001
"""Seconds by which two stores may be said to be as old as each other."""


async def kept_heads(
    runtimes: Iterable[Runtime],
    *,
    owner: str | None,
    status: Any,
    resource: str | None,
    until: float | None,
    limit: int,
) -> list[dict[str, Any]]:
    """
    Return the newest runs of the stores of *runtimes*, begun before *until*, as they are listed.
    """
    found: dict[str, dict[str, Any]] = {}
    for store in dict.fromkeys(runtime.store for runtime in runtimes):
        rows = await store.runs(
            owner=owner, status=(status,) if status is not None else None, resource_id=resource,
            until=until + _CLOSE if until is not None else None, limit=limit,
        )  # fmt: skip
        for row in rows:
            found.setdefault(row.run_id, _head(row))
    return list(found.values())


def _head(row: RunRow) -> dict[str, Any]:
    return {
        "run_id": row.run_id, "owner": row.owner, "kind": row.kind, "status": row.status, "created_at": row.created_at,
        "updated_at": row.updated_at, "seconds": round(max(0.0, row.updated_at - row.created_at), 6),
        "parent_run_id": row.parent_run_id, "forked_at": row.forked_at, "outer_run_id": None,
        "resource_id": row.resource_id, "thread_id": row.thread_id, "graph_hash": row.graph_hash, "last_seq": -1,
    }  # fmt: skip


async def kept_summary(runtime: Runtime, row: RunRow) -> dict[str, Any]:
    """
    Return how the run of *row* stands, as a summary of one in memory says it, before it is redacted.

    Of an agent's run a store has what it waits for, and nothing once it has ended.
    """
    made: dict[str, Any] = _head(row)
    made |= {
        "input": None, "output": None, "error": None, "tripwire": None, "usage": None, "text": None, "outcomes": None,
        "violations": None, "suspended": [], "nodes": [], "nodes_left_out": 0, "first_seq": 0,
    }  # fmt: skip
    if row.kind == "agent":
        return made | (_waiting(row.data) if row.data else {})
    reader = await runtime.get(row.run_id)
    made |= {
        "input": plain(reader.input), "output": plain(reader.output), "error": plain(reader.error),
        "tripwire": plain(reader.tripwire), "nodes": kept_nodes(reader),
        "last_seq": len(await told_so_far(runtime.store, row.run_id)) - 1,
        "suspended": [
            {"path": one.path, "label": one.label, "question_id": None, "payload": plain(one.payload), "schema": None}
            for one in reader.waiting
        ],
    }  # fmt: skip
    return made


def _waiting(data: str) -> dict[str, Any]:
    try:
        snapshot = read_snapshot(data)
    except MessageError:  # of another version
        return {}
    said = [message_json(message) for message in snapshot["messages"].copied("input")]
    return {"input": said, "suspended": [waiting_call(call, "step[0]/tool-calls") for call in snapshot["suspended"]]}


def kept_nodes(reader: RunStateReader) -> list[dict[str, Any]]:
    """
    Return what is written down of the nodes of a run.
    """
    return [_node(record) for record in reader.steps.values()]


def _node(record: Record) -> dict[str, Any]:
    seconds = round(record.seconds, 6) if record.seconds else None
    return {
        "path": record.path, "id": record.id, "kind": record.kind, "status": record.status, "attempt": record.attempt,
        "attempts": record.attempt, "started": record.started or None, "ended": record.ended or None, "seconds": seconds,
        "input": None, "output": shown(record.output), "error": plain(record.error), "tripwire": plain(record.tripwire),
    }  # fmt: skip


async def kept_events(runtime: Runtime, row: RunRow, redact: Any) -> list[LoggedEvent]:
    """
    Return what is written down of the run of *row* as events: a step is told of once it is done.
    """
    if row.kind == "agent":
        return []
    made: list[LoggedEvent] = []
    for event in await told_so_far(runtime.store, row.run_id):
        payload = {key: shown(value) for key, value in event.payload.items()}
        text = to_text({
            "seq": event.seq, "ts": event.ts, "run_id": row.run_id, "node_path": event.node_path,
            "node_id": event.node_id, "attempt": event.attempt, "payload": payload, "type": event.type,
        })  # fmt: skip
        made.append(LoggedEvent(event.seq, event.type, text, redact))
    return made
