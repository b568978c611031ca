"""Tool results on their way through several processors: nothing that one of them hid comes back."""

from __future__ import annotations

from typing import Any

import pytest

from procession.agents.agent import Agent
from procession.errors import MergeConflict
from procession.processors.contexts import ToolResultContext
from procession.processors.guardrails.pii import PIIDetector
from procession.processors.guardrails.regex_filter import RegexFilter
from procession.processors.processor import Processor
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool
from procession.tools.tool import Tool
from procession.workflows.workflow import create_workflow

RESULT = {"mail": "ada@example.org", "note": "the code word is opensesame", "both": "ada@example.org: opensesame"}


class InTheList(Processor):
    """Hides the mail by replacing the call in the message list, as the documents do."""

    id = "in-the-list"

    def process_tool_result(self, ctx: ToolResultContext) -> None:
        part = ctx.message_list.tool_call(ctx.tool_call_id)
        assert part is not None
        hidden = {key: str(value).replace("ada@example.org", "[MAIL]") for key, value in ctx.result.items()}
        ctx.message_list.update_tool_call(part.replace(state="result", result=hidden))


class Returned(Processor):
    """Hides the code word by returning another result."""

    id = "returned"

    def process_tool_result(self, ctx: ToolResultContext) -> dict[str, Any]:
        return {"result": {key: str(value).replace("opensesame", "[WORD]") for key, value in ctx.result.items()}}


def word_filter() -> RegexFilter:
    """Return a guard that hides the code word."""
    return RegexFilter(rules=[{"name": "word", "pattern": "opensesame", "replacement": "[WORD]"}], strategy="redact")


async def seen_by_model(*processors: Any) -> str:
    """Return what the model is told of the result."""
    tool: Tool[Any] = Tool(name="look", execute=lambda args, ctx: dict(RESULT))
    model = FakeModel([call_tool("look"), "Done."])
    result = await Agent("a", model=model, tools=[tool], output_processors=processors).generate("Go")
    assert result.text == "Done."
    return str(list(model.requests[1].messages)) + str(result.steps[0].tool_results)


@pytest.mark.parametrize("processors", [[InTheList(), Returned()], [Returned(), InTheList()]])
async def test_two_ways_to_replace_a_result_add_up(processors: list[Processor]) -> None:
    """What one processor hid in the list and another in its return stays hidden, whichever comes first."""
    told = await seen_by_model(*processors)
    assert "ada@example.org" not in told
    assert "opensesame" not in told


async def test_redactors_in_parallel_add_up_in_a_tool_result() -> None:
    """Two guards side by side, which hide parts of one text of a result, both have their way."""
    guards = create_workflow("guards", kind="processor").parallel([PIIDetector(strategy="redact"), word_filter()])
    told = await seen_by_model(guards.commit())
    assert "ada@example.org" not in told
    assert "opensesame" not in told


async def test_two_rewrites_of_one_result_in_parallel_are_refused() -> None:
    """Plain processors that rewrite one place of a result differently stop the run."""

    def writer(name: str) -> Processor:
        class Writer(Processor):
            def process_tool_result(self, ctx: ToolResultContext) -> dict[str, Any]:
                return {"result": {"note": name}}

        return Writer(id=name)

    workflow = create_workflow("writers", kind="processor").parallel([writer("one"), writer("two")]).commit()
    with pytest.raises(MergeConflict, match="one"):
        await seen_by_model(workflow)
