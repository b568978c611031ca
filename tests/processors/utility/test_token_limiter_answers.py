"""``TokenLimiter`` behind a model: how much of an answer is shown, and that guards beside it keep their promise."""

from __future__ import annotations

from typing import Any

import pytest
from structlog.testing import capture_logs
from tests.agents.kit import WAYS, ask, counted_tool
from tests.processors.stream_kit import deltas, streamed, texts

from procession.agents.agent import Agent
from procession.messages.chunks import DataChunk, ReasoningDelta, TextDelta, TextEnd, ToolCall
from procession.models.tokens.counter import TokenCounter
from procession.processors import log
from procession.processors.contexts import OutputStepContext
from procession.processors.guardrails.regex_filter import RegexFilter
from procession.processors.memory.memory import Memory
from procession.processors.processor import Processor
from procession.processors.utility.token_limiter import TokenLimiter
from procession.steps.scope import RequestScope
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, say
from procession.tools.tool import Tool
from procession.workflows.workflow import create_workflow

TEXT = "write to ada@example.org and bob@example.org now please "
both_ways = pytest.mark.parametrize("way", WAYS)


class Words(TokenCounter):
    """A token is a word."""

    name = "words"

    def count(self, text: str) -> float:
        return len(text.split())


def agent(limiter: TokenLimiter, *pieces: str, others: tuple[Any, ...] = (), **options: Any) -> Agent:
    """Return an agent whose model says *pieces*."""
    return Agent("clerk", model=FakeModel(say(*pieces)), output_processors=[limiter, *others], **options)


def notices(chunks: Any) -> list[DataChunk]:
    """Return the chunks that say that the limit was reached."""
    return [chunk for chunk in chunks if isinstance(chunk, DataChunk)]


async def test_a_run_that_is_resumed_goes_on_counting() -> None:
    """What its steps said before it waited for somebody counts: the stream shows no more than the result has."""
    door = Tool[Any](
        name="door", parameters={"type": "object"}, execute=lambda args, ctx: "open", requires_approval=True
    )
    model = FakeModel([say("one two three ") + call_tool("door", id="d1"), say("four ", "five ", "six ", "seven")])
    clerk = Agent(
        "clerk", model=model, tools=[door], memory=Memory(), output_processors=[TokenLimiter(5, counter=Words())]
    )
    waiting = await clerk.generate("Hi", thread="t", resource="ada")
    async with clerk.resume_stream(waiting.run_id, {"d1": {"approved": True}}, resource="ada") as stream:
        said = [piece async for piece in stream.text_stream]
        result = await stream.result()
    assert (said, result.text) == (["four ", "five "], "one two three four five ")


async def test_text_beyond_the_limit_is_left_out() -> None:
    """The stream shows whole pieces up to the limit, then one transient notice in place of the first that is left out,
    and nothing after a gap."""
    seen = await ask(agent(TokenLimiter(5, counter=Words()), "one two ", "three four ", "five six ", "seven"), "stream")
    assert texts(seen.chunks) == ["one two ", "three four "]
    [notice] = notices(seen.chunks)
    assert (notice.type, notice.transient) == ("data-token-limit-reached", True)
    assert notice.data == {"processorId": "token-limiter", "limit": 5, "tokens": 6}
    assert seen.result.text == "one two three four "
    [violation] = seen.result.violations
    assert (violation.outcome, violation.processor_id) == ("modified", "token-limiter")


async def test_a_long_piece_is_cut() -> None:
    """An answer that comes in one piece, as without streaming, is cut where it no longer fits, and there is a notice."""
    whole = " ".join(str(number) for number in range(40))
    for way in WAYS:
        seen = await ask(agent(TokenLimiter(5, counter=Words()), whole), way)
        assert seen.result.text.split() == ["0", "1", "2", "3", "4"]
        assert seen.result.finish_reason == "stop"
        assert [notice.data["tokens"] for notice in notices(seen.chunks)] == [40], way


@both_ways
async def test_abort_stops_the_run(way: str) -> None:
    """``abort`` is a tripwire that names both numbers and is not retried; no tripped text is in the result."""
    limiter = TokenLimiter(3, counter=Words(), strategy="abort")
    seen = await ask(agent(limiter, "one two ", "three four"), way)
    assert seen.tripwire.reason == "Token limit of 3 exceeded (current: 4)"
    assert (seen.tripwire.retry, seen.tripwire.processor_id) == (False, "token-limiter")
    assert seen.result.text == ""
    assert "four" not in "".join(texts(seen.chunks))


async def test_pieces_may_be_counted_by_themselves() -> None:
    """``part`` lets each piece pass that is short enough; the answer as kept has the limit all the same."""
    limiter = TokenLimiter(2, counter=Words(), count_mode="part")
    seen = await ask(agent(limiter, "one two ", "three four five ", "six seven"), "stream")
    assert texts(seen.chunks) == ["one two ", "six seven"]
    assert len(notices(seen.chunks)) == 1
    assert seen.result.text == "one two"


async def test_the_whole_run_is_counted() -> None:
    """``cumulative`` counts over all steps: what the first one said is not free again in the second."""
    search, called = counted_tool("search")
    model = FakeModel([say("one two ") + call_tool("search"), say("three ", "four five")])
    clerk = Agent("clerk", model=model, tools=[search], output_processors=[TokenLimiter(3, counter=Words())])
    seen = await ask(clerk, "stream")
    assert texts(seen.chunks) == ["one two ", "three "]
    assert len(called) == 1
    assert seen.result.text.split() == ["one", "two", "three"]


@both_ways
async def test_a_rejected_attempt_does_not_count(way: str) -> None:
    """What a rejected attempt said was taken back, and its tokens with it."""

    class Once(Processor):
        id = "once"

        def process_output_step(self, ctx: OutputStepContext) -> None:
            if ctx.retry_count == 0:
                ctx.abort("again", retry=True)

    model = FakeModel([say("one two ", "three four"), say("five six ", "seven eight")])
    limiter = TokenLimiter(3, counter=Words())
    clerk = Agent("clerk", model=model, output_processors=[limiter, Once()], max_processor_retries=1)
    seen = await ask(clerk, way)
    assert seen.result.text.rstrip() == ("five six" if way == "stream" else "five six seven")


@pytest.mark.parametrize("size", [1, 2, 3, 7, 40])
@pytest.mark.parametrize("limit", range(1, 12))
async def test_behind_a_redacting_guard_nothing_leaks(size: int, limit: int) -> None:
    """Behind a guard, wherever the text is cut, all that is shown is the beginning of what the guard lets pass."""
    guard = RegexFilter(presets=["pii"], strategy="redact")
    pieces = deltas(*(TEXT[at : at + size] for at in range(0, len(TEXT), size)))
    out = "".join(texts(await streamed(pieces, guard, TokenLimiter(limit, counter=Words()))))
    assert guard.guard(TEXT).startswith(out)
    assert all(hidden not in out for hidden in ("ada@", "bob@", "@example"))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 40])
@pytest.mark.parametrize("limit", range(1, 12))
async def test_a_guard_behind_it_guards_what_it_is_given(size: int, limit: int) -> None:
    """Before a guard, the guard makes of the cut text what it would make of any text: a value that stands in it whole is
    hidden.  What the cut went through it cannot know; so the limiter belongs behind it."""
    guard = RegexFilter(presets=["pii"], strategy="redact")
    pieces = deltas(*(TEXT[at : at + size] for at in range(0, len(TEXT), size)))
    out = "".join(texts(await streamed(pieces, TokenLimiter(limit, counter=Words()), guard)))
    assert any(guard.guard(TEXT[:end]) == out for end in range(len(TEXT) + 1))
    assert "ada@example.org" not in out


@both_ways
async def test_what_is_kept_is_redacted_too(way: str) -> None:
    """The answer that is kept has at most the limit, and nothing of what the guard before it hides."""
    guard = RegexFilter(presets=["pii"], strategy="redact")
    model = FakeModel(say("write to ", "ada@exam", "ple.org and ", "bob@example.org now"))
    clerk = Agent("clerk", model=model, output_processors=[guard, TokenLimiter(4, counter=Words())])
    seen = await ask(clerk, way)
    assert len(seen.result.text.split()) <= 4
    shown = seen.result.text + "".join(texts(seen.chunks))
    assert shown
    assert "ada@" not in shown
    assert "bob@" not in shown


async def test_one_limiter_serves_many_requests() -> None:
    """CON-001: the count belongs to the request, never to the limiter."""
    limiter = TokenLimiter(3, counter=Words())
    for _ in range(3):
        out = await streamed(deltas("one two ", "three ", "four"), limiter, scope=RequestScope())
        assert texts(out) == ["one two ", "three "]


async def test_other_chunks_pass() -> None:
    """Reasoning, tool calls and the ends of things pass, also beyond the limit."""
    chunks = [TextDelta("a b "), TextDelta("c d"), ReasoningDelta("x y z", "r"), ToolCall("c1", "look", {}), TextEnd()]
    out = await streamed(chunks, TokenLimiter(2, counter=Words()))
    assert [chunk.type for chunk in out] == [
        "text-delta", "data-token-limit-reached", "reasoning-delta", "tool-call", "text-end",
    ]  # fmt: skip


@both_ways
async def test_in_both_lists_it_limits_both(way: str) -> None:
    """One limiter in the input and in the output list limits requests and answers, each by itself."""
    limiter = TokenLimiter(30, counter=Words())
    model = FakeModel(say("one two ", "three"))
    clerk = Agent("clerk", model=model, input_processors=[limiter], output_processors=[limiter])
    history = [
        {"role": "user", "content": "x " * 40},
        {"role": "assistant", "content": "y"},
        {"role": "user", "content": "z"},
    ]
    seen = await ask(clerk, way, history)
    assert len(model.requests[0].messages) == 2
    assert seen.result.text == "one two three"


async def test_the_model_counts_with_its_own_tokenizer() -> None:
    """Without a counter the agent's model says which tokenizer counts."""
    text = "ünïcödé wörds thät cöst möre"
    exact = TokenLimiter(1, counter="o200k_base").count(text)
    for id, passes in (("gpt-5", True), ("gpt-4", False)):
        model = FakeModel(say(text), id=id)
        seen = await ask(Agent("clerk", model=model, output_processors=[TokenLimiter(exact)]), "stream")
        assert (seen.result.text == text) is passes


@pytest.mark.parametrize("way", ["list", "workflow"])
@pytest.mark.parametrize(
    ("limiter", "strategy", "warned"),
    [
        (TokenLimiter(9, counter=Words(), id="cuts"), "redact", True),
        (TokenLimiter(9, counter=Words(), id="cuts"), "block", True),
        (TokenLimiter(9, counter=Words(), id="cuts"), "warn", False),
        (TokenLimiter(9, counter=Words(), id="aborts", strategy="abort"), "redact", False),
    ],
)
def test_a_limiter_before_a_guard_is_warned_about(
    way: str, limiter: TokenLimiter, strategy: Any, warned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent whose answers are cut before a guard has seen them says so when it is made, and so does one in
    which they stand side by side; behind the guard all is well."""
    monkeypatch.setattr(log, "_said", set[Any]())
    guard: Any = RegexFilter(presets=["pii"], strategy=strategy)
    if way == "workflow":
        guard = create_workflow("guards").then(guard).commit()
    with capture_logs() as logs:
        Agent("clerk", model=FakeModel("ok"), output_processors=[guard, limiter]).explain()
    assert logs == []
    with capture_logs() as logs:
        Agent("clerk", model=FakeModel("ok"), output_processors=[limiter, guard]).explain()
    assert [entry["processor_id"] for entry in logs if "behind all guards" in entry["event"]] == ["cuts"] * warned
    monkeypatch.setattr(log, "_said", set[Any]())
    beside = create_workflow("beside").parallel([guard, limiter]).commit()
    with capture_logs() as logs:
        Agent("clerk", model=FakeModel("ok"), output_processors=[beside]).explain()
    assert [entry["processor_id"] for entry in logs if "behind all guards" in entry["event"]] == ["cuts"] * warned
