"""
Maps in a stream chain: what they pick, or make of a chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from procession.errors import MergeConflict, ProcessionError, StepError
from procession.messages.chunks import Chunk
from procession.processors.payloads import OutputStreamPayload
from procession.processors.stream_items import Item

__all__ = ["MapItem", "picked_payload"]


class MapItem(Item):
    """
    A plain map: it may return a payload with another chunk, or nothing for no change.
    """

    __slots__ = ("_function", "_name", "_payload")

    def __init__(self, name: str, function: Callable[[Any], Any], payload: OutputStreamPayload, path: str = "") -> None:
        super().__init__(is_async=True, path=path)
        self._name = name
        self._function = function
        self._payload = payload

    async def apply(self, chunk: Chunk, sender: str | None = None) -> Chunk | None:
        """
        Ask the map.
        """
        self._payload.chunk = chunk
        picked = await picked_payload(self._name, self._function, self._payload)
        out = chunk if picked is None else picked.chunk
        return chunk if chunk.control and type(out) is not type(chunk) else out


async def picked_payload(name: str, function: Callable[[Any], Any], shown: Any) -> OutputStreamPayload | None:
    """
    Return the payload that the map *name* picks or builds from what it is *shown*, or ``None`` for no change.

    Raises ``StepError`` where the map raised, and ``MergeConflict`` where it returned something else.
    """
    try:
        picked = function(shown)
        if hasattr(picked, "__await__"):
            picked = await picked
    except ProcessionError:
        raise
    except Exception as error:
        raise StepError(f"map {name!r} raised {type(error).__name__}: {error}", path=name) from error
    if isinstance(picked, Mapping):
        values = cast("Mapping[str, Any]", picked).values()
        payloads = [value for value in values if isinstance(value, OutputStreamPayload)]
        picked = payloads[-1] if payloads else None
    if picked is None or isinstance(picked, OutputStreamPayload):
        return picked
    raise MergeConflict(
        f"map {name!r} returned {type(picked).__name__}",
        branches=(),
        path=name,
        hint="return one of the payloads it was given, a changed copy of one, or None for no change",
    )
