"""
Lexicon: which ideas a text speaks of where, by the words that stand for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from procession.messages.text.tries import any_of

__all__ = ["Lexicon"]


class Lexicon:
    """
    Words of ideas.  *begins* are beginnings of words, whole words where they end with ``=``; *anywhere* are strings of
    scripts that do not part words.  All of an idea's are one text, parted by ``|``, in lower case.

    >>> lexicon = Lexicon([{"drop": "ignor|drop="}], [{"drop": "忽略"}])
    >>> lexicon.ideas, list(lexicon.hits("ignoring a droplet, 请忽略"))
    (('drop',), [(0, 5, 0), (21, 23, 0)])
    """

    def __init__(self, begins: Iterable[Mapping[str, str]], anywhere: Iterable[Mapping[str, str]] = ()) -> None:
        begins, anywhere = tuple(begins), tuple(anywhere)
        self.ideas: tuple[str, ...] = tuple(dict.fromkeys(idea for words in (*begins, *anywhere) for idea in words))
        """The ideas, in the order in which hits number them."""
        word = self._numbered(begins)
        self._tables = [
            _Table({text: ideas for text, ideas in word.items() if not text.endswith("=")}, r"(?<!\w)", ""),
            _Table({text[:-1]: ideas for text, ideas in word.items() if text.endswith("=")}, r"(?<!\w)", r"(?!\w)"),
            _Table(self._numbered(anywhere), "", ""),
        ]

    def hits(self, text: str) -> Iterator[tuple[int, int, int]]:
        """
        Yield start, end and number of an idea for each word that stands for one, table by table.
        """
        for table in self._tables:
            yield from table.hits(text)

    def _numbered(self, tables: Iterable[Mapping[str, str]]) -> dict[str, set[int]]:
        found: dict[str, set[int]] = {}
        for table in tables:
            for idea, words in table.items():
                for word in words.split("|"):
                    found.setdefault(word, set()).add(self.ideas.index(idea))
        return found


class _Table:
    """
    Strings that are sought at once, with the ideas of each and of all that it begins with.
    """

    def __init__(self, words: Mapping[str, set[int]], before: str, after: str) -> None:
        whole = bool(after)
        self._ideas: dict[str, Sequence[int]] = {
            word: sorted(
                ideas.union(*(words.get(word[:end], set[int]()) for end in range(1, len(word)))) if not whole else ideas
            )
            for word, ideas in words.items()
        }
        self._ascii = not any(word.isascii() for word in words)
        self._pattern = re.compile(f"{before}(?=({any_of(words)}){after})" if words else "(?!)")

    def hits(self, text: str) -> Iterator[tuple[int, int, int]]:
        if self._ascii and text.isascii():
            return
        for found in self._pattern.finditer(text):
            start, end = found.span(1)
            for idea in self._ideas[found[1]]:
                yield start, end, idea
