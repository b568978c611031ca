"""
BlockJoiner: text blocks that follow each other directly are one text to guards, as they are to a reader.
"""

from __future__ import annotations

from collections.abc import Collection

from procession.messages.chunks import Chunk, ResponseMetadata, TextDelta, TextEnd, TextStart

__all__ = ["BlockJoiner"]


class BlockJoiner:
    """
    Makes one block of blocks between which nothing comes: a match may lie across their border.

    The end of a block waits for the next chunk.  Where that begins another block, both go on as the first.
    """

    __slots__ = ("_begun", "_ending", "_into", "active")

    def __init__(self) -> None:
        self.active = False
        """Whether more than the beginnings and ends of blocks concerns it."""
        self._begun: set[str] = set()
        self._ending: TextEnd | None = None
        self._into: dict[str, str] = {}

    def take(self, chunk: Chunk, open: Collection[str]) -> list[Chunk]:
        """
        Return what goes on now that *chunk* has come; blocks of which there was text and that go on are *open*.
        """
        if isinstance(chunk, ResponseMetadata):  # nobody is shown it, nor what comes with it
            return [chunk]
        out: list[Chunk] = []
        if self._ending is not None:
            end, self._ending = self._ending, None
            if isinstance(chunk, TextStart) or (isinstance(chunk, TextDelta) and self._is_new(chunk.id, open)):
                self._into[chunk.id] = end.id
                self._begun.add(chunk.id)
                return [] if isinstance(chunk, TextStart) else [chunk.replace(id=end.id)]
            out.append(end)
        if isinstance(chunk, TextStart):
            self._begun.add(chunk.id)
            out.append(chunk)
        elif isinstance(chunk, TextDelta):
            id = self._into.get(chunk.id, chunk.id)
            out.append(chunk if id == chunk.id else chunk.replace(id=id))
        elif isinstance(chunk, TextEnd):
            id = self._into.pop(chunk.id, chunk.id)
            self._begun.discard(chunk.id)
            end = chunk if id == chunk.id else chunk.replace(id=id)
            if self._begun or any(other != id for other in open):  # blocks that alternate stay apart
                out.append(end)
            else:
                self._ending = end
        else:
            out.append(chunk)
        self.active = self._ending is not None or bool(self._into)
        return out

    def end(self) -> TextEnd | None:
        """
        Return the end of a block that waits for another one: nothing comes any more.
        """
        end = self._ending
        self.clear()
        return end

    def clear(self) -> None:
        """
        Begin anew.
        """
        self.active = False
        self._begun.clear()
        self._ending = None
        self._into.clear()

    def _is_new(self, id: str, open: Collection[str]) -> bool:
        return id not in self._begun and id not in open
