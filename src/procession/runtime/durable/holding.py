"""
Holding: what is written down of a run when it begins and when it ends, and whose it is in between.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeGuard, cast

import anyio

from procession.errors import ProcessionError, RunError, SchemaError, StoreError
from procession.ids import new_id
from procession.runtime.durable.journal import Journal
from procession.runtime.durable.kept_state import encode_state, restore_state
from procession.runtime.durable.ledger import Kept, Ledger
from procession.runtime.durable.rows import History, error_data, run_data, stop_data, to_json
from procession.runtime.durable.shapes import decode_value, encode_output, encode_value
from procession.runtime.durable.walk import call_durably, walk_durably
from procession.runtime.fanin import is_forkable
from procession.runtime.records import Record
from procession.runtime.state import RunState
from procession.steps.codec import codec_of
from procession.steps.own_task import OwnTask
from procession.steps.owner import owner_of
from procession.steps.result import Bailed, Cancelled, Failed, Stop, Suspended
from procession.storage.base import WAITING, RunRow, RunStatus
from procession.workflows.plan import Capped, Choice, Dag, Fork, Loop, Nested, PlanNode

if TYPE_CHECKING:
    from procession.workflows.spec import GraphSpec

__all__ = ["LEASE", "attach", "begin", "decode_input", "end", "graph_of", "kept_input", "save_graph"]

LEASE = 30.0
"""Seconds after which a run is free again whose holder died; a living one prolongs its claim three times as often."""

_RUNNING: tuple[RunStatus] = ("running",)

POLL = 1.0
"""Seconds after which whoever holds a run looks whether it is to be cancelled."""


@lru_cache(maxsize=256)
def graph_of(definition: Any) -> tuple[str, GraphSpec] | None:
    """
    Return the hash of *definition* and what it is as data, or ``None`` where it is a single step.
    """
    from procession.workflows.describe import graph_spec

    if not hasattr(definition, "plans"):
        return None
    spec = graph_spec(definition)
    return spec.graph_hash, spec


async def save_graph(ledger: Ledger, definition: Any) -> str:
    """
    Have the store know *definition* as data, and return its hash: empty for what is no workflow.
    """
    graph = graph_of(definition)
    if graph is None:
        return ""
    if graph[0] not in ledger.graphs:
        await ledger.store.save_graph(graph[0], graph[1].to_json())
        ledger.graphs.add(graph[0])
    return graph[0]


async def begin(ledger: Ledger, run: Kept, value: Any) -> None:
    """
    Write down that *run* begins with *value*, and hold it.

    Raises ``RunError`` where its id is used already, ``UntypedValue`` where the value cannot be kept.
    """
    state, plan = run.state, run.plan
    if state.journal is None:
        if plan.check_in is not None:
            try:
                value = plan.check_in.validate(value, where=plan.where)
            except SchemaError:
                return  # the run fails of this before its first step: there is nothing to keep
        await _add(ledger, run, value, status="running")
    cast("Journal", state.journal).halt = lambda: _halt(run)
    ledger.holders[state.run_id] = OwnTask(partial(_hold, ledger, run, anyio.current_time()))


def _halt(run: Kept) -> None:
    with suppress(RunError):  # one that cannot be cancelled fails with its next write
        run.cancel()
        run.state.cancelled_because = "what it does could not be written down any more"


async def _add(ledger: Ledger, run: Kept, value: Any, *, status: RunStatus) -> Journal:
    state = run.state
    kept = encode_input(run, value)
    resource, thread = owner_of(state.scope)
    row = RunRow(
        run_id=state.run_id,
        owner=run.plan.id,
        kind="workflow",
        status=status,
        data=to_json({"input": kept}),
        graph_hash=await save_graph(ledger, run.definition),
        resource_id=run.resource_id if run.resource_id is not None else resource,
        thread_id=thread,
    )
    token = new_id()
    try:
        added = await ledger.store.add(row, token=token, seconds=LEASE)
    except BaseException:  # cancelled: it may be there for all that, and nobody is to begin with it later
        with anyio.move_on_after(state.grace, shield=True), suppress(StoreError):
            await ledger.store.write(state.run_id, token, status="cancelled")
        raise
    if not added:
        raise RunError(
            f"the store has a run {state.run_id!r} already",
            hint="give another run_id=, or go on with that one: runtime.get(run_id) tells how it stands",
        )
    journal = Journal(ledger.store, state.run_id, token)
    journal.input = kept
    attach(state, journal, None)
    return journal


async def _hold(ledger: Ledger, run: Kept, prolonged: float) -> None:
    """
    Prolong the claim of a run while it goes on, and cancel the run where that is asked for or the claim is lost.

    *prolonged* is when that was done last, by the clock of the event loop.
    """
    journal = cast("Journal", run.state.journal)
    while True:
        await anyio.sleep(POLL)
        now = anyio.current_time()  # steps that block the loop make it later than it was to be
        try:
            if now - prolonged < LEASE / 3:
                row = await ledger.store.row(run.state.run_id)
            else:
                row = await ledger.store.claim(run.state.run_id, journal.token, LEASE, of=_RUNNING)
                prolonged = now
        except Exception:
            continue  # the next write says so where the run must know it
        if row is None:
            journal.gone()
            return
        if row.cancel_requested:
            with suppress(RunError):  # one that cannot be cancelled goes on, and so does this
                run.cancel()
                return


async def end(ledger: Ledger, run: Kept, output: Any, *, broken_off: bool = False) -> Any:
    """
    Write down how *run* has ended, and return how: what could not be written is a failure.

    A run that was *broken off* and whose end nobody asked for is given back instead, to be taken up again.
    """
    state = run.state
    holder = ledger.holders.pop(state.run_id, None)
    if state.journal is not None:
        cast("Journal", state.journal).recall_rest(state, run.plan.nodes)
    failed: Exception | None = None
    trouble: ProcessionError | None = None
    with anyio.CancelScope(shield=True):
        if holder is not None:
            await holder.stop(state.grace)
        with anyio.move_on_after(LEASE) as limit:
            try:
                output = await _write_end(ledger, run, output, broken_off)
            except Exception as error:
                failed = error
        if limit.cancelled_caught:
            failed = StoreError(f"the end of run {state.run_id} was not written down within {LEASE:g} s")
        journal = cast("Journal | None", state.journal)
        trouble = journal.trouble if journal is not None else None
        if journal is not None and failed is trouble is not None:
            await journal.let_go()
    failed = failed if failed is not None else trouble
    if failed is None or (isinstance(output, Failed) and output.error is failed):
        return output
    return Failed("", failed)


async def _write_end(ledger: Ledger, run: Kept, output: Any, broken_off: bool) -> Any:
    journal = cast("Journal | None", run.state.journal)
    if journal is None:
        _refuse_branches_of_changes(run)
        journal = await _add(ledger, run, run.state.init_data, status="running")
        await _settle(run, journal, output, late=True)
    elif journal.trouble is not None or (broken_off and ledger.gives_back(journal.run_id)):
        await journal.let_go()
    else:
        await _settle(run, journal, output)
        if isinstance(output, Suspended) and await _to_be_cancelled(ledger, journal):
            output = Cancelled("", "it was cancelled")
            await journal.end("cancelled", outcome(run, journal, output), journal.given_up(run.state.records))
    return output


async def _to_be_cancelled(ledger: Ledger, journal: Journal) -> bool:
    """
    Return whether somebody has asked to cancel the run while it came to wait; it is held again then.
    """
    row = await ledger.store.row(journal.run_id)
    if row is None or not row.cancel_requested:
        return False
    return await ledger.store.claim(journal.run_id, journal.token, LEASE, of=WAITING) is not None


def _refuse_branches_of_changes(run: Kept) -> None:
    """
    Refuse to keep a run only now, as it waits, where branches have changed forks of its value: of what is no longer known.
    """
    if is_forkable(run.state.init_data) and _branches(run.plan.nodes):
        raise RunError(
            "a run whose branches change a payload can only wait where it was kept from its beginning",
            hint="give the runtime a store: Runtime(SQLiteJournal(path)), or Runtime(InMemoryJournal())",
        )


def _branches(nodes: Iterable[PlanNode]) -> bool:
    return any(
        isinstance(node, Fork | Dag | Choice)
        or (isinstance(node, Capped) and (node.budget.on_exceed != "block" or _branches(node.nodes)))
        or (isinstance(node, Nested) and _branches(node.plan.nodes))
        or (isinstance(node, Loop) and _branches(node.body))
        for node in nodes
    )


async def _settle(run: Kept, journal: Journal, output: Any, *, late: bool = False) -> None:
    state = run.state
    suspended = isinstance(output, Suspended)
    status = cast("RunStatus", output.status) if _is_stopped(output) else "success"
    try:
        rows = journal.everything(state) if late else []
        rows += journal.ends(state, suspended=suspended)
        data = outcome(run, journal, output)
    except ProcessionError as error:  # a value that cannot be kept
        failed = Failed("", error)
        await journal.end("failed", outcome(run, journal, failed), journal.ends(state, suspended=False))
        raise
    await journal.end(status, data, rows)


def attach(state: RunState, journal: Journal, history: History | None) -> None:
    """
    Let the run of *state* be written down in *journal*, and go on from *history*.
    """
    state.journal = journal
    state.follow = walk_durably
    state.caller = call_durably
    state.replaying = True
    if history is not None:
        state.history = history
        state.records = history.records
        state.memos = history.memos
        state.woken = frozenset(history.answered)
        state.parked = history.parked
        restore_state(state.shared, journal.input, history.state)
        ended = [path for path, record in history.records.items() if record.status not in ("success", "suspended")]
        journal.known(history.open, ended)


def encode_input(run: Kept, value: Any) -> Any:
    """
    Return the input of a run as JSON knows it.
    """
    kind = getattr(run.definition, "input_type", None)
    kept: dict[str, Any] = encode_value(codec_of(kind), value, None, where=f"input of {run.plan.id!r}", path="")
    shared = run.state.shared
    if shared.first:
        kept["state"] = encode_state(shared, list(shared.first.items()), "")
    return kept


def kept_input(row: RunRow) -> Any:
    """
    Return the input of the run that *row* is about, as it is kept.
    """
    return run_data(row).get("input")


def decode_input(definition: Any, row: RunRow) -> Any:
    """
    Return the input of the run that *row* is about.
    """
    kept: dict[str, Any] = kept_input(row) or {}
    codec = codec_of(getattr(definition, "input_type", None))
    return decode_value(codec, kept, None, where=f"kept input of {row.owner!r}", path="")


def outcome(run: Kept, journal: Journal, output: Any) -> str:
    """
    Return what is kept of a run as a whole, once it has ended in *output*.
    """
    data: dict[str, Any] = {"input": journal.input}
    if _is_stopped(output):
        record = Record(PlanNode(run.plan.id, ""), output.path, 0.0)
        data["stop"] = stop_data(record, output)
        if isinstance(output, Failed):
            data["error"] = error_data(output.error)
    else:
        value = output.value if isinstance(output, Bailed) else output
        data["output"] = encode_output(run.plan, value)
    return to_json(data)


def _is_stopped(output: Any) -> TypeGuard[Stop]:
    """
    Whether a run that came to *output* has none; one that bailed has.
    """
    return isinstance(output, Stop) and not isinstance(output, Bailed)
