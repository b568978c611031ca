"""Charging a call: what is counted goes to who answered, and what was never counted is estimated for those who ask."""

from __future__ import annotations

import json
from typing import Any

import pytest

from procession.messages.chunks import ResponseMetadata
from procession.messages.parts import FilePart, TextPart
from procession.messages.prompt import PromptMessage, PromptToolCall, PromptToolResult
from procession.messages.usage import NO_USAGE, Usage
from procession.models.charge import charge_call
from procession.models.estimate import estimated_usage
from procession.models.model import ModelRequest, ToolSpec
from procession.steps.scope import RequestScope

REQUEST = ModelRequest(messages=(PromptMessage("user", (TextPart("abcdef"),)),))


def scope(*, told: bool = True, outer: RequestScope | None = None) -> RequestScope:
    """Return the scope of a request in which somebody asks for calls, or nobody."""
    made = RequestScope(run_id="r")
    made.calls = [] if told else None
    made.outer = outer
    return made


def calls(of: RequestScope) -> list[tuple[str, Usage, bool]]:
    """Return what was told."""
    return [(call.model, call.usage, call.estimated) for call in of.calls or ()]


@pytest.mark.parametrize("by_guard", [False, True])
def test_what_is_counted_goes_to_who_answered(by_guard: bool) -> None:
    """Of several models as one, those that failed pay what they said, and the one that answered the rest."""
    told = ResponseMetadata(asked=(("a", Usage(5, 1)), ("b", NO_USAGE), ("c", NO_USAGE)))
    made = scope()
    charge_call(made, "all", REQUEST, told, Usage(20, 4), by_guard=by_guard)
    assert calls(made) == [("a", Usage(5, 1), False), ("c", Usage(15, 3), False)]
    assert (made.guard_usage if by_guard else made.usage) == Usage(20, 4)
    assert (made.usage if by_guard else made.guard_usage) == NO_USAGE


@pytest.mark.parametrize("usage", [None, Usage(5, 1)])
def test_what_failed_ones_have_used_is_not_lost_with_the_answer(usage: Usage | None) -> None:
    """Where the one that answers counts nothing, or is broken off, it is estimated, and the others pay what they said."""
    told = ResponseMetadata(asked=(("a", Usage(5, 1)), ("b", NO_USAGE)))
    made = scope()
    charge_call(made, "all", REQUEST, told, usage, "four tokens")
    assert calls(made) == [("a", Usage(5, 1), False), ("b", Usage(4 + 2, 4), True)]
    assert made.usage == Usage(5, 1)


def test_what_was_broken_off_is_estimated_for_those_who_ask() -> None:
    """The request's own account has only what was counted; whoever asks for calls is told an estimate."""
    for usage in (None, Usage()):
        made = scope()
        charge_call(made, "m", REQUEST, None, usage, "four tokens")
        assert (made.usage, calls(made)) == (NO_USAGE, [("m", Usage(4 + 2, 4), True)])
    made = scope(told=False)
    charge_call(made, "m", REQUEST, None, None, "four tokens")
    assert (made.usage, made.calls) == (NO_USAGE, None)


def test_the_runs_around_are_told_the_same_call() -> None:
    """A call inside is told to all who ask, by one id, also where the run itself has nobody who asks."""
    outermost = scope()
    between = scope(told=False, outer=outermost)
    inner = scope(outer=between)
    charge_call(inner, "m", REQUEST, None, Usage(3, 1))
    charge_call(between, "n", REQUEST, None, None)
    assert [call.id for call in inner.calls or ()] == [call.id for call in outermost.calls or ()][:1]
    assert calls(outermost) == [("m", Usage(3, 1), False), ("n", Usage(6, 0), True)]
    assert (between.calls, between.tells_calls) == (None, True)


def test_an_estimate_counts_all_that_was_sent() -> None:
    """Messages, what tools were called with and answered, what the model is told of tools, and files."""
    args: dict[str, Any] = {"city": "Rome"}
    request = ModelRequest(
        messages=(
            PromptMessage("system", (TextPart("x" * 30),)),
            PromptMessage("user", (TextPart("日本語"), FilePart(b"...", "image/png"))),
            PromptMessage("assistant", (PromptToolCall("c", "look", args),)),
            PromptMessage("tool", (PromptToolResult("c", "look", {"type": "text", "value": "sunny"}),)),
        ),
        tools=(ToolSpec("look", "Look.", {"type": "object"}),),
    )

    def tokens(text: str) -> int:
        return -(-len(text.encode()) // 3)

    sent = 4 * 4 + 10 + 3 + 1600 + 2 * tokens("look")
    sent += tokens(json.dumps(args)) + tokens(json.dumps({"type": "text", "value": "sunny"}))
    sent += tokens('lookLook.{"type": "object"}')
    assert estimated_usage(request, "abc\ud800") == Usage(sent, 2)
