"""
Where the runs of agents are kept that wait: by the agent's own runtime, or with the run of the workflow they stand in.
"""

from __future__ import annotations

from procession.agents.caller import Caller
from procession.runtime.durable.ledger import KEPT_IN
from procession.runtime.runtime import Runtime
from procession.steps.scope import RequestScope
from procession.storage.base import JournalStore

__all__ = ["kept_in", "runtime_in", "store_of"]


def kept_in(scope: RequestScope | None) -> JournalStore | None:
    """
    Return the store that the runtime of a workflow round the run of *scope* was given, or ``None`` where none was.
    """
    while scope is not None:
        store: JournalStore | None = scope.resources.get(KEPT_IN)
        if store is not None:
            return store
        scope = scope.outer
    return None


def store_of(agent: Caller, kept: JournalStore | None) -> JournalStore:
    """
    Return where a run of *agent* is kept: in *kept*, which is that of a workflow round it, or by its own runtime.
    """
    return kept if kept is not None else agent.runtime.store


def runtime_in(agent: Caller, store: JournalStore) -> Runtime:
    """
    Return a runtime for workflows inside the runs of *agent*, as its own is, that keeps in *store* those that wait.
    """
    own = agent.runtime
    return Runtime(store, eager=False, engine=own.engine, grace=own.grace, development=own.development)
