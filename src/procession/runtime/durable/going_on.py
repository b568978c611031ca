"""
Going on: runs that are taken up again, after an answer, after a crash, or from an earlier place.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from typing import Any, Protocol

import anyio

from procession.errors import GraphChanged, ResumeError, RunAlreadyClaimed, RunNotFound
from procession.ids import new_id
from procession.runtime.durable.abandoning import abandon_all
from procession.runtime.durable.holding import LEASE, graph_of
from procession.runtime.durable.journal import Journal
from procession.runtime.durable.ledger import Kept, Ledger
from procession.runtime.durable.rows import History, read_rows, run_data, to_json
from procession.runtime.durable.targets import answer_tree, choose, leaf_at
from procession.runtime.run import Run
from procession.runtime.walk import plan_of
from procession.steps.result import Suspended
from procession.storage.base import FINAL, JournalRow, RunRow, RunStatus

__all__ = ["Revive", "Taken", "answer_run", "cancel_run", "restart_run", "row_of"]


_SUSPENDED: tuple[RunStatus, ...] = ("suspended",)
_BROKEN_OFF: tuple[RunStatus, ...] = ("running",)
_INSTEAD = {
    "running": "runtime.restart(run_id) takes it up",
    "suspended": "runtime.resume(run_id, answer) gives it what it waits for",
    "pending": "it was never begun: runtime.delete(run_id)",
}
_NOT_ENDED: tuple[RunStatus, ...] = ("suspended", "running", "pending")


class Revive(Protocol):
    """
    Makes the run that goes on: ``Runtime``.
    """

    def __call__(self, row: RunRow, history: History, journal: Journal) -> Run[Any, Any]:
        """Return a run that goes on from *history*."""
        ...


async def row_of(ledger: Ledger, run_id: str) -> RunRow:
    """
    Return what the store keeps of a workflow's run.

    Raises ``RunNotFound``.
    """
    row = await ledger.store.row(run_id)
    if row is None:
        raise RunNotFound(
            f"no run {run_id!r} is in the store",
            hint="runs are kept from their start where Runtime(store) was given one, else once they are suspended",
        )
    if row.kind != "workflow":
        raise RunNotFound(
            f"run {run_id!r} is one of agent {row.owner!r}", hint="resume it by its agent: agent.resume()"
        )
    return row


class Taken:
    """
    A run that was claimed, with all that is written down of it.
    """

    __slots__ = ("history", "journal", "row", "rows")

    def __init__(self, row: RunRow, rows: Sequence[JournalRow], journal: Journal) -> None:
        self.row = row
        self.rows = rows
        self.journal = journal
        self.history = read_rows(rows)

    async def cancel(self) -> None:
        """
        Bring the run to its end: what waited in it is cancelled with it.
        """
        stop = {"status": "cancelled", "at": "", "reason": "it was cancelled"}
        rows = self.journal.given_up(self.history.records)
        try:
            await self.journal.end("cancelled", to_json({**run_data(self.row), "stop": stop}), rows)
        except BaseException:
            await self.give_back()
            raise

    async def give_back(self) -> None:
        """
        Let others have it, as it is.
        """
        await self.journal.let_go()


async def take(ledger: Ledger, run_id: str, of: Collection[RunStatus], verb: str) -> Taken:
    """
    Claim a run that is in one of the states *of*.

    Raises ``RunAlreadyClaimed`` where somebody else holds it or has brought it to its end, or where it is to be cancelled
    and now is; ``ResumeError`` where it is in another state.
    """
    row = await row_of(ledger, run_id)
    if row.status in FINAL:
        raise RunAlreadyClaimed(
            f"run {run_id} has ended: {row.status}",
            hint="what has ended stays so; runtime.fork(run_id, at=...) goes another way",
        )
    if row.status not in of:
        if row.claimed:
            raise RunAlreadyClaimed(f"run {run_id} is {row.status}, held by somebody else")
        raise ResumeError(
            f"run {run_id} is {row.status} and cannot be {verb}", run_id=run_id, hint=_INSTEAD[row.status]
        )
    token = new_id()
    journal = Journal(ledger.store, run_id, token)
    try:
        found = await ledger.store.claim(run_id, token, LEASE, of=of)
        if found is None:
            raise RunAlreadyClaimed(
                f"run {run_id} is held by somebody else, or has been {verb} by them",
                hint=f"where their process has died, it is free {LEASE:g} s later at most: try again then",
            )
        taken = Taken(found, await ledger.store.entries(run_id), journal)
    except RunAlreadyClaimed:
        raise
    except BaseException:  # where it was cancelled, the claim may stand for all that
        await journal.let_go()
        raise
    journal.follow(taken.history.next_seq)
    if found.cancel_requested and verb != "cancelled":
        await taken.cancel()
        raise RunAlreadyClaimed(f"run {run_id} was to be cancelled, and is", hint="what has ended stays so")
    return taken


def refuse_change(row: RunRow, stored: str | None, definition: Any, accepted: Collection[str]) -> None:
    """
    Raise ``GraphChanged`` where *definition* is not what the run was begun with, but for the paths *accepted*.
    """
    graph = graph_of(definition)
    if (graph[0] if graph is not None else "") == row.graph_hash:
        return
    if graph is None or not row.graph_hash:
        was, now = ("a workflow", "none") if graph is None else ("a single step", "a workflow")
        raise GraphChanged(
            f"run {row.run_id} was begun with {was} {row.owner!r}, and what has that id now is {now}",
            differences=[f"{row.owner!r} was {was}"],
            hint="give the right one: workflow=..., and another id to one of them",
        )
    from procession.workflows.difference import differences
    from procession.workflows.spec import GraphSpec

    if stored is None:
        found, unknown = [], ["the graph it was begun with is not in the store"]
    else:
        changed = differences(GraphSpec.from_dict(json.loads(stored)), graph[1])
        found, unknown = [each for each in changed if each.hashed], []  # settings may change under a run
    refused = [each.text for each in found if each.path not in accepted] + unknown
    if not refused and (found or accepted):
        return
    raise GraphChanged(
        f"workflow {row.owner!r} has changed since run {row.run_id} was begun: {'; '.join(refused) or 'its hash differs'}",
        differences=refused,
        hint="let the old code bring the run to its end, fork() it, or insist: accept_changes=[the paths named]",
    )


async def answer_run(
    ledger: Ledger,
    run_id: str,
    answer: Any,
    revive: Revive,
    definition: Callable[[str], Any],
    *,
    step: str | None,
    label: str | None,
    accept_changes: Collection[str],
) -> Run[Any, Any]:
    """
    Give a suspended run its answer, in the journal, and return the run that goes on.

    Answers that are given here at the same time to several steps of a run go in one after the other.
    """
    turn = ledger.turns.setdefault(run_id, anyio.Lock())
    try:
        while True:
            await _until_suspended(ledger, run_id, step, label)
            async with turn:
                if run_id not in ledger.live:
                    return await _answer(ledger, run_id, answer, revive, definition, step, label, accept_changes)
    finally:
        if not turn.statistics().tasks_waiting and not turn.locked():
            ledger.turns.pop(run_id, None)


async def _answer(
    ledger: Ledger,
    run_id: str,
    answer: Any,
    revive: Revive,
    definition: Callable[[str], Any],
    step: str | None,
    label: str | None,
    accept_changes: Collection[str],
) -> Run[Any, Any]:
    taken = await take(ledger, run_id, _SUSPENDED, "resumed")
    try:
        workflow = definition(taken.row.owner)
        refuse_change(taken.row, await ledger.store.graph(taken.row.graph_hash), workflow, accept_changes)
        history = taken.history
        path = choose(run_id, history.open, step, label, records=history.records, labels=history.labels)
        stop = taken.history.open[path]
        tree = answer_tree(answer, leaf_at(plan_of(workflow, None), path), path)
        row = taken.journal.answer(path, stop.number, tree, stop.label)
        taken.history.answers.setdefault(path, []).append(tree)
        run = revive(taken.row, taken.history, taken.journal)
        await taken.journal.end("running", taken.row.data, [row], release=False)
    except BaseException:
        await taken.give_back()
        raise
    return run


async def _until_suspended(ledger: Ledger, run_id: str, step: str | None, label: str | None) -> None:
    """
    Wait while the run goes on in this process and the step that is meant waits already: its siblings may take their time.

    Raises ``RunAlreadyClaimed`` where what is meant does not wait there.
    """
    while (live := ledger.live.get(run_id)) is not None:
        open = _open_in(live)
        try:
            choose(run_id, open, step, label, records=live.state.records)
        except ResumeError as error:
            if open and step is None and label is None:
                raise
            raise RunAlreadyClaimed(f"run {run_id} goes on, and what is meant does not wait in it") from error
        await live.result()


def _open_in(run: Kept) -> dict[str, Suspended]:
    state = run.state
    return {
        path: record.stop
        for path, record in state.records.items()
        if isinstance(record.stop, Suspended) and record.stop.path == path and path not in state.woken
    }


async def restart_run(
    ledger: Ledger,
    run_id: str,
    revive: Revive,
    definition: Callable[[str], Any],
    *,
    accept_changes: Collection[str],
) -> Run[Any, Any]:
    """
    Take up a run whose process died, and return the run that goes on.
    """
    if run_id in ledger.live:
        raise RunAlreadyClaimed(f"run {run_id} goes on in this process")
    taken = await take(ledger, run_id, _BROKEN_OFF, "restarted")
    try:
        workflow = definition(taken.row.owner)
        refuse_change(taken.row, await ledger.store.graph(taken.row.graph_hash), workflow, accept_changes)
        return revive(taken.row, taken.history, taken.journal)
    except BaseException:
        await taken.give_back()
        raise


async def cancel_run(ledger: Ledger, run_id: str, known: Callable[[str], Any]) -> bool:
    """
    Cancel a run wherever it is; ``False`` where it has ended.  What waits for its steps is ended with it where its
    workflow is *known*.
    """
    live = ledger.live.get(run_id)
    if live is not None:
        live.cancel()
        ended = (await live.result()).status
        if ended != "suspended":
            return bool(ended == "cancelled")
    row = await row_of(ledger, run_id)
    if row.status in FINAL:
        return False
    while True:
        try:
            taken = await take(ledger, run_id, _NOT_ENDED, "cancelled")
        except RunAlreadyClaimed:
            if not await ledger.store.request_cancel(run_id):
                return False
            row = await row_of(ledger, run_id)
            if row.claimed or row.status in FINAL:  # who holds it is told
                return True
        else:
            await taken.cancel()
            workflow = known(row.owner)
            if workflow is not None:
                await abandon_all(plan_of(workflow, None), run_id, taken.history.records, ledger.given)
            return True
