"""
JournalStore: the port of runs, with the rows that it keeps.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import Enum
from typing import Literal, Protocol

from procession.messages.value import Value

__all__ = [
    "FINAL",
    "UNCHANGED",
    "WAITING",
    "JournalRow",
    "JournalStore",
    "RunKind",
    "RunRow",
    "RunStatus",
    "Unchanged",
]


class Unchanged(Enum):
    """
    Says that something stays as it is, where ``None`` means something else.
    """

    TOKEN = "unchanged"


UNCHANGED = Unchanged.TOKEN


RunKind = Literal["agent", "workflow"]
"""What a run is one of."""

RunStatus = Literal["pending", "running", "suspended", "success", "failed", "blocked", "cancelled"]
"""Where a run stands in a store."""

FINAL: frozenset[RunStatus] = frozenset(("success", "failed", "blocked", "cancelled"))
"""The states that nothing follows (D30)."""

WAITING: tuple[RunStatus, ...] = ("suspended",)
"""The states of runs that an answer from outside takes on."""


class RunRow(Value, kw_only=True):
    """
    What a store keeps of one run as a whole.
    """

    run_id: str
    owner: str
    """The id of the workflow or the agent whose run it is."""
    kind: RunKind = "agent"
    status: RunStatus = "suspended"
    data: str | None = None
    """JSON.  Of an agent's run the snapshot, ``None`` once it has ended; of a workflow's its input and its outcome."""
    graph_hash: str = ""
    """The workflow that it was begun with; :meth:`JournalStore.graph` has it as data."""
    parent_run_id: str | None = None
    """The run that it was forked from."""
    forked_at: str | None = None
    """The path at which it was forked."""
    resource_id: str | None = None
    """Whose run it is, where that is known: runs are listed and deleted by it (D35)."""
    thread_id: str | None = None
    """The conversation that it belongs to, where that is known: runs are listed and deleted by it, too."""
    created_at: float = 0.0
    """Seconds since the epoch; the store sets it."""
    updated_at: float = 0.0
    """When status or data were last written; the store sets it.  Rows that are added leave it as it is."""
    claimed: bool = False
    """Whether somebody held the run when it was read; the store says so."""
    cancel_requested: bool = False
    """Whether it is to be cancelled by whoever holds it; who prolongs a claim is told."""


class JournalRow(Value, kw_only=True):
    """
    One thing that was completed in a run: an output, an answer, an attempt that failed.  Rows are added, never changed.
    """

    seq: int
    """Counts from 0 within the run."""
    kind: str
    path: str
    """Where in the workflow, with rounds and items: ``outer/inner[2]/step``."""
    attempt: int = 1
    data: str | None = None
    """JSON."""


class JournalStore(Protocol):
    """
    Keeps runs: of agents those that were suspended, of workflows whatever was completed in them.

    Each method is atomic, also between processes that use one store.  Final states are final.  Every method raises
    ``StoreError`` where the store cannot be used.
    """

    async def add(self, row: RunRow, *, token: str | None = None, seconds: float = 0.0) -> bool:
        """
        Keep a new run, held by *token* for *seconds* if one is given.

        ``False`` where the store knows its id already, and nothing is written.  What the store sets is not taken from
        *row*, and nobody has asked yet to cancel the run.
        """
        ...

    async def row(self, run_id: str) -> RunRow | None:
        """
        Return what is kept of a run as a whole, or ``None``.
        """
        ...

    async def claim(
        self, run_id: str, token: str, seconds: float, *, of: Collection[RunStatus] = WAITING
    ) -> RunRow | None:
        """
        Take a run for *seconds* in the name of *token*; with a token that holds it already, prolong that.

        ``None`` where another token holds it, where it is in none of the states *of*, and where it has ended.
        """
        ...

    async def write(
        self,
        run_id: str,
        token: str,
        rows: Sequence[JournalRow] = (),
        *,
        status: RunStatus | None = None,
        data: str | None | Unchanged = UNCHANGED,
        release: bool = False,
    ) -> bool:
        """
        Add *rows*, set status and data where they are given, and give the run back with *release*: all or nothing.

        ``False``, and nothing is written, unless the token holds the run (a claim that ran out and that nobody else has
        taken since still counts) and the run has not ended.  A run that ends is given back by that.  Raises
        ``StoreError``, too, where the run has a row of one of the ``seq`` already.
        """
        ...

    async def entries(self, run_id: str, *, after: int = -1) -> list[JournalRow]:
        """
        Return the rows of a run whose ``seq`` is above *after*, in order.
        """
        ...

    async def runs(
        self,
        *,
        owner: str | None = None,
        kind: RunKind | None = None,
        status: Collection[RunStatus] | None = None,
        resource_id: str | None = None,
        thread_id: str | None = None,
        parent_run_id: str | None = None,
        since: float | None = None,
        until: float | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> list[RunRow]:
        """
        Return runs, the newest first, without their ``data``: those made in [*since*, *until*), on pages of *limit*.

        *after* is the id of the last run of the page before.  Raises ``RunNotFound`` where it is not there any more.
        """
        ...

    async def request_cancel(self, run_id: str) -> bool:
        """
        Ask whoever holds the run to cancel it; ``False`` where the run is not there or has ended.
        """
        ...

    async def delete(self, run_id: str) -> bool:
        """
        Remove a run and its rows; ``False`` where it is not there or somebody holds it.  Its graph stays.
        """
        ...

    async def save_graph(self, graph_hash: str, spec: str) -> None:
        """
        Keep a workflow as data, JSON, under its hash.
        """
        ...

    async def graph(self, graph_hash: str) -> str | None:
        """
        Return a workflow as data, or ``None``.
        """
        ...
