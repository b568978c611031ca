"""
Masking: secrets and personal data in a text, as our own rules find them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from procession.messages.text.scan import RuleLane
from procession.messages.text.spans import Region, cut_out, resolve
from procession.messages.text.whole import search_whole
from procession.processors.detect.pii import pii_rules

__all__ = ["masked"]

_RULES: Final = pii_rules((
    "email", "phone", "credit-card", "ssn", "api-key", "ip-address", "date-of-birth", "crypto-wallet", "iban", "uk-nino",
    "es-dni", "br-cpf", "de-steuer-id", "in-aadhaar",
))  # fmt: skip
_NAMES: Final = {"api-key": "secret", "credit-card": "card", "ip-address": "ip", "date-of-birth": "birth date"}
_SHORTEST: Final = 5
"""Characters that a text has at least in which there may be anything."""
_SHORT: Final = 200


def masked(text: str) -> str:
    """
    Return *text* with what the rules find replaced by what it is.

    Raises ``TimeoutError`` where it is too long to be looked at in time.
    """
    if len(text) < _SHORTEST:
        return text
    return _known(text) if len(text) < _SHORT else _masked(text)


def _masked(text: str) -> str:
    found = search_whole(RuleLane(_RULES), text)
    return cut_out(text, resolve(found), _name) if found else text


_known = lru_cache(maxsize=4096)(_masked)  # names and labels come again and again


def _name(region: Region) -> str:
    kind = region.owner.type
    return f"‹{_NAMES.get(kind, kind)}›"
