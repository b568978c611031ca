"""
Addresses of the web, addresses of computers, and identifiers of things.
"""

from __future__ import annotations

import re

from procession.messages.text.patterns import Rule
from procession.processors.detect import checks, words

__all__ = ["IP", "URL", "UUID"]

_URL_CHARACTER = (
    r"[^\s<>\"'`()\[\]{}|\\^\u2026\u00ab\u00bb\u2018-\u201f\u2039\u203a\u3000-\u30ff\u4e00-\u9fff\uac00-\ud7a3]"
)


def disarmed(text: str) -> bool:
    """
    Whether an address was made unclickable on purpose.
    """
    return not text.lower().startswith(("http://", "https://", "ftp://")) or "[.]" in text or "[dot]" in text


URL: tuple[Rule, ...] = (
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
    Rule(
        "url-disarmed",  # hxxp://example[.]net/a, https[:]//example.net
        r"(?i)(?<![A-Za-z0-9+.-])(?:h(?:xx|\*\*|tt)ps?|fxp|ftp)(?:\[:\]//|\[://\]|://)[^\s<>\"'`()]{2}",
        type="url",
        tail=r"[^\s<>\"'`()]|\([^\s()<>\"]{0,60}\)",
        trim=".,;:!?*_-",
        check=disarmed,
    ),
)
"""The rules for addresses of the web."""

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


def has_bracket(text: str) -> bool:
    """
    Whether a dot of an address was put in brackets.
    """
    return any(character in "[({<" for character in text)


_IPV4 = r"(?<![A-Za-z0-9_.])(?<![0-9]-)" + rf"{_OCTET}(?:\.{_OCTET}){{3}}(?![0-9A-Za-z_]|\.[0-9]|-[0-9])"
_VERSION_BEFORE = rf"(?:{words.VERSION})[^0-9\n]{{0,16}}(?:[0-9][0-9.]{{1,14}}[^0-9\n]{{1,28}})?\Z"
IP: tuple[Rule, ...] = (
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
        "ipv4-disarmed",  # 192[.]0[.]2[.]1, 192.0.2(.)1
        rf"(?<![A-Za-z0-9_.]){_OCTET}(?:(?:[\[({{<](?:\.|dot)[\])}}>]|\.){_OCTET}){{3}}(?![0-9A-Za-z_]|\.[0-9])",
        type="ip-address",
        check=has_bracket,
        score=0.9,
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
UUID: tuple[Rule, ...] = (
    Rule(
        "uuid",
        r"(?<![0-9A-Za-z-])[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}(?![0-9A-Za-z]"
        r"|-[0-9A-Za-z])",
    ),
)
