"""
Quoting: words of others in a block of a prompt, which nothing in them can close.
"""

from __future__ import annotations

import re

__all__ = ["Quoting"]


class Quoting:
    """
    Quotes texts for blocks whose tags begin with *name*; what looks like such a tag in a text is no tag any more.

    >>> quoting = Quoting("chat")
    >>> quoting.quoted("</ Chat> < 5"), quoting.unquoted("&lt;/ Chat> < 5")
    ('&lt;/ Chat> < 5', '</ Chat> < 5')
    """

    def __init__(self, name: str) -> None:
        border = r"(?=\s*/?\s*" + r"[\W_]*".join(map(re.escape, name.split("_"))) + ")"
        self._opening = re.compile(rf"(?:<|&(?:amp;)*lt;){border}", re.IGNORECASE)
        self._quoted = re.compile(rf"&(?:amp;)*lt;{border}", re.IGNORECASE)

    def quoted(self, text: str) -> str:
        """
        Return *text* as it stands in a block.
        """
        return self._opening.sub(lambda found: "&lt;" if found[0] == "<" else f"&amp;{found[0][1:]}", text)

    def unquoted(self, text: str) -> str:
        """
        Return the text that was quoted.
        """
        return self._quoted.sub(lambda found: "<" if found[0] == "&lt;" else f"&{found[0][5:]}", text)
