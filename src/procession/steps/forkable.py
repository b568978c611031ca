"""
Forkable: a value that parallel branches may each change, and that is put together again afterwards (D26).

``MessageList`` is one, and so is the payload of a processor hook.  The engine knows nothing else about them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

__all__ = ["Forkable", "Keepable", "MergePolicy", "kept_kinds", "register_kept"]

MergePolicy: TypeAlias = Literal["strictest", "priority", "chain"] | Callable[[Any, Mapping[str, Any]], Any]
"""
How branches without a ``.map`` are put together: ``strictest`` (block > remove > redact > annotate > pass),
``priority`` (the first branch that changed a thing wins), ``chain`` (branches run one after the other), or a
function of the value before the branches and the outputs by step id.
"""


@runtime_checkable
class Forkable(Protocol):
    """
    What the engine asks of a value before it hands it to parallel branches.
    """

    def fork(self) -> Any:
        """
        Return a copy-on-write copy for one branch.
        """
        ...

    def merge(self, outputs: Mapping[str, Any], policy: MergePolicy) -> Any:
        """
        Return the value that goes on, from the branches' *outputs* by step id in declaration order.

        Raises ``MergeConflict`` where two branches rewrote one thing differently.
        """
        ...

    def adopt(self, outputs: Any, picked: Any, *, allow_drop: bool) -> Any:
        """
        Return the value that goes on after a ``.map``: *picked* is what the map returned for *outputs*.

        ``None`` means no change.  Raises ``MergeConflict`` where *picked* leaves out what a redacting branch
        removed and not *allow_drop* (D25).
        """
        ...


@runtime_checkable
class Keepable(Protocol):
    """
    What a journal asks of a value that steps change: what one of them changed, to do it again where a run goes on (D30).
    """

    def changes_since(self, base: Any) -> Any:
        """
        Return what a step made of *base*, a fork of the value as it was before: values that need no annotation.

        What was taken away or hidden is not among them.
        """
        ...

    def redo(self, changes: Any) -> Any:
        """
        Change this value, which is what the step was given, as it was changed then, and return it.
        """
        ...


kept_kinds: dict[str, Callable[[Any], Any]] = {}
"""What reads a whole value again, by what its class is *kept_as*; read by ``marks`` and written by ``register_kept``."""


def register_kept(name: str, read: Callable[[Any], Any]) -> None:
    """
    Let *read* make the values of a class that is *kept_as* this *name*, of what their ``whole()`` gave.
    """
    kept_kinds[name] = read
