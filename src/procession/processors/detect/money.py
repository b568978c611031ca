"""
Cards, accounts and wallets: numbers with check digits.
"""

from __future__ import annotations

from procession.messages.text.patterns import Rule
from procession.processors.detect import checks, words
from procession.processors.detect.wallets import bech32, bitcoin_address, ethereum_address

__all__ = ["CARD", "IBAN", "WALLET"]

_NOT_WORD_BEFORE = r"(?<![A-Za-z0-9_])"
_GAP = r"(?:[ .\-_/\u00b7]|[ -]?\n[> ]{0,3}|  )?"
_CARD_BEFORE = r"(?<![0-9A-Za-z_])(?<![0-9][.-])(?<!\b[0-9],)"
"""After a single digit and a comma come decimals; other commas are those of a table."""
_CARD_AFTER = r"(?![0-9A-Za-z_]|[.-][0-9])"
CARD: tuple[Rule, ...] = (
    Rule(
        "credit-card",
        rf"{_CARD_BEFORE}(?:[0-9]{{4}}{_GAP}[0-9]{{4}}{_GAP}[0-9]{{4}}{_GAP}[0-9]{{1,4}}(?:{_GAP}[0-9]{{1,3}})?"
        rf"|[0-9]{{4}}{_GAP}[0-9]{{6}}{_GAP}[0-9]{{4,5}}){_CARD_AFTER}",
        check=checks.card_number,
    ),
    Rule(
        "credit-card-16",  # where other digits follow: an expiry date, a security code
        rf"{_CARD_BEFORE}[0-9]{{4}}{_GAP}[0-9]{{4}}{_GAP}[0-9]{{4}}{_GAP}[0-9]{{4}}(?![0-9A-Za-z_]|-[0-9]|[.][0-9])",
        type="credit-card",
        check=checks.card_number,
    ),
    Rule(
        "credit-card-by-digit",  # 4 1 1 1  1 1 1 1 ...
        rf"{_CARD_BEFORE}[0-9](?:[ .-]{{1,3}}[0-9]){{12,18}}(?![0-9A-Za-z_]|[ .-][0-9](?![0-9]))",
        type="credit-card",
        check=checks.card_number,
    ),
    Rule(
        "credit-card-said",  # in groups of any size, where the text speaks of a card
        r"(?<![0-9A-Za-z_])[0-9](?:[ .\-_/,*\u00b7]{0,2}[0-9]|[ ]?\n[> ]{0,3}[0-9]){12,18}(?![0-9A-Za-z_])",
        type="credit-card",
        check=checks.card_number,
        context_only=True,
        context=rf"(?:{words.CARD})[^0-9\n\[\]]{{0,44}}\Z",
        context_score=0.9,
        near=60,
    ),
)
"""The rules for payment cards."""

_IBAN_BEFORE = rf"(?:{_NOT_WORD_BEFORE}|(?<=IBAN))"
_IBAN_GAP = r"[ .\-_/\u00b7\n]?"
_IBAN_WIDE = r"(?: ?[.\-_/\u00b7\n] ?| {1,2})?"
IBAN: tuple[Rule, ...] = (
    Rule(
        "iban",
        rf"{_IBAN_BEFORE}[A-Za-z] ?[A-Za-z]{_IBAN_GAP}[0-9]{_IBAN_GAP}[0-9](?:{_IBAN_GAP}[A-Za-z0-9]){{11,31}}",
        measure=checks.iban_length,
    ),
    Rule(
        "iban-in-groups",  # DE16 / 2004 1133 / 0836 4711 00
        rf"{_IBAN_BEFORE}[A-Za-z]{{2}}[0-9]{{2}}(?:{_IBAN_WIDE}[A-Za-z0-9]{{4}}){{2,7}}(?:{_IBAN_WIDE}[A-Za-z0-9]{{1,4}})?",
        type="iban",
        measure=checks.iban_length,
    ),
)
"""The rules for bank accounts."""

WALLET: tuple[Rule, ...] = (
    Rule(
        "bitcoin",
        r"(?<![A-Za-z0-9_])[13LMDTA9][1-9A-HJ-NP-Za-km-z]{25,34}(?![A-Za-z0-9_])",
        type="crypto-wallet",
        check=bitcoin_address,
    ),
    Rule(
        "bitcoin-bech32",
        r"(?<![A-Za-z0-9_])(?:bc1|tb1|ltc1|BC1|LTC1)[02-9ac-hj-np-zAC-HJ-NP-Z]{11,71}(?![A-Za-z0-9_])",
        type="crypto-wallet",
        check=bech32,
    ),
    Rule(
        "ethereum",
        r"(?<![A-Za-z0-9_])0x[0-9a-fA-F]{40}(?![A-Za-z0-9_])",
        type="crypto-wallet",
        check=ethereum_address,
    ),
)
"""The rules for crypto-currencies."""
