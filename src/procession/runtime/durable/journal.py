"""
Journal: what a run writes down while it goes on, in the name of whoever holds it (D30).

Every completion is written before anything that depends on it begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import anyio

from procession.errors import ProcessionError, RunAlreadyClaimed, SchemaError, StoreError
from procession.runtime.durable.kept_state import encode_state
from procession.runtime.durable.rows import (
    ANSWERED,
    COMPLETED,
    MEMOIZED,
    RETRIED,
    SLEEPING,
    STOPPED,
    SUSPENDED,
    KeptNode,
    error_data,
    spent_data,
    stop_data,
    to_json,
)
from procession.runtime.durable.shapes import codec_for, decode_value, encode_value, shape_of, untyped
from procession.runtime.durable.targets import node_at
from procession.runtime.fanin import is_forkable
from procession.runtime.records import Record
from procession.runtime.state import RunState
from procession.steps.codec import codec_of
from procession.steps.result import Bailed, Cancelled, Stop, Suspended
from procession.steps.scope import GRACE
from procession.storage.base import JournalRow, JournalStore, RunStatus
from procession.workflows.plan import Choice, Leaf, Map, Pause, PlanNode, Spent

__all__ = ["Journal"]


class Journal:
    """
    The journal of one run.
    """

    __slots__ = ("_open", "_seq", "_settled", "_store", "halt", "input", "run_id", "token", "trouble")

    def __init__(self, store: JournalStore, run_id: str, token: str, *, seq: int = 0) -> None:
        self._store = store
        self._seq = seq
        self._open: set[tuple[str, int]] = set()
        self._settled: set[str] = set()
        self.run_id = run_id
        self.token = token
        self.input: Any = None
        """What the run was begun with, as it is kept: steps may have changed the value itself since."""
        self.trouble: ProcessionError | None = None
        """Why nothing more can be written down: somebody else holds the run by now, or the store cannot be used."""
        self.halt: Callable[[], None] | None = None
        """Ends the run, called with the first trouble: what cannot be written down is not to go on."""

    def follow(self, seq: int) -> None:
        """
        Go on counting from *seq*.
        """
        self._seq = seq

    def row(self, kind: str, path: str, attempt: int, data: dict[str, Any]) -> JournalRow:
        """
        Return the next row.
        """
        seq = self._seq
        self._seq = seq + 1
        return JournalRow(seq=seq, kind=kind, path=path, attempt=attempt, data=to_json(data))

    async def write(self, *rows: JournalRow) -> None:
        """
        Write *rows* and return once they are kept.

        Raises ``RunAlreadyClaimed`` where somebody else holds the run by now, ``StoreError`` where they cannot be kept.
        """
        await self._write(rows)

    async def _write(self, rows: Sequence[JournalRow] = (), **how: Any) -> None:
        if self.trouble is not None:  # what came before is not there
            raise self.trouble
        try:
            kept = await self._store.write(self.run_id, self.token, rows, **how)
        except ProcessionError as error:
            self._note(error)
            raise
        except Exception as error:
            found = StoreError(f"run {self.run_id} could not be written down: {type(error).__name__}: {error}")
            self._note(found)
            raise found from error
        if not kept:
            raise self.gone()

    def gone(self) -> ProcessionError:
        """
        Note that somebody else holds the run, and return the error that says so.
        """
        return self._note(
            RunAlreadyClaimed(
                f"run {self.run_id} is held by somebody else by now, or has been brought to its end by them",
                hint="what was going on here has been stopped; runtime.get(run_id) tells how the run stands",
            )
        )

    def _note(self, error: ProcessionError) -> ProcessionError:
        if self.trouble is None:
            self.trouble = error
            if self.halt is not None:
                self.halt()
        return self.trouble

    def completion(self, run: RunState, record: Record, output: Any, base: Any = None) -> JournalRow:
        """
        Return the row that says that *record* has given *output*; *base* is what a value that is forked was before.

        Raises ``UntypedValue`` where the output could not be read again as what it is.
        """
        node = record.node
        data: dict[str, Any] = {"id": node.id, "kind": node.kind, "from": record.started, "to": run.now()}
        if isinstance(node, Choice):
            data["out"] = output
        elif not isinstance(node, Pause):
            shape, own = shape_of(node), output is not record.input
            data |= encode_value(shape.codec, output, base, where=shape.where, path=record.path, own=own)
        if run.has_state:
            data |= self._state(run, record)
        if run.spent and (spent := run.spent.get(record.path)) is not None and spent.calls:
            data["spent"] = spent_data(spent.calls)
        return self.row(COMPLETED, record.path, record.attempt, data)

    def _state(self, run: RunState, record: Record) -> dict[str, Any]:
        written = run.shared.written_by(record.path)
        return {"state": encode_state(run.shared, written, record.path)} if written else {}

    async def completed(self, run: RunState, record: Record, output: Any, base: Any = None) -> None:
        """
        Write that *record* has given *output*.
        """
        await self._write((self.completion(run, record, output, base),))

    async def settled(self, run: RunState, record: Record) -> None:
        """
        Write how *record* has ended, where what follows may go on from that: by a bail, or a failure collected.
        """
        self._settled.add(record.path)
        stop = record.stop
        await self.write(
            self.completion(run, record, record.output)
            if stop is None
            else self._stopped(run, record, stop, settled=True)
        )

    def _stopped(self, run: RunState, record: Record, stop: Stop, *, settled: bool = False) -> JournalRow:
        data = stop_data(record, stop) | self._state(run, record)
        if settled:
            data["settled"] = True
        if isinstance(stop, Bailed):
            where = f"what {record.kind} {record.id!r} bails with"
            data |= encode_value(untyped(), stop.value, None, where=where, path=record.path)
        return self.row(STOPPED, record.path, record.attempt, data)

    def recall(self, record: Record, node: PlanNode, value: Any) -> Any:
        """
        Return the output of a *record* that is done, which *node* gave when it was given *value*.

        Raises ``SchemaError`` where what is kept does not fit the node any longer.
        """
        if record.node is not node:
            where = f"kept output of {node.kind} {node.id!r}"
            record.output = decode_value(codec_for(node), record.output, value, where=where, path=record.path)
            record.node, record.input = node, value
        return record.output

    def recall_rest(self, run: RunState, nodes: Sequence[PlanNode]) -> None:
        """
        Read the outputs of what the walk of *nodes* has not come by, or has passed by as a whole, for who looks at them.

        What a step has changed in a value that can be forked is not known without that value.
        """
        for path, record in run.records.items():
            if type(record.node) is KeptNode and record.status == "success":
                node, kept = node_at(nodes, path), record.output
                record.output = None
                if node is not None and "patch" not in kept:
                    with suppress(SchemaError):
                        record.output = decode_value(codec_for(node), kept, None, where="output", path=path)

    async def retried(self, record: Record, error: Exception) -> None:
        """
        Write that an attempt failed and another follows.
        """
        data = {"id": record.id, "kind": record.kind, "from": record.started, "error": error_data(error)}
        await self.write(self.row(RETRIED, record.path, record.attempt, data))

    async def sleeping(self, path: str, until: float) -> None:
        """
        Write when a pause is over, in seconds since the epoch.
        """
        await self.write(self.row(SLEEPING, path, 1, {"until": until}))

    async def memoized(self, path: str, key: str, tree: Any) -> None:
        """
        Write what was memoized.
        """
        await self.write(self.memo(path, key, tree))

    def memo(self, path: str, key: str, tree: Any) -> JournalRow:
        """
        Return the row of what was memoized.
        """
        return self.row(MEMOIZED, path, 1, {"key": key, "out": tree})

    def answer(self, path: str, number: int, tree: Any, label: str | None) -> JournalRow:
        """
        Return the row of an answer.
        """
        return self.row(ANSWERED, path, 1, {"number": number, "answer": tree, "label": label})

    def known(self, open: dict[str, Suspended], ended: Iterable[str]) -> None:
        """
        Note which questions are written down already, and what has *ended* without an output.
        """
        self._settled.update(ended)
        self._open = {(path, stop.number) for path, stop in open.items()}

    def ends(self, run: RunState, *, suspended: bool) -> list[JournalRow]:
        """
        Return the rows of what has ended without an output: of what waits alone, where the run is only suspended.
        """
        rows: list[JournalRow] = []
        for record in run.records.values():
            stop = record.stop
            if stop is None:
                continue
            if isinstance(stop, Suspended):
                if suspended and stop.path == record.path and (record.path, stop.number) not in self._open:
                    rows.append(self._question(record, stop))
            elif record.path not in self._settled:
                if not suspended or stop.path == record.path or record.path in run.settled:
                    rows.append(self._stopped(run, record, stop))
        return rows

    def given_up(self, records: Mapping[str, Record]) -> list[JournalRow]:
        """
        Return the rows of what waits, in a run that is cancelled while it does.
        """
        return [
            self.row(STOPPED, path, record.attempt, stop_data(record, Cancelled(path, "the run was cancelled")))
            for path, record in records.items()
            if isinstance(record.stop, Suspended) and record.stop.path == path
        ]

    def _question(self, record: Record, stop: Suspended) -> JournalRow:
        step = record.node.step if isinstance(record.node, Leaf) else None
        where = f"payload of suspended step {record.id!r}"
        codec = codec_of(step.suspend_type if step is not None else None)
        payload = codec.encode(stop.payload, where=where, path=record.path)
        data = {
            "id": record.id, "kind": record.kind, "number": stop.number, "label": stop.label, "payload": payload,
            "from": record.started, "to": record.ended,
        }  # fmt: skip
        return self.row(SUSPENDED, record.path, record.attempt, data)

    def everything(self, run: RunState) -> list[JournalRow]:
        """
        Return the rows of all that *run* has completed so far, for a run that wrote nothing down until now.
        """
        rows = [
            self.completion(run, record, record.output)
            for record in run.records.values()
            if record.status == "success" and (is_kept(record, record.output) or record.path in run.settled)
        ]
        rows += [self.memo(path, key, tree) for (path, key), tree in run.memos.items()]
        return rows

    async def end(self, status: RunStatus, data: str | None, rows: list[JournalRow], *, release: bool = True) -> None:
        """
        Write how the run stands now, and give it back.
        """
        await self._write(rows, status=status, data=data, release=release)

    async def let_go(self) -> None:
        """
        Give the run back as it is, so that it can be taken up again at once: where that fails, once its claim is over.
        """
        with anyio.move_on_after(GRACE, shield=True), suppress(Exception):
            await self._store.write(self.run_id, self.token, release=True)


def is_kept(record: Record, output: Any) -> bool:
    """
    Return whether what *record* is about is written down: containers are not, nor maps of what is forked and merged.
    """
    node = record.node
    if isinstance(node, Map):
        return node.pick is None and not is_forkable(output)
    return isinstance(node, Leaf | Choice | Pause | Spent)
