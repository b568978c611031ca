"""
Keeper: the runs of one runtime, those that go on here by their id, and all that its store has.

What it takes to write a run down is imported with the first run that is: most runs of most programs are not.
"""

from __future__ import annotations

from typing import Any, Protocol

from procession.runtime.state import RunState
from procession.steps.own_task import OwnTask
from procession.steps.result import Suspended
from procession.storage.base import JournalStore
from procession.workflows.plan import Plan

__all__ = ["Keeper", "Kept"]


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

    async def result(self) -> Any:
        """Wait for its end."""
        ...


class Keeper:
    """
    Keeps runs.  Where the user gave a store every run is written down as it goes; else only what is suspended is kept.
    """

    __slots__ = ("closing", "eager", "graphs", "holders", "live", "store")

    def __init__(self, store: JournalStore, *, eager: bool) -> None:
        self.store = store
        self.eager = eager
        self.live: dict[str, Kept] = {}
        """The runs that go on in this process, by id."""
        self.closing = False
        """Whether the runtime is being closed: what is cancelled now can be taken up again elsewhere."""
        self.graphs: set[str] = set()
        """The hashes of the graphs that the store has from here."""
        self.holders: dict[str, OwnTask] = {}
        """What prolongs the claims of the runs that go on here."""

    async def begin(self, run: Kept, value: Any) -> None:
        """
        Write down that *run* begins with *value*, and hold it.

        Raises ``RunError`` where its id is used already, ``UntypedValue`` where the value cannot be kept.
        """
        from procession.runtime.durable.holding import begin

        await begin(self, run, value)

    async def end(self, run: Kept, output: Any, *, broken_off: bool = False) -> Any:
        """
        Write down how *run* has ended, and return how: what could not be written is a failure.

        A run that was *broken off* while its runtime was closed is given back instead, to be taken up again.
        """
        if run.state.journal is None and type(output) is not Suspended:
            return output
        from procession.runtime.durable.holding import end

        return await end(self, run, output, broken_off=broken_off)
