"""Pieces: a prompt is converted once, whatever a run adds to it."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from procession.agents.agent import Agent
from procession.messages.parts import TextPart
from procession.messages.prompt import PromptMessage, PromptToolCall, PromptToolResult
from procession.messages.prompt_memo import PromptMemo
from procession.models.anthropic import AnthropicModel
from procession.models.formats.anthropic.prompt import messages_piece
from procession.models.formats.openai.chat_prompt import ChatPrompt
from procession.models.openai_chat import OpenAIChatModel
from procession.models.pieces import Piece, changes_of, pieces_of
from procession.processors.contexts import LLMResponseContext
from procession.processors.processor import Processor
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool
from procession.tools.tool import tool


class Converter:
    """Converts entries to their text, and counts how many."""

    def __init__(self) -> None:
        self.converted: list[str] = []

    def __call__(self, message: PromptMessage) -> Piece:
        """Convert one entry."""
        self.converted.append(message.text)
        return Piece((message.text,))


def prompt(*texts: str) -> list[PromptMessage]:
    """Return a prompt of these texts."""
    return [PromptMessage("user", (TextPart(text),)) for text in texts]


def test_what_was_there_before_is_kept() -> None:
    """The second call converts what is new, and a change in the middle what follows it."""
    convert, memo = Converter(), PromptMemo()
    for texts in ("ab", "abc", "axc"):
        assert [piece.entries for piece in pieces_of(prompt(*texts), convert, memo=memo, key="f")] == [
            (text,) for text in texts
        ]
    assert "".join(convert.converted) == "ab" + "c" + "xc"


def test_each_format_keeps_its_own() -> None:
    """Two formats that share a run's memo do not see each other's pieces."""
    memo = PromptMemo()
    pieces_of(prompt("a"), lambda message: Piece(("first",)), memo=memo, key="one")
    (piece,) = pieces_of(prompt("a"), lambda message: Piece(("second",)), memo=memo, key="two")
    assert piece.entries == ("second",)


@given(st.lists(st.lists(st.sampled_from("ab"), max_size=4), max_size=6))
def test_keeping_changes_nothing(prompts: list[list[str]]) -> None:
    """Whatever a run's prompts are, pieces that were kept are those that a new conversion would make."""
    memo = PromptMemo()
    for texts in prompts:
        kept = pieces_of(prompt(*texts), Converter(), memo=memo, key="f")
        assert list(kept) == list(pieces_of(prompt(*texts), Converter(), key="f"))


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ({"n": 1}, {"n": True}),
        ({"n": [0]}, {"n": [0.0]}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"a": {"b": [1]}}, {"a": {"b": [1, 2]}}),
    ],
)
def test_what_is_equal_and_written_otherwise_is_converted_anew(before: Any, now: Any) -> None:
    """Python takes 1, 1.0 and true for equal, and JSON does not: what a hook made of them is what is sent."""
    memo = PromptMemo()
    for args in (before, now, dict(now)):
        said = [
            PromptMessage("assistant", (PromptToolCall("c", "t", args),)),
            PromptMessage("tool", (PromptToolResult("c", "t", {"type": "json", "value": args}),)),
        ]
        for convert, key in ((ChatPrompt().piece, "chat"), (messages_piece, "messages")):
            kept = [piece.entries for piece in pieces_of(said, convert, memo=memo, key=key)]
            assert json.dumps(kept) == json.dumps([convert(message).entries for message in said])


def test_a_list_that_changes_is_another_prompt() -> None:
    """Whoever gives the same list again, with something else in it, is sent what is in it now."""
    memo, said = PromptMemo(), prompt("a", "b")
    for text in "cd":
        pieces_of(said, Converter(), memo=memo, key="f")
        said[0] = prompt(text)[0]
        assert pieces_of(said, Converter(), memo=memo, key="f")[0].entries == (text,)


def test_each_change_is_told_once() -> None:
    """What could not be said is listed once, however many entries it concerns."""
    lost = {"type": "other", "message": "files are not sent"}
    other = {"type": "other", "message": "reasoning is not sent"}
    assert changes_of([Piece((), (lost,)), Piece((), (lost, other))]) == (lost, other)


async def test_each_run_has_a_memo() -> None:
    """The calls of one run share a memo, and two runs do not."""

    @tool
    def clock() -> str:
        """Tell the time."""
        return "noon"

    model = FakeModel([call_tool("clock"), "Noon.", "Hello."])
    agent = Agent("a", model=model, tools=[clock])
    await agent.generate("What time is it?")
    await agent.generate("Hello?")
    seen = [request.memo for request in model.requests]
    assert len(seen) == 3
    assert seen[0] is seen[1]
    assert seen[1] is not seen[2]


class Redacting(Processor):
    """Edits the body that was sent, as for a log of its own."""

    id = "redacting"

    async def process_llm_response(self, ctx: LLMResponseContext) -> None:
        """Take out what users wrote, and what tools are for."""
        for message in ctx.request["messages"]:
            for block in message["content"] if isinstance(message["content"], list) else [message]:
                block.update(dict.fromkeys(block.keys() & {"text", "content"}, "[redacted]"))
        for offered in ctx.request["tools"]:
            function = offered.get("function", {"parameters": offered.get("input_schema")})
            function["parameters"]["properties"].clear()


@pytest.mark.parametrize("make", [OpenAIChatModel, AnthropicModel])
async def test_a_body_that_a_hook_edits_is_its_own(make: Any) -> None:
    """What a hook does to the body that was sent does not reach what is sent next, nor the tools."""

    @tool
    def clock(zone: str = "UTC") -> str:
        """Tell the time."""
        return "noon"

    sent: list[str] = []
    said = {"type": "text", "text": "Noon.", "role": "assistant", "content": "Noon."}
    called = {"type": "tool_use", "id": "c", "name": "clock", "input": {}, "function": {"name": "clock"}}
    answers = [
        {
            "id": "1",
            "type": "message",
            "content": [block],
            "stop_reason": "end_turn",
            "choices": [{"message": message, "finish_reason": "stop"}],
        }
        for block, message in ((called, {"content": None, "tool_calls": [called]}), (said, said))
    ]

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request.content.decode())
        return httpx.Response(200, json=answers[len(sent) - 1])

    model = make("m", base_url="http://test/v1", transport=httpx.MockTransport(answer), max_retries=0)
    result = await Agent("a", model=model, tools=[clock], input_processors=[Redacting()]).generate("What time is it?")
    assert result.text == "Noon."
    assert "What time is it?" in sent[1]
    assert "zone" in sent[1]
    assert "redacted" not in sent[1]
