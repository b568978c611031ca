"""
DictionaryDetector: names that are known beforehand, found where they stand as words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, cast

from procession.errors import ProcessorDefinitionError
from procession.messages.text.normalise import fold
from procession.messages.text.patterns import Rule
from procession.messages.text.scan import find_spans
from procession.processors.detect.detector import CLEAN, Verdict

__all__ = ["DictionaryDetector", "Names", "dictionary_rules"]

Names: TypeAlias = Mapping[str, Iterable[str]] | Iterable[str]
"""Names of people, or texts by the type that they are."""
_LONGEST = 120
# Scripts that are written without blanks between words: there a name has no border.
_NO_BORDER = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
)


def dictionary_rules(owner: str, names: Names) -> tuple[Rule, ...]:
    """
    Return a rule for each type of *names*, an option of the class *owner*; the longest name at a place counts.

    Raises ``ProcessorDefinitionError`` for one text, whose letters are none, and for an empty or overlong name.

    >>> [rule.type for rule in dictionary_rules("Guard", {"name": ["Mara Voss"], "project": ["Heron"]})]
    ['name', 'project']
    """
    if isinstance(names, str):
        raise ProcessorDefinitionError(f"{owner} has names={names!r}", hint="give a list of names")
    lists = cast("Mapping[str, Iterable[str]]", names) if isinstance(names, Mapping) else {"name": names}
    made: list[Rule] = []
    for type, listed in lists.items():
        words = [(listed,) if isinstance(listed, str) else tuple(listed)][0]
        seen = {" ".join(fold(word).text.split()): word for word in words}
        for short, word in seen.items():
            if not short or len(short) > _LONGEST:
                raise ProcessorDefinitionError(
                    f"{owner} has the name {word!r}", hint=f"a name has 1 to {_LONGEST} characters"
                )
        if seen:
            made.append(Rule(f"dictionary:{type}", _pattern(seen), type=type, flags=re.IGNORECASE))
    return tuple(made)


def _pattern(names: Iterable[str]) -> str:
    """
    Return a pattern of all *names*, which looks at what they begin with once.
    """
    by_first: dict[str, list[str]] = {}
    for name in sorted(names, key=len, reverse=True):
        by_first.setdefault(name[0].casefold(), []).append(_bordered(name))
    return "|".join(f"(?:{'|'.join(arms)})" for arms in by_first.values())


def _bordered(name: str) -> str:
    spelled = r"\s{1,3}".join(re.escape(word) for word in name.split(" "))
    before = "" if _NO_BORDER.match(name) or not name[0].isalnum() else r"(?<![^\W_])"
    after = "" if _NO_BORDER.match(name[-1]) or not name[-1].isalnum() else r"(?![^\W_])"
    return f"{before}{spelled}{after}"


class DictionaryDetector:
    """
    Finds *names*, or texts by type, in any case, with their borders in any script; it asks nobody.

    ``PIIDetector(names=...)`` has one built in.  Names in inflected forms (Maras, Вани) are other names: list them.

    Raises ``ProcessorDefinitionError`` for what is no list of names.

    >>> [(span.start, span.type) for span in DictionaryDetector(["Mara Voss"]).find("Ask mara voss.").spans]
    [(4, 'name')]
    """

    def __init__(self, names: Names) -> None:
        self.rules = dictionary_rules(type(self).__name__, names)

    def find(self, text: str) -> Verdict:
        """
        Judge *text*.
        """
        spans = tuple(find_spans(self.rules, text, fold=True))
        return Verdict(dict.fromkeys((span.type for span in spans), 1.0), spans) if spans else CLEAN

    async def detect(self, text: str, *, scope: Any = None) -> Verdict:
        """
        Judge *text*; it costs nothing.
        """
        return self.find(text)
