"""PIIDetector: strategies, masks, lists, and a model besides the rules."""

from __future__ import annotations

from typing import Any

import pytest
from tests.processors.kit import passed, through
from tests.processors.streams import context, texts

from procession.errors import ProcessorDefinitionError
from procession.messages.chunks import TextDelta, TextEnd
from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.messages.parts import TextPart
from procession.models.model import ModelRequest
from procession.processors.detect.detector import Verdict
from procession.processors.guardrails.masks import redacted
from procession.processors.guardrails.pii import PIIDetector
from procession.processors.payloads import InputPayload, OutputResultPayload, ToolResultPayload
from procession.steps.scope import RequestScope
from procession.testing.fake_model import FakeModel


def given(text: str) -> InputPayload:
    """Return a payload with *text* as new input."""
    return InputPayload(MessageList([Message.user(text, id="m")], source="input"))


def text_of(payload: Any) -> str:
    """Return the text of the last message."""
    text: str = payload.message_list.view()[-1].text
    return text


@pytest.mark.parametrize(
    ("type", "text", "mask"),
    [
        ("email", "bob@example.com", "b*b@*******.com"),
        ("email", "ab@example.co.uk", "***@*******.co.uk"),
        ("phone", "555-123-4567", "XXX-XXX-4567"),
        ("credit-card", "4111111111111111", "************1111"),
        ("ssn", "123-45-6789", "***-**-6789"),
        ("name", "Bob Smith", "B*******h"),
        ("uuid", "7c9e6679-7425", "********-****"),
        ("crypto-wallet", "3J98t1WpEZ73CNmQ", "3J98********CNmQ"),
        ("iban", "GB33 BUKB 2020", "GB** **** 2020"),
        ("api-key", "s" + "k-123456789012", "********"),
        ("name", "Al", "**"),
    ],
)
def test_masks(type: str, text: str, mask: str) -> None:
    """A mask leaves enough to recognise a value, and never the whole of it."""
    assert redacted(text, type, "mask") == mask


def test_other_ways_to_redact() -> None:
    """A hash is short and the same for the same value; a placeholder says the type; eight stars say nothing."""
    assert redacted("bob@example.com", "email", "hash") == redacted("bob@example.com", "email", "hash")
    assert len(redacted("bob@example.com", "email", "hash")) == len("[HASH:12345678]")
    assert redacted("bob@example.com", "email", "placeholder") == "[EMAIL]"
    assert redacted("bob@example.com", "email", "remove") == ""
    assert redacted("bob@example.com", "email", "mask", keep_format=False) == "********"


async def test_redaction_is_the_default() -> None:
    """Without options personal data in new input is masked, and the report never shows it."""
    scope = RequestScope()
    out = await passed(given("write to eva@example.net"), PIIDetector(), scope=scope)
    assert text_of(out) == "write to e*a@*******.net"
    assert scope.violations[0].detail["detections"] == [{"type": "email", "start": 9, "end": 24, "score": 1.0}]
    assert "eva" not in repr(scope.violations)


async def test_block_names_types_only() -> None:
    """A tripwire says which types, and where only if asked to."""
    run = await through(given("write to eva@example.net"), PIIDetector(strategy="block"))
    assert run.tripwire is not None
    assert (run.tripwire.reason, run.tripwire.metadata) == ("PII detected. Types: email", None)
    run = await through(given("write to eva@example.net"), PIIDetector(strategy="block", include_detections=True))
    assert run.tripwire is not None
    assert run.tripwire.metadata["detections"] == [{"type": "email", "start": 9, "end": 24, "score": 1.0}]


def test_allow_and_deny() -> None:
    """Allowed values are never reported, denied ones always, in any case."""
    guard = PIIDetector(
        redaction="placeholder", allow=["Support@Example.com"], deny={"Project Heron": "project", "4711": "code"}
    )
    assert guard.guard("support@example.com, eva@example.net, project heron, 4711 and 47110") == (
        "support@example.com, [EMAIL], [PROJECT], [CODE] and 47110"
    )
    assert PIIDetector(redaction="placeholder", deny=["x-1"]).guard("see X-1") == "see [DENIED]"


def test_types_can_be_chosen() -> None:
    """Only the wanted types are hidden."""
    assert (
        PIIDetector(detection_types=["email"], redaction="placeholder").guard("a@b.co 4242 4242 4242 4242")
        == "[EMAIL] 4242 4242 4242 4242"
    )


async def test_a_secret_in_a_tool_result_is_hidden() -> None:
    """Results of tools are guarded as input is."""
    payload = ToolResultPayload(
        MessageList(), tool_name="t", tool_call_id="1", result={"log": "token " + "gh" + "p_" + "A1b2C3d4E5" * 4}
    )
    assert (await passed(payload, PIIDetector(redaction="placeholder"))).result == {"log": "token [API-KEY]"}


NAME = (
    '{"categories": [{"type": "name", "score": 0.9}], '
    '"detections": [{"type": "name", "value": "Bob", "confidence": 0.9, "start": 99, "end": 102}]}'
)
NONE = '{"categories": null, "detections": null}'


async def test_a_model_is_asked_besides_the_rules() -> None:
    """What a model finds is hidden with what rules find; where it stands is looked up, as models count badly."""
    model = FakeModel(NAME)
    scope = RequestScope()
    out = await passed(
        given("Bob is bob@example.com, ask Bob"), PIIDetector(model=model, redaction="placeholder"), scope=scope
    )
    assert text_of(out) == "[NAME] is [EMAIL], ask [NAME]"
    request: ModelRequest = model.requests[0]
    assert "Bob is bob@example.com" in request.messages[1].text
    assert request.settings == {"temperature": 0}
    assert scope.guard_usage.total_tokens


async def test_a_model_that_fails_closes_the_guard() -> None:
    """No verdict is not the same as a clean verdict; a guard that only warns is left out."""
    run = await through(given("hello there"), PIIDetector(model=FakeModel("no json")))
    assert run.tripwire is not None
    assert run.tripwire.metadata == {"kind": "guard_failed"}
    assert (
        text_of(await passed(given("hello there"), PIIDetector(model=FakeModel("no json"), strategy="warn")))
        == "hello there"
    )


async def test_a_verdict_without_places_stands_for_the_whole_text() -> None:
    """A model that is sure and cannot say where is believed: nothing of the text goes on."""
    model = FakeModel('{"categories": [{"type": "address", "score": 0.9}]}')
    assert (
        text_of(await passed(given("I live there"), PIIDetector(model=model, redaction="placeholder"))) == "[ADDRESS]"
    )


async def test_a_streamed_block_is_judged_once() -> None:
    """With a model a block is held to its end, judged after the rules, and not again in the result."""
    model = FakeModel([NAME, NONE])
    guard = PIIDetector(model=model, redaction="placeholder")
    scope = RequestScope()
    ctx = context(guard, scope)
    for text in ("Hello Bo", "b, mail bob@exam", "ple.com"):
        ctx.note(TextDelta(text))
        assert guard.process_output_stream(ctx) is None
    ctx.chunk = TextEnd()
    assert texts(await guard.flush_output_stream(ctx)) == ["Hello [NAME], mail [EMAIL]"]
    assert "[EMAIL]" in model.requests[0].messages[1].text
    messages = MessageList()
    messages.append_response((TextPart("Hello [NAME], mail [EMAIL]"),), message_id="a")
    await passed(OutputResultPayload(messages), guard, scope=scope)
    assert len(model.requests) == 1


async def test_one_text_is_asked_about_once() -> None:
    """Verdicts are kept by what the text says: the same text twice in a request is one question."""
    model = FakeModel([NONE])
    messages = MessageList([Message.user("same", id="a"), Message.user("same", id="b")], source="input")
    await passed(InputPayload(messages), PIIDetector(model=model))
    assert len(model.requests) == 1


async def test_a_detector_of_your_own() -> None:
    """Anything that detects can take the model's place."""
    from procession.messages.text.spans import Span

    class Dictionary:
        async def detect(self, text: str, *, scope: Any = None) -> Verdict:
            at = text.find("Mara Voss")
            return Verdict({"name": 1.0}, (Span(at, at + 9, "name"),)) if at >= 0 else Verdict()

    assert (
        text_of(await passed(given("ask Mara Voss"), PIIDetector(detector=Dictionary(), redaction="placeholder")))
        == "ask [NAME]"
    )


async def test_a_monitor_with_a_model_does_not_keep_the_run_waiting() -> None:
    """Beside the run: the hook returns at once, the verdict is there once the request's rest is awaited."""
    scope = RequestScope()
    out = await passed(given("Bob here"), PIIDetector(model=FakeModel(NAME), mode="monitor"), scope=scope)
    assert text_of(out) == "Bob here"
    for waiting in scope.pending:
        await waiting
    assert [violation.outcome for violation in scope.violations] == ["would_block"]


async def test_a_monitor_with_a_model_watches_streams_and_tools() -> None:
    """Streamed text and results of tools pass untouched; the verdicts come later."""
    scope = RequestScope()
    guard = PIIDetector(model=FakeModel([NAME, NAME]), mode="monitor")
    ctx = context(guard, scope)
    ctx.note(TextDelta("Hello Bob"))
    assert guard.process_output_stream(ctx) is ctx.chunk
    ctx.chunk = TextEnd()
    assert await guard.flush_output_stream(ctx) == []
    payload = ToolResultPayload(MessageList(), tool_name="t", tool_call_id="1", result={"who": "it was Bob"})
    assert (await passed(payload, guard, scope=scope)).result == {"who": "it was Bob"}
    for waiting in scope.pending:
        await waiting
    assert [violation.outcome for violation in scope.violations] == ["would_block", "would_block"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"detection_types": ["name", "email"]}, "'name', which no rule finds"),
        ({"detection_types": ["mail"]}, "detection_types='mail'"),
        ({"redaction": "blur"}, "redaction='blur'"),
        ({"strategy": "rewrite"}, "strategy='rewrite'"),
        ({"threshold": "high"}, "threshold='high'"),
        ({"regions": ["Germany"]}, "'Germany' is no region (hint: name countries by two capitals"),
        ({"regions": ["de"]}, "'de' is no region"),
        ({"on_violation": "log"}, "on_violation='log' (hint: give a function"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], words: str) -> None:
    """A wrong option is named, with what would be right."""
    with pytest.raises(ProcessorDefinitionError) as caught:
        PIIDetector(**options)
    assert words in str(caught.value)


def test_one_name_is_no_list_of_letters() -> None:
    """A list of which there is one entry may be given as a text, with a model too."""
    for model in (None, FakeModel("x")):
        assert PIIDetector(detection_types="email", model=model).detection_types == ("email",)
    guard = PIIDetector(regions="DE", detection_types=["phone"], redaction="placeholder")
    assert guard.guard("Ruf an: 0171 3920047") == "Ruf an: [PHONE]"
