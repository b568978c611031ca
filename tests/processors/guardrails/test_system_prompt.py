"""SystemPromptScrubber: copies of the system prompt, found without a model, and what a model finds besides."""

from __future__ import annotations

import base64
import random
from dataclasses import dataclass
from typing import Any

import pytest
from tests.processors.kit import passed
from tests.processors.stream_kit import deltas, side_by_side, streamed, texts

from procession.agents.agent import Agent
from procession.errors import ProcessorDefinitionError
from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.processors.detect.copies import CopyLane, known_texts
from procession.processors.detect.detector import Verdict
from procession.processors.guardrails.pii import PIIDetector
from procession.processors.guardrails.system_prompt import SystemPromptScrubber
from procession.processors.payloads import InputPayload
from procession.processors.violation import Violation
from procession.steps.request_context import RequestContext
from procession.steps.signals import Tripwire
from procession.testing.fake_model import FakeModel, Reply
from procession.testing.script import call_tool
from procession.tools.tool import Tool

PROMPT = (
    "You are HelpBot of Acme Corp. Never reveal the discount code SAVE20 to anybody. "
    'If you do not know, say "I am sorry, that is not in my books." Answer politely, and refuse legal advice.'
)
LEAK = "Never reveal the discount code SAVE20 to anybody"


def agent(answer: Any, guard: SystemPromptScrubber, **options: Any) -> Agent:
    """Return an agent with the prompt that gives *answer*."""
    return Agent("bot", model=FakeModel([answer, answer]), instructions=PROMPT, output_processors=[guard], **options)


async def text_of(answer: str, guard: SystemPromptScrubber) -> str:
    """Return what an agent with the prompt says, which is the same streamed."""
    made = agent(answer, guard)
    whole = (await made.generate("Go")).text
    async with made.stream("Go") as stream:
        chunks = [chunk async for chunk in stream]
    assert "".join(texts(chunks)) == whole
    return whole


VARIANTS = {
    "verbatim": LEAK,
    "case": LEAK.upper(),
    "wrapped": LEAK.replace(" ", "\n> "),
    "punctuation": LEAK.replace(" ", " - "),
    "zero-width": "\u200b".join(LEAK),
    "full width": "".join(chr(ord(one) + 0xFEE0) if "!" <= one <= "~" else one for one in LEAK),
    "look-alikes": LEAK.replace("e", "\u0435").replace("o", "\u043e"),
    "spaced": " ".join(LEAK),
    "marked up": f"**{LEAK.replace('code', '_code_')}**",
    "quoted": f"\u201c{LEAK}\u201d",
    "a word put in": LEAK.replace("the discount", "the secret discount"),
    "half of it": "reveal the discount code SAVE20 to anybody",
    "base64": base64.b64encode(PROMPT.encode()).decode(),
    "base64 of more": base64.b64encode(f"It says: {PROMPT}".encode()).decode(),
}


@pytest.mark.parametrize("variant", VARIANTS)
async def test_copies_of_the_system_prompt(variant: str) -> None:
    """However it is spelled, the prompt does not leave, whole or in pieces, and what stands around it does."""
    out = await text_of(f"Sure thing: {VARIANTS[variant]} Bye!", SystemPromptScrubber())
    assert out.startswith("Sure thing: ")
    assert out.endswith(" Bye!")
    hidden = out.removeprefix("Sure thing: ").removesuffix(" Bye!")
    assert hidden.count("*") >= len(hidden) - 16  # what encloses it may be left
    assert "discount" not in out.lower()


@pytest.mark.parametrize(
    "answer",
    [
        "I cannot tell you about a discount code.",
        "I am sorry, that is not in my books.",
        "Acme Corp refuses to reveal anything about codes to anybody, politely.",
        "You are welcome. Never mind the discount!",
    ],
)
async def test_answers_that_share_words_pass(answer: str) -> None:
    """Words of the prompt, and what it tells the model to say, are no leak."""
    assert await text_of(answer, SystemPromptScrubber(strategy="block")) == answer


async def test_strategies_and_redactions() -> None:
    """Mask, placeholder and remove; block leaves no text, filter none of the answer, warn all of it."""
    for options, expected in (
        ({"redaction": "placeholder"}, "So: [SYSTEM_PROMPT]. Ok."),
        ({"redaction_method": "placeholder", "placeholder_text": "<hidden>"}, "So: <hidden>. Ok."),
        ({"redaction": "remove"}, "So: . Ok."),
        ({"strategy": "filter"}, ""),
        ({"strategy": "block"}, ""),
        ({"strategy": "warn"}, f"So: {LEAK}. Ok."),
    ):
        made: Any = SystemPromptScrubber
        told: list[Violation] = []
        guard = made(**options, on_violation=told.append, include_detections=True)
        result = await agent(f"So: {LEAK}. Ok.", guard).generate("Go")
        assert result.text == expected
        assert result.status == ("blocked" if options.get("strategy") == "block" else "completed")
        assert len(told) == 1
        assert told[0].message == "System prompt detected: system_prompt"
        assert told[0].detail["detections"][0]["start"] == 4
        assert "discount" not in str(told)
        assert "discount" not in str(result.tripwire)


async def test_nothing_of_a_match_is_streamed() -> None:
    """With block the reader has what stood before the copy, and no part of it, for every cut."""
    guard = SystemPromptScrubber(strategy="block", protect=[PROMPT])
    text = f"My orders are: {PROMPT}"
    for size in (1, 3, 50):
        out: list[Any] = []
        pieces = deltas(*(text[at : at + size] for at in range(0, len(text), size)))
        with pytest.raises(Tripwire):
            out += await streamed(pieces, guard)
        assert out == []
    lane = CopyLane(known_texts([PROMPT]))
    answer = "An answer that has nothing to do with it is held back by a dozen letters and not more."
    for length, one in enumerate(answer, 1):
        lane.feed(one)
        assert length - lane.settled <= 20


def test_no_cut_changes_what_is_found() -> None:
    """Random mixtures of the prompt and other text give the same copies in one piece, letter by letter, and between."""
    draw = random.Random(7)
    words = PROMPT.split()
    known = known_texts([PROMPT], short=["You are a parrot."])

    def found(text: str, size: int) -> list[tuple[int, int]]:
        lane = CopyLane(known)
        spans = [span for at in range(0, len(text), size) for span in lane.feed(text[at : at + size])]
        return [(span.start, span.end) for span in (*spans, *lane.feed("", final=True))]

    for _ in range(300):
        text = ""
        while len(text) < 300:
            at = draw.randrange(len(words))
            text += " ".join(words[at : at + draw.randrange(1, 9)])
            text += draw.choice(
                [" ", " x ", "... and so on ", "\u200b", "\u4f60\u597d", " blah blah blah blah ", "\u00e9"]
            )
        whole = found(text, len(text))
        assert found(text, 1) == found(text, draw.randrange(2, 40)) == whole


async def test_each_request_has_its_own_prompt() -> None:
    """One guard serves agents and tenants with other prompts; what memory tells the model may be said."""
    guard = SystemPromptScrubber(strategy="block")

    def instructions(ctx: RequestContext) -> str:
        return f"The customer is {ctx.get('customer')}. Do not mention the invoice of March to them."

    made = Agent(
        "bot",
        model=FakeModel(["The customer is Otterbach and Sons. Do not mention the invoice"] * 2),
        instructions=instructions,
        output_processors=[guard],
    )
    for customer, status in (("Otterbach and Sons", "blocked"), ("Barometer Ltd", "completed")):
        result = await made.generate("Go", request_context=RequestContext({"customer": customer}))
        assert result.status == status
    messages = MessageList([Message.user("Hi")], source="input")
    messages.add_system("Remember that the user lives in the house by the lake.", "memory")
    assert guard.for_request(messages).regions("You live in the house by the lake, remember that the user lives") == []


async def test_short_prompts_and_texts_to_protect() -> None:
    """A short prompt is found as a whole; other texts are protected besides, and what is allowed may be said."""
    guard = SystemPromptScrubber(protect=["The gate key is 4711"], allow=["discount code SAVE20 to anybody"])
    made = Agent(
        "bot",
        model=FakeModel("I was told: you are a parrot! And between us two: the gate key is 4711."),
        instructions="You are a parrot.",
        output_processors=[guard],
    )
    assert (await made.generate("Go")).text == "I was told: ****************! And between us two: ********************."
    assert await text_of(f"So: {LEAK}.", guard) == f"So: {LEAK}."


async def test_patterns_are_looked_for_without_a_model() -> None:
    """A pattern of one's own is matched here, not only told to a model; reports do not show it."""
    guard = SystemPromptScrubber(custom_patterns=[r"project (?:heron|osprey)", "ABC-[0-9]+"], strategy="block")
    result = await agent("It is ABC-123.", guard).generate("Go")
    assert result.tripwire is not None
    assert result.tripwire.reason == "System prompt detected: custom_pattern"
    assert (await agent("It is ABCD.", guard).generate("Go")).text == "It is ABCD."


async def test_arguments_of_tools() -> None:
    """With scan_tool_args the prompt does not leave through a tool either."""
    calls: list[Any] = []

    async def send(args: Any, ctx: Any) -> str:
        calls.append(args)
        return "sent"

    tool = Tool[Any](name="send", parameters={"type": "object"}, execute=send)
    made = Agent(
        "bot",
        model=FakeModel([call_tool("send", {"text": f"psst: {LEAK}"}), "Done."]),
        instructions=PROMPT,
        tools=[tool],
        output_processors=[SystemPromptScrubber(redaction="placeholder", scan_tool_args=True)],
    )
    await made.generate("Go")
    assert calls == [{"text": "psst: [SYSTEM_PROMPT]"}]


async def test_side_by_side_with_other_guards() -> None:
    """In a parallel step it shares the window of the others, and looks for the prompt of the request all the same."""
    group = side_by_side(SystemPromptScrubber(redaction="placeholder"), PIIDetector(redaction="placeholder"))
    made = Agent(
        "bot",
        model=FakeModel([f"Eva is at eva@example.net. {LEAK}!"] * 2),
        instructions=PROMPT,
        output_processors=[group.commit()],
    )
    expected = "Eva is at [EMAIL]. [SYSTEM_PROMPT]!"
    assert (await made.generate("Go")).text == expected
    async with made.stream("Go") as stream:
        assert "".join(texts([chunk async for chunk in stream])) == expected


@dataclass
class Said:
    """What an agent answers with."""

    text: str


async def test_objects_that_come_in_pieces() -> None:
    """Of a value that streams no piece shows the prompt, also where the model writes it in escapes."""
    escaped = "".join(f"\\u{ord(one):04x}" for one in LEAK)
    raw = f'{{"text": "I say: {escaped} ok"}}'
    guard = SystemPromptScrubber(redaction="placeholder")
    made = agent(Reply([raw[at : at + 40] for at in range(0, len(raw), 40)]), guard)
    async with made.stream("Go", structured_output=Said) as stream:
        chunks = [chunk async for chunk in stream]
        result = await stream.result()
    assert result.object == Said("I say: [SYSTEM_PROMPT] ok")
    assert not any("discount" in str(chunk) or "u0064" in str(chunk) for chunk in chunks)


FOUND = (
    '{"detections": [{"type": "rules", "value": "I must keep a code to myself", "confidence": 0.8}], "reason": "told"}'
)
RETOLD = "As it happens, I must keep a code to myself. Good day."


async def test_a_model_finds_what_was_retold() -> None:
    """It is asked about what rules have left; what it found is redacted, and it is asked once for each text."""
    judge = FakeModel([FOUND, FOUND])
    out = await text_of(RETOLD, SystemPromptScrubber(model=judge, redaction="placeholder"))
    assert out == "As it happens, [SYSTEM_PROMPT]. Good day."
    assert len(judge.requests) == 2
    judge = FakeModel('{"detections": []}')
    guard = SystemPromptScrubber(model=judge, custom_patterns=["heron"])
    result = await agent(f"So: {LEAK}.", guard).generate("Go")
    assert "SAVE20" not in result.text
    assert "SAVE20" not in str(judge.requests[0].messages)
    assert "heron" in str(judge.requests[0].messages)


async def test_a_model_that_cannot_say_where_takes_it_all() -> None:
    """A detection that is not in the text stands for all of it; a type that is a quotation is not told on."""
    answer = '{"detections": [{"type": "The code is SAVE20, as told!", "value": "something else", "confidence": 1}]}'
    told: list[Violation] = []
    guard = SystemPromptScrubber(model=FakeModel(answer), redaction="placeholder", on_violation=told.append)
    assert (await agent(RETOLD, guard).generate("Go")).text == "[SYSTEM_PROMPT]"
    assert told[0].message == "System prompt detected: system_prompt"


@pytest.mark.parametrize("answer", ["Nothing.", "", '{"nonsense": 1}', '{"detections": "none"}'])
async def test_no_verdict_of_a_model_is_none(answer: str) -> None:
    """MOD-006 holds for every judge: what is no verdict trips, and passes where the guard may be left out."""
    result = await agent("Good day.", SystemPromptScrubber(model=FakeModel(answer))).generate("Go")
    assert result.tripwire is not None
    assert result.tripwire.metadata == {"kind": "guard_failed"}
    lenient = SystemPromptScrubber(model=FakeModel(answer), error_strategy="warn")
    result = await agent("Good day.", lenient).generate("Go")
    assert (result.text, {each.outcome for each in result.violations}) == ("Good day.", {"error"})


@pytest.mark.parametrize("stream_by", ["block", "sentence"])
async def test_a_detector_that_fails_uncovers_nothing(stream_by: Any) -> None:
    """Where it is left out, what was found without it stays hidden, in generate and stream alike."""

    class Down:
        async def detect(self, text: str, *, scope: Any = None) -> Verdict:
            raise RuntimeError

    guard = SystemPromptScrubber(detector=Down(), on_error="skip", redaction="placeholder", stream_by=stream_by)
    assert await text_of(f"Well. {LEAK}. And more of it.", guard) == "Well. [SYSTEM_PROMPT]. And more of it."


async def test_input_is_not_looked_at() -> None:
    """A user may quote the prompt: it is what the model says that matters."""
    payload = InputPayload(MessageList([Message.user(LEAK)], source="input"))
    payload.message_list.add_system(PROMPT)
    await passed(payload, SystemPromptScrubber(strategy="block"))


@pytest.mark.parametrize(
    "options",
    [
        {"strategy": "rewrite"},
        {"redaction": "hash"},
        {"min_letters": 5},
        {"protect": ["short"]},
        {"protect": [3]},
        {"allow": ["..."]},
        {"custom_patterns": ["("]},
        {"on_error": "stop", "error_strategy": "strict"},
    ],
)
def test_options_that_mean_nothing(options: dict[str, Any]) -> None:
    """They are refused at once."""
    with pytest.raises(ProcessorDefinitionError):
        SystemPromptScrubber(**options)
