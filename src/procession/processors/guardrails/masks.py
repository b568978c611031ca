"""
Masks: how personal data is made unreadable and still says what it was.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable, Mapping
from typing import Literal

from procession.errors import ProcessorDefinitionError

__all__ = ["Redaction", "hash_key_of", "redacted"]

Redaction = Literal["mask", "hash", "remove", "placeholder", "reversible"]
_PROCESS_KEY = secrets.token_bytes(32)
"""Of hashes that nobody has given a key for: they are the same in this process, and nobody's guess outside of it."""
_SHORTEST_KEY = 16
_KEPT = 4
"""Digits that a mask leaves at the end."""


def redacted(text: str, type: str, how: Redaction, *, keep_format: bool = True, key: bytes = _PROCESS_KEY) -> str:
    """
    Return what stands in place of *text*, which is of *type*; a hash depends on *key*, as whoever has none could try all
    numbers of nine digits.

    >>> redacted("bob@example.com", "email", "mask"), redacted("4111111111111111", "credit-card", "mask")
    ('b*b@*******.com', '************1111')
    >>> redacted("bob@example.com", "email", "placeholder")
    '[EMAIL]'
    """
    if how == "remove":
        return ""
    if how in ("placeholder", "reversible"):
        return f"[{type.upper()}]"
    if how == "hash":
        digest = hmac.digest(key, text.encode("utf-8", "surrogatepass"), "sha256")
        # A letter at its head, so that no eight digits are taken for a date when they are looked at again.
        return f"[HASH:{'abcdef'[digest[0] % 6]}{digest[1:5].hex()[1:]}]"
    if not keep_format:
        return "*" * min(len(text), 8)
    return _MASKS.get(type, _ends)(text)


def hash_key_of(name: str, key: str | bytes | None) -> bytes:
    """
    Return the *key* of hashes of the class *name*; ``None`` is one of this process, which nobody knows.

    Raises ``ProcessorDefinitionError`` for a key that can be guessed.
    """
    if key is None:
        return _PROCESS_KEY
    made = key.encode() if isinstance(key, str) else key
    if len(made) < _SHORTEST_KEY:
        raise ProcessorDefinitionError(
            f"{name} has a hash_key that can be guessed", hint=f"give at least {_SHORTEST_KEY} random bytes"
        )
    return made


def _ends(text: str) -> str:
    """
    Keep the first and the last character.
    """
    return f"{text[0]}{'*' * (len(text) - 2)}{text[-1]}" if len(text) > 2 else "*" * len(text)


def _email(text: str) -> str:
    local, _, domain = text.rpartition("@")
    if not local:
        return _ends(text)
    hidden = f"{local[0]}{'*' * (len(local) - 2)}{local[-1]}" if len(local) > 2 else "***"
    first, dot, rest = domain.partition(".")
    return f"{hidden}@{'*' * len(first)}{dot}{rest}"


def _digits(sign: str) -> Callable[[str], str]:
    def mask(text: str) -> str:
        left = max(0, sum(character.isdigit() for character in text) - _KEPT)
        out: list[str] = []
        for character in text:
            if character.isdigit() and left > 0:
                left -= 1
                out.append(sign)
            else:
                out.append(character)
        return "".join(out)

    return mask


def _uuid(text: str) -> str:
    return "".join("*" if character.isalnum() else character for character in text)


def _both(first: int, last: int) -> Callable[[str], str]:
    def mask(text: str) -> str:
        if len(text) <= first + last:
            return "*" * len(text)
        middle = text[first:-last]
        return text[:first] + "".join("*" if character.isalnum() else character for character in middle) + text[-last:]

    return mask


def _all(text: str) -> str:
    return "".join("*" if character.isalnum() else character for character in text)


_MASKS: Mapping[str, Callable[[str], str]] = {
    "email": _email,
    "phone": _digits("X"),
    "credit-card": _digits("*"),
    "ssn": _digits("*"),
    "uuid": _uuid,
    "crypto-wallet": _both(4, 4),
    "iban": _both(2, 4),
    "api-key": lambda text: "*" * min(len(text), 8),
    "date-of-birth": _all,
    "ip-address": _all,
}
