"""Tool results in branches: what a guard hid in one of them does not come back through another one (D26)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.processors.kit import at

from procession.agents.agent import Agent
from procession.errors import MergeConflict
from procession.processors.guardrails.pii import PIIDetector
from procession.processors.processor import Processor
from procession.steps.forkable import MergePolicy
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool
from procession.tools.tool import Tool
from procession.workflows.workflow import create_workflow

MAIL = "eva@example.net"
CARD = 4111111111111111
POLICIES: list[MergePolicy] = ["strictest", "priority"]
Act = Callable[[Any], Any]


def pii(strategy: str = "redact") -> PIIDetector:
    """Return a guard that hides addresses and cards."""
    return PIIDetector(strategy=strategy, redaction="placeholder")  # type: ignore[arg-type]


def rewriter(act: Act, *, id: str = "n", **options: Any) -> Processor:
    """Return a processor that does *act* with each result."""
    return at("process_tool_result", act, id=id, **options)


def wrap(ctx: Any) -> Any:
    """Put the whole result under a new key."""
    return {"result": {"all": ctx.result}}


def copied(ctx: Any) -> Any:
    """Say the text of the result a second time."""
    return {"result": {**ctx.result, "copy": ctx.result["m"]}}


def quoted(ctx: Any) -> Any:
    """Write something else around what is in the result."""
    return {"result": {"m": f"I saw: {MAIL} there"}}


def excerpt(ctx: Any) -> Any:
    """Say a part of the text under another key, in capitals."""
    return {"result": {**ctx.result, "short": ctx.result["m"][6:20].upper()}}


def in_the_list(ctx: Any) -> None:
    """Wrap the result by replacing the call in the messages."""
    part = ctx.message_list.tool_call(ctx.tool_call_id)
    ctx.message_list.update_tool_call(part.replace(state="result", result={"all": ctx.result}))


async def told(*things: Any, result: Any = None) -> str:
    """Return what the model, the reader and the messages are told of a result."""
    value = {"m": f"write {MAIL}"} if result is None else result
    tool: Tool[Any] = Tool(name="look", execute=lambda args, ctx: value)
    model = FakeModel([call_tool("look"), "Done."])
    out = await Agent("a", model=model, tools=[tool], output_processors=things).generate("Go")
    assert out.text == "Done."
    return str([list(model.requests[1].messages), out.steps[0].tool_results, out.messages])


def beside(*arms: Any, **options: Any) -> Any:
    """Return the workflow of *arms* side by side."""
    return create_workflow("beside", kind="processor").parallel(list(arms), **options).commit()


@pytest.mark.parametrize("merge", POLICIES)
@pytest.mark.parametrize("act", [wrap, copied, quoted, excerpt, in_the_list])
@pytest.mark.parametrize("strategy", ["redact", "filter"])
@pytest.mark.parametrize("first", [True, False])
async def test_what_a_guard_hid_stays_hidden(merge: MergePolicy, act: Act, strategy: str, first: bool) -> None:
    """Whatever another branch does with a result, what a guard hid or dropped in it does not come back."""
    arms = [pii(strategy), rewriter(act)]
    said = await told(beside(*(arms if first else arms[::-1]), merge=merge), rewriter(lambda ctx: None, id="later"))
    assert MAIL[:12] not in said.lower()
    assert ("[EMAIL]" if strategy == "redact" else "[removed]") in said


@pytest.mark.parametrize("merge", POLICIES)
@pytest.mark.parametrize("act", [wrap, copied, quoted])
async def test_what_was_hidden_in_a_workflow_stays_hidden_around_it(merge: MergePolicy, act: Act) -> None:
    """A workflow that hid something in its own branches is a branch that hid something."""
    inner = create_workflow("inner", kind="processor").parallel([pii(), rewriter(lambda ctx: None, id="idle")]).commit()
    assert MAIL not in await told(beside(rewriter(act), inner, merge=merge))


@pytest.mark.parametrize("merge", POLICIES)
async def test_a_map_inside_a_branch_keeps_what_was_hidden(merge: MergePolicy) -> None:
    """What a map picked in a nested workflow still counts as hidden around it."""
    inner = create_workflow("inner", kind="processor").parallel([pii(), rewriter(lambda ctx: None, id="idle")])
    picked = inner.map(lambda outputs: outputs["processor:pii-detector"]).commit()
    assert MAIL not in await told(beside(rewriter(wrap), picked, merge=merge))


@pytest.mark.parametrize("merge", POLICIES)
async def test_hidden_numbers_and_keys_stay_hidden(merge: MergePolicy) -> None:
    """Keys, and numbers such as those of cards, are hidden like texts."""
    said = await told(beside(rewriter(wrap), pii(), merge=merge), result={MAIL: 1, "card": CARD, "n": 12345678})
    assert MAIL not in said
    assert str(CARD) not in said
    assert "12345678" in said


@pytest.mark.parametrize("merge", POLICIES)
async def test_messages_about_a_result_show_nothing_that_was_hidden(merge: MergePolicy) -> None:
    """What another branch says in a new message about a result does not show what a guard hid in it."""

    def note(ctx: Any) -> None:
        ctx.message_list.add(f"It said: {ctx.result['m']}", "context")

    said = await told(beside(rewriter(note), pii(), merge=merge))
    assert MAIL not in said
    assert "It said: write [EMAIL]" in said


async def test_what_was_hidden_stays_hidden_in_a_graph() -> None:
    """Where the ways of a graph meet, what was hidden at the beginning of one does not come in by the other."""
    graph = create_workflow("graph", kind="processor")
    graph.add(pii())
    graph.add(rewriter(wrap, id="raw"))
    for name in ("left", "right"):
        graph.add(rewriter(lambda ctx: None, id=name), after=["processor:pii-detector"])
    graph.add(rewriter(lambda ctx: None, id="end"), after=["processor:left", "processor:right", "processor:raw"])
    said = await told(graph.commit())
    assert MAIL not in said
    assert "'all': {'m': 'write [EMAIL]'}" in said


def masker() -> Processor:
    """Return a processor of the application's own that hides."""
    return rewriter(lambda ctx: {"result": {"m": "[MASKED]"}}, id="masker", redacts=True)


def the_other(outputs: Any) -> Any:
    """Pick the branch that hid nothing."""
    return outputs["processor:n"]


def neither(outputs: Any) -> None:
    """Go on as before the branches."""


@pytest.mark.parametrize("hider", [masker(), pii(), pii("filter")])
@pytest.mark.parametrize("pick", [the_other, neither])
async def test_a_map_may_not_drop_what_was_hidden_in_a_result(hider: Processor, pick: Act) -> None:
    """A map that goes on with a result in which the hidden text is back stops the run (D25)."""
    workflow = create_workflow("w", kind="processor").parallel([hider, rewriter(lambda ctx: None)])
    with pytest.raises(MergeConflict, match="allow_drop"):
        await told(workflow.map(pick).commit())


async def test_a_map_may_insist_on_dropping() -> None:
    """``allow_drop=True`` goes on with the other branch."""
    workflow = create_workflow("w", kind="processor").parallel([masker(), rewriter(lambda ctx: None)])
    assert MAIL in await told(workflow.map(the_other, allow_drop=True).commit())


async def test_a_map_is_free_where_nothing_was_hidden() -> None:
    """A redactor that found nothing binds no map, and what was hidden before the branches is no branch's doing."""
    idle = rewriter(lambda ctx: None, id="idle", redacts=True)
    workflow = create_workflow("w", kind="processor").parallel([idle, rewriter(copied)])
    picks = workflow.map(the_other).commit()
    assert "'copy': 'fine'" in await told(picks, result={"m": "fine"})
    assert "'copy': 'write [EMAIL]'" in await told(pii(), picks)


# -- process_llm_request


def without_mail(ctx: Any) -> Any:
    """Leave entries out that show an address."""
    return {"prompt": [entry for entry in ctx.prompt if MAIL not in str(entry)]}


def same_again(ctx: Any) -> Any:
    """Rewrite the prompt without changing what it says."""
    return {"prompt": [*ctx.prompt, ctx.prompt[-1]]}


def prompting(act: Act, id: str, **options: Any) -> Processor:
    """Return a processor that does *act* with each prompt."""
    return at("process_llm_request", act, id=id, **options)


async def prompt_of(workflow: Any) -> str:
    """Return the prompt that the model is sent."""
    model = FakeModel(["Done."])
    await Agent("a", model=model, input_processors=[workflow]).generate([f"I am {MAIL}", "hi"])
    return str(list(model.requests[0].messages))


@pytest.mark.parametrize("first", [True, False])
async def test_the_first_branch_does_not_undo_what_was_hidden_in_a_prompt(first: bool) -> None:
    """Where the first branch wins, it does not win over one that redacts the prompt."""
    arms = [prompting(without_mail, "hides", redacts=True), prompting(same_again, "writes")]
    assert MAIL not in await prompt_of(beside(*(arms if first else arms[::-1]), merge="priority"))


async def test_two_branches_that_hide_different_things_in_a_prompt_are_refused() -> None:
    """Two prompts in which different things are hidden cannot be put together."""
    nothing = prompting(lambda ctx: {"prompt": ctx.prompt[1:]}, "other", redacts=True)
    twice = prompting(lambda ctx: {"prompt": ctx.prompt[:1]}, "hides", redacts=True)
    with pytest.raises(MergeConflict, match="prompt"):
        await prompt_of(beside(nothing, twice, merge="priority"))


async def test_a_map_may_not_drop_what_was_hidden_in_a_prompt() -> None:
    """A map that goes on with the prompt as it was before stops the run (D25)."""
    arms = [prompting(without_mail, "hides", redacts=True), prompting(lambda ctx: None, "n")]
    workflow = create_workflow("w", kind="processor").parallel(arms).map(the_other)
    with pytest.raises(MergeConflict, match="allow_drop"):
        await prompt_of(workflow.commit())
