"""
InMemoryVectors: vectors that last as long as the object, each compared when something is sought.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import anyio.to_thread

from procession.storage.nearest import FLOAT_BYTES, at_once
from procession.storage.threads import MessageRef
from procession.storage.vector_checks import check_deletion, check_lengths, checked_units
from procession.storage.vector_rows import RowsView, SearchFor, VectorRows, best_of, facts_text
from procession.storage.vectors import Facts, VectorHit, VectorItem

__all__ = ["InMemoryVectors"]


class _Index:
    """
    One index: the rows of each resource, and where those of a message stand.
    """

    __slots__ = ("length", "places", "rows")

    def __init__(self, length: int) -> None:
        self.length = length
        self.rows: dict[str, VectorRows] = {}
        self.places: dict[MessageRef, dict[str, list[int]]] = {}


class InMemoryVectors:
    """
    A ``VectorStore`` that lasts as long as the object.
    """

    def __init__(self) -> None:
        self._indexes: dict[str, _Index] = {}

    async def put_vectors(self, index: str, items: Sequence[VectorItem]) -> None:
        """
        Keep vectors in place of whatever the index has of the same messages.

        Raises ``StoreError`` where the index has vectors of another length, ``InputError`` for a vector without a
        direction.
        """
        if not items:
            return
        units = checked_units(index, items)
        length = len(units[0]) // FLOAT_BYTES
        kept = self._indexes.get(index)
        if kept is None:
            kept = self._indexes[index] = _Index(length)
        check_lengths(index, length, kept.length)
        for item in items:
            for resource_id, rows in kept.places.pop(MessageRef(item.thread_id, item.message_id), {}).items():
                kept.rows[resource_id].forget(rows)
        for item, unit in zip(items, units, strict=True):
            own = kept.rows.get(item.resource_id)
            if own is None:
                own = kept.rows[item.resource_id] = VectorRows(length)
            ref = MessageRef(item.thread_id, item.message_id)
            kept.places.setdefault(ref, {}).setdefault(item.resource_id, []).append(len(own))
            own.add([unit], [(item.thread_id, item.message_id)], [facts_text(item.facts)])
        for resource_id in {item.resource_id for item in items}:
            if kept.rows[resource_id].should_be_packed:
                self._pack(kept, resource_id)

    async def search(
        self,
        index: str,
        vector: Sequence[float],
        *,
        top_k: int,
        resource_id: str | None,
        thread_id: str | None = None,
        threshold: float | None = None,
        facts: Facts | None = None,
        without: Collection[MessageRef] = (),
    ) -> list[VectorHit]:
        """
        Return the *top_k* messages that are most alike, the most alike first.
        """
        sought = SearchFor.of(
            vector, top_k=top_k, thread_id=thread_id, threshold=threshold, facts=facts, without=without
        )
        kept = self._indexes.get(index)
        if kept is None:
            return []
        check_lengths(index, sought.length, kept.length)
        views = [rows.view() for owner, rows in list(kept.rows.items()) if resource_id in (None, owner)]
        if sum(map(len, views)) * kept.length > at_once():
            return await anyio.to_thread.run_sync(_search, views, sought)
        return _search(views, sought)

    async def delete_vectors(
        self,
        *,
        resource_id: str | None = None,
        thread_id: str | None = None,
        message_ids: Collection[str] | None = None,
        index: str | None = None,
    ) -> int:
        """
        Delete the vectors that all of this is true of, and return how many there were.
        """
        check_deletion(resource_id, thread_id, message_ids, index)
        of = None if message_ids is None else set(message_ids)
        deleted = 0
        for name, kept in list(self._indexes.items()):
            if index not in (None, name):
                continue
            touched: set[str] = set()
            for ref, places in list(kept.places.items()):
                if thread_id not in (None, ref.thread_id) or (of is not None and ref.message_id not in of):
                    continue
                for owner in [owner for owner in places if resource_id in (None, owner)]:
                    rows = places.pop(owner)
                    kept.rows[owner].forget(rows)
                    touched.add(owner)
                    deleted += len(rows)
                if not places:
                    del kept.places[ref]
            for owner in touched:  # what was asked to be deleted is not kept
                self._pack(kept, owner)
            if not kept.rows:
                del self._indexes[name]
        return deleted

    def _pack(self, kept: _Index, resource_id: str) -> None:
        """
        Take out what is gone.
        """
        rows = kept.rows[resource_id]
        moved = {row: at for at, row in enumerate(rows.kept())}
        if not moved:
            del kept.rows[resource_id]
            return
        kept.rows[resource_id] = rows.packed()
        for places in kept.places.values():
            if resource_id in places:
                places[resource_id] = [moved[row] for row in places[resource_id]]


def _search(views: Sequence[RowsView], sought: SearchFor) -> list[VectorHit]:
    found = [view.search(sought) for view in views]
    return found[0] if len(found) == 1 else best_of([hit for hits in found for hit in hits], sought.top_k)
