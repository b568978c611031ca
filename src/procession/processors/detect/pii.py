"""
Personal data that can be told from its form: patterns, checksums, and words nearby.

Names and postal addresses cannot, and are found by a model only (``llm.py``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

from procession.errors import ProcessorDefinitionError
from procession.messages.text.normalise import fold
from procession.messages.text.patterns import Rule
from procession.processors.detect import identities
from procession.processors.detect.addresses import IP, URL, UUID
from procession.processors.detect.checks import iban_form
from procession.processors.detect.mails import EMAIL
from procession.processors.detect.money import CARD, IBAN, WALLET
from procession.processors.detect.national_ids import ID_TYPES, id_rules
from procession.processors.detect.phones import REGIONS, phone_rules
from procession.processors.detect.secrets import SECRETS

__all__ = ["CHECKED", "MODEL_TYPES", "OFFLINE_TYPES", "Wording", "pii_rules", "worded"]

_RULES: Mapping[str, tuple[Rule, ...]] = {
    "email": EMAIL,
    "phone": phone_rules(),
    "credit-card": CARD,
    "ssn": identities.SSN,
    "api-key": SECRETS,
    "ip-address": IP,
    "date-of-birth": identities.DATE_OF_BIRTH,
    "url": URL,
    "uuid": UUID,
    "crypto-wallet": WALLET,
    "iban": IBAN,
    "uk-nino": identities.NINO,
    "es-dni": identities.DNI,
    "br-cpf": identities.CPF,
    "de-steuer-id": identities.STEUER,
    "in-aadhaar": identities.AADHAAR,
}
OFFLINE_TYPES: tuple[str, ...] = tuple(_RULES)
"""What rules find."""
CHECKED = frozenset(
    {"credit-card", "ssn", "iban", "uk-nino", "es-dni", "br-cpf", "de-steuer-id", "in-aadhaar", "crypto-wallet"}
)
"""Types whose numbers are held against their check digits and ranges."""
MODEL_TYPES: tuple[str, ...] = ("name", "address")
"""What only a model finds."""


@lru_cache(maxsize=64)
def _rules(types: tuple[str, ...], regions: tuple[str, ...]) -> tuple[Rule, ...]:
    return tuple(rule for kind in types for rule in _rules_of(kind, regions))


@lru_cache(maxsize=256)
def _rules_of(kind: str, regions: tuple[str, ...]) -> tuple[Rule, ...]:
    if kind in ID_TYPES:
        return id_rules(kind)
    return phone_rules(regions) if kind == "phone" and regions != REGIONS else _RULES[kind]


def pii_rules(types: Iterable[str] = OFFLINE_TYPES, *, regions: Sequence[str] = REGIONS) -> tuple[Rule, ...]:
    """
    Return the rules for *types*, telephone numbers as written in *regions*.

    Raises ``ProcessorDefinitionError`` for a type that no rule finds, and for what is no code of a country.
    """
    wanted = tuple(dict.fromkeys(types))
    unknown = [kind for kind in wanted if kind not in _RULES and kind not in ID_TYPES]
    if unknown:
        raise ProcessorDefinitionError(
            f"no rule finds {', '.join(map(repr, unknown))}",
            hint=f"rules find {', '.join((*OFFLINE_TYPES, *ID_TYPES))}",
        )
    places = (regions,) if isinstance(regions, str) else tuple(regions)
    for place in places:
        if not (len(place) == 2 and place.isascii() and place.isupper()):
            raise ProcessorDefinitionError(
                f"PIIDetector: {place!r} is no region",
                hint="name countries by two capitals, as in regions=('GB', 'DE')",
            )
    return _rules(wanted, places)


Wording: TypeAlias = Mapping[str, Iterable[str]]
"""Words by type."""


def worded(
    name: str, rules: Iterable[Rule], context: Wording | None, unless: Wording | None, *, validate: bool = True
) -> tuple[Rule, ...]:
    """
    Return *rules* with words of the caller's, options of the class *name*, that speak for or against a finding of a type;
    without *validate* those of ``CHECKED`` types without their checks.

    Raises ``ProcessorDefinitionError`` for a type that none of the rules finds, and for a text in place of a list.
    """
    given = tuple(rules)
    for option, words in (("context_words", context or {}), ("unless_words", unless or {})):
        for kind, listed in words.items():
            if kind not in {rule.type for rule in given}:
                raise ProcessorDefinitionError(f"{name} has {option} for {kind!r}, which no rule finds")
            if isinstance(listed, str):
                raise ProcessorDefinitionError(
                    f"{name} has {option}={{{kind!r}: {listed!r}}}", hint="give a list of words"
                )
    if not validate:
        given = tuple(rule.unchecked(iban_form) if rule.type in CHECKED else rule for rule in given)
    wanted: list[Rule] = []
    for rule in given:
        more, less = (_said(words, rule.type) for words in (context or {}, unless or {}))
        wanted.append(rule.hearing(more, less) if more or less else rule)
    return tuple(wanted)


def _said(words: Wording, kind: str) -> str:
    listed = [re.escape(fold(word).text) for word in words.get(kind, ())]
    return rf"(?<!\w)(?:{'|'.join(listed)})(?!\w)[^\n]{{0,32}}" if listed else ""
