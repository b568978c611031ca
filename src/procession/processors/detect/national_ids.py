"""
National ids of more countries: their check digits by ``python-stdnum``, the extra ``ids``.

Most are bare digits, of which one in ten passes a check by chance: so the text has to say what they are.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from procession.errors import ProcessorDefinitionError
from procession.messages.text.patterns import Rule

__all__ = ["ID_TYPES", "id_rules"]


class _Id(NamedTuple):
    """
    Where the check is, what the number looks like without what people put between its groups, and what it is called.
    """

    module: str
    shape: str
    words: str


_D = "[0-9]"
_IDS: Mapping[str, _Id] = {
    "au-tfn": _Id("au.tfn", f"{_D}{{8,9}}", r"\btfn\b|tax file"),
    "be-nn": _Id("be.nn", f"{_D}{{11}}", r"rijksregister|registre national|\bniss\b|\binsz\b|national number|nationalregister"),
    "bg-egn": _Id("bg.egn", f"{_D}{{10}}", r"\begn\b|\bегн\b"),
    "ca-sin": _Id("ca.sin", f"{_D}{{9}}", r"\bsin\b|\bnas\b|social insurance|assurance sociale"),
    "ch-ahv": _Id("ch.ssn", f"756{_D}{{10}}", r"\bahv\b|\bavs\b|sozialversicherung|assurance sociale"),
    "cl-rut": _Id("cl.rut", f"{_D}{{7,8}}[0-9K]", r"\brut\b|\brun\b"),
    "cn-ric": _Id("cn.ric", f"{_D}{{17}}[0-9X]", r"身份证|身份證|公民身份|证件号|\bid (?:card|number)|resident id"),
    "co-nit": _Id("co.nit", f"{_D}{{8,16}}", r"\bnit\b|\brut\b"),
    "cz-rc": _Id("cz.rc", f"{_D}{{9,10}}", r"rodn[eé] [cč][ií]slo|\br\. ?[cč]\.|birth number"),
    "dk-cpr": _Id("dk.cpr", f"{_D}{{10}}", r"\bcpr\b|personnummer"),
    "ee-ik": _Id("ee.ik", f"{_D}{{11}}", r"isikukood|personal code"),
    "fi-hetu": _Id("fi.hetu", rf"{_D}{{6}}[A-FU-Y]?{_D}{{3}}[0-9A-Z]", r"\bhetu\b|henkil[oö]tunnus|personbeteckning"),
    "fr-nir": _Id("fr.nir", rf"[1-478]{_D}{{4}}[0-9AB]{{2}}{_D}{{8}}|[1-478]{_D}{{5}}[AB]{_D}{{8}}",
                  r"s[eé]curit[eé] sociale|\bnir\b|\bn[°o] ?s[eé]cu|\binsee\b|num[eé]ro de s[eé]cu"),
    "gr-amka": _Id("gr.amka", f"{_D}{{11}}", r"\bamka\b|αμκα"),
    "hr-oib": _Id("hr.oib", f"{_D}{{11}}", r"\boib\b"),
    "ie-pps": _Id("ie.pps", f"{_D}{{7}}[A-W][A-IW]?", r"\bpps"),
    "il-idnr": _Id("il.idnr", f"{_D}{{8,9}}", r"teudat|תעודת זהות|ת\.ז|israeli id"),
    "in-pan": _Id("in_.pan", f"[A-Z]{{5}}{_D}{{4}}[A-Z]", r"\bpan\b|permanent account"),
    "it-codice-fiscale": _Id("it.codicefiscale", r"[A-Z]{6}[0-9L-NP-V]{2}[A-EHLMPRST][0-9L-NP-V]{2}[A-Z][0-9L-NP-V]{3}[A-Z]",
                             r"codice fiscale|cod\. ?fisc|\bc\.? ?f\.?\b|\bcf\b"),
    "kr-rrn": _Id("kr.rrn", f"{_D}{{13}}", r"주민등록|\brrn\b|resident registration"),
    "lt-asmens": _Id("lt.asmens", f"{_D}{{11}}", r"asmens kod"),
    "mx-curp": _Id("mx.curp", rf"[A-Z]{{4}}{_D}{{6}}[HMX][A-Z]{{5}}[0-9A-Z]{_D}", r"\bcurp\b"),
    "nl-bsn": _Id("nl.bsn", f"{_D}{{8,9}}", r"\bbsn\b|burgerservice|sofi-?num"),
    "no-fnr": _Id("no.fodselsnummer", f"{_D}{{11}}", r"f[oø]dselsnummer|\bfnr\b|personnummer|d-nummer"),
    "pl-pesel": _Id("pl.pesel", f"{_D}{{11}}", r"\bpesel"),
    "pt-nif": _Id("pt.nif", f"{_D}{{9}}", r"\bnif\b|contribuinte"),
    "ro-cnp": _Id("ro.cnp", f"{_D}{{13}}", r"\bcnp\b|cod numeric"),
    "se-personnummer": _Id("se.personnummer", rf"{_D}{{10}}(?:{_D}{{2}})?", r"personnummer|\bpnr\b|pers\.?nr"),
    "sk-rc": _Id("sk.rc", f"{_D}{{9,10}}", r"rodn[eé] [cč][ií]slo"),
    "th-pin": _Id("th.pin", f"{_D}{{13}}", r"ประชาชน|thai id"),
    "tr-tckimlik": _Id("tr.tckimlik", f"[1-9]{_D}{{10}}", r"t\.? ?c\.? ?(?:kimlik|no)|kimlik n|\btckn\b"),
    "ua-rntrc": _Id("ua.rntrc", f"{_D}{{10}}", r"рнокпп|ідентифікаційн|\bіпн\b"),
    "za-id": _Id("za.idnr", f"{_D}{{13}}", r"\b(?:sa |south african )?id (?:no|num|number)|\bidentity num|south african id|\bsa id\b"),
}  # fmt: skip
_BETWEEN = re.compile(r"[ .\-+/\u00b7]")
ID_TYPES: tuple[str, ...] = tuple(sorted(_IDS))
"""The types that the extra adds; none of them is looked for unless it is named."""


def id_rules(type: str) -> tuple[Rule, ...]:
    """
    Return the rules for the national ids of *type*: before them, or behind them, it is said what they are.

    Raises ``ProcessorDefinitionError`` where the extra is not installed.
    """
    one = _IDS[type]
    check = _check(type, one)
    character = "[0-9]" if re.search("[A-Z]", one.shape) is None else "[0-9A-Z]"
    pattern = (
        rf"(?i)(?<![0-9A-Za-z_])(?<![0-9][./-]){character}(?:[ .\-+/\u00b7]{{0,2}}{character}){{7,17}}"
        r"(?![0-9A-Za-z_]|[./-][0-9])"
    )
    return (
        Rule(
            type, pattern, measure=check, context_only=True, context=rf"(?:{one.words})[^\n\[\]]{{0,48}}\Z",
            context_score=0.9, near=76,
        ),
        Rule(
            f"{type}-after", rf"{pattern}(?=[^0-9\n.!?;\[\]]{{0,24}}(?:{one.words}))", type=type, measure=check, score=0.9,
        ),
    )  # fmt: skip


def _check(type: str, one: _Id) -> Callable[[str], int]:
    """
    Return what says how much of a text is a number of *type*, 0 for none: words may follow it that look like its end.
    """
    try:
        is_valid = importlib.import_module(f"stdnum.{one.module}").is_valid
    except ImportError:
        raise ProcessorDefinitionError(
            f"PIIDetector is to find {type!r}, which needs python-stdnum", hint="pip install 'procession[ids]'"
        ) from None
    shape = re.compile(one.shape)

    def size(text: str) -> int:
        for end in range(len(text), 7, -1):
            number = text[:end].upper()
            plain = _BETWEEN.sub("", number)
            whole = number[-1].isalnum() and not text[end : end + 1].isalnum()
            if whole and shape.fullmatch(plain) and (is_valid(plain) or is_valid(number)):
                return end
        return 0

    return size
