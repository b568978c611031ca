"""ClassifierProcessor: questions about a text, and what is made of the answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anyio
import pytest
from tests.processors.kit import passed, through
from tests.processors.stream_kit import deltas, side_by_side, streamed, texts

from procession.agents.agent import Agent
from procession.errors import ProcessorDefinitionError
from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.messages.parts import FilePart
from procession.processors.guardrails.classifier import Classified, ClassifierProcessor
from procession.processors.guardrails.moderation import ModerationProcessor
from procession.processors.payloads import InputPayload, ToolResultPayload
from procession.steps.scope import RequestScope
from procession.testing.fake_model import FakeModel, Reply

Answers = Mapping[str, Any]


def given(*said: str) -> InputPayload:
    """Return a payload with one message for each text."""
    return InputPayload(MessageList([Message.user(text, id=str(n)) for n, text in enumerate(said)], source="input"))


class Shouting:
    """A classifier that says whether a text shouts, and how much."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def classify(self, text: str, *, scope: Any = None) -> Answers:
        """Say it."""
        self.asked.append(text)
        return {"shouts": text.isupper(), "tone": "loud" if text.isupper() else "calm", "heat": text.count("!") / 10}


def shouts(answers: Answers) -> bool:
    """Say whether the answers flag the text."""
    return bool(answers["shouts"])


FLAGS: list[Any] = [{"shouts": True}, {"tone": ["loud", "rude"]}, {"tone": "loud"}, {"heat": 0.1}, shouts]


@pytest.mark.parametrize("flag_if", FLAGS)
async def test_answers_that_flag(flag_if: Any) -> None:
    """A boolean, a choice or a score decides, or a function; what flags no answer passes."""
    guard = ClassifierProcessor(classifier=Shouting(), flag_if=flag_if)
    run = await through(given("HEY YOU!"), guard)
    assert run.tripwire is not None
    assert run.tripwire.reason.startswith("Content flagged by a classifier: ")
    await passed(given("hey you"), guard)


async def test_strategies() -> None:
    """Filter drops the message, warn reports; a function may say why; the id is one's own."""
    out = await passed(
        given("hello", "HEY"), ClassifierProcessor(classifier=Shouting(), flag_if={"shouts": True}, strategy="filter")
    )
    assert [message.text for message in out.message_list] == ["hello"]
    scope = RequestScope()
    guard = ClassifierProcessor(
        classifier=Shouting(),
        flag_if=lambda answers: "too loud" if answers["shouts"] else None,
        strategy="warn",
        id="manners",
    )
    out = await passed(given("HEY"), guard, scope=scope)
    assert len(out.message_list) == 1
    assert [(each.processor_id, each.message, each.outcome) for each in scope.violations] == [
        ("manners", "too loud", "warned")
    ]


async def test_functions_are_classifiers() -> None:
    """A plain function of the text will do, and an async one."""

    async def later(text: str) -> Answers:
        await anyio.lowlevel.checkpoint()
        return {"long": len(text) > 5}

    def now(text: str) -> Answers:
        return {"long": len(text) > 5}

    functions: list[Any] = [later, now]
    for classifier in functions:
        guard = ClassifierProcessor(classifier=classifier, flag_if={"long": True})
        assert (await through(given("much too long"), guard)).status == "blocked"
        await passed(given("short"), guard)


QUESTIONS: dict[str, Any] = {
    "spam": "Is it an advertisement?",
    "mood": {"question": "How does the writer feel?", "choices": ["calm", "angry"]},
    "risk": {"question": "How risky is it?", "type": "score"},
}


async def test_questions_to_a_model() -> None:
    """All are asked at once, in the words given, and answered by name."""
    model = FakeModel('{"spam": false, "mood": "angry", "risk": 0.2}')
    guard = ClassifierProcessor(model=model, questions=QUESTIONS, flag_if={"mood": "angry", "risk": 0.9})
    run = await through(given("Where is it?!"), guard)
    assert run.tripwire is not None
    assert run.tripwire.metadata == {"processorId": "classifier", "questions": ["mood"]}
    [request] = model.requests
    assert "How does the writer feel?" in str(request.messages[0])
    assert request.settings == {"temperature": 0}


@pytest.mark.parametrize(
    "answer",
    [
        "Fine.",
        "",
        '{"spam": "no", "mood": "calm", "risk": 0}',
        '{"spam": false, "mood": "merry", "risk": 0}',
        '{"spam": false, "mood": "calm", "risk": 7}',
        '{"spam": false, "mood": "calm"}',
        '{"spam": false, "mood": "calm", "risk": 0} {"spam": true, "mood": "calm", "risk": 0}',
    ],
)
async def test_what_is_no_answer_trips(answer: str) -> None:
    """MOD-006 holds for every judge: strict by default, left out where that is asked for."""
    run = await through(
        given("x"), ClassifierProcessor(model=FakeModel(answer), questions=QUESTIONS, flag_if={"spam": True})
    )
    assert run.tripwire is not None
    assert run.tripwire.metadata == {"kind": "guard_failed"}
    scope = RequestScope()
    lenient = ClassifierProcessor(
        model=FakeModel(answer), questions=QUESTIONS, flag_if={"spam": True}, error_strategy="warn"
    )
    await passed(given("x"), lenient, scope=scope)
    assert [each.outcome for each in scope.violations] == ["error"]


@pytest.mark.parametrize("answers", [None, [], "yes", {}, {"spam": "yes"}, {"spam": 1}, {"spam": None}])
async def test_answers_of_a_classifier_that_are_none(answers: Any) -> None:
    """What is no mapping, does not have the question, or has another kind of answer, is no pass."""
    guard = ClassifierProcessor(classifier=lambda text: answers, flag_if={"spam": True})
    run = await through(given("x"), guard)
    assert run.tripwire is not None
    assert run.tripwire.metadata == {"kind": "guard_failed"}


async def test_a_classifier_that_takes_too_long() -> None:
    """No answer in time is told from a failure."""

    async def never(text: str) -> Answers:
        await anyio.sleep_forever()
        raise AssertionError

    run = await through(given("x"), ClassifierProcessor(classifier=never, flag_if={"a": True}, timeout=0.01))
    assert run.tripwire is not None
    assert run.tripwire.metadata == {"kind": "guard_timeout"}


async def test_on_result_decides() -> None:
    """It is given the answers and where the text stands, may be async, and aborts, filters, warns or does nothing."""
    seen: list[tuple[str, str]] = []

    async def decide(answers: Answers, classified: Classified) -> None:
        seen.append((classified.phase, classified.text))
        if "abort" in classified.text:
            classified.abort("enough", metadata={"tone": answers["tone"]})
        if "drop" in classified.text:
            classified.filter("dropped")
        if "warn" in classified.text:
            classified.warn("hm")

    scope = RequestScope()
    guard = ClassifierProcessor(classifier=Shouting(), on_result=decide)
    out = await passed(given("fine", "drop it", "warn me"), guard, scope=scope)
    assert [message.text for message in out.message_list] == ["fine", "warn me"]
    assert [(each.message, each.outcome) for each in scope.violations] == [("dropped", "modified"), ("hm", "warned")]
    run = await through(given("fine", "abort now"), guard)
    assert run.tripwire is not None
    assert (run.tripwire.reason, run.tripwire.metadata) == ("enough", {"tone": "calm"})
    assert seen[0] == ("input", "fine")

    seen.clear()
    agent = Agent("a", model=FakeModel(["all is well", "drop this", "abort this"]), output_processors=[guard])
    async with agent.stream("Go") as stream:
        assert "".join(texts([chunk async for chunk in stream])) == "all is well"
    assert seen == [("stream", "all is well")]
    assert (await agent.generate("Go")).text == ""
    result = await agent.generate("Go")
    assert (result.status, result.text) == ("blocked", "")


async def test_on_result_of_a_guard_that_changes_nothing() -> None:
    """A monitor reports what it would have done, a guard that warns what it is told; the text passes."""

    def decide(answers: Answers, classified: Classified) -> None:
        classified.abort("enough")

    for options, outcome in (({"mode": "monitor"}, "would_block"), ({"strategy": "warn"}, "warned")):
        made: Any = ClassifierProcessor
        agent = Agent(
            "a",
            model=FakeModel("hello"),
            input_processors=[made(classifier=Shouting(), on_result=decide, **options)],
        )
        result = await agent.generate("Go")
        assert result.text == "hello"
        assert [(each.message, each.outcome) for each in result.violations] == [("enough", outcome)]


async def test_on_result_that_fails_or_filters_where_it_cannot() -> None:
    """Both are failures of the guard, which trips."""

    def wrong(answers: Answers, classified: Classified) -> None:
        raise ValueError("secret")

    def drop(answers: Answers, classified: Classified) -> None:
        classified.filter()

    for guard in (
        ClassifierProcessor(classifier=Shouting(), on_result=wrong),
        ClassifierProcessor(classifier=Shouting(), on_result=drop, strategy="block"),
    ):
        run = await through(given("x"), guard)
        assert run.tripwire is not None
        assert run.tripwire.metadata == {"kind": "guard_failed"}
        assert "secret" not in str(run.tripwire)


async def test_a_stream_by_sentence() -> None:
    """With strategy block each sentence goes on once its answers let it, also where on_result decides."""
    first = "This is a first sentence that is long enough to be judged all by itself, as it is. "

    def decide(answers: Answers, classified: Classified) -> None:
        if "second" in classified.text:
            classified.abort("no")

    def classify(text: str) -> Answers:
        return {"second": "second" in text}

    ways: list[dict[str, Any]] = [{"on_result": decide, "strategy": "block"}, {"flag_if": {"second": True}}]
    for options in ways:
        guard = ClassifierProcessor(classifier=classify, stream_by="sentence", **options)
        agent = Agent("a", model=FakeModel(Reply([*first, "And a second."])), output_processors=[guard])
        async with agent.stream("Go") as stream:
            chunks = [chunk async for chunk in stream]
        assert "".join(texts(chunks)) == first.rstrip()
        assert chunks[-1].type == "tripwire"


async def test_long_texts_are_classified_in_pieces() -> None:
    """Nothing of a text goes unseen: it is cut at blanks, and what flags one piece flags it all."""
    classifier = Shouting()
    guard = ClassifierProcessor(classifier=classifier, flag_if={"shouts": True}, max_input_length=10)
    assert (await through(given("so calm a text, then SHOUTING"), guard)).status == "blocked"
    assert classifier.asked == ["so calm a", " text,", " then", " SHOUTING"]
    classifier.asked.clear()
    await passed(given("x" * 10 + "y" * 10 + "z" * 5), guard)
    assert classifier.asked == ["x" * 10, "y" * 10, "z" * 5]


async def test_a_text_is_classified_once() -> None:
    """What has passed in the stream is not asked about again, nor what was said twice."""
    classifier = Shouting()
    guard = ClassifierProcessor(classifier=classifier, flag_if={"shouts": True})
    agent = Agent("a", model=FakeModel("hello there"), input_processors=[guard], output_processors=[guard])
    await agent.generate("hello there")
    assert classifier.asked == ["hello there"]


async def test_messages_without_text_are_not_classified() -> None:
    """MOD-009: no call for pictures and blanks."""
    classifier = Shouting()
    messages = MessageList(
        [Message("user", (FilePart("AA==", "image/png"),), id="1"), Message.user(" \n", id="2")], source="input"
    )
    guard = ClassifierProcessor(classifier=classifier, flag_if={"shouts": True})
    assert len((await passed(InputPayload(messages), guard)).message_list) == 2
    assert classifier.asked == []


async def test_results_of_tools() -> None:
    """Strings inside a result are classified; filter leaves a notice in their place."""
    payload = ToolResultPayload(
        MessageList(), tool_name="fetch", tool_call_id="1", result={"a": "LOUD NOISES", "b": "all is well"}
    )
    guard = ClassifierProcessor(classifier=Shouting(), flag_if={"shouts": True}, strategy="filter")
    assert (await passed(payload, guard)).result == {"a": "[removed]", "b": "all is well"}


async def test_side_by_side() -> None:
    """In a parallel step beside another guard both are asked about a block, and either decides."""

    def decide(answers: Answers, classified: Classified) -> None:
        if answers["shouts"]:
            classified.filter("loud")

    group = side_by_side(
        ClassifierProcessor(classifier=Shouting(), on_result=decide), ModerationProcessor(words=["heron"])
    ).commit()
    for said, shown in (("quiet", "quiet"), ("LOUD", "")):
        assert "".join(texts(await streamed(deltas(said), group))) == shown

    def stop(answers: Answers, classified: Classified) -> None:
        classified.abort("no", metadata={"tone": answers["tone"]}, message="Please be quiet.")

    stopping = ClassifierProcessor(classifier=Shouting(), on_result=stop, id="manners")
    beside = side_by_side(stopping, ModerationProcessor(words=["heron"])).commit()
    result = await Agent("a", model=FakeModel("hello"), output_processors=[beside]).generate("Go")
    assert result.tripwire is not None
    assert (result.tripwire.processor_id, result.tripwire.reason) == ("manners", "no")
    assert (result.tripwire.metadata, result.tripwire.message) == ({"tone": "calm"}, "Please be quiet.")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"classifier": Shouting()},
        {"flag_if": {"a": True}},
        {"classifier": Shouting(), "flag_if": {}},
        {"classifier": Shouting(), "flag_if": {"a": True}, "on_result": print},
        {"classifier": Shouting(), "flag_if": {"a": True}, "questions": {"a": "?"}},
        {"classifier": Shouting(), "model": FakeModel("x"), "flag_if": {"a": True}, "questions": {"a": "?"}},
        {"model": FakeModel("x"), "flag_if": {"a": True}},
        {"model": FakeModel("x"), "flag_if": {"b": True}, "questions": {"a": "?"}},
        {"model": FakeModel("x"), "flag_if": {"a": 0.5}, "questions": {"a": "?"}},
        {"model": FakeModel("x"), "flag_if": {"a": "c"}, "questions": {"a": {"question": "?", "choices": ["b"]}}},
        {"model": FakeModel("x"), "flag_if": {"a": True}, "questions": {"a b": "?"}},
        {"model": FakeModel("x"), "flag_if": {"a": True}, "questions": {"a": {"type": "bool"}}},
        {"model": FakeModel("x"), "flag_if": {"a": "b"}, "questions": {"a": {"question": "?", "type": "choices"}}},
        {"model": FakeModel("x"), "flag_if": {"a": True}, "questions": {"a": {"question": "?", "kind": "bool"}}},
        {"classifier": Shouting(), "flag_if": {"a": True}, "strategy": "redact"},
        {"classifier": Shouting(), "flag_if": {"a": True}, "max_input_length": 0},
        {"classifier": Shouting(), "flag_if": {"a": True}, "chunk_window": -1},
    ],
)
def test_options_that_mean_nothing(options: dict[str, Any]) -> None:
    """They are refused at once."""
    with pytest.raises(ProcessorDefinitionError):
        ClassifierProcessor(**options)
