"""
Telephone numbers: candidates by shape, decided by the numbering plans of ``phonenumbers`` where it is installed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from procession.messages.text.patterns import Rule
from procession.processors.detect.words import PHONE, REFERENCE

__all__ = ["REGIONS", "phone_rules"]

REGIONS = (
    "GB", "US", "DE", "FR", "ES", "IT", "NL", "BE", "AT", "CH", "SE", "AU", "IE", "JP", "IN", "BR", "PT", "PL", "RU",
    "TR", "CN", "KR", "ZA", "NZ", "MX",
)  # fmt: skip
"""Whose national ways of writing are understood, unless the caller says otherwise."""

_NOT_DIGIT = re.compile(r"[^0-9]")
_YEAR = re.compile(r"(?<![0-9])(?:19[5-9][0-9]|20[0-4][0-9])(?![0-9])")
_ZIP = re.compile(r"[0-9]{5}-[0-9]{4}")
_YEARS = re.compile(r"(?:19|20)[0-9]{2}[ ./-]{1,3}(?:19|20)[0-9]{2}")
_NOT_PRECEDED = r"(?<![0-9A-Za-z_+])(?<![0-9][.,:/~-])(?<![A-Za-z]-)"
_NOT_FOLLOWED = r"(?![0-9A-Za-z_])(?![.,:/~-][0-9])"
_NO_DATE = (
    r"(?!(?:0?[1-9]|[12][0-9]|3[01])[./ -](?:0?[1-9]|[12][0-9]|3[01])[./ -](?:19|20)[0-9]{2}(?![0-9]))"
    r"(?!(?:19|20)[0-9]{2}[./-](?:0[1-9]|1[0-2])[./-])"
)
_GAP = r"[ ().\-/_~\u00b7]{0,3}"
_WORDS_AFTER = (
    r"mobile|cell|landline|phone|fax\b|whatsapp|home\b|office|work\b|mobil|handy|festnetz|telefon|anrufen|erreichbar"
    r"|portable|fixe\b|m[oó]vil|fijo|celular|tel[eé]fono|telem[oó]vel|cellulare|fisso|bellen|mobiel|kom[oó]rk"
    r"|(?:numaral[ıi] )?(?:hat|telefon)|cep\b|моб|телефон|携帯|固定|手机|電話|电话"
)
_REFERENCE_BEFORE = rf"(?:{REFERENCE})(?:[^0-9\n!?;\[\]]|[0-9]{{1,4}} ){{0,20}}\Z"


def phone_rules(regions: Sequence[str] = REGIONS) -> tuple[Rule, ...]:
    """
    Return the rules for telephone numbers, of which those without a country code are understood as in *regions*.
    """
    places = tuple(regions)

    def international(text: str) -> bool:
        return _is_international(text)

    def national(text: str) -> bool:
        return _YEARS.fullmatch(text) is None and _is_national(_digits(text), places)

    def national_by_form(text: str) -> bool:
        return not _is_a_file(text) and _is_national(_digits(text), places)

    def plausible(text: str) -> bool:
        return 7 <= len(_digits(text)) <= 11

    return (
        Rule(
            "phone-international",
            _NOT_PRECEDED + rf"(?:\+|00(?=[ 1-9])) ?\(?[1-9](?:{_GAP}[0-9]){{6,14}}" + r"(?![0-9])",
            type="phone",
            check=international,
            score=0.9,
        ),
        Rule(
            "phone-grouped",  # (212) 555-0147, 212-555-0147, 212.555.0147
            _NOT_PRECEDED
            + r"(?:1[ ._~/-])?(?:\([2-9][0-9]{2}\) ?|[2-9][0-9]{2}[ ._~/-])[2-9][0-9]{2}[ ._~-][0-9]{4}"
            + _NOT_FOLLOWED,
            type="phone",
            unless=_REFERENCE_BEFORE,
            score=0.7,
            context=PHONE,
            context_score=0.9,
        ),
        Rule(
            "phone-trunk",  # 0171/39 200 47, 020 7946 0958
            _NOT_PRECEDED
            + r"(?<![^0-9-][0-9]{4} )"  # the middle of a number in fours
            + _NO_DATE
            + r"(?:\(0[1-9][0-9]{0,4}\)|0[1-9][0-9]{0,5})(?:[ ./_~\u00b7-]{1,3}[0-9]{1,8}){1,5}"
            + _NOT_FOLLOWED,
            type="phone",
            check=national_by_form,
            unless=_REFERENCE_BEFORE,
            score=0.7,
            context=PHONE,
            context_score=0.9,
        ),
        Rule(
            "phone-area",  # (11) 91234-5678
            _NOT_PRECEDED + r"\([0-9]{2,4}\) ?[0-9]{3,5}[ -][0-9]{3,4}" + _NOT_FOLLOWED,
            type="phone",
            check=plausible,
            unless=_REFERENCE_BEFORE,
            score=0.6,
            context=PHONE,
            context_score=0.9,
        ),
        Rule(
            "phone-plain",  # 612 345 678 or 07700900461, where the text speaks of calling
            _NOT_PRECEDED + _NO_DATE + r"\(?[0-9](?:[ ()./_~\u00b7-]{0,3}[0-9]){6,11}" + _NOT_FOLLOWED,
            type="phone",
            check=national,
            context_only=True,
            context=rf"(?:{PHONE})(?:(?:[^0-9\n\[\]]|\[(?=[\"'\s]|\Z)){{0,32}}|[^0-9\n\[\]]{{0,24}}\n[^0-9\n\[\]]{{0,24}})\Z",
            near=60,
            context_score=0.8,
        ),
        Rule(
            "phone-after",  # 612 345 678 (mobile)
            _NOT_PRECEDED
            + _NO_DATE
            + r"\(?[0-9](?:[ ()./_~\u00b7-]{0,3}[0-9]){7,11}(?![0-9])"
            + rf"(?=[ ,(:-]{{1,3}}(?i:{_WORDS_AFTER})(?![a-z]{{0,12}}[.:]? ?[+0-9(]))",
            type="phone",
            check=national_by_form,
            unless=_REFERENCE_BEFORE,
            score=0.8,
        ),
        Rule(
            "phone-local",  # 555-0147, where the text speaks of calling
            _NOT_PRECEDED + r"[2-9][0-9]{2}[ .-][0-9]{4}" + _NOT_FOLLOWED,
            type="phone",
            context_only=True,
            context=r"(?:phone|\bcall(?:ed|ing)?\b|\btext (?:me|us|him|her|them)\b|\bdial|\bring\b|\bcell\b|\bmobile)"
            r"[^0-9\n.!?;\[\]]{0,24}\Z",
            context_score=0.7,
        ),
    )


def _is_a_file(text: str) -> bool:
    """
    Whether a group of digits between hyphens or slashes is a year, as in the numbers of files, or it is a ZIP+4 code.
    """
    return (_YEAR.search(text) is not None and ("-" in text or "/" in text)) or _ZIP.fullmatch(text) is not None


def _digits(text: str) -> str:
    return _NOT_DIGIT.sub("", text)


@lru_cache(maxsize=4096)
def _is_international(text: str) -> bool:
    """
    Whether *text*, which begins with + or 00, is a number of some country's plan, or as long as one of it.
    """
    digits = _digits(text)
    if text.startswith("00"):
        digits = digits[2:]
    if not 7 <= len(digits) <= 15:
        return False
    library = _library()
    if library is None:
        return True
    try:
        number = library.parse("+" + digits)
    except library.NumberParseException:
        return False
    return bool(library.is_possible_number(number) if text.startswith("+") else library.is_valid_number(number))


@lru_cache(maxsize=4096)
def _is_national(digits: str, regions: tuple[str, ...]) -> bool:
    """
    Whether *digits* are a number of one of *regions*, as it is dialled there.
    """
    if not 8 <= len(digits) <= 12 or len(set(digits)) < 3:
        return False
    library = _library()
    if library is None:
        return True
    for region in regions:
        may_be, is_one = _dialled(library, region)
        if may_be.fullmatch(digits) is None:
            continue
        if is_one is not None and is_one.fullmatch(digits) is not None:
            return True
        try:
            number = library.parse(digits, region)
        except library.NumberParseException:
            continue
        if library.is_valid_number_for_region(number, region):
            return True
    return False


_KINDS = (
    "fixed_line", "mobile", "toll_free", "premium_rate", "shared_cost", "personal_number", "voip", "pager", "uan",
    "voicemail",
)  # fmt: skip


@lru_cache(maxsize=256)
def _dialled(library: Any, region: str) -> tuple[re.Pattern[str], re.Pattern[str] | None]:
    """
    Return patterns of what the *library* may take for a number of *region*, and of what certainly is one, where its
    plan is that simple.  They decide on most rows of digits in a hundredth of the time.
    """
    plan = library.PhoneMetadata.metadata_for_region(region)
    if plan is None:
        return re.compile(r"(?!)"), None
    kinds = {getattr(plan, kind).national_number_pattern for kind in _KINDS if getattr(plan, kind, None) is not None}
    numbers = "|".join(sorted(f"(?:{kind})" for kind in kinds if kind)) or "(?!)"
    prefix = plan.national_prefix_for_parsing
    abroad = rf"(?:(?:{plan.international_prefix or '(?!)'})?{plan.country_code})?"
    if plan.national_prefix_transform_rule is not None:
        return re.compile(rf"{abroad}[0-9]{{0,6}}(?:{numbers})"), None
    before = f"(?:{prefix})?" if prefix else ""
    return re.compile(rf"{abroad}{before}(?:{numbers})"), re.compile(rf"{before}(?:{numbers})")


def _library() -> Any:
    try:
        import phonenumbers
    except ImportError:
        return None
    return phonenumbers
