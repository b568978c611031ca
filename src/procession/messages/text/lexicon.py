"""
Lexicon: which ideas a text speaks of where, by the words that stand for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from procession.messages.text.strings import Strings

__all__ = ["Lexicon"]

_WHOLE = "="


class Lexicon:
    """
    Words of ideas.  *begins* are beginnings of words, whole words where they end with ``=``; *anywhere* are strings of
    scripts that do not part words.  All of an idea's are one text, parted by ``|``, in lower case.

    >>> lexicon = Lexicon([{"drop": "ignor|drop="}], [{"drop": "忽略"}])
    >>> lexicon.ideas, list(lexicon.hits("ignoring a droplet, 请忽略"))
    (('drop',), [(0, 0), (21, 0)])
    """

    def __init__(self, begins: Iterable[Mapping[str, str]], anywhere: Iterable[Mapping[str, str]] = ()) -> None:
        begins, anywhere = tuple(begins), tuple(anywhere)
        self.ideas: tuple[str, ...] = tuple(dict.fromkeys(idea for words in (*begins, *anywhere) for idea in words))
        """The ideas, in the order in which hits number them."""
        words = self._numbered(begins)
        self._begins = {word: ideas for word, ideas in words.items() if not word.endswith(_WHOLE)}
        self._whole = {word[:-1]: ideas for word, ideas in words.items() if word.endswith(_WHOLE)}
        self._words = Strings([*self._begins, *self._whole])
        firsts = {word[0] for word in (*self._begins, *self._whole)}
        self._starts = re.compile(rf"(?<!\w)[{re.escape(''.join(sorted(firsts)))}]") if firsts else re.compile("(?!)")
        self._anywhere = self._numbered(anywhere)
        self._strings = Strings(self._anywhere)

    def hits(self, text: str) -> Iterator[tuple[int, int]]:
        """
        Yield place and number of an idea for each word of *text* that stands for one.
        """
        starts = [found.start() for found in self._starts.finditer(text)]
        for place, word in self._words.at(text, starts):
            for idea in self._begins.get(word, ()):
                yield place, idea
            if word in self._whole and not _goes_on(text, place + len(word)):
                for idea in self._whole[word]:
                    yield place, idea
        if not text.isascii():
            for place, word in self._strings.places(text):
                for idea in self._anywhere[word]:
                    yield place, idea

    def _numbered(self, tables: Iterable[Mapping[str, str]]) -> dict[str, tuple[int, ...]]:
        found: dict[str, dict[int, None]] = {}
        for table in tables:
            for idea, words in table.items():
                for word in words.split("|"):
                    found.setdefault(word, {})[self.ideas.index(idea)] = None
        return {word: tuple(ideas) for word, ideas in found.items()}


def _goes_on(text: str, place: int) -> bool:
    return place < len(text) and (text[place].isalnum() or text[place] == "_")
