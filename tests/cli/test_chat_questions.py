"""What a suspended run waits for, put to somebody."""

from __future__ import annotations

from collections.abc import Iterable
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from procession.agents.agent import Agent
from procession.agents.suspended_call import Declined, SuspendedCall
from procession.cli.chat_questions import answers_to
from procession.cli.chat_screen import Screen
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool
from procession.tools.context import ToolContext
from procession.tools.tool import tool


def asked(calls: Iterable[SuspendedCall], *typed: str | None) -> tuple[dict[str, Any], str]:
    """Return the answers that come of what is typed, and what was shown."""
    shown = StringIO()
    console = Console(file=shown, width=200)
    left = list(typed)
    answers = answers_to(list(calls), Screen(console, console, live=True), lambda question, yes_or_no: left.pop(0))
    assert left == []
    return answers, shown.getvalue()


def call(kind: Any = "approval", **fields: Any) -> SuspendedCall:
    """Return a call that waits."""
    return SuspendedCall(tool_call_id="c1", tool_name="pay", args={"amount": 20}, kind=kind, **fields)


@pytest.mark.parametrize(
    ("typed", "approved"),
    [(["y"], True), ([" YES "], True), (["n"], False), ([None], False), (["", "yes please", "sure", "y"], True)],
)
def test_only_a_yes_is_a_yes(typed: list[str | None], approved: bool) -> None:
    """A call runs after a yes alone; whatever is neither yes nor no is asked again, and no answer is a no."""
    assert asked([call()], *typed)[0] == {"c1": {"approved": approved}}


def test_what_is_agreed_to_is_shown_whole() -> None:
    """All arguments are shown, however long, and nothing in them can hide a part of them."""
    args = {"to": "x" * 5_000, "note": "a\x1b[2K\r\u202eb"}
    shown = asked([call().replace(args=args)], "n")[1]
    assert "x" * 5_000 in shown.replace("\n", "")
    assert not {"\x1b", "\r", "\u202e"} & set(shown)


@pytest.mark.parametrize(
    ("schema", "typed", "answer"),
    [
        (None, "3", "3"),
        ({"type": "string"}, '"quoted"', '"quoted"'),
        ({"type": "integer"}, "3", 3),
        ({"type": "boolean"}, "yes", True),
        ({"type": "boolean"}, "false", False),
        ({"type": "object", "required": ["a"]}, '{"a": [1]}', {"a": [1]}),
    ],
)
def test_an_answer_is_read_as_it_is_wanted(schema: Any, typed: str, answer: Any) -> None:
    """What is typed is text, unless the schema asks for something else."""
    assert asked([call("suspended", payload="How many?", resume_schema=schema)], typed)[0] == {"c1": answer}


def test_an_answer_that_does_not_fit_is_asked_for_again() -> None:
    """What is wrong is said, and the question stands; nobody's answer declines the call."""
    waiting = call("suspended", payload={"how": "many"}, resume_schema={"type": "integer"})
    answers, shown = asked([waiting], "many", "4")
    assert answers == {"c1": 4}
    assert "does not fit" in shown
    assert '? pay asks: {"how": "many"}' in shown
    assert asked([waiting], None)[0] == {"c1": Declined()}


@tool(requires_approval=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


@tool
async def choose(ctx: ToolContext) -> str:
    """Choose."""
    return f"chose {ctx.suspend('Which?', resume_schema={'type': 'string'})}"


@pytest.mark.parametrize(
    ("typed", "results"),
    [(["y", "red"], ["paid 20", "chose red"]), (["n", "red"], ["chose red"]), (["y", None], [])],
)
async def test_calls_of_an_agent_inside(typed: list[str | None], results: list[str]) -> None:
    """Questions of an agent inside are asked one by one, and its run goes on with the answers, or is declined as a whole."""
    said: list[str] = []

    def answer(request: Any) -> str:
        said.extend(
            str(part.output["value"])
            for message in request.messages
            if message.role == "tool"
            for part in message.content
        )
        return "Done."

    wants = call_tool("pay", {"amount": 20}, id="p1") + call_tool("choose", {}, id="p2")
    inner = Agent("clerk", model=FakeModel([wants, answer]), tools=[pay, choose])
    outer = Agent("boss", model=FakeModel([call_tool("agent-clerk", {"prompt": "Go."}), "All done."]), tools=[inner])
    result = await outer.generate("Go.")
    answers, shown = asked(result.suspended, *typed)
    assert '? pay wants to run with {"amount": 20}' in shown
    result = await outer.resume(result.run_id, answers)
    assert result.final_text == "All done."
    assert [each for each in said if each in ("paid 20", "chose red")] == results
