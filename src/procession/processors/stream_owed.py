"""
Owed: the text that arms of a stream that redact were given and have not let go of, while a map picks another arm.

What such an arm holds back it may still hide, so that nothing of it is shown until the arm has let it go unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping

from procession.messages.chunks import Chunk, TextDelta, TextEnd

__all__ = ["Dropped", "Owed"]


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
        self._given: dict[tuple[str, str], str] = {}
        self._redacted: set[tuple[str, str]] = set()
        self._waiting: dict[str, str] = {}

    def clear(self) -> None:
        """
        Begin anew.
        """
        self._given.clear()
        self._redacted.clear()
        self._waiting.clear()

    def shown(self, chunk: Chunk | None, outputs: Mapping[str, Chunk | None], picked: Chunk | None) -> Chunk | None:
        """
        Return what may be shown now that *picked* goes on: text waits for as long as another arm owes some.

        Raises ``Dropped`` where that would bring back what an arm has redacted.
        """
        id = next((each.id for each in (chunk, picked, *outputs.values()) if isinstance(each, TextDelta)), None)
        ran = [arm for arm in self._arms if arm in outputs]
        if id is None:
            for arm in ran:
                if outputs[arm] is not chunk and outputs[arm] != picked:
                    raise Dropped(arm)
            return picked
        waiting = self._waiting.pop(id, "")
        owing = False
        for arm in ran:
            self._note(arm, id, chunk, outputs[arm])
            own = outputs[arm] is picked
            if (arm, id) in self._redacted and (waiting or not (own or outputs[arm] == picked)):
                raise Dropped(arm)
            owing = owing or (not own and bool(self._given.get((arm, id))))
        if not waiting and not owing:
            return picked
        waiting += picked.text if isinstance(picked, TextDelta) else ""
        if not owing:
            return TextDelta(waiting, id)
        self._waiting[id] = waiting
        return None

    def ended(self, coming: Chunk | None) -> list[Chunk]:
        """
        Return the text that waited for the end of the blocks that *coming* ends.

        Raises ``Dropped`` where an arm never let go of what it was given.
        """
        if isinstance(coming, TextDelta):
            return []
        ids = [coming.id] if isinstance(coming, TextEnd) else list({id for _, id in (*self._given, *self._redacted)})
        found: list[Chunk] = []
        for id in ids:
            waiting = self._waiting.pop(id, "")
            for arm in self._arms:
                if self._given.pop((arm, id), "") and waiting:
                    raise Dropped(arm)
                self._redacted.discard((arm, id))
            if waiting:
                found.append(TextDelta(waiting, id))
        return found

    def _note(self, arm: str, id: str, chunk: Chunk | None, out: Chunk | None) -> None:
        """
        Compare what *arm* lets go of with what it was given: where they differ it has redacted.
        """
        given = self._given.pop((arm, id), "") + (chunk.text if isinstance(chunk, TextDelta) else "")
        text = out.text if isinstance(out, TextDelta) else ""
        rest = given[len(text) :]
        if not given.startswith(text) or (rest and not self._arms[arm]):
            self._redacted.add((arm, id))
        elif rest:
            self._given[arm, id] = rest
