"""PIIDetector: names, thresholds, words, checks, keyed hashes and national ids."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from tests.processors.kit import passed, through

from procession.errors import ProcessorDefinitionError
from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.messages.parts import FilePart, TextPart
from procession.processors.detect.dictionary import DictionaryDetector
from procession.processors.detect.national_ids import ID_TYPES
from procession.processors.guardrails.pii import PIIDetector
from procession.processors.payloads import InputPayload


def hidden(text: str, **options: Any) -> str:
    """Return *text* with placeholders."""
    return PIIDetector(redaction="placeholder", **options).guard(text)


# -- names


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Ask MARA VOSS, mara  voss or Mara\nVoss.", "Ask [NAME], [NAME] or [NAME]."),
        ("Maras Vossen and Amara Voss are others", "Maras Vossen and Amara Voss are others"),
        ("Mara V\u200boss", "[NAME]"),
        ("Ｍａｒａ Ｖｏｓｓ", "[NAME]"),
        ("спросите Ваню Лапина: Ваня Лапин", "спросите Ваню Лапина: [NAME]"),
        ("山田太郎さんに聞いて", "[NAME]さんに聞いて"),
        ("José Álvarez, Jose\u0301 Álvarez", "[NAME], [NAME]"),
        ("Mara Voss-Klein", "[NAME]"),
        ("the heron flew, Project Heron did not", "the [BIRD] flew, [PROJECT] did not"),
    ],
)
def test_names_that_are_known(text: str, wanted: str) -> None:
    """Names are found in any case and spelling of blanks, as words in every script, the longest first, by their types."""
    names = {
        "name": ["Mara Voss", "Mara Voss-Klein", "Ваня Лапин", "山田太郎", "José Álvarez"],
        "project": ["project heron"],
        "bird": "heron",
    }
    assert hidden(text, names=names) == wanted


def test_a_dictionary_is_a_detector_as_well() -> None:
    """The same names behind the port of detectors, for any guard that asks one."""
    verdict = DictionaryDetector({"name": ["Mara Voss"]}).find("Ask mara voss")
    assert [(span.start, span.end, span.type) for span in verdict.spans] == [(4, 13, "name")]
    assert DictionaryDetector(["Mara Voss"]).find("Nobody").spans == ()


def test_many_names_are_one_search() -> None:
    """Thousands of names are found, each as itself."""
    names = [f"Person{number} Of{number}" for number in range(3000)]
    assert hidden("ask person2999 of2999, not person2999 of299", names=names) == "ask [NAME], not person2999 of299"


# -- what counts


def test_thresholds_of_single_types() -> None:
    """A type may need more, or less, than the others."""
    text = "(11) 91234-5678 and eva@example.net"
    assert hidden(text) == "[PHONE] and [EMAIL]"
    assert hidden(text, thresholds={"phone": 0.95}) == "(11) 91234-5678 and [EMAIL]"
    assert hidden(text, threshold=1.0, thresholds={"phone": 0.5}) == "[PHONE] and [EMAIL]"


def test_words_of_your_own_speak_for_and_against() -> None:
    """Behind context_words a number counts that needs a word; behind unless_words one does not count that otherwise would."""
    assert hidden("Rückfragen: 030 23125 417", unless_words={"phone": ["Rückfragen"]}) == "Rückfragen: 030 23125 417"
    assert hidden("Kundin 2025550143") == "Kundin 2025550143"
    assert hidden("Kundin 2025550143", context_words={"phone": ["kundin"]}) == "Kundin [PHONE]"
    assert hidden("Kundinnen 2025550143", context_words={"phone": ["kundin"]}) == "Kundinnen 2025550143"


def test_a_number_with_a_wrong_digit() -> None:
    """PII-007: it stays, explain() says 'luhn'; with validate=False it is masked."""
    text = "my card is 1242-2341-3673-9999"
    guard = PIIDetector(detection_types=["credit-card"])
    assert guard.guard(text) == text
    assert {(span.rule, span.rejected, span.start, span.end) for span in guard.explain(text)} >= {
        ("credit-card", "luhn", 11, 30)
    }
    assert PIIDetector(detection_types=["credit-card"], validate=False).guard(text) == "my card is ****-****-****-9999"
    assert hidden("IBAN DE99 1001 0010 0987 6541 03, SSN 000-12-3456", validate=False) == "IBAN [IBAN], SSN [SSN]"
    right = guard.explain("my card is 1767225600009")  # the check digit is right, and nobody issues such numbers
    assert {span.rejected for span in right} <= {"issuer", "no context"}


def test_explain_tells_places_in_the_original() -> None:
    """Every candidate with its rule, score and place in the text as it was written, also those turned down."""
    text = "İİİ ＢＯＢ@example.com, version 1.2.3.4"
    found = {(span.rule, text[span.start : span.end], span.rejected) for span in PIIDetector().explain(text)}
    assert ("email", "ＢＯＢ@example.com", "") in found
    assert ("ipv4", "1.2.3.4", "not_a_version") in found


# -- redaction


def test_hashes_are_keyed() -> None:
    """Without the key nobody can try all numbers; with the same key equal values stay equal, across guards."""
    one, other = (PIIDetector(redaction="hash", hash_key=key * 16).guard("536-22-8145") for key in ("a", "b"))
    assert one != other
    assert one == PIIDetector(redaction="hash", hash_key=b"a" * 16).guard("536-22-8145")
    assert PIIDetector(redaction="hash").guard("536-22-8145") == PIIDetector(redaction="hash").guard("536-22-8145")
    assert one.startswith("[HASH:")
    assert len(one) == len("[HASH:12345678]")
    with pytest.raises(ProcessorDefinitionError, match="hash_key that can be guessed"):
        PIIDetector(hash_key="secret")


async def test_parts_keep_their_place_and_files_their_bytes() -> None:
    """PII-010: three parts stay three in order, only the text changes, and by option the file's name."""
    parts: list[Any] = [
        TextPart("mail eva@example.net"),
        FilePart("iVBORw0KGgo=", "image/png", provider_metadata={"detail": "high"}),
        FilePart("JVBERi0=", "application/pdf", "eva@example.net.pdf"),
    ]
    for names, filename in ((False, "eva@example.net.pdf"), (True, "[EMAIL].pdf")):
        message = Message.user("", id="m").with_parts(parts)
        guard = PIIDetector(detection_types=["email"], redaction="placeholder", scan_file_names=names)
        out: Any = await passed(InputPayload(MessageList([message], source="input")), guard)
        made = list(out.message_list.view()[-1].parts)
        assert made == [TextPart("mail [EMAIL]"), parts[1], FilePart("JVBERi0=", "application/pdf", filename)]


async def test_a_file_name_can_stop_a_run() -> None:
    """With scan_file_names a guard that blocks looks at names, too."""
    message = Message.user("", id="m").with_parts([FilePart("JVBERi0=", "application/pdf", "eva@example.net.pdf")])
    guard = PIIDetector(strategy="block", scan_file_names=True)
    run = await through(InputPayload(MessageList([message], source="input")), guard)
    assert run.tripwire is not None


# -- national ids


@pytest.mark.parametrize(
    ("type", "text", "wanted"),
    [
        ("nl-bsn", "Mijn BSN is 1112.22.333 en klaar", "Mijn BSN is [NL-BSN] en klaar"),
        ("fr-nir", "n° sécu 2 95 10 99 126 111 93, merci", "n° sécu [FR-NIR], merci"),
        ("it-codice-fiscale", "codice fiscale RCCMNL83S18D969H", "codice fiscale [IT-CODICE-FISCALE]"),
        ("pl-pesel", "PESEL: 44051401359.", "PESEL: [PL-PESEL]."),
        ("se-personnummer", "personnummer 880320-0016", "personnummer [SE-PERSONNUMMER]"),
        ("be-nn", "rijksregisternummer 85.07.30-033 28", "rijksregisternummer [BE-NN]"),
        ("pt-nif", "501 964 843 é o meu NIF", "[PT-NIF] é o meu NIF"),
        ("ca-sin", "SIN 123-456-782", "SIN [CA-SIN]"),
        ("au-tfn", "TFN 123 456 782", "TFN [AU-TFN]"),
        ("cn-ric", "身份证号码11010519491231002X", "身份证号码[CN-RIC]"),
        ("za-id", "ID number 7503305044089", "ID number [ZA-ID]"),
        ("fi-hetu", "hetu 131052-308T", "hetu [FI-HETU]"),
        ("ch-ahv", "AHV 756.9217.0769.85", "AHV [CH-AHV]"),
        ("tr-tckimlik", "TC kimlik no 17291716060", "TC kimlik no [TR-TCKIMLIK]"),
        ("kr-rrn", "주민등록번호 971013-9019902", "주민등록번호 [KR-RRN]"),
        ("in-pan", "my PAN is ACUPA7085R", "my PAN is [IN-PAN]"),
        ("mx-curp", "CURP BOXW310820HNERXN09", "CURP [MX-CURP]"),
    ],
)
def test_national_ids(type: str, text: str, wanted: str) -> None:
    """A number of the country with the right check digits, beside what it is called; off unless it is named."""
    pytest.importorskip("stdnum")
    assert hidden(text, detection_types=[type]) == wanted
    last = max(at for at, character in enumerate(text) if character.isdigit())
    wrong = f"{text[:last]}{(int(text[last]) + 1) % 10}{text[last + 1 :]}"
    assert (hidden(wrong, detection_types=[type]) == wrong) is (type != "in-pan")  # which has no check digit
    assert type not in PIIDetector().detection_types


def test_all_national_ids_can_be_asked_for() -> None:
    """Every type has its check in the library, and a bare number without its name is nobody's."""
    pytest.importorskip("stdnum")
    assert hidden("44051401359 and 7503305044089", detection_types=ID_TYPES) == "44051401359 and 7503305044089"


def test_without_the_library_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """A type of the extra without the extra is refused when the guard is made."""
    from procession.processors.detect.national_ids import id_rules

    monkeypatch.setitem(sys.modules, "stdnum", None)
    monkeypatch.setitem(sys.modules, "stdnum.nl", None)
    monkeypatch.setitem(sys.modules, "stdnum.nl.bsn", None)
    with pytest.raises(ProcessorDefinitionError, match=r"procession\[ids\]"):
        id_rules("nl-bsn")


# -- what is refused


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"names": "Mara Voss"}, "names='Mara Voss'"),
        ({"names": [" "]}, "has the name ' '"),
        ({"thresholds": {"phone": 2}}, "thresholds['phone']"),
        ({"context_words": {"planet": ["Mars"]}}, "context_words for 'planet'"),
        ({"unless_words": {"phone": "room"}}, "unless_words={'phone': 'room'}"),
        ({"reversible": True, "redaction": "mask"}, "redaction='mask'"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], words: str) -> None:
    """A wrong option is named, with what would be right."""
    with pytest.raises(ProcessorDefinitionError) as caught:
        PIIDetector(**options)
    assert words in str(caught.value)
