"""
Redaction: what must not leave the process in what is shown of runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from procession.messages.shapes import is_dict, is_items
from procession.server.spread import spread

__all__ = ["DEFAULT", "WITHHELD", "Redactor", "mask", "masked_together", "redacted"]

Redactor: TypeAlias = Callable[[str], str]
"""Returns a text as it may be shown."""

WITHHELD: Final = "‹withheld›"
"""What stands in the place of a value that could not be looked at."""

_NUMBER: Final = 100_000_000
"""From where on a whole number may be that of a card, an account or a phone."""

_PARTS: Final = ("text", "reasoning")
"""The kinds of a message's parts that together are one text."""


def mask(text: str) -> str:
    """
    Return *text* with secrets and personal data masked, which our own detectors find by rules.

    Raises ``TimeoutError`` where it is too long to be looked at in time.

    >>> mask("Write to eva@example.com, key sk-proj-Ab3dE5gH7jK9mN1pQ3sT")
    'Write to ‹email›, key ‹secret›'
    """
    from procession.server.masking import masked  # with the first text that is looked at

    return masked(text)


DEFAULT: Final[Redactor] = mask


def redacted(value: Any, redact: Redactor | None) -> Any:
    """
    Return a JSON *value* with every text in it, keys included, as *redact* says; what it fails at is withheld.  A whole
    number of nine digits or more is looked at as a text, and stays a number where nothing is found in it.

    >>> redacted({"to": ["eva@example.com"], "n": 1}, DEFAULT)
    {'to': ['‹email›'], 'n': 1}
    """
    return value if redact is None else _redacted(value, redact)


def masked_together(texts: Sequence[str], redact: Redactor | None) -> list[str]:
    """
    Return pieces of one text so that together they are that text, masked; without *redact*, and where it fails, withheld.

    >>> masked_together(["mail eva@exam", "ple.com now"], DEFAULT)
    ['mail ‹email›', ' now']
    """
    whole = "".join(texts)
    if not whole:
        return list(texts)
    if redact is not None:
        try:
            masked: Any = redact(whole)
        except Exception:
            masked = None
        if isinstance(masked, str):
            return list(texts) if masked == whole else spread(texts, masked)
    return [WITHHELD, *[""] * (len(texts) - 1)]


def _redacted(value: Any, redact: Redactor) -> Any:
    if isinstance(value, str):
        return _text(value, redact)
    if is_dict(value):
        made: dict[str, Any] = {}
        for key, one in value.items():
            shown = _text(key, redact)
            name, number = shown, 1
            while name in made:
                number += 1
                name = f"{shown} {number}"
            made[name] = _redacted(one, redact)
        return made
    if is_items(value):
        every = [_redacted(one, redact) for one in value]
        for kind in _PARTS:
            _join(value, every, kind, redact)
        return every
    if isinstance(value, int) and abs(value) >= _NUMBER:
        return _number(value, redact)
    return value


def _join(given: Sequence[Any], shown: list[Any], kind: str, redact: Redactor) -> None:
    """
    Mask the texts of a message's parts of a *kind* as one: a secret may be split over them.
    """
    at = [n for n, one in enumerate(given) if is_dict(one) and one.get("type") == kind and _has_text(one)]
    if len(at) > 1:
        for n, text in zip(at, masked_together([given[n]["text"] for n in at], redact), strict=True):
            shown[n]["text"] = _text(text, redact)  # and by itself: what stands behind it may hide what is in it


def _has_text(one: dict[str, Any]) -> bool:
    return isinstance(one.get("text"), str)


def _number(value: int, redact: Redactor) -> int | str:
    try:
        text = str(value)
    except ValueError:  # of thousands of digits
        return WITHHELD
    shown = _text(text, redact)
    return value if shown == text else shown


def _text(text: str, redact: Redactor) -> str:
    try:
        made: Any = redact(text)
    except Exception:
        return WITHHELD
    return made if isinstance(made, str) else WITHHELD
