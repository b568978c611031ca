"""
Owed: the text that arms of a stream that redact were given and have not let go of, while a map picks another arm.

What such an arm holds back it may still hide, so that nothing of it is shown until the arm has let it go unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from procession.messages.chunks import Chunk, TextDelta, TextEnd, ToolOutput
from procession.processors.nested_path import Calls, opened, wrapped

__all__ = ["Dropped", "Owed"]


_Block: TypeAlias = tuple[Calls, str]
"""A block of text: the calls round the stream that it is in, and its id."""


class Dropped(Exception):
    """
    What *arm* redacted would come back.
    """

    def __init__(self, arm: str) -> None:
        super().__init__(arm)
        self.arm = arm


class Owed:
    """
    What is open between the arms of one fork, block by block.  *arms* are those that redact, with whether each may
    hold text back; one that may not has redacted what it does not return.
    """

    __slots__ = ("_arms", "_given", "_redacted", "_waiting")

    def __init__(self, arms: Mapping[str, bool]) -> None:
        self._arms = dict(arms)
        self._given: dict[tuple[str, _Block], str] = {}
        self._redacted: set[tuple[str, _Block]] = set()
        self._waiting: dict[_Block, str] = {}

    def anew(self) -> Owed:
        """
        Return the same of the same arms, with nothing open.
        """
        return Owed(self._arms)

    def clear(self) -> None:
        """
        Begin anew.
        """
        self._given.clear()
        self._redacted.clear()
        self._waiting.clear()

    def forget(self, calls: Calls) -> None:
        """
        Drop what is open of the nested streams inside *calls*.
        """

        def inside(block: _Block) -> bool:
            return block[0][: len(calls)] == calls

        self._given = {key: text for key, text in self._given.items() if not inside(key[1])}
        self._redacted = {key for key in self._redacted if not inside(key[1])}
        self._waiting = {block: text for block, text in self._waiting.items() if not inside(block)}

    def shown(self, chunk: Chunk | None, outputs: Mapping[str, Chunk | None], picked: Chunk | None) -> Chunk | None:
        """
        Return what may be shown now that *picked* goes on: text waits for as long as another arm owes some.

        Raises ``Dropped`` where that would bring back what an arm has redacted.
        """
        block = next((found for each in (chunk, picked, *outputs.values()) if (found := _block_of(each))), None)
        ran = [arm for arm in self._arms if arm in outputs]
        if block is None:
            for arm in ran:
                if outputs[arm] is not chunk and outputs[arm] != picked:
                    raise Dropped(arm)
            return picked
        waiting = self._waiting.pop(block, "")
        owing = False
        for arm in ran:
            self._note(arm, block, chunk, outputs[arm])
            own = outputs[arm] is picked
            if (arm, block) in self._redacted and (waiting or not (own or outputs[arm] == picked)):
                raise Dropped(arm)
            owing = owing or (not own and bool(self._given.get((arm, block))))
        if not waiting and not owing:
            return picked
        waiting += _text_of(picked)
        if not owing:
            return _text_in(block, waiting)
        self._waiting[block] = waiting
        return None

    def ended(self, coming: Chunk | None) -> list[Chunk]:
        """
        Return the text that waited for the end of the blocks that *coming* ends.

        Raises ``Dropped`` where an arm never let go of what it was given.
        """
        calls, inner = opened(coming) if coming is not None else ((), None)
        if isinstance(inner, TextDelta):
            return []
        if isinstance(inner, TextEnd):
            blocks = [(calls, inner.id)]
        else:
            blocks = list({block for _, block in (*self._given, *self._redacted) if block[0] == calls})
        found: list[Chunk] = []
        for block in blocks:
            waiting = self._waiting.pop(block, "")
            for arm in self._arms:
                if self._given.pop((arm, block), "") and waiting:
                    raise Dropped(arm)
                self._redacted.discard((arm, block))
            if waiting:
                found.append(_text_in(block, waiting))
        return found

    def _note(self, arm: str, block: _Block, chunk: Chunk | None, out: Chunk | None) -> None:
        """
        Compare what *arm* lets go of with what it was given: where they differ it has redacted.
        """
        given = self._given.pop((arm, block), "") + _text_of(chunk)
        text = _text_of(out)
        rest = given[len(text) :]
        if not given.startswith(text) or (rest and not self._arms[arm]):
            self._redacted.add((arm, block))
        elif rest:
            self._given[arm, block] = rest


def _block_of(chunk: Chunk | None) -> _Block | None:
    """
    Return the block that *chunk* is a piece of, if it is one of text.
    """
    if isinstance(chunk, TextDelta):
        return (), chunk.id
    calls, inner = opened(chunk) if isinstance(chunk, ToolOutput) else ((), None)
    return (calls, inner.id) if isinstance(inner, TextDelta) else None


def _text_of(chunk: Chunk | None) -> str:
    inner = opened(chunk)[1] if isinstance(chunk, ToolOutput) else chunk
    return inner.text if isinstance(inner, TextDelta) else ""


def _text_in(block: _Block, text: str) -> Chunk:
    calls, id = block
    return wrapped(calls, TextDelta(text, id))
