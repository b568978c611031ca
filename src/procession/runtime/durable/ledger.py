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

__all__ = ["Kept", "Ledger"]


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

    __slots__ = ("closing", "eager", "graphs", "holders", "live", "store", "turns")

    def __init__(self, store: JournalStore, *, eager: bool) -> None:
        self.store = store
        self.eager = eager
        self.live: dict[str, Kept] = {}
        """The runs that go on in this process, by id."""
        self.turns: dict[str, anyio.Lock] = {}
        """Who gives a run an answer here waits for whoever does so at this moment."""
        self.closing = False
        """Whether the runtime is being closed: what is cancelled now can be taken up again elsewhere."""
        self.graphs: set[str] = set()
        """The hashes of the graphs that the store has from here."""
        self.holders: dict[str, OwnTask] = {}
        """What prolongs the claims of the runs that go on here."""
