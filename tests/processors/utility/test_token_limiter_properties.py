"""Whatever the history and the limit: what ``TokenLimiter`` lets pass is whole, small enough, and has the user's words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.agents.kit import at, counted_tool
from tests.processors.utility.test_token_limiter import Words

from procession.agents.agent import Agent
from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.messages.parts import Part, ReasoningPart, StepStartPart, TextPart, ToolCallPart
from procession.messages.prompt import PromptMessage, PromptToolCall, PromptToolResult
from procession.messages.to_prompt import PromptBuilder
from procession.processors.prompt_budget import PromptCosts, fitting, newest_turn, tool_groups
from procession.processors.utility.ensure_final_response import EnsureFinalResponse
from procession.processors.utility.token_limiter import TokenLimiter
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool

IDS = ("c1", "c2", "c3")
"""Few, so that calls of different turns have the same id, as providers give them that count from one."""


def words(number: int) -> str:
    """Return a text of so many words."""
    return " ".join(["w"] * number)


def answered(id: str, args: str, result: str, ran: bool) -> ToolCallPart:
    """Return a call with its result."""
    return ToolCallPart(id, "look", {"q": args}, "result", result, provider_executed=ran)


def unanswered(id: str) -> ToolCallPart:
    """Return a call that nobody has answered."""
    return ToolCallPart(id, "look", {})


def answer(parts: Sequence[Part]) -> Message:
    """Return an assistant's message."""
    return Message("assistant", parts)


texts = st.integers(1, 12).map(words)
ids = st.sampled_from(IDS)
parts: st.SearchStrategy[Part] = st.one_of(
    texts.map(TextPart),
    texts.map(ReasoningPart),
    st.builds(answered, ids, texts, texts, st.booleans()),
    st.just(StepStartPart()),
    ids.map(unanswered),
)
users = texts.map(Message.user)
turns = st.lists(st.one_of(users, st.lists(parts, min_size=1, max_size=6).map(answer)), max_size=8)


@st.composite
def conversations(draw: st.DrawFn) -> MessageList:
    """Make what was remembered, what the user says now, and what came of it so far."""
    messages = MessageList(draw(turns), source="memory")
    messages.add(draw(st.lists(users, min_size=1, max_size=2)), "input")
    for made in draw(st.lists(st.lists(parts, min_size=1, max_size=4), max_size=3)):
        messages.append_response(tuple(made), message_id="a", new_step=True)
    for text in draw(st.lists(texts, max_size=2)):
        messages.add_system(text)
    return messages


def unpaired(prompt: list[PromptMessage]) -> list[str]:
    """Return the ids of calls without a result after them, and of results without a call before them."""
    open: list[str] = []
    wrong: list[str] = []
    for entry in prompt:
        for part in entry.content:
            if isinstance(part, PromptToolCall):
                open.append(part.tool_call_id)
            elif isinstance(part, PromptToolResult):
                if part.tool_call_id in open:
                    open.remove(part.tool_call_id)
                else:
                    wrong.append(part.tool_call_id)
    return wrong + open


@settings(max_examples=300, deadline=None)
@given(conversations(), st.integers(0, 90), st.booleans())
def test_what_is_kept_is_whole_and_fits(messages: MessageList, limit: int, contiguous: bool) -> None:
    """TOK-001: no result without its call nor a call without its result; system messages, the newest user message and this
    run's traffic are kept; the sum is within the limit; and trimming what was trimmed changes nothing."""
    prompt = list(PromptBuilder().build(messages))
    counter = Words()
    turn = newest_turn(prompt, messages)
    costs = PromptCosts().of(prompt, counter)
    kept = fitting(prompt, costs, turn, limit, contiguous=contiguous)
    fixed = [entry for at, entry in enumerate(prompt) if entry.role == "system" or at >= turn.start]
    if kept is None:
        groups = tool_groups(prompt)
        needed = {at for group in groups if group[-1] >= turn.start for at in group}
        needed |= {at for at, entry in enumerate(prompt) if entry.role == "system"}
        assert sum(costs[at] for at in needed) > limit
        return
    sent = [prompt[at] for at in kept]
    assert sorted(unpaired(sent)) == [] or unpaired(prompt) != []
    assert [entry for entry in sent if any(entry is one for one in fixed)] == fixed
    said = list(messages.view("input"))[-1]
    assert any(entry.role == "user" and entry.text == said.text for entry in sent)
    assert sum(map(counter.count_message, sent)) <= limit
    again = fitting(sent, PromptCosts().of(sent, counter), newest_turn(sent, messages), limit, contiguous=contiguous)
    assert again == list(range(len(sent)))
    if contiguous:
        older = [at for at in kept if at < turn.start and prompt[at].role != "system"]
        left_out = [group for group in tool_groups(prompt) if group[0] not in kept]
        assert not older or not left_out or all(group[0] < max(older) for group in left_out)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["user", "assistant"]), texts), max_size=6),
    texts,
    st.integers(1, 60),
    st.sampled_from(["keep", "truncate"]),
    st.sampled_from(["best-fit", "contiguous"]),
)
def test_a_request_that_passes_is_within_the_limit(
    history: list[tuple[Any, str]],
    question: str,
    limit: int,
    user_text: Literal["keep", "truncate"],
    mode: Literal["best-fit", "contiguous"],
) -> None:
    """What is sent has at most the limit and a user's message in it; else the run was stopped and no model was asked."""
    model = FakeModel("ok")
    limiter = TokenLimiter(limit, counter=Words(), user_text=user_text, trim_mode=mode, marker=" [cut]")
    agent = Agent("clerk", model=model, instructions="be brief", input_processors=[limiter])
    given = [{"role": role, "content": text} for role, text in history] + [{"role": "user", "content": question}]

    async def call() -> Any:
        return await agent.generate(given)

    result = anyio.run(call)
    if result.tripwire is not None:
        assert model.requests == []
        return
    [request] = model.requests
    assert Words().count_prompt(request.messages) <= limit
    last = request.messages[-1]
    assert last.role == "user"
    assert last.text == question or (user_text == "truncate" and last.text.endswith(" [cut]"))


@pytest.mark.parametrize("limit", range(20, 60, 4))
async def test_a_changed_entry_is_still_what_the_user_said(limit: int) -> None:
    """Where a processor before changed the entry, and a signal stands behind it, the user's words stay or the run stops."""

    def show_file(ctx: Any) -> Any:
        return {
            "prompt": [
                entry.replace(content=(*entry.content, TextPart("[file]"))) if "question" in entry.text else entry
                for entry in ctx.prompt
            ]
        }

    tool, _ = counted_tool()
    model = FakeModel([call_tool("lookup"), "done"])
    limiter = TokenLimiter(limit, counter=Words(), count_tools=False)
    agent = Agent(
        "clerk", model=model, tools=[tool], max_steps=2,
        input_processors=[at("process_llm_request", show_file), EnsureFinalResponse(), limiter],
    )  # fmt: skip
    history = [{"role": "user", "content": words(5)}, {"role": "assistant", "content": words(5)}]
    result = await agent.generate([*history, {"role": "user", "content": f"question {words(15)}"}])
    assert all(any("question" in entry.text for entry in request.messages) for request in model.requests)
    assert result.tripwire is not None or any("final step" in entry.text for entry in model.requests[1].messages)
