"""
Stores in memory: for tests, demos and single processes that may forget.
"""

from procession.storage.memory_cache import InMemoryCacheStore
from procession.storage.memory_costs import InMemoryCosts
from procession.storage.memory_journal import InMemoryJournal
from procession.storage.memory_store import InMemoryStore

__all__ = ["InMemoryCacheStore", "InMemoryCosts", "InMemoryJournal", "InMemoryStore"]
