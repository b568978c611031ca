"""
Personal data that can be told from its form: patterns, checksums, and words nearby.

Names and postal addresses cannot, and are found by a model only (``llm.py``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from procession.errors import ProcessorDefinitionError
from procession.messages.text.patterns import Rule
from procession.processors.detect import checks, identities, words
from procession.processors.detect.phones import REGIONS, phone_rules
from procession.processors.detect.secrets import SECRETS
from procession.processors.detect.wallets import bech32, bitcoin_address, ethereum_address

__all__ = ["MODEL_TYPES", "OFFLINE_TYPES", "pii_rules"]

_NOT_WORD_BEFORE = r"(?<![A-Za-z0-9_])"
_NOT_WORD_AFTER = r"(?![A-Za-z0-9_])"


# --- addresses of mail and of the web ----------------------------------------------

_FILE_ENDINGS = frozenset(
    [
        "png",
        "jpg",
        "jpeg",
        "gif",
        "svg",
        "webp",
        "bmp",
        "ico",
        "css",
        "scss",
        "js",
        "mjs",
        "ts",
        "tsx",
        "jsx",
        "json",
        "yaml",
        "yml",
        "toml",
        "xml",
        "html",
        "htm",
        "pdf",
        "mp3",
        "mp4",
        "mov",
        "zip",
        "gz",
        "exe",
        "dll",
    ]
)
_LOCAL = r"[A-Za-z0-9_\u00c0-\u024f]"
_LOCAL_MORE = r"[A-Za-z0-9_.%+'&\u00c0-\u024f-]"
_LABEL = r"[A-Za-z0-9\u00c0-\u024f](?:[A-Za-z0-9\u00c0-\u024f-]{0,38}[A-Za-z0-9\u00c0-\u024f])?"


def no_file_name(text: str) -> bool:
    """
    Whether the end of an address is no file ending, as in ``icon@2x.png``.
    """
    return text.rpartition(".")[2].lower() not in _FILE_ENDINGS and ".." not in text


_EMAIL = (
    Rule(
        "email",
        rf"(?<![A-Za-z0-9_.%+\u00c0-\u024f-]){_LOCAL}(?:{_LOCAL_MORE}{{0,62}}[A-Za-z0-9_+\u00c0-\u024f-])?"
        rf"@(?:{_LABEL}\.){{1,4}}(?:[A-Za-z]{{2,24}}|xn--[A-Za-z0-9-]{{2,40}})(?![A-Za-z0-9_\u00c0-\u024f]"
        rf"|[.-][A-Za-z0-9]|:[A-Za-z0-9_~-]{{1,40}}/)",
        check=no_file_name,
        unless=r"://[^\s/@]{0,60}\Z",
    ),
    Rule(
        "email-cyrillic",
        r"(?<![\w.+-])[\u0400-\u04ffA-Za-z0-9][\u0400-\u04ffA-Za-z0-9_.+-]{0,62}@"
        r"(?:[\u0400-\u04ffA-Za-z0-9-]{1,40}\.){1,4}[\u0400-\u04ff]{2,12}(?!\w)",
        type="email",
    ),
    Rule(
        "email-spelled",  # eva [at] example [dot] net
        r"(?i)(?<![A-Za-z0-9_.%+-])[A-Za-z0-9][A-Za-z0-9_.+-]{0,40} ?(?:\[at\]|\(at\)|\{at\}|<at>|\[ at \]|\( at \)"
        r"|\[@\]|\(@\)) ?"
        r"[A-Za-z0-9-]{1,40}(?:(?: ?[\[({<] ?(?:dot|\.) ?[\])}>] ?|\.)[A-Za-z0-9-]{2,40}){1,3}" + _NOT_WORD_AFTER,
        type="email",
        score=0.9,
    ),
)

_URL_CHARACTER = (
    r"[^\s<>\"'`()\[\]{}|\\^\u2026\u00ab\u00bb\u2018-\u201f\u2039\u203a\u3000-\u30ff\u4e00-\u9fff\uac00-\ud7a3]"
)
_URL = (
    Rule(
        "url",
        rf"(?i)(?<![A-Za-z0-9+.-])(?:https?|ftps?|sftp|wss?|ssh|git|mongodb(?:\+srv)?|postgres(?:ql)?|mysql|rediss?"
        rf"|amqps?)://{_URL_CHARACTER}{{2}}",
        tail=rf"{_URL_CHARACTER}|\([^\s()<>\"]{{0,60}}\)|\[[^\s\[\]<>\"]{{0,60}}\]",
        trim=".,;:!?*_-",
    ),
    Rule(
        "url-www",
        rf"(?i)(?<![A-Za-z0-9+./@-])www\.[a-z0-9-]{{2,60}}\.(?=[a-z]){_URL_CHARACTER}",
        type="url",
        tail=rf"{_URL_CHARACTER}|\([^\s()<>\"]{{0,60}}\)",
        trim=".,;:!?*_-",
    ),
)

# --- computers -----------------------------------------------------------------------

_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_NO_ADDRESS = re.compile(r"255\.255\.|0\.0\.0\.0\Z")


def not_a_version(text: str) -> bool:
    """
    Whether one of the four numbers is too large for the usual version number, and they are no network mask.
    """
    return max(int(part) for part in text.split(".")) > 31 and not _NO_ADDRESS.match(text)


def not_a_mask(text: str) -> bool:
    """
    Whether the four numbers are no network mask.
    """
    return not _NO_ADDRESS.match(text)


def ipv6(text: str) -> bool:
    """
    Whether it is an address of version 6 with a digit in it, so that no word is taken for one.
    """
    return any(character.isdigit() for character in text) and text not in ("::", "::0") and checks.ip_address(text)


_IPV4 = r"(?<![A-Za-z0-9_.])(?<![0-9]-)" + rf"{_OCTET}(?:\.{_OCTET}){{3}}(?![0-9A-Za-z_]|\.[0-9]|-[0-9])"
_VERSION_BEFORE = rf"(?:{words.VERSION})[^0-9\n]{{0,16}}(?:[0-9][0-9.]{{1,14}}[^0-9\n]{{1,28}})?\Z"
_IP = (
    Rule("ipv4", _IPV4, type="ip-address", check=not_a_version, score=0.8, unless=_VERSION_BEFORE),
    Rule(
        "ipv4-small",
        _IPV4,
        type="ip-address",
        check=not_a_mask,
        context_only=True,
        context=rf"(?:{words.ADDRESS})[^0-9\n]{{0,10}}\Z",
        context_score=0.7,
        unless=_VERSION_BEFORE,
    ),
    Rule(
        "ipv4-port",
        r"(?<![A-Za-z0-9_.])" + rf"{_OCTET}(?:\.{_OCTET}){{3}}(?=:[0-9]{{2,5}}(?![0-9])|/[0-9]{{1,2}}(?![0-9.]))",
        type="ip-address",
        check=not_a_mask,
        score=0.8,
    ),
    Rule(
        "ipv6",
        r"(?<![A-Za-z0-9_:.])(?:[0-9A-Fa-f]{0,4}:){2,7}(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3}|[0-9A-Fa-f]{1,4})?"
        r"(?![A-Za-z0-9_:])",
        type="ip-address",
        check=ipv6,
        score=0.9,
    ),
)
_UUID = (
    Rule(
        "uuid",
        r"(?<![0-9A-Za-z-])[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}(?![0-9A-Za-z]"
        r"|-[0-9A-Za-z])",
    ),
)

# --- money ---------------------------------------------------------------------------

_SEPARATOR = r"(?:[ .-]|[ ]?\n[> ]{0,3}|  )?"
_CARD = (
    Rule(
        "credit-card",
        r"(?<![0-9A-Za-z_])(?<![0-9][.,-])"
        rf"(?:[0-9]{{4}}{_SEPARATOR}[0-9]{{4}}{_SEPARATOR}[0-9]{{4}}{_SEPARATOR}[0-9]{{1,4}}"
        rf"(?:{_SEPARATOR}[0-9]{{1,3}})?"
        rf"|[0-9]{{4}}{_SEPARATOR}[0-9]{{6}}{_SEPARATOR}[0-9]{{4,5}})(?![0-9A-Za-z_]|[.,-][0-9])",
        check=checks.card_number,
    ),
    Rule(
        "credit-card-16",  # where other digits follow: an expiry date, a security code
        rf"(?<![0-9A-Za-z_])"
        rf"(?<![0-9][.,-])[0-9]{{4}}{_SEPARATOR}[0-9]{{4}}{_SEPARATOR}[0-9]{{4}}{_SEPARATOR}[0-9]{{4}}(?![0-9A-Za-z_]"
        rf"|-[0-9]|[.][0-9])",
        type="credit-card",
        check=checks.card_number,
    ),
)


_IBAN = (
    Rule(
        "iban",
        rf"{_NOT_WORD_BEFORE}[A-Za-z]{{2}}[ -]?[0-9]{{2}}(?:[ .-]?[A-Za-z0-9]){{11,31}}",
        measure=checks.iban_length,
    ),
)
_WALLET = (
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

_RULES: Mapping[str, tuple[Rule, ...]] = {
    "email": _EMAIL,
    "phone": phone_rules(),
    "credit-card": _CARD,
    "ssn": identities.SSN,
    "api-key": SECRETS,
    "ip-address": _IP,
    "date-of-birth": identities.DATE_OF_BIRTH,
    "url": _URL,
    "uuid": _UUID,
    "crypto-wallet": _WALLET,
    "iban": _IBAN,
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
