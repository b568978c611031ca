"""One agent, many requests: nothing is mixed, and context variables arrive."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from tests.agents.kit import at

from procession.agents.agent import Agent
from procession.agents.output import AgentResult
from procession.messages.chunks import TextDelta
from procession.models.model import ModelRequest
from procession.processors.guardrails.pii import PIIDetector
from procession.processors.memory.memory import Memory
from procession.processors.processor import Processor
from procession.storage.memory import InMemoryStore
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, say
from procession.tools.context import ToolContext
from procession.tools.tool import tool
from procession.workflows.workflow import create_workflow

tenant: ContextVar[str] = ContextVar("tenant", default="none")

# -- nothing is mixed


class Counting(Processor):
    """Keeps what it sees in its state, and lets others have their turn at random."""

    id = "counting"

    def __init__(self, turns: Callable[[], int]) -> None:
        super().__init__()
        self._turns = turns

    async def _others(self) -> None:
        for _ in range(self._turns()):
            await anyio.lowlevel.checkpoint()

    async def process_input(self, ctx: Any) -> None:
        """Note whose request it is, in three places."""
        ctx.state["who"] = who = ctx.request_context["who"]
        ctx.warn(f"request of {who}")
        tenant.set(who)
        await self._others()

    async def process_output_stream(self, ctx: Any) -> Any:
        """Count the chunks of text."""
        await self._others()
        if isinstance(ctx.chunk, TextDelta):
            ctx.state["chunks"] = ctx.state.get("chunks", 0) + 1
        return ctx.chunk

    async def process_output_result(self, ctx: Any) -> None:
        """Tell what was kept."""
        await self._others()
        assert ctx.state["who"] == ctx.request_context["who"] == tenant.get()
        ctx.warn(f"{ctx.state['chunks']} chunks for {ctx.state['who']}")


def answer(request: ModelRequest) -> Any:
    """Call the tool first; then answer with who asked, a number of chunks of one's own and an address in pieces."""
    words = [message for message in request.messages if message.role == "user"][-1].text
    number = int(words.split()[1])
    if request.messages[-1].role != "tool":
        return call_tool("look_up", {"number": number})
    pieces = [f"<{number}>", *("." for _ in range(number % 7)), f" user-{number}@exam", "ple.com", " bye"]
    return say(*pieces)


@pytest.mark.anyio
@pytest.mark.timeout(120)
async def test_a_thousand_requests_mix_nothing() -> None:
    """CON-001: one agent with shared guards, a tool and a memory answers 1,000 requests at once, each exactly right."""
    chance = random.Random(7)

    def turns() -> int:
        return chance.randrange(4)

    @tool
    async def look_up(number: int, ctx: ToolContext) -> str:
        """Look a number up."""
        for _ in range(turns()):
            await anyio.lowlevel.checkpoint()
        assert ctx.request_context["who"] == tenant.get() == f"r{number}"
        return f"found {number}"

    model = FakeModel(answer, repeat_last=True)
    guard = PIIDetector(strategy="redact", redaction="placeholder")
    counting = Counting(turns)
    agent = Agent(
        "a",
        model=model,
        tools=[look_up],
        input_processors=[guard, counting],
        output_processors=[guard, counting],
        memory=Memory(InMemoryStore()),
    )
    before = dict(vars(counting)), set(vars(guard))
    results: dict[int, AgentResult] = {}
    streamed: dict[int, str] = {}

    async def ask(number: int) -> None:
        tenant.set(f"r{number}")
        options: dict[str, Any] = {
            "request_context": {"who": f"r{number}"},
            "thread": f"t{number}",
            "resource": f"r{number}",
        }
        words = f"number {number} from me-{number}@example.net"
        if number % 2:
            results[number] = await agent.generate(words, **options)
            return
        async with agent.stream(words, **options) as stream:
            streamed[number] = "".join([piece async for piece in stream.text_stream])
            results[number] = await stream.result()

    async with anyio.create_task_group() as group:
        for number in range(1000):
            group.start_soon(ask, number)

    for number, result in results.items():
        dots = number % 7
        assert result.text == f"<{number}>{'.' * dots} [EMAIL] bye"
        assert streamed.get(number, result.text) == result.text
        assert [each.result for each in result.tool_results] == [f"found {number}"]  # type: ignore[union-attr]
        warned = [each.message for each in result.violations if each.processor_id == "counting"]
        assert warned[0] == f"request of r{number}"
        assert warned[1].endswith(f"chunks for r{number}") and len(warned) == 2
        assert len(result.steps) == 2
        assert result.usage.total_tokens == results[0].usage.total_tokens
        assert f"user-{number}" not in repr(result.messages)
    assert len(results) == 1000
    assert (dict(vars(counting)), set(vars(guard))) == before  # nothing is kept on the processors themselves


@pytest.mark.anyio
async def test_chunks_of_many_streams_are_redacted_apart() -> None:
    """CON-001: fifty streams whose addresses are cut in two, through one guard: each is exactly ``[EMAIL]``."""
    chance = random.Random(3)

    def cut(request: ModelRequest) -> Any:
        number = request.messages[-1].text
        return say(f"user-{number}@exam", "ple.com")

    async def others(ctx: Any) -> Any:
        for _ in range(chance.randrange(5)):
            await anyio.lowlevel.checkpoint()
        return ctx.chunk

    guard = PIIDetector(redaction="placeholder")
    agent = Agent(
        "a",
        model=FakeModel(cut, repeat_last=True),
        output_processors=[at("process_output_stream", others), guard],
    )
    texts: list[str] = []

    async def ask(number: int) -> None:
        async with agent.stream(str(number)) as stream:
            texts.append("".join([piece async for piece in stream.text_stream]))

    async with anyio.create_task_group() as group:
        for number in range(50):
            group.start_soon(ask, number)
    assert texts == ["[EMAIL]"] * 50


# -- context variables


class Store(InMemoryStore):
    """A store that notes which tenant it is called for."""

    def __init__(self, seen: Callable[[str], None]) -> None:
        super().__init__()
        self._seen = seen

    async def save(self, *args: Any, **options: Any) -> None:
        """Note the tenant and store."""
        self._seen("store")
        await super().save(*args, **options)


@pytest.mark.anyio
@pytest.mark.parametrize("way", ["generate", "stream"])
async def test_context_variables_reach_everything(way: str) -> None:
    """CON-003: hooks in threads and in place, branches, tools, callbacks, background and stores see the caller's."""
    seen: dict[str, set[str]] = {}

    def note(where: str) -> None:
        seen.setdefault(tenant.get(), set()).add(where)

    class Hooks(Processor):
        id = "hooks"

        def process_input(self, ctx: Any) -> None:
            note("plain hook")
            ctx.background(note, "background")

        async def process_output_result(self, ctx: Any) -> None:
            note("async hook")
            ctx.warn("found")

    class Thread(Processor):
        id = "thread"
        blocking = True

        def process_input(self, ctx: Any) -> None:
            note("hook in a thread")

    class Limited(Processor):
        id = "limited"
        timeout = 30.0

        async def process_input(self, ctx: Any) -> None:
            note("hook with a limit")

    class Branch(Processor):
        async def process_input(self, ctx: Any) -> None:
            await anyio.lowlevel.checkpoint()
            note("branch")

    async def told(violation: Any) -> None:
        note("async on_violation")

    @tool
    async def first() -> str:
        """Do something."""
        note("tool")
        return "ok"

    @tool(timeout=30)
    async def second() -> str:
        """Do something else."""
        note("tool with a limit")
        return "ok"

    @tool(blocking=True)
    def third() -> str:
        """Do something in a thread."""
        note("tool in a thread")
        return "ok"

    both = create_workflow("both", kind="processor").parallel([Branch(id="b1"), Branch(id="b2")]).commit()

    async def request(name: str) -> None:
        tenant.set(name)
        hooks = Hooks(on_violation=told)
        calls = call_tool("first") + call_tool("second") + call_tool("third")
        agent = Agent(
            "a",
            model=FakeModel([calls, "fine"]),
            tools=[first, second, third],
            input_processors=[hooks, Thread(), Limited(), both],
            output_processors=[hooks],
            memory=Memory(Store(note)),
        )
        if way == "generate":
            await agent.generate("Hi", thread="t", resource=name)
        else:
            async with agent.stream("Hi", thread="t", resource=name) as stream:
                await stream.result()
        assert tenant.get() == name

    async with anyio.create_task_group() as group:
        group.start_soon(request, "t1")
        group.start_soon(request, "t2")
    assert set(seen) == {"t1", "t2"}
    assert seen["t1"] == seen["t2"]
    assert seen["t1"] >= {
        "plain hook",
        "async hook",
        "hook in a thread",
        "hook with a limit",
        "branch",
        "async on_violation",
        "tool",
        "tool with a limit",
        "tool in a thread",
        "background",
        "store",
    }


@pytest.mark.anyio
async def test_what_a_branch_sets_stays_in_it() -> None:
    """CON-003: what one branch sets, neither its sibling nor what comes after, nor the caller sees."""
    seen: list[str] = []

    class Sets(Processor):
        async def process_input(self, ctx: Any) -> None:
            seen.append(tenant.get())
            tenant.set(self.id)
            await anyio.lowlevel.checkpoint()
            seen.append(tenant.get())

    class Limited(Sets):
        timeout = 30.0

    class After(Processor):
        id = "after"

        def process_input(self, ctx: Any) -> None:
            seen.append(tenant.get())

    both = create_workflow("both", kind="processor").parallel([Sets(id="b1"), Sets(id="b2")]).commit()
    tenant.set("caller")
    agent = Agent("a", model=FakeModel(["ok"]), input_processors=[both, Limited(id="b3"), After()])
    await agent.generate("Hi")
    assert sorted(seen) == sorted(["caller", "caller", "b1", "b2", "caller", "b3", "caller"])
    assert tenant.get() == "caller"
