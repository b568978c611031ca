"""
What stands for a person: numbers that states give out, and dates of birth.
"""

from __future__ import annotations

from procession.messages.text.patterns import Rule
from procession.processors.detect import checks, words

__all__ = ["AADHAAR", "CPF", "DATE_OF_BIRTH", "DNI", "NINO", "SSN", "STEUER"]

_NOT_WORD_BEFORE = r"(?<![A-Za-z0-9_])"
_NOT_WORD_AFTER = r"(?![A-Za-z0-9_])"
_NUMBER_BEFORE = r"(?<![0-9A-Za-z_])(?<![0-9][.,/-])(?<![A-Za-z]-)"
_NUMBER_AFTER = r"(?![0-9A-Za-z_]|[.,/-][0-9])"
_SSN_WORDS = r"\bssn\b|social sec|\bs\.s\.n|\bsocial\b"
SSN: tuple[Rule, ...] = (
    Rule(
        "ssn",
        rf"{_NUMBER_BEFORE}[0-9]{{3}}-[0-9]{{2}}-[0-9]{{4}}{_NUMBER_AFTER}",
        check=checks.social_security,
        score=0.8,
    ),
    Rule(
        "ssn-plain",
        rf"{_NUMBER_BEFORE}[0-9]{{3}}[ .]?[0-9]{{2}}[ .]?[0-9]{{4}}{_NUMBER_AFTER}",
        type="ssn",
        check=checks.social_security,
        context_only=True,
        context=rf"(?:{_SSN_WORDS})[^0-9\n]{{0,60}}\Z",
        context_score=0.8,
        near=80,
    ),
)
_DAY = r"(?:0?[1-9]|[12][0-9]|3[01])"
_MONTH = r"(?:0?[1-9]|1[0-2])"
_YEAR = r"(?:19|20)[0-9]{2}"
_DATE = (
    rf"{_DAY}[./ -]{{1,2}}{_MONTH}[./ -]{{1,2}}(?:{_YEAR}|[0-9]{{2}})(?![0-9])"
    rf"|{_MONTH}/{_DAY}/(?:{_YEAR}|[0-9]{{2}})(?![0-9])"
    rf"|{_YEAR}[./-]{_MONTH}[./-]{_DAY}(?![0-9])"
    rf"|{_YEAR} ?[年년] ?{_MONTH} ?[月월] ?{_DAY} ?[日일]"
    rf"|{_DAY}(?:st|nd|rd|th|er|\.|º|ª|°)?,? {{0,2}}(?:of |de |d'|den )?(?:{words.MONTHS})\.?,? {{0,2}}(?:of |de "
    rf"|del |do )?'?(?:{_YEAR}|[0-9]{{2}})"
    r"(?![0-9])(?: года| г\.| року)?"
    rf"|{_YEAR}\.? {{1,2}}(?:{words.MONTHS}|január|február|március|április|május|június|július|augusztus|szeptember"
    rf"|október|november|december) {{1,2}}{_DAY}\.?"
    rf"|{_DAY}[ -](?:{words.MONTHS})[ -]{_YEAR}(?![0-9])"
)
_MONTH_FIRST = rf"(?:{words.MONTHS})\.? {{1,2}}{_DAY}(?:st|nd|rd|th)?,? {{1,2}}{_YEAR}(?![0-9])"
_BIRTH_BEFORE = rf"(?:{words.BIRTH})(?:[^0-9\n!?.;。]|\.(?! (?-i:[A-ZА-Я]))|\n(?!\n)){{0,44}}\Z"
DATE_OF_BIRTH: tuple[Rule, ...] = (
    Rule(
        "date-of-birth",
        rf"(?i)(?<![0-9A-Za-z_.,/-])(?:{_DATE})",
        context_only=True,
        context=_BIRTH_BEFORE,
        context_score=0.9,
        near=76,
    ),
    Rule(
        "date-of-birth-month-first",
        rf"(?i)(?<![A-Za-z_.,/-]){_MONTH_FIRST}",
        type="date-of-birth",
        context_only=True,
        context=_BIRTH_BEFORE,
        context_score=0.9,
        near=76,
    ),
    Rule(
        "date-of-birth-after",
        rf"(?i)(?<![0-9A-Za-z_.,/-])(?:{_DATE})(?=[ ]?[(,]? ?(?:dob\b|date of birth|生まれ|生|出生|geboren\b|doğumlu|생\b))",
        type="date-of-birth",
        score=0.9,
    ),
)
NINO: tuple[Rule, ...] = (
    Rule(
        "uk-nino",
        rf"(?i){_NOT_WORD_BEFORE}[a-z]{{2}}[ -]?[0-9]{{2}}[ -]?[0-9]{{2}}[ -]?[0-9]{{2}}[ -]?[a-d]{_NOT_WORD_AFTER}",
        check=checks.nino,
        score=0.8,
    ),
)
DNI: tuple[Rule, ...] = (
    Rule(
        "es-dni",
        rf"(?i){_NUMBER_BEFORE}(?:[0-9]{{8}}|[0-9]{{1,2}}\.[0-9]{{3}}\.[0-9]{{3}})[ -]?[a-z]{_NOT_WORD_AFTER}",
        check=checks.dni_or_nie,
        score=0.8,
    ),
    Rule(
        "es-nie",
        rf"(?i){_NOT_WORD_BEFORE}[xyz][ -]?[0-9]{{7}}[ -]?[a-z]{_NOT_WORD_AFTER}",
        type="es-dni",
        check=checks.dni_or_nie,
        score=0.8,
    ),
)
CPF: tuple[Rule, ...] = (
    Rule(
        "br-cpf",
        rf"{_NUMBER_BEFORE}[0-9]{{3}}\.[0-9]{{3}}\.[0-9]{{3}}[-/][0-9]{{2}}{_NUMBER_AFTER}",
        check=checks.cpf,
    ),
    Rule(
        "br-cpf-plain",
        rf"{_NUMBER_BEFORE}[0-9]{{3}}[ .]?[0-9]{{3}}[ .]?[0-9]{{3}}[ -]?[0-9]{{2}}{_NUMBER_AFTER}",
        type="br-cpf",
        check=checks.cpf,
        context_only=True,
        context=r"\bcpf\b[^0-9\n]{0,40}\Z",
        context_score=0.9,
    ),
)
_STEUER_WORDS = r"steuer|\bidnr|identifikationsn|\btax\b|\btin\b|finanzamt|fiscal"
STEUER: tuple[Rule, ...] = (
    Rule(
        "de-steuer-id",
        rf"{_NUMBER_BEFORE}[1-9][0-9] [0-9]{{3}} [0-9]{{3}} [0-9]{{3}}{_NUMBER_AFTER}",
        check=checks.steuer_id,
        score=0.8,
    ),
    Rule(
        "de-steuer-id-plain",
        rf"{_NUMBER_BEFORE}[1-9][0-9][ /]?[0-9]{{3}}[ /]?[0-9]{{3}}[ /]?[0-9]{{3}}{_NUMBER_AFTER}",
        type="de-steuer-id",
        check=checks.steuer_id,
        context_only=True,
        context=rf"(?:{_STEUER_WORDS})[^0-9\n]{{0,56}}\Z",
        context_score=0.9,
        near=76,
    ),
)


def grouped_aadhaar(text: str) -> bool:
    """
    Whether it can be an Aadhaar number and does not begin with what looks like a year.
    """
    return not text.startswith("20") and checks.aadhaar(text)


_AADHAAR_WORDS = r"aadha{1,2}r|adhaar|आधार|\buid(?:ai)?\b|ஆதார்|আধার"
AADHAAR: tuple[Rule, ...] = (
    Rule(
        "in-aadhaar",
        rf"{_NUMBER_BEFORE}(?<![0-9] )[2-9][0-9]{{3}}([ -])[0-9]{{4}}\1[0-9]{{4}}{_NUMBER_AFTER}(?! [0-9]{{4}})",
        check=grouped_aadhaar,
        score=0.6,
        context=_AADHAAR_WORDS,
    ),
    Rule(
        "in-aadhaar-plain",
        rf"{_NUMBER_BEFORE}[2-9][0-9]{{3}}[ -]?[0-9]{{4}}[ -]?[0-9]{{4}}{_NUMBER_AFTER}",
        type="in-aadhaar",
        check=checks.aadhaar,
        context_only=True,
        context=rf"(?:{_AADHAAR_WORDS})[^0-9\n]{{0,40}}\Z",
        context_score=0.9,
    ),
)
