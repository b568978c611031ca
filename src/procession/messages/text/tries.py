"""
Tries: many strings as one pattern.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["any_of"]


def any_of(strings: Iterable[str]) -> str:
    """
    Return a pattern of any of *strings*, the longest first, which looks at each character once.

    >>> any_of(["rule", "rules", "order"])
    '(?:order|rules?)'
    """
    by_first: dict[str, list[str]] = {}
    for string in strings:
        by_first.setdefault(string[:1], []).append(string[1:])
    ends = by_first.pop("", None) is not None
    arms = [re.escape(first) + any_of(rests) for first, rests in sorted(by_first.items())]
    if not arms:
        return ""
    whole = arms[0] if len(arms) == 1 and not ends else f"(?:{'|'.join(arms)})"
    return f"{whole}?" if ends else whole
