"""
MemoryUse: how one request uses a memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from procession.messages.value import Value
from procession.steps.scope import RequestScope

__all__ = ["MemoryUse", "use_of"]


class MemoryUse(Value, kw_only=True):
    """
    Which thread a request belongs to; kept in ``scope.resources["memory"]``.
    """

    thread_id: str
    resource_id: str
    last_messages: int | Literal["all"] | None = None
    """How many messages are recalled; ``None`` for the processor's own setting."""
    enabled: bool = True
    read_only: bool = False
    overrides: Mapping[str, Any] | None = None
    """What the request says differently from the memory, by the name of ``Memory``'s option, checked by ``Memory.use``."""


def use_of(scope: RequestScope) -> MemoryUse | None:
    """
    Return how the request uses memory, or ``None`` where it names no thread.
    """
    use = scope.resources.get("memory")
    return use if isinstance(use, MemoryUse) else None
