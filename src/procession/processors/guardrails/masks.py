"""
Masks: how personal data is made unreadable and still says what it was.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Literal

__all__ = ["Redaction", "redacted"]

Redaction = Literal["mask", "hash", "remove", "placeholder"]
_KEPT = 4
"""Digits that a mask leaves at the end."""


def redacted(text: str, type: str, how: Redaction, *, keep_format: bool = True) -> str:
    """
    Return what stands in place of *text*, which is of *type*.

    >>> redacted("bob@example.com", "email", "mask"), redacted("4111111111111111", "credit-card", "mask")
    ('b*b@*******.com', '************1111')
    >>> redacted("bob@example.com", "email", "placeholder")
    '[EMAIL]'
    """
    if how == "remove":
        return ""
    if how == "placeholder":
        return f"[{type.upper()}]"
    if how == "hash":
        return f"[HASH:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).digest()[:4].hex()}]"
    if not keep_format:
        return "*" * min(len(text), 8)
    return _MASKS.get(type, _ends)(text)


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
