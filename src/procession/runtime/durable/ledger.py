"""
Ledger: the runs of one runtime, those that go on here by their id, and all that its store has.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Protocol

import anyio

from procession.runtime.events import WorkflowEvent
from procession.runtime.state import RunState
from procession.steps.own_task import OwnTask
from procession.storage.base import JournalStore
from procession.workflows.plan import Plan

__all__ = ["KEPT_IN", "Kept", "Ledger"]

KEPT_IN = "kept_in"
"""
Where the request of a run that can be resumed names, among its resources, the store that its runtime was given, or
``None``: what waits inside of the run is kept there, too.
"""


class Kept(Protocol):
    """
    A run, as its keeper sees it.
    """

    @property
    def state(self) -> RunState:
        """The run from the inside."""
        ...

    @property
    def plan(self) -> Plan:
        """What it walks."""
        ...

    @property
    def definition(self) -> Any:
        """The workflow, or whatever else it runs."""
        ...

    @property
    def resource_id(self) -> str | None:
        """Whose run it is."""
        ...

    def cancel(self) -> None:
        """End it."""
        ...

    def events(self) -> AsyncIterator[WorkflowEvent]:
        """What happens in it, from the first event on."""
        ...

    async def result(self) -> Any:
        """Wait for its end."""
        ...


class Ledger:
    """
    What is known of runs.  With *eager* every run is written down as it goes; else only what is suspended is kept.
    """

    __slots__ = ("closing", "eager", "given", "graphs", "holders", "live", "recovered", "store", "turns")

    def __init__(self, store: JournalStore, *, eager: bool, given: bool = True) -> None:
        self.store = store
        self.eager = eager
        self.given = store if given else None
        """The store, where the runtime was given it."""
        self.live: dict[str, Kept] = {}
        """The runs that go on in this process, by id."""
        self.turns: dict[str, anyio.Lock] = {}
        """Who gives a run an answer here waits for whoever does so at this moment."""
        self.recovered: set[str] = set()
        """The runs that go on here because somebody took up all that were left, by id."""
        self.closing = False
        """Whether the runtime is being closed: what is cancelled now can be taken up again elsewhere."""
        self.graphs: set[str] = set()
        """The hashes of the graphs that the store has from here."""
        self.holders: dict[str, OwnTask] = {}
        """What prolongs the claims of the runs that go on here."""

    def gives_back(self, run_id: str) -> bool:
        """
        Return whether a run whose task is cancelled can be taken up again elsewhere: nobody has asked for its end.
        """
        return self.closing or run_id in self.recovered
