"""
Personal data that can be told from its form: patterns, checksums, and words nearby.

Names and postal addresses cannot, and are found by a model only (``llm.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from procession.errors import ProcessorDefinitionError
from procession.messages.text.patterns import Rule
from procession.processors.detect import identities
from procession.processors.detect.addresses import IP, URL, UUID
from procession.processors.detect.mails import EMAIL
from procession.processors.detect.money import CARD, IBAN, WALLET
from procession.processors.detect.phones import REGIONS, phone_rules
from procession.processors.detect.secrets import SECRETS

__all__ = ["MODEL_TYPES", "OFFLINE_TYPES", "pii_rules"]

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
MODEL_TYPES: tuple[str, ...] = ("name", "address")
"""What only a model finds."""


@lru_cache(maxsize=64)
def _rules(types: tuple[str, ...], regions: tuple[str, ...]) -> tuple[Rule, ...]:
    return tuple(
        rule
        for kind in types
        for rule in (phone_rules(regions) if kind == "phone" and regions != REGIONS else _RULES[kind])
    )


def pii_rules(types: Iterable[str] = OFFLINE_TYPES, *, regions: Sequence[str] = REGIONS) -> tuple[Rule, ...]:
    """
    Return the rules for *types*, telephone numbers as written in *regions*.

    Raises ``ProcessorDefinitionError`` for a type that no rule finds, and for what is no code of a country.
    """
    wanted = tuple(dict.fromkeys(types))
    unknown = [kind for kind in wanted if kind not in _RULES]
    if unknown:
        raise ProcessorDefinitionError(
            f"no rule finds {', '.join(map(repr, unknown))}", hint=f"rules find {', '.join(OFFLINE_TYPES)}"
        )
    places = (regions,) if isinstance(regions, str) else tuple(regions)
    for place in places:
        if not (len(place) == 2 and place.isascii() and place.isupper()):
            raise ProcessorDefinitionError(
                f"{place!r} is no region", hint="name countries by two capitals, as in regions=('GB', 'DE')"
            )
    return _rules(wanted, places)
