"""
Confusables: letters of other alphabets that are drawn like Latin ones.

For detection only: pure Russian or Greek text comes out as nonsense, which is of no consequence there.
"""

from __future__ import annotations

from procession.messages.text.normalise import Folder
from procession.messages.text.offsets import Offsets

__all__ = ["AlikeFolder", "look_alike"]

_OWN: dict[str, str] = {
    # Cyrillic
    **dict(zip("аеорсухіјѕԁһԛԝкмнтвгьзбп", "aeopcyxijsdhqwkmhtbrbz6n", strict=True)),
    **dict(zip("АВЕКМНОРСТУХІЈЅԌҺԚԜЗ", "ABEKMHOPCTYXIJSGHQWZ", strict=True)),
    # Greek
    **dict(zip("αβγδεζηικνοπρστυφχωϲϳ", "aBydeznikvonpotuφxwcj", strict=True)),
    **dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ABEZHIKMNOPTYX", strict=True)),
    # Armenian, small capitals and other letters
    **dict(zip("օսցհոզքԁյ", "ougհnqpdj", strict=True)),
    **dict(zip("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢɑɡıȷøəɐ", "abcdefghijklmnoprstuvwyzagijoea", strict=True)),
}


class _Letters(dict[int, str]):
    """
    A table for ``str.translate`` that asks ``confusable_homoglyphs`` for what it does not know, once per character.
    """

    def __missing__(self, code: int) -> str:
        character = chr(code)
        found = character
        if code > 0x24F and character.isalpha():
            found = _from_library(character) or character
        self[code] = found
        return found


_LETTERS = _Letters({ord(character): seen for character, seen in _OWN.items()})


def _from_library(character: str) -> str | None:
    try:
        from confusable_homoglyphs import confusables
    except ImportError:
        return None
    for other in confusables.confusables_data.get(character, ()):
        if len(other["c"]) == 1 and other["c"].isascii() and other["c"].isalpha():
            return str(other["c"])
    return None


def look_alike(text: str) -> str:
    """
    Return *text* with such letters replaced, character by character.

    >>> look_alike("іgnоrе аll")
    'ignore all'
    """
    return text if text.isascii() else text.translate(_LETTERS)


class AlikeFolder(Folder):
    """
    ``normalise.fold`` for a text that comes in pieces, with look-alike letters as the ones that they look like.
    """

    def feed(self, text: str, offsets: Offsets, *, final: bool = False) -> str:
        """
        Take the next piece, add to *offsets* and return what is added to the view.
        """
        return look_alike(super().feed(text, offsets, final=final))
