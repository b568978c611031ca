"""``TokenLimiter`` before a model call: what of a request is sent, what never is left out, and what stops the run."""

from __future__ import annotations

from typing import Any

import pytest
from tests.agents.kit import WAYS, ask, counted_tool
from tests.processors.kit import passed

from procession.agents.agent import Agent
from procession.errors import TripwireError
from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.messages.parts import FilePart, TextPart, ToolCallPart
from procession.messages.to_prompt import PromptBuilder
from procession.models.tokens.counter import TokenCounter
from procession.processors.memory.memory import Memory
from procession.processors.payloads import LLMRequestPayload
from procession.processors.utility.token_limiter import TokenLimiter
from procession.processors.violation import Violation
from procession.storage.memory import InMemoryStore
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, fail
from procession.tools.tool import tool
from procession.workflows.workflow import create_workflow

both_ways = pytest.mark.parametrize("way", WAYS)
IDS: dict[str, Any] = {"thread": "t", "resource": "ada"}


class Words(TokenCounter):
    """A token is a word, and nothing stands around it; counts what it is asked."""

    name = "words"
    per_message = 0.0
    per_request = 0.0

    def __init__(self) -> None:
        self.asked = 0

    def count(self, text: str) -> float:
        self.asked += 1
        return 0 if text in ("system", "user", "assistant", "tool") else len(text.split())


def words(number: int, word: str = "word") -> str:
    """Return a text of so many words."""
    return " ".join([word] * number)


def said(request: Any) -> list[str]:
    """Return what a model was sent, in short."""
    return [f"{entry.role}: {entry.text or entry.content[0].type}" for entry in request.messages]


def turns(*lengths: int) -> list[dict[str, str]]:
    """Return turns of a conversation whose texts have so many words, the user's first."""
    return [
        {"role": "assistant" if at % 2 else "user", "content": words(length, chr(97 + at))}
        for at, length in enumerate(lengths)
    ]


@both_ways
async def test_what_fits_is_sent_as_it_is(way: str) -> None:
    """A request within the limit is not touched, and nothing is reported."""
    model = FakeModel("ok")
    agent = Agent("clerk", model=model, instructions="Be brief.", input_processors=[TokenLimiter(10, counter=Words())])
    seen = await ask(agent, way, turns(3, 3, 2))
    assert said(model.requests[0]) == ["system: Be brief.", "user: a a a", "assistant: b b b", "user: c c"]
    assert seen.result.violations == ()


@both_ways
@pytest.mark.parametrize(
    ("mode", "sent"),
    [
        ("best-fit", ["user: a", "user: c c", "assistant: d", "user: e e"]),
        ("contiguous", ["user: c c", "assistant: d", "user: e e"]),
    ],
)
async def test_older_messages_go_first(way: str, mode: Any, sent: list[str]) -> None:
    """``best-fit`` passes over a message that is too long, ``contiguous`` ends there; the report says what was done."""
    model = FakeModel("ok")
    told: list[Violation] = []
    limiter = TokenLimiter(6, counter=Words(), trim_mode=mode, on_violation=told.append)
    seen = await ask(Agent("clerk", model=model, input_processors=[limiter]), way, turns(1, 9, 2, 1, 2))
    assert said(model.requests[0]) == sent
    assert seen.result.text == "ok"
    [violation] = told
    assert violation.outcome == "modified"
    assert violation.detail == {
        "limit": 6,
        "tokens_before": 15,
        "tokens_after": 5 + len([one for one in sent if "a" in one.split()[1:]]),
        "messages_left_out": 5 - len(sent),
    }


@both_ways
@pytest.mark.parametrize("limit", range(1, 60, 4))
async def test_a_call_and_its_result_stay_together(way: str, limit: int) -> None:
    """TOK-001: whatever the limit, no result is sent without its call nor a call without its result, and the user's last
    message is always there."""
    model = FakeModel("ok")
    history = [
        Message.user("write the file"),
        Message("assistant", (ToolCallPart("c1", "write", {"t": "x " * 20}, "result", "ok"),)),
        Message("assistant", (TextPart("done"),)),
        Message.user("thanks, next"),
    ]
    agent = Agent("clerk", model=model, input_processors=[TokenLimiter(limit, counter=Words())])
    seen = await ask(agent, way, history)
    if seen.result.tripwire is not None:
        assert limit == 1
        assert model.requests == []
        return
    sent = said(model.requests[0])
    assert sent[-1] == "user: thanks, next"
    assert ("assistant: tool-call" in sent) == ("tool: tool-result" in sent)
    assert ("assistant: tool-call" in sent) == (limit >= 26)


@pytest.mark.parametrize(("counter", "text"), [(Words(), "x " * 400), ("estimate", "x" * 400), (None, "x" * 400)])
async def test_a_call_that_is_too_long_goes_whole(counter: Any, text: str) -> None:
    """TOK-001: a call with long arguments goes with its result; what was said before and after it stays."""
    model = FakeModel("ok")
    call = ToolCallPart("c1", "write", {"t": text}, "result", "ok")
    answers = [Message("assistant", (call,)), Message("assistant", (TextPart("done"),))]
    agent = Agent("clerk", model=model, input_processors=[TokenLimiter(40, counter=counter)])
    await agent.generate([Message.user("write the file"), *answers, Message.user("thanks, next")])
    assert said(model.requests[0]) == ["user: write the file", "assistant: done", "user: thanks, next"]


@both_ways
async def test_the_traffic_of_this_run_stays(way: str) -> None:
    """TOK-003: the second step's prompt has the call and its result, the history goes first, and stored messages are
    unaffected."""
    store = InMemoryStore()
    memory = Memory(store)
    await ask(Agent("clerk", model=FakeModel("noted"), memory=memory), "generate", words(40, "old"), **IDS)
    search, _ = counted_tool("search", words(50, "r"))
    model = FakeModel([call_tool("search"), "answer"])
    agent = Agent(
        "clerk", model=model, memory=memory, tools=[search],
        input_processors=[TokenLimiter(60, counter=Words(), count_tools=False)],
    )  # fmt: skip
    seen = await ask(agent, way, "find it", **IDS)
    assert seen.result.text == "answer"
    assert len(said(model.requests[0])) == 3  # all of it fits before the tool has answered
    assert said(model.requests[1]) == [
        "assistant: noted", "user: find it", "assistant: tool-call", "tool: tool-result",
    ]  # fmt: skip
    kept = await store.messages("t", resource_id="ada")
    assert [message.role for message in kept] == ["user", "assistant", "user", "assistant"]
    assert kept[0].text == words(40, "old")
    calls = [part for part in kept[3].parts if isinstance(part, ToolCallPart)]
    assert [call.result for call in calls] == [words(50, "r")]


@both_ways
async def test_traffic_that_is_too_much_alone_stops_the_run(way: str) -> None:
    """TOK-003: where this run's own calls and results exceed the limit, the run is stopped for good, and the tripwire says
    how many tokens they have."""
    search, called = counted_tool("search", words(90, "r"))
    model = FakeModel([call_tool("search"), "never"])
    limiter = TokenLimiter(60, counter=Words(), count_tools=False)
    agent = Agent("clerk", model=model, tools=[search], input_processors=[limiter], max_processor_retries=3)
    seen = await ask(agent, way, [*turns(5, 5), {"role": "user", "content": "find it"}])
    info = seen.tripwire
    assert len(called) == len(model.requests) == 1
    assert (info.retry, info.processor_id) == (False, "token-limiter")
    metadata: Any = info.metadata
    assert metadata["current_run_tokens"] == 92  # the call's name, its arguments, and what was answered
    assert metadata["tokens"] == {"request": 0, "system": 0, "history": 10, "user": 2, "current_run": 92}
    assert metadata["limit"] == 60
    assert "tools" in str(info.reason)


@both_ways
async def test_a_signal_is_not_taken_for_the_user(way: str) -> None:
    """What a processor puts into the conversation in the middle of a run looks like a user's entry, and yet the question
    before it stays."""

    class Reminds(TokenLimiter):
        async def process_output_step(self, ctx: Any) -> None:
            if ctx.step_number == 0:
                await ctx.send_signal({"type": "reactive", "contents": "hurry"})

    search, _ = counted_tool("search", words(5, "r"))
    model = FakeModel([call_tool("search"), "answer"])
    limiter = Reminds(18, counter=Words(), count_tools=False)
    agent = Agent("clerk", model=model, tools=[search], input_processors=[limiter], output_processors=[limiter])
    seen = await ask(agent, way, turns(8, 1, 4))
    assert seen.result.text == "answer"
    sent = said(model.requests[1])
    assert "user: c c c c" in sent
    assert f"user: {words(8, 'a')}" not in sent
    assert "tool: tool-result" in sent


@both_ways
async def test_what_the_user_said_in_pieces_stays(way: str) -> None:
    """Several messages that come with a call, one after the other, are one turn: none of them is left out."""
    model = FakeModel("ok")
    agent = Agent("clerk", model=model, input_processors=[TokenLimiter(6, counter=Words())])
    await ask(
        agent, way, [*turns(3, 3), {"role": "user", "content": "a document"}, {"role": "user", "content": "a question"}]
    )
    assert said(model.requests[0])[-2:] == ["user: a document", "user: a question"]
    assert len(said(model.requests[0])) == 2
    seen = await ask(agent, way, [{"role": "user", "content": words(5)}, {"role": "user", "content": "a question"}])
    assert seen.tripwire.processor_id == "token-limiter"


@both_ways
@pytest.mark.parametrize("user_text", ["keep", "truncate"])
async def test_system_messages_alone_may_be_too_many(way: str, user_text: Any) -> None:
    """TOK-006: instructions that exceed the limit stop the run, with the tokens of each part; they are never cut."""
    model = FakeModel("never")
    limiter = TokenLimiter(50, counter=Words(), user_text=user_text)
    agent = Agent("clerk", model=model, instructions=words(200, "s"), input_processors=[limiter])
    seen = await ask(agent, way, words(200, "u"))
    assert model.requests == []
    assert seen.tripwire.retry is False
    assert seen.tripwire.metadata == {
        "systemTokens": 200,
        "limit": 50,
        "current_run_tokens": 0,
        "tokens": {"request": 0, "system": 200, "history": 0, "user": 200, "current_run": 0},
    }


@both_ways
async def test_a_text_that_is_too_long_stops_the_run(way: str) -> None:
    """TOK-006: a message larger than the budget is a tripwire that is not retried, with tokens per part; the model is
    never called without a user message."""
    model = FakeModel("never")
    limiter = TokenLimiter(50, counter=Words())
    agent = Agent("clerk", model=model, instructions="Be brief.", input_processors=[limiter])
    seen = await ask(agent, way, [*turns(1, 1), {"role": "user", "content": words(200, "u")}])
    assert model.requests == []
    assert seen.tripwire.retry is False
    assert seen.tripwire.metadata == {
        "systemTokens": 2,
        "limit": 50,
        "remainingBudget": 48,
        "messageCount": 3,
        "current_run_tokens": 0,
        "tokens": {"request": 0, "system": 2, "history": 2, "user": 200, "current_run": 0},
    }


@both_ways
async def test_a_text_that_is_too_long_may_be_cut(way: str) -> None:
    """TOK-006: by option the user's text is cut instead, with a marker that the model sees; what is stored is whole, and
    files stay."""
    store = InMemoryStore()
    model = FakeModel("ok")
    limiter = TokenLimiter(50, counter=Words(), user_text="truncate", marker=" [cut]")
    agent = Agent(
        "clerk", model=model, memory=Memory(store), instructions="Be brief.", input_processors=[limiter],
    )  # fmt: skip
    file = FilePart(b"one two", "text/plain")
    message = Message("user", (TextPart(words(200, "u")), file, TextPart("and more")))
    seen = await ask(agent, way, [message], **IDS)
    assert seen.result.text == "ok"
    [system, user] = model.requests[0].messages
    assert system.text == "Be brief."
    assert user.text == words(45, "u") + " [cut]"
    assert [part.type for part in user.content] == ["text", "file"]
    assert (await store.messages("t", resource_id="ada"))[0].text == words(200, "u") + "and more"


async def test_a_cut_text_makes_room_for_what_came_of_it() -> None:
    """In later steps the user's text is cut further, so that the run's own calls and results fit."""
    tools = [counted_tool("search", words(4, "r"))[0]]
    model = FakeModel([call_tool("search"), call_tool("search"), "answer"])
    limiter = TokenLimiter(50, counter=Words(), user_text="truncate", marker=" [cut]", count_tools=False)
    result = await Agent("clerk", model=model, tools=tools, input_processors=[limiter]).generate(words(200, "u"))
    assert result.text == "answer"
    assert [len(request.messages[0].text.split()) for request in model.requests] == [50, 44, 38]
    assert [len(request.messages) for request in model.requests] == [1, 3, 5]


@both_ways
async def test_no_marker_is_sent_alone(way: str) -> None:
    """TOK-006: where nothing of the user's text would be left but the marker, the run is stopped."""
    model = FakeModel("never")
    limiter = TokenLimiter(5, counter=Words(), user_text="truncate", marker="one two three four five")
    seen = await ask(Agent("clerk", model=model, input_processors=[limiter]), way, words(50))
    assert model.requests == []
    assert seen.tripwire.processor_id == "token-limiter"


@both_ways
@pytest.mark.parametrize("limit", [100, 50])
async def test_markers_of_tokenizers_pass_unchanged(way: str, limit: int) -> None:
    """TOK-004: text with special tokens is counted and sent on as it is."""
    text = "The marker <|endoftext|> ends documents; <|im_start|>system"
    model = FakeModel("ok", id="gpt-5")
    limiter = TokenLimiter(limit)
    assert 10 < limiter.count(text) < 40
    seen = await ask(Agent("clerk", model=model, input_processors=[limiter]), way, text)
    assert seen.result.text == "ok"
    assert model.requests[0].messages[-1].text == text


async def test_tools_count() -> None:
    """The definitions of the tools that are sent take room, those that are not sent do not."""

    @tool
    def search(query: str) -> str:
        """Search, at length, for something that nobody can find."""
        return query

    history = turns(6, 1, 2)
    cases: list[tuple[dict[str, Any], int]] = [({}, 2), ({"tool_choice": "none"}, 3), ({"active_tools": []}, 3)]
    for options, messages in cases:
        model = FakeModel("ok")
        agent = Agent("clerk", model=model, tools=[search], input_processors=[TokenLimiter(12, counter=Words())])
        await agent.generate(history, **options)
        assert len(model.requests[0].messages) == messages, options
    model = FakeModel("ok")
    limiter = TokenLimiter(12, counter=Words(), count_tools=False)
    await Agent("clerk", model=model, tools=[search], input_processors=[limiter]).generate(history)
    assert len(model.requests[0].messages) == 3


async def test_each_model_is_counted_with_its_own() -> None:
    """A fallback model with another tokenizer is sent what fits by that one."""
    text = "ünïcödé wörds thät cöst möre " * 4
    old, new = TokenLimiter(1_000, counter="cl100k_base"), TokenLimiter(1_000, counter="o200k_base")
    assert old.count(text) > new.count(text)
    limit = new.count(text) + 20
    first = FakeModel(fail("overloaded", status=503), id="gpt-5")
    second = FakeModel("ok", id="gpt-4")
    agent = Agent("clerk", model=[first, second], input_processors=[TokenLimiter(limit)])
    await agent.generate(
        [{"role": "user", "content": text}, {"role": "assistant", "content": "x"}, {"role": "user", "content": "y"}]
    )
    assert len(first.requests[0].messages) == 3
    assert len(second.requests[0].messages) == 2


async def test_a_history_is_counted_once() -> None:
    """A step counts what is new in it, however long the history is."""
    counter = Words()
    tools = [counted_tool("search", "r")[0]]
    model = FakeModel([*[call_tool("search")] * 20, "answer"])
    limiter = TokenLimiter(10_000, counter=counter)
    agent = Agent("clerk", model=model, tools=tools, input_processors=[limiter], max_steps=30)
    await agent.generate(turns(*[3] * 101))
    assert len(model.requests) == 21
    assert counter.asked < 2 * 101 + 2 + 20 * 8  # and not 21 times the history


async def test_it_works_in_a_workflow_of_processors() -> None:
    """In a workflow, beside others, it trims as in a list."""
    model = FakeModel("ok")
    limits = create_workflow("limits").then(TokenLimiter(6, counter=Words())).commit()
    await Agent("clerk", model=model, input_processors=[limits]).generate(turns(1, 9, 2))
    assert said(model.requests[0]) == ["user: a", "user: c c"]


async def test_a_prompt_without_a_user_keeps_its_newest() -> None:
    """Where nobody of the users speaks in a prompt, the newest entries are kept, and an empty prompt is never sent."""
    messages = MessageList([Message("assistant", (TextPart(words(4)),))], source="memory")
    prompt = [entry for entry in PromptBuilder().build(messages) if entry.role == "assistant"]
    payload = LLMRequestPayload(messages, prompt=prompt * 2, model=None)
    out = await passed(payload, TokenLimiter(5, counter=Words()))
    assert len(out.prompt) == 1
    with pytest.raises(TripwireError, match="no message is left"):
        await passed(LLMRequestPayload(messages, prompt=prompt, model=None), TokenLimiter(3, counter=Words()))


@both_ways
async def test_a_counter_that_fails_stops_the_run(way: str) -> None:
    """A limit that cannot be checked is not taken to hold (D17); with ``on_error="skip"`` the request is sent as it is."""

    def broken(text: str) -> float:
        raise OSError("no tokenizer")

    model = FakeModel("ok")
    seen = await ask(Agent("clerk", model=model, input_processors=[TokenLimiter(9, counter=broken)]), way, "Hi")
    metadata: Any = seen.tripwire.metadata
    assert metadata["kind"] == "guard_failed"
    assert model.requests == []
    limiter = TokenLimiter(9, counter=broken, on_error="skip")
    seen = await ask(Agent("clerk", model=model, input_processors=[limiter]), way, "Hi")
    assert seen.result.text == "ok"
