"""ModerationProcessor: verdicts of a model or a detector, and lists of words."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from tests.agents.kit import WAYS, ask
from tests.processors.kit import passed, through
from tests.processors.stream_kit import deltas, streamed, texts

from procession.agents.agent import Agent
from procession.errors import ProcessorDefinitionError
from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.messages.parts import FilePart, ToolCallPart
from procession.processors.detect.detector import Verdict
from procession.processors.guardrails.moderation import ModerationProcessor
from procession.processors.memory.memory import Memory
from procession.processors.payloads import InputPayload, ToolResultPayload
from procession.processors.violation import Violation
from procession.steps.scope import RequestScope
from procession.steps.signals import Tripwire
from procession.storage.memory import InMemoryStore
from procession.testing.fake_model import FakeModel

HATE = '{"category_scores": [{"category": "hate", "score": 0.9}], "reason": "slurs"}'
CLEAN = '{"category_scores": null, "reason": null}'


def given(*said: str) -> InputPayload:
    """Return a payload with one message for each text."""
    return InputPayload(MessageList([Message.user(text, id=str(n)) for n, text in enumerate(said)], source="input"))


class Scores:
    """A detector that says the same of every text that has a word."""

    def __init__(self, word: str = "", **scores: float) -> None:
        self.word = word
        self.scores = {name.replace("__", "/"): score for name, score in scores.items()}
        self.asked: list[str] = []

    async def detect(self, text: str, *, scope: Any = None) -> Verdict:
        """Say it."""
        self.asked.append(text)
        return Verdict(self.scores if self.word in text else {})


async def test_a_model_flags_by_category_and_score() -> None:
    """The reason names categories, the model's reason and, if asked, scores; what is below the threshold passes."""
    run = await through(given("x"), ModerationProcessor(model=FakeModel(HATE), include_scores=True))
    assert run.tripwire is not None
    assert run.tripwire.reason == "Content flagged for moderation. Categories: hate. Reason: slurs. Scores: hate 0.90"
    assert run.tripwire.metadata == {"processorId": "moderation", "scores": {"hate": 0.9}}
    await passed(given("x"), ModerationProcessor(model=FakeModel(HATE), threshold=0.95))
    assert (await through(given("x"), ModerationProcessor(model=FakeModel(HATE), threshold=0.9))).status == "blocked"


async def test_categories_and_thresholds_of_ones_own() -> None:
    """Any word may be a category, each with its own threshold; a detector is believed about those that were named."""
    model = FakeModel('{"category_scores": [{"category": "Competitors", "score": 0.4}]}')
    guard = ModerationProcessor(model=model, categories=["competitors"], thresholds={"competitors": 0.3})
    assert (await through(given("x"), guard)).status == "blocked"
    [request] = model.requests
    assert "competitors" in str(request.messages[0])
    await passed(given("x"), ModerationProcessor(detector=Scores(spam=0.9), categories=["hate"]))
    kind = ModerationProcessor(detector=Scores(hate__threatening=0.4), categories=["hate"], thresholds={"hate": 0.3})
    assert (await through(given("x"), kind)).status == "blocked"
    assert (await through(given("x"), ModerationProcessor(detector=Scores(spam=0.9)))).status == "blocked"


async def test_warn_and_filter() -> None:
    """Warn reports and changes nothing; filter drops the message and leaves the others."""
    scope = RequestScope()
    out = await passed(given("x"), ModerationProcessor(model=FakeModel(HATE), strategy="warn"), scope=scope)
    assert len(out.message_list) == 1
    assert [(each.outcome, each.detail["scores"]) for each in scope.violations] == [("warned", {"hate": 0.9})]
    scope = RequestScope()
    guard = ModerationProcessor(detector=Scores("bad", hate=0.9), strategy="filter")
    out = await passed(given("fine", "bad"), guard, scope=scope)
    assert [message.text for message in out.message_list] == ["fine"]
    assert [each.outcome for each in scope.violations] == ["modified"]


@pytest.mark.parametrize(
    "answer",
    [
        "I think it is fine.",
        "",
        '{"flagged":"yes"}',
        '{"flagged": false} trailing {"flagged": true}',
        '{"nonsense": true}',
        '{"category_scores": [{"category": "hate", "score": 90}]}',
        '{"category_scores": [{"category": "hate", "score": "0.9"}]}',
    ],
)
async def test_an_answer_that_is_no_verdict_blocks(answer: str) -> None:
    """MOD-006: prose, nothing, a wrong type, two objects are no verdict: the guard trips, or is left out if told so."""
    run = await through(given("x"), ModerationProcessor(model=FakeModel(answer)))
    assert run.tripwire is not None
    assert run.tripwire.metadata == {"kind": "guard_failed"}
    for lenient in (
        ModerationProcessor(model=FakeModel(answer), on_error="skip"),
        ModerationProcessor(model=FakeModel(answer), error_strategy="warn"),
        ModerationProcessor(model=FakeModel(answer), strategy="warn"),
    ):
        scope = RequestScope()
        out = await passed(given("x"), lenient, scope=scope)
        assert [message.text for message in out.message_list] == ["x"]
        assert [each.outcome for each in scope.violations] == ["error"]


async def test_fenced_json_is_a_verdict() -> None:
    """MOD-006: a fence around the JSON changes nothing, and a bare boolean is enough to flag."""
    for answer in ('```json\n{"flagged": true}\n```', f"```json\n{HATE}\n```"):
        run = await through(given("x"), ModerationProcessor(model=FakeModel(answer)))
        assert run.tripwire is not None
        assert run.tripwire.reason.startswith("Content flagged for moderation. Categories: ")
    await passed(given("x"), ModerationProcessor(model=FakeModel('{"flagged": false}')))


class Never:
    """A detector that does not answer."""

    async def detect(self, text: str, *, scope: Any = None) -> Verdict:
        """Wait for ever."""
        await anyio.sleep_forever()
        raise AssertionError


async def test_a_judge_that_takes_too_long_blocks() -> None:
    """MOD-006: no answer in time is told from a failure, and passes where the guard may be left out."""
    run = await through(given("x"), ModerationProcessor(detector=Never(), timeout=0.01))
    assert run.tripwire is not None
    assert run.tripwire.metadata == {"kind": "guard_timeout"}
    scope = RequestScope()
    await passed(given("x"), ModerationProcessor(detector=Never(), timeout=0.01, on_error="skip"), scope=scope)
    assert [each.outcome for each in scope.violations] == ["timeout"]


def test_the_policy_is_printed() -> None:
    """MOD-006: explain() of an agent says what a guard does that cannot check, and how long it may take."""
    agent = Agent("a", model=FakeModel("hi"), input_processors=[ModerationProcessor(model=FakeModel(CLEAN))])
    said = str(agent.explain())
    assert "on_error=stop" in said
    assert "timeout=30 s" in said


async def test_messages_without_text_are_not_judged() -> None:
    """MOD-009: no call for nothing: no text, an empty result, a picture, blanks; and nothing crashes."""
    detector = Scores(hate=0.9)
    messages = MessageList(
        [
            Message("assistant", (ToolCallPart("a", "f", {}, state="result", result=""),), id="1"),
            Message("user", (FilePart("AA==", "image/png"),), id="2"),
            Message.user("", id="3"),
            Message.user(" \n", id="4"),
        ],
        source="input",
    )
    out = await passed(InputPayload(messages), ModerationProcessor(detector=detector))
    assert detector.asked == []
    assert len(out.message_list) == 4


async def test_a_blocked_message_does_not_kill_the_conversation() -> None:
    """MOD-004: what was blocked is not stored, and history is not judged again unless it is asked for."""
    detector = Scores("bomb", violence=0.9)
    messages = MessageList([Message.user("the bomb", id="old")], source="memory")
    messages.add([Message.user("what is the weather?", id="new")], "input")
    await passed(InputPayload(messages), ModerationProcessor(detector=detector))
    assert detector.asked == ["what is the weather?"]
    run = await through(InputPayload(messages), ModerationProcessor(detector=detector, scope="all"))
    assert run.status == "blocked"


@pytest.mark.parametrize("way", WAYS)
async def test_a_blocked_turn_is_not_stored_and_the_next_one_passes(way: str) -> None:
    """MOD-004: turn 1 trips and is not stored; turn 2 passes."""
    store = InMemoryStore()
    guard = ModerationProcessor(detector=Scores("<blocked-topic>", violence=0.9), strategy="block")
    agent = Agent("a", model=FakeModel("Sunny."), memory=Memory(store), input_processors=[guard])
    first = await ask(agent, way, "how to make <blocked-topic>", thread="t", resource="r")
    assert first.result.status == "blocked"
    assert await store.messages("t") == []
    second = await ask(agent, way, "sorry - what is the weather?", thread="t", resource="r")
    assert (second.result.status, second.result.text) == ("completed", "Sunny.")


async def test_which_of_the_new_messages_are_judged() -> None:
    """All, the last one, or the last of a user."""
    messages = MessageList([Message.user("a", id="1"), Message.user("b", id="2")], source="input")
    messages.add([Message.assistant("c", id="3")], "input")
    for options, asked in (
        ({}, ["a", "b", "c"]),
        ({"last_message_only": True}, ["c"]),
        ({"scope": "last_user"}, ["b"]),
    ):
        detector = Scores()
        made: Any = ModerationProcessor
        await passed(InputPayload(messages), made(detector=detector, **options))
        assert detector.asked == asked


async def test_an_answer_is_judged_once_in_generate_and_stream_alike() -> None:
    """What streamed past the guard is not judged again; a block leaves no text, and the tripwire comes last."""
    detector = Scores("bad", hate=0.9)
    guard = ModerationProcessor(detector=detector)
    agent = Agent("a", model=FakeModel("all is well"), output_processors=[guard])
    assert (await agent.generate("Go")).text == "all is well"
    assert detector.asked == ["all is well"]
    agent = Agent("a", model=FakeModel(["something bad", "something bad"]), output_processors=[guard])
    result = await agent.generate("Go")
    assert (result.status, result.text) == ("blocked", "")
    async with agent.stream("Go") as stream:
        chunks = [chunk async for chunk in stream]
    assert [chunk for chunk in chunks if chunk.type == "text-delta"] == []
    assert chunks[-1].type == "tripwire"


async def test_nothing_unchecked_is_shown() -> None:
    """MOD-005: the reader has nothing of what was not judged, the tripwire is last, and nothing is stored."""
    detector = Scores("<bad>", hate=0.9)
    with pytest.raises(Tripwire):
        await streamed(
            deltas("Sure, ", "here is ", "the <bad> part ", "and more"), ModerationProcessor(detector=detector)
        )
    told: list[Violation] = []
    guard = ModerationProcessor(detector=detector, on_violation=told.append)
    agent = Agent("a", model=FakeModel("Sure, here is the <bad> part and more"), output_processors=[guard])
    async with agent.stream("Go") as stream:
        chunks = [chunk async for chunk in stream]
        result = await stream.result()
    assert [chunk for chunk in chunks if chunk.type == "text-delta"] == []
    assert chunks[-1].type == "tripwire"
    assert [message.role for message in result.messages if message.text] in ([], ["user"])
    assert len(told) == 1


async def test_a_stream_by_sentence() -> None:
    """With chunk_window or stream_by each sentence goes on once it was judged, with what came before as its context."""
    for options in ({"chunk_window": 1}, {"stream_by": "sentence"}):
        detector = Scores("nothing of it", hate=0.9)
        made: Any = ModerationProcessor
        one = "This is a first sentence that is long enough to be judged all by itself, as it is. "
        chunks = deltas(*one, "And a second.")
        assert "".join(texts(await streamed(chunks, made(detector=detector, **options)))) == one + "And a second."
        assert detector.asked == [one.rstrip(), one + "And a second."]


async def test_results_of_tools() -> None:
    """Strings inside a result are judged; filter leaves a notice in their place."""
    payload = ToolResultPayload(
        MessageList(), tool_name="fetch", tool_call_id="1", result={"a": "something bad here", "b": "all is well"}
    )
    guard = ModerationProcessor(detector=Scores("bad", hate=0.9), strategy="filter")
    assert (await passed(payload, guard)).result == {"a": "[removed]", "b": "all is well"}


# -- words

INNOCENT = "The class assessment in Scunthorpe went well; Dickens' cockpit analysis."
BANNED = ("ass", "cunt", "dick", "cock", "anal")


async def test_whole_words_are_the_default() -> None:
    """MOD-002: innocent words with others inside pass, unless substrings are asked for; explain() says what was seen."""
    guard = ModerationProcessor(ban_words=BANNED)
    await passed(given(INNOCENT), guard)
    looked_at = {INNOCENT[span.start : span.end]: span.rejected for span in guard.explain(INNOCENT)}
    assert looked_at == dict.fromkeys(("ass", "cunt", "Dick", "cock", "anal"), "inside a word")
    anywhere = ModerationProcessor(ban_words=BANNED, match="substring")
    run = await through(given(INNOCENT), anywhere)
    assert run.tripwire is not None
    assert run.tripwire.reason == "Content flagged for moderation. Categories: words"
    [first, *_] = anywhere.explain(INNOCENT)
    assert (INNOCENT[first.start : first.end], first.rejected) == ("ass", "")
    assert not any(word in str(run.tripwire) for word in BANNED[1:])


@pytest.mark.parametrize(
    "text",
    [
        "an ASS.",
        "_ass_",
        "a\u200bss",
        "\u0430\u0455\u0455",
        "\uff41\uff53\uff53",
        "a s s",
        "a.s.s",
        "\u00abass\u00bb",
        "ass\u0301",
    ],
)
def test_spelling_tricks(text: str) -> None:
    """Case, invisible and look-alike characters, full width and gaps hide nothing; an accent makes another word."""
    found = ModerationProcessor(words=["ass"]).regions(text)
    assert len(found) == (0 if text == "ass\u0301" else 1)


def test_words_of_all_scripts() -> None:
    """A border is what Unicode says, with the marks of a letter; where scripts have no borders none are asked for."""
    guard = ModerationProcessor(words={"insults": ["傻瓜", "дурак", "गधा", "idiot"], "phrases": ["shut  up"]})
    for text, kinds in (
        ("你是傻瓜吗", ["insults"]),
        ("Ты ДУРАК!", ["insults"]),
        ("дураками", []),
        ("तुम गधा हो", ["insults"]),
        ("गधाओं", []),
        ("idiots", []),
        ("shut\nup", ["phrases"]),
    ):
        assert [region.owner.type for region in guard.regions(text)] == kinds, text


async def test_a_word_across_chunks() -> None:
    """UNI-003: an accent in the next chunk makes the banned word; what is not flagged comes out as it was."""
    guard = ModerationProcessor(words=["caf\u00e9"])
    with pytest.raises(Tripwire):
        await streamed(deltas("the cafe", "\u0301 is open"), guard)
    out = await streamed(deltas("the cafe", "\u0301teria, the caf", "e is open"), guard)
    assert "".join(texts(out)) == "the cafe\u0301teria, the cafe is open"


async def test_words_beside_a_model() -> None:
    """What is on the list blocks whatever the model says."""
    guard = ModerationProcessor(words=["heron"], model=FakeModel([CLEAN, CLEAN]))
    assert (await through(given("Heron"), guard)).status == "blocked"
    await passed(given("osprey"), guard)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"words": []},
        {"words": ["a"], "ban_words": ["b"]},
        {"words": [""]},
        {"words": ["\u200b"]},
        {"words": [3]},
        {"words": ["a"], "match": "regex"},
        {"words": ["a"], "strategy": "redact"},
        {"words": ["a"], "scope": "everything"},
        {"words": ["a"], "scope": "all", "last_message_only": True},
        {"words": ["a"], "threshold": 2},
        {"words": ["a"], "thresholds": {"hat": 0.5}},
        {"words": ["a"], "thresholds": {"hate": 5}},
        {"words": ["a"], "on_error": "skip", "error_strategy": "warn"},
        {"words": ["a"], "error_strategy": "lenient"},
        {"words": ["a"], "chunk_window": -1},
    ],
)
def test_options_that_mean_nothing(options: dict[str, Any]) -> None:
    """They are refused at once; above all a guard that could find nothing."""
    with pytest.raises(ProcessorDefinitionError):
        ModerationProcessor(**options)
