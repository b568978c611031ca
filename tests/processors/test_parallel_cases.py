"""Reported failures of parallel processors, each cited by its id, and held by ours."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from procession.errors import WorkflowDefinitionError
from procession.messages.message_list import MessageList
from procession.processors.contexts import InputContext
from procession.processors.payloads import HookPayload, InputPayload
from procession.processors.processor import Processor
from procession.runtime.runtime import Runtime
from procession.workflows.workflow import Workflow, create_workflow

pytestmark = pytest.mark.anyio


class Acting(Processor):
    """Does one thing to new input."""

    def __init__(self, id: str, act: Any) -> None:
        super().__init__(id=id)
        self.act = act

    async def process_input(self, ctx: InputContext) -> Any:
        """Do it."""
        return await self.act(ctx)


def given(*texts: str) -> InputPayload:
    """Return the payload of a request with these messages."""
    messages = MessageList()
    for number, text in enumerate(texts, 1):
        messages.add({"id": f"m{number}", "role": "user", "content": text}, "input")
    return InputPayload(messages)


async def run(workflow: Workflow[Any, Any], payload: HookPayload) -> Any:
    """Run a workflow of processors on its own."""
    return await Runtime().create_run(workflow).start(payload)


def texts(payload: Any) -> list[str]:
    """Return what the messages say."""
    return [message.text for message in payload.message_list.view()]


def replacing(id: str, old: str, new: str, turns: int) -> Acting:
    """Return a processor that waits for some turns of the event loop and replaces a text."""

    async def act(ctx: InputContext) -> None:
        for _ in range(turns):
            await anyio.lowlevel.checkpoint()
        for message in ctx.messages:
            if old in message.text:
                message.text = message.text.replace(old, new)

    return Acting(id, act)


@pytest.mark.parametrize("names", [("email", "phone"), ("z", "a")])
async def test_updates_of_siblings_are_all_kept(names: tuple[str, str]) -> None:
    """PAR-001: two processors change different messages; both changes are kept, whatever names, order and timing."""
    chance = random.Random(1)
    for _ in range(100):
        pair = [
            replacing(names[0], "eva@example.net", "[EMAIL]", chance.randrange(5)),
            replacing(names[1], "415-555-0132", "[PHONE]", chance.randrange(5)),
        ]
        chance.shuffle(pair)
        workflow = create_workflow("redact", kind="processor").parallel(pair).commit()
        result = await run(workflow, given("eva@example.net", "415-555-0132"))
        assert texts(result.output) == ["[EMAIL]", "[PHONE]"]


async def test_a_failure_cancels_the_siblings_and_awaits_them(anyio_backend: str) -> None:
    """PAR-003: siblings of what raised are cancelled and have cleaned up before the run has failed; no task is left."""
    begun, released, flags = anyio.Event(), anyio.Event(), list[str]()

    async def raises(ctx: InputContext) -> None:
        await begun.wait()
        raise RuntimeError("first")

    async def sleeps(ctx: InputContext) -> None:
        begun.set()
        await released.wait()
        flags.append("went on")

    async def cleans(ctx: InputContext) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                for _ in range(10):
                    await anyio.lowlevel.checkpoint()
                flags.append("cleaned")

    before = len(asyncio.all_tasks()) if anyio_backend == "asyncio" else 0
    listed = [Acting("raises", raises), Acting("sleeps", sleeps), Acting("cleans", cleans)]
    result = await run(create_workflow("p", kind="processor").parallel(listed).commit(), given("hi"))
    assert flags == ["cleaned"]
    released.set()
    for _ in range(5):
        await anyio.lowlevel.checkpoint()
    assert flags == ["cleaned"]
    assert result.status == "failed"
    assert "raises" in str(result.error) and isinstance(result.error.__cause__, RuntimeError)
    assert result.steps["processor:sleeps"].status == "cancelled"
    if anyio_backend == "asyncio":
        assert len(asyncio.all_tasks()) == before


async def test_branches_do_not_see_each_other() -> None:
    """PAR-007: a branch that appends is not seen by one that iterates, nor by the caller's own list."""
    counted: list[int] = []

    async def appends(ctx: InputContext) -> Any:
        ctx.message_list.add("more", "input")
        await anyio.lowlevel.checkpoint()

    async def iterates(ctx: InputContext) -> None:
        seen = 0
        for _ in ctx.view:
            seen += 1
            await anyio.lowlevel.checkpoint()
            await anyio.lowlevel.checkpoint()
        counted.append(seen)

    own = given("hi")
    result = await run(
        create_workflow("p", kind="processor").parallel([Acting("a", appends), Acting("b", iterates)]).commit(),
        own.fork(),
    )
    assert result.status == "success" and counted == [1]
    assert texts(own) == ["hi"]


async def test_lists_of_messages_are_each_branchs_own() -> None:
    """PAR-007: what one branch does to the very list that its hook was given, the other does not see while it iterates."""
    counted: list[int] = []
    appended = anyio.Event()

    async def appends(ctx: InputContext) -> None:
        ctx.messages.append(ctx.messages[0])
        appended.set()

    async def iterates(ctx: InputContext) -> None:
        listed = ctx.messages
        await appended.wait()
        seen = 0
        for _ in listed:
            await anyio.lowlevel.checkpoint()
            seen += 1
        counted.append(seen)

    own = given("hi")
    for pair in ([Acting("a", appends), Acting("b", iterates)], [Acting("b", iterates), Acting("a", appends)]):
        appended = anyio.Event()
        await run(create_workflow("p", kind="processor").parallel(pair).commit(), own.fork())
    assert counted == [1, 1]
    assert texts(own) == ["hi"]


async def _pass(ctx: InputContext) -> None:
    await anyio.lowlevel.checkpoint()


def test_an_empty_parallel_is_refused() -> None:
    """PAR-008: no branch at all is a coded finding of ``commit()`` (D25)."""
    with pytest.raises(WorkflowDefinitionError) as caught:
        create_workflow("p", kind="processor").parallel([]).commit()
    assert [finding.code for finding in caught.value.findings if finding.severity == "error"]


def test_one_instance_twice_is_refused() -> None:
    """PAR-008: the same processor twice has one step id, which is refused with the fix."""
    same = Acting("same", _pass)
    with pytest.raises(WorkflowDefinitionError) as caught:
        create_workflow("p", kind="processor").parallel([same, same]).commit()
    (finding,) = caught.value.findings
    assert (finding.code, finding.severity) == ("duplicate-step-id", "error")
    assert "'processor:same'" in finding.message
    assert "give one of them another" in str(finding.hint)


async def test_one_branch_is_as_then() -> None:
    """PAR-008: a single branch does what the processor does alone, keyed by its id."""
    only = replacing("only", "hi", "ho", 1)
    keys: list[Any] = []

    def pick_only(outputs: Any) -> Any:
        keys.extend(outputs)
        return outputs["processor:only"]

    workflow = create_workflow("p", kind="processor").parallel([only]).map(pick_only).commit()
    assert texts((await run(workflow, given("hi"))).output) == ["ho"]
    assert keys == ["processor:only"]
    for made in (
        create_workflow("p", kind="processor").parallel([only]),
        create_workflow("p", kind="processor").then(only),
    ):
        assert texts((await run(made.commit(), given("hi"))).output) == ["ho"]


async def test_nested_parallels_are_merged_by_leaf() -> None:
    """PAR-008: a parallel in a parallel: every leaf's change is there."""
    inner = create_workflow("inner", kind="processor").parallel(
        [replacing("a", "one", "1", 1), replacing("b", "two", "2", 2)]
    )
    outer = create_workflow("outer", kind="processor").parallel([inner.commit(), replacing("c", "three", "3", 0)])
    result = await run(outer.commit(), given("one", "two", "three"))
    assert texts(result.output) == ["1", "2", "3"]


async def test_five_hundred_branches() -> None:
    """PAR-008: five hundred branches run, and all of their changes are merged."""
    many = [replacing(f"p{number}", f"<{number}>", f"[{number}]", 1) for number in range(500)]
    said = [f"<{number}>" for number in range(500)]
    result = await run(create_workflow("p", kind="processor").parallel(many).commit(), given(*said))
    assert texts(result.output) == [f"[{number}]" for number in range(500)]
