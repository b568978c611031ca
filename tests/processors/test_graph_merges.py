"""
Graphs of processors: whatever the shape and the schedule, nothing hidden comes back and nothing added is lost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import anyio
import anyio.lowlevel
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.processors.kit import at, texts

from procession.errors import MergeConflict
from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.messages.parts import TextPart
from procession.messages.prompt import PromptMessage
from procession.processors.payload import HookPayload
from procession.processors.payloads import InputPayload, LLMRequestPayload, ToolResultPayload
from procession.runtime.run import RunResult
from procession.runtime.runtime import Runtime
from procession.workflows.workflow import Workflow, create_workflow

SECRETS = ("ALPHA-secret", "BRAVO-secret", "CHARLIE-secret")
SAID = "first ALPHA-secret then BRAVO-secret and CHARLIE-secret last"


def hide(secret: str) -> Callable[[Any], None]:
    """
    Return an act that redacts *secret* in all messages.
    """

    def act(ctx: Any) -> None:
        for message in list(ctx.message_list.view()):
            for index, part in enumerate(message.parts):
                start = part.text.find(secret)
                if start >= 0:
                    end = start + len(secret)
                    parts = message.parts.replaced(index, part.replace(text=part.text.replace(secret, "[X]")))
                    ctx.message_list.replace(message.with_parts(parts), redacted={index: [(start, end, "[X]")]})

    return act


def add(ctx: Any) -> None:
    """
    Add a message that says what the first one says.
    """
    said = ctx.message_list.get_by_id("u").text
    ctx.message_list.add({"role": "user", "content": f"{ctx.processor_id} saw {said}"}, "context")


def instruct(ctx: Any) -> None:
    """
    Add a system message that says what the first message says.
    """
    ctx.message_list.add_system(f"{ctx.processor_id} saw {ctx.message_list.get_by_id('u').text}")


def note(ctx: Any) -> None:
    """
    Write what the first message says into its metadata.
    """
    said = ctx.message_list.get_by_id("u")
    ctx.message_list.replace(said.with_metadata(**{ctx.processor_id: said.text}))


def look(ctx: Any) -> None:
    """
    Change nothing.
    """


ACTS: dict[str, Callable[[Any], None]] = {
    **{secret: hide(secret) for secret in SECRETS},
    "add": add,
    "instruct": instruct,
    "note": note,
    "look": look,
}


class Node(NamedTuple):
    """
    A step of a graph: what it does, what it needs, and how many turns of others it lets pass first.
    """

    act: str
    needs: tuple[int, ...]
    turns: int


@st.composite
def graphs(draw: st.DrawFn) -> list[Node]:
    """
    Return the nodes of a small graph, each needing some of those before it.
    """
    nodes: list[Node] = []
    for index in range(draw(st.integers(2, 7))):
        needs = draw(st.lists(st.integers(0, index - 1), max_size=3, unique=True)) if index else []
        nodes.append(Node(draw(st.sampled_from(sorted(ACTS))), tuple(needs), draw(st.integers(0, 3))))
    return nodes


def graph_of(nodes: list[Node], hook: str = "process_input") -> Workflow[Any, Any]:
    """
    Return the workflow of *nodes*: ``n0``, ``n1``, ...
    """
    workflow = create_workflow("graph", kind="processor")
    for index, node in enumerate(nodes):

        async def act(ctx: Any, node: Node = node) -> None:
            for _ in range(node.turns):
                await anyio.lowlevel.checkpoint()
            ACTS[node.act](ctx)

        needs = [f"processor:n{need}" for need in node.needs]
        workflow.add(at(hook, act, id=f"n{index}"), after=needs)
    return workflow


def before(nodes: list[Node], index: int) -> set[int]:
    """
    Return all nodes that come before number *index*.
    """
    found: set[int] = set()
    for need in nodes[index].needs:
        found |= {need} | before(nodes, need)
    return found


async def run(workflow: Workflow[Any, Any], payload: Any) -> RunResult[Any]:
    """
    Run *workflow* on *payload*.
    """
    return await Runtime().run(workflow.commit(), payload)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@settings(max_examples=150)
@example([Node("ALPHA-secret", (), 0), Node("look", (0,), 0), Node("add", (), 0), Node("add", (2,), 0)], False)
@example([Node("add", (), 0), Node("add", (), 0), Node("ALPHA-secret", (1, 0), 1), Node("add", (0, 1), 0)], True)
@given(graphs(), st.booleans())
def test_nothing_hidden_comes_back_and_nothing_added_is_lost(backend: str, nodes: list[Node], nested: bool) -> None:
    """
    In what a graph of processors gives, each addition is there once and no text that any of them hid.
    """
    workflow = graph_of(nodes)
    if nested:  # behind a redaction, beside another arm, in an arm of parallel branches
        arm = create_workflow("arm", kind="processor").then(at("process_input", hide("first"), id="z"))
        arm = arm.then(workflow.commit()).commit()
        workflow = create_workflow("outer", kind="processor").parallel([arm, at("process_input", add, id="beside")])

    async def main() -> MessageList:
        messages = MessageList([Message.user(SAID, id="u")])
        made: MessageList = (await run(workflow, InputPayload(messages))).unwrap().message_list
        return made

    messages = anyio.run(main, backend=backend)
    said = messages.get_by_id("u")
    assert said is not None
    hidden = [node.act for node in nodes if node.act in SECRETS] + (["first"] if nested else [])
    notes = said.metadata or {}
    system = {one.text.split()[0]: one.text for one in messages.system()}
    for secret in hidden:
        hiders = [at for at, node in enumerate(nodes) if node.act == secret]
        assert not any(secret in text for text in texts(messages))
        for index in range(len(nodes)):
            # A processor does not look into system messages and notes that were there when its turn came.
            if not any(index in before(nodes, hider) for hider in hiders):
                assert secret not in str(notes.get(f"n{index}"))
                assert secret not in system.get(f"n{index}", "")
    for index, node in enumerate(nodes):
        added = [text for text in texts(messages) if text.startswith(f"n{index} saw ")]
        assert len(added) == (node.act == "add")
        assert (f"n{index}" in notes) == (node.act == "note")
        assert [one.text.split()[0] for one in messages.system()].count(f"n{index}") == (node.act == "instruct")


async def results(
    hook: str, payload: HookPayload, nodes: list[tuple[Callable[[Any], Any], tuple[int, ...], bool]]
) -> Any:
    """
    Run a graph of processors of *hook*, each an act, what it needs and whether it hides things, on *payload*.
    """
    workflow = create_workflow("graph", kind="processor")
    for index, (act, needs, redacts) in enumerate(nodes):
        workflow.add(at(hook, act, id=f"n{index}", redacts=redacts), after=[f"processor:n{need}" for need in needs])
    return (await run(workflow, payload)).unwrap()


def with_result(**changes: Any) -> Callable[[Any], Any]:
    """
    Return an act that changes keys of a tool's result.
    """
    return lambda ctx: {"result": {**ctx.result, **changes}}


def copy_name(ctx: Any) -> Any:
    """
    Write the name in a tool's result into its note as well.
    """
    return {"result": {**ctx.result, "note": f"{ctx.result['note']} of {ctx.result['name']}"}}


@pytest.mark.parametrize("meets", [True, False])
async def test_a_tool_result_that_was_hidden_stays_hidden(meets: bool) -> None:
    """
    What one path through a graph hid in a tool's result is not brought back by another path.
    """
    payload = ToolResultPayload(
        MessageList("hi"),
        tool_name="t",
        tool_call_id="c",
        result={"name": "Zoe Quill", "note": "file", "pin": "778899"},
    )
    nodes: list[Any] = [
        (with_result(name="[NAME]"), (), True),
        (with_result(pin="[PIN]"), (), True),
        (copy_name, (1,), False),
    ]
    if meets:
        nodes += [(look, (0, 2), False)]
    out = await results("process_tool_result", payload, nodes)
    assert out is payload
    assert "Zoe" not in str(out.result)
    assert "778899" not in str(out.result)
    assert out.result["note"].startswith("file of ")


async def test_a_prompt_that_was_changed_stays_changed() -> None:
    """
    What a step of a graph made of the prompt goes on, however many steps that only look follow it side by side.
    """
    prompt = [PromptMessage("user", (TextPart("Zoe Quill"),))]
    payload = LLMRequestPayload(MessageList("hi"), prompt=prompt)
    hidden = [PromptMessage("user", (TextPart("[NAME]"),))]
    out = await results(
        "process_llm_request",
        payload,
        [(lambda ctx: {"prompt": hidden}, (), True), (look, (0,), False), (look, (0,), False), (look, (1, 2), False)],
    )
    assert out is payload
    assert list(out.prompt) == hidden


async def test_a_conflict_in_a_graph_names_the_steps() -> None:
    """
    Two rewrites of one text on two paths are a conflict that names both, and what led to the join.
    """

    def say(text: str) -> Callable[[Any], Any]:
        def act(ctx: Any) -> None:
            ctx.messages[-1].text = text

        return act

    workflow = create_workflow("w", kind="processor")
    workflow.add(at("process_input", say("public"), id="a"))
    workflow.add(at("process_input", say("open"), id="b"))
    workflow.add(at("process_input", look, id="c"), after=["processor:a", "processor:b"])
    result = await run(workflow, InputPayload(MessageList("secret")))
    assert isinstance(result.error, MergeConflict)
    assert set(result.error.branches) == {"processor:a", "processor:b"}


async def test_a_later_rewrite_on_one_path_is_no_conflict() -> None:
    """
    A step that rewrites what the step before it wrote does not clash with a path that only saw the first version.
    """

    def say(text: str) -> Callable[[Any], Any]:
        def act(ctx: Any) -> None:
            ctx.messages[-1].text = text

        return act

    payload = InputPayload(MessageList("zero"))
    out = await results(
        "process_input", payload, [(say("one"), (), False), (say("two"), (0,), False), (look, (0,), False)]
    )
    assert out is payload
    assert texts(out.message_list) == ["two"]
