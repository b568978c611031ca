"""The streams of sub-agents: live, past the processors of the agent that calls them, as its own text passes them."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from tests.agents.kit import COST, WAYS, ask, at
from tests.agents.suspending import go_on

from procession.agents.agent import Agent
from procession.errors import ProcessorError
from procession.messages.chunks import (
    Chunk,
    ErrorChunk,
    Finish,
    StepFinish,
    TextDelta,
    ToolCall,
    ToolOutput,
    ToolResult,
    TripwireChunk,
)
from procession.messages.text.spans import Span
from procession.processors.guardrails.pii import PIIDetector
from procession.processors.guardrails.regex_filter import RegexFilter
from procession.processors.nested_path import opened
from procession.processors.text_guard import TextGuard
from procession.steps.retry import RetryPolicy
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool, fail, say
from procession.tools.tool import tool
from procession.workflows.workflow import create_workflow

pytestmark = pytest.mark.anyio

both_ways = pytest.mark.parametrize("way", WAYS)
PROMPT = {"prompt": "Find it."}
MAIL = "ann@acme.org"
SPLIT = say("Write to ann@", "acme", ".org to", "day.")
"""An address that lies across four pieces of a text."""


def parent(*children: Any, calls: Any = None, **options: Any) -> Agent:
    """Return an agent that calls the first of *children* and then ends."""
    first = calls or call_tool(f"agent-{children[0].id}", PROMPT, id="c1")
    return Agent("parent", model=FakeModel([first, "Done."]), tools=list(children), **options)


def inner(chunks: Any, id: str = "c1") -> list[Chunk]:
    """Return the chunks of the stream of the sub-agent in the call *id*, those of its own sub-agents left out."""
    found = [opened(chunk) for chunk in chunks if isinstance(chunk, ToolOutput)]
    return [chunk for calls, chunk in found if [call for call, _ in calls] == [id]]


def text_of(chunks: Any, id: str = "c1") -> str:
    """Return the text of that stream."""
    return "".join(chunk.text for chunk in inner(chunks, id) if isinstance(chunk, TextDelta))


GUARDS: dict[str, Any] = {
    "none": list,
    "hook": lambda: [at("process_output_stream", lambda ctx: ctx.chunk)],
    "guard": lambda: [PIIDetector(redaction="placeholder")],
    "group": lambda: [
        create_workflow("w", kind="processor").parallel(
            [
                PIIDetector(redaction="placeholder"),
                RegexFilter(rules=[{"name": "x", "pattern": "zzz"}], strategy="redact"),
            ]
        )
    ],
}


@pytest.mark.parametrize("guards", GUARDS)
async def test_chunks_come_while_the_sub_agent_is_at_work(guards: str) -> None:
    """The reader has the first words of a sub-agent, which goes on only once they are read."""
    read = anyio.Event()

    @tool
    async def wait() -> str:
        """Wait for the reader."""
        await read.wait()
        return "ok"

    child = Agent("child", model=FakeModel([say("One moment.") + call_tool("wait"), "Found."]), tools=[wait])
    agent = parent(child, output_processors=GUARDS[guards]())
    seen: list[Chunk] = []
    with anyio.fail_after(20):
        async with agent.stream("Hi") as stream:
            async for chunk in stream.full_stream:
                seen.append(chunk)
                if text_of(seen) == "One moment.":
                    read.set()
    kinds = [chunk.type for chunk in inner(seen)]
    assert kinds[:2] == ["start", "step-start"]
    assert kinds[-2:] == ["step-finish", "finish"]
    assert text_of(seen) == "One moment.Found."
    assert [chunk.text for chunk in inner(seen) if isinstance(chunk, StepFinish)] == ["One moment.", "Found."]


@pytest.mark.parametrize("guards", ["guard", "group"])
@both_ways
async def test_what_a_guard_hides_is_nowhere_in_a_nested_stream(way: str, guards: str) -> None:
    """Neither in its text, however it is cut, nor in results of its tools, nor in what its last chunks tell."""

    @tool
    def look() -> str:
        """Look it up."""
        return f"mail: {MAIL}"

    child = Agent("child", model=FakeModel([say("ann@", "acme.org?") + call_tool("look"), SPLIT]), tools=[look])
    seen = await ask(parent(child, output_processors=GUARDS[guards]()), way)
    assert "acme" not in repr([*seen.chunks])
    assert text_of(seen.chunks) == "[EMAIL]?Write to [EMAIL] today."
    (result,) = [chunk for chunk in inner(seen.chunks) if isinstance(chunk, ToolResult)]
    assert result.result == "mail: [EMAIL]"
    (finish,) = [chunk for chunk in inner(seen.chunks) if isinstance(chunk, Finish)]
    assert finish.text == "Write to [EMAIL] today."
    assert seen.result.tool_results[0].result == "[EMAIL]?Write to [EMAIL] today."  # type: ignore[union-attr]


@both_ways
async def test_two_deep_a_guard_of_the_outermost_agent_sees_all(way: str) -> None:
    """The stream of a sub-agent's sub-agent passes the guards of all agents round it."""
    deepest = Agent("deepest", model=FakeModel([SPLIT]))
    middle = Agent(
        "middle", model=FakeModel([call_tool("agent-deepest", PROMPT, id="d1"), "Passed on."]), tools=[deepest]
    )
    seen = await ask(parent(middle, output_processors=[PIIDetector(redaction="placeholder")]), way)
    assert "acme" not in repr([*seen.chunks])
    found = [opened(chunk) for chunk in seen.chunks if isinstance(chunk, ToolOutput)]
    deep = [chunk for calls, chunk in found if [call for call, _ in calls] == ["c1", "d1"]]
    assert "".join(chunk.text for chunk in deep if isinstance(chunk, TextDelta)) == "Write to [EMAIL] today."


@both_ways
async def test_a_guard_that_blocks_nested_text_stops_the_run(way: str) -> None:
    """The run of the agent whose guard it is ends as for its own text; the sub-agent is broken off, its tokens count."""
    ran: list[str] = []

    @tool
    def look() -> str:
        """Look it up."""
        ran.append("look")
        return "ok"

    inside = FakeModel([SPLIT + call_tool("look"), "Found."])
    told: list[Any] = []
    child = Agent("child", model=inside, tools=[look])
    guard = PIIDetector(strategy="block", on_violation=told.append)
    seen = await ask(parent(child, output_processors=[guard]), way)
    assert seen.result.status == "blocked"
    assert seen.tripwire.processor_id == guard.id
    assert seen.result.finish_reason == "other"
    assert isinstance(seen.chunks[-1], TripwireChunk)
    assert [chunk.type for chunk in seen.chunks].count("tripwire") == 1
    assert "acme" not in repr([*seen.chunks])
    assert "ann" not in text_of(seen.chunks)
    assert ran == []
    assert len(inside.requests) == 1
    assert [one.processor_id for one in seen.result.violations] == [guard.id]
    assert len(told) == 1
    assert seen.result.usage.total_tokens == (2 * COST if way == "generate" else COST)


@both_ways
async def test_a_verdict_on_one_sub_agent_ends_those_beside_it(way: str) -> None:
    """Two run at the same time; what blocks one of them ends both, and the run."""
    never = anyio.Event()

    @tool
    async def hang() -> str:
        """Work on and on."""
        await never.wait()
        return "never"

    good = Agent("good", model=FakeModel([call_tool("hang"), "Fine."]), tools=[hang])
    bad = Agent("bad", model=FakeModel([SPLIT]))
    both = call_tool("agent-good", PROMPT, id="a") + call_tool("agent-bad", PROMPT, id="b")
    agent = parent(good, bad, calls=both, output_processors=[PIIDetector(strategy="block")])
    with anyio.fail_after(20):
        seen = await ask(agent, way)
    assert seen.result.status == "blocked"
    assert isinstance(seen.chunks[-1], TripwireChunk)
    assert "acme" not in repr([*seen.chunks])


@pytest.mark.parametrize("strategy", ["block", "redact", "filter", "warn"])
async def test_both_ways_come_to_the_same(strategy: Any) -> None:
    """Verdict, text and tool results are the same for ``generate`` and ``stream``, for rejected attempts inside, too."""

    def made() -> Agent:
        again = at("process_output_step", lambda ctx: None if ctx.retry_count else ctx.abort("again", retry=True))
        model = FakeModel([say("Ask ann@", "acme.org."), "It is found."])
        child = Agent("child", model=model, output_processors=[again], max_processor_retries=1)
        return parent(child, output_processors=[PIIDetector(strategy=strategy)])

    one, other = (await made().generate("Hi")), (await ask(made(), "stream")).result
    assert (one.status, one.text, one.tripwire) == (other.status, other.text, other.tripwire)
    assert [each.result for each in one.tool_results] == [each.result for each in other.tool_results]  # type: ignore[union-attr]
    assert [each.outcome for each in one.violations] == [each.outcome for each in other.violations]
    assert one.status == ("blocked" if strategy == "block" else "completed")


@both_ways
async def test_what_is_held_of_a_rejected_attempt_is_shown_to_nobody(way: str) -> None:
    """A sub-agent that is sent back says so with its step's end; what a guard still held of that attempt is dropped."""
    again = at("process_output_stream", lambda ctx: ctx.abort("again", retry=True) if _says(ctx, "!") else ctx.chunk)
    model = FakeModel([say("Ask ann", "!"), "Found."])
    child = Agent("child", model=model, output_processors=[again], max_processor_retries=1)
    seen = await ask(parent(child, output_processors=[PIIDetector(redaction="placeholder")]), way)
    steps = [chunk for chunk in inner(seen.chunks) if isinstance(chunk, StepFinish)]
    assert [step.reason for step in steps] == ["retry", "stop"]
    assert "ann" not in text_of(seen.chunks)
    assert text_of(seen.chunks).endswith("Found.")
    assert steps[1].text == "Found."


def _says(ctx: Any, text: str) -> bool:
    return isinstance(ctx.chunk, TextDelta) and text in ctx.chunk.text


@both_ways
async def test_a_hook_sees_nested_chunks_like_any_other(way: str) -> None:
    """A processor that is no guard is given the ``tool-output``, and may drop it or put another in its place."""
    given: list[Any] = []

    def hook(ctx: Any) -> Any:
        chunk = ctx.chunk
        if not isinstance(chunk, ToolOutput):
            return chunk
        given.append(chunk.output)
        if isinstance(chunk.output, ToolCall):
            return None
        if isinstance(chunk.output, TextDelta):
            return chunk.replace(output=TextDelta(chunk.output.text.upper(), chunk.output.id))
        return chunk

    @tool
    def look() -> str:
        """Look it up."""
        return "ok"

    child = Agent("child", model=FakeModel([call_tool("look"), "Found."]), tools=[look])
    seen = await ask(parent(child, output_processors=[at("process_output_stream", hook)]), way)
    assert any(isinstance(each, ToolCall) for each in given)
    assert not any(isinstance(each, ToolCall) for each in inner(seen.chunks))
    assert text_of(seen.chunks) == "FOUND."
    assert seen.result.tool_results[0].result == "Found."  # type: ignore[union-attr]
    finish = [chunk for chunk in inner(seen.chunks) if isinstance(chunk, StepFinish | Finish)]
    assert [each.text for each in finish] == ["", "FOUND.", "FOUND."]


@both_ways
async def test_a_hook_that_fails_at_a_nested_chunk_fails_the_outer_run(way: str) -> None:
    """It is the outer run's processor: the error is not taken for the sub-agent's, which is broken off."""

    def hook(ctx: Any) -> Any:
        if isinstance(ctx.chunk, ToolOutput) and isinstance(ctx.chunk.output, TextDelta):
            raise ValueError("broken")
        return ctx.chunk

    inside = FakeModel([say("One.") + call_tool("look"), "Found."])
    child = Agent("child", model=inside, tools=[look])
    seen = await ask(parent(child, output_processors=[at("process_output_stream", hook)]), way)
    assert isinstance(seen.error, ProcessorError)
    assert len(inside.requests) == 1


@tool
def look() -> str:
    """Look it up."""
    return "ok"


@both_ways
async def test_a_hook_may_send_the_step_back_for_a_nested_chunk(way: str) -> None:
    """``abort(retry=True)`` at a nested chunk rolls the outer step back within its budget, and stops without one (D14)."""

    def hook(ctx: Any) -> Any:
        nested = isinstance(ctx.chunk, ToolOutput) and isinstance(ctx.chunk.output, TextDelta)
        return ctx.abort("not that one", retry=True) if nested else ctx.chunk

    def made(**options: Any) -> Agent:
        child = Agent("child", model=FakeModel(["Found."]))
        return parent(child, output_processors=[at("process_output_stream", hook)], **options)

    seen = await ask(made(max_processor_retries=1), way)
    assert seen.result.text == "Done."
    assert len(seen.result.rejected) == 1
    assert [chunk.reason for chunk in seen.chunks if isinstance(chunk, StepFinish)] == ["retry", "stop"]
    assert (await ask(made(), way)).result.status == "blocked"


@both_ways
async def test_the_end_of_a_nested_stream_says_how_it_ended(way: str) -> None:
    """A tripwire is its last chunk; an error is told without a provider's words."""
    guard = at("process_output_result", lambda ctx: ctx.abort("not that"))
    blocked = Agent("blocked", model=FakeModel(["words"]), output_processors=[guard])
    chunks = inner((await ask(parent(blocked), way)).chunks)
    assert isinstance(chunks[-1], TripwireChunk)
    assert chunks[-1].tripwire.reason == "not that"
    failed = Agent("failed", model=FakeModel([fail("key sk-123 is wrong")]))
    seen = await ask(parent(failed), way)
    (error,) = [chunk for chunk in inner(seen.chunks) if isinstance(chunk, ErrorChunk)]
    assert str(error.error) == "agent 'failed' failed: ModelError"
    assert "sk-123" not in repr([*seen.chunks])


@both_ways
async def test_sub_agents_side_by_side_share_a_waiting_hook_and_mix_nothing(way: str) -> None:
    """A hook that waits has one chunk in hand at a time, also where two sub-agents stream at once."""

    async def hook(ctx: Any) -> Any:
        before = ctx.chunk
        await anyio.lowlevel.checkpoint()
        assert ctx.chunk is before
        return ctx.chunk

    one = Agent("one", model=FakeModel([say("a", "b", "c")]))
    two = Agent("two", model=FakeModel([say("x", "y", "z")]))
    both = call_tool("agent-one", PROMPT, id="c1") + call_tool("agent-two", PROMPT, id="c2")
    agent = parent(one, two, calls=both, output_processors=[at("process_output_stream", hook), PIIDetector()])
    seen = await ask(agent, way)
    assert (text_of(seen.chunks, "c1"), text_of(seen.chunks, "c2")) == ("abc", "xyz")


@pytest.mark.parametrize("limit", [None, 60])
@both_ways
async def test_a_verdict_reaches_the_run_out_of_a_tool_with_a_time_limit_and_retries(
    way: str, limit: float | None
) -> None:
    """It is no failure of the tool: nothing is tried again, and nothing of it is told to the model."""
    inside, model = FakeModel([SPLIT]), FakeModel([call_tool("ask", PROMPT), "Done."])
    ask_child = Agent("child", model=inside).as_tool(name="ask").replace(timeout=limit, retry=RetryPolicy(3))
    guard = PIIDetector(strategy="block")
    seen = await ask(Agent("parent", model=model, tools=[ask_child], output_processors=[guard]), way)
    assert seen.result.status == "blocked"
    assert len(inside.requests) == len(model.requests) == 1


@both_ways
async def test_a_guard_that_fails_at_nested_text_fails_closed(way: str) -> None:
    """What could not be checked is not shown, and the run trips with the kind that says so (D17)."""

    class Broken(TextGuard):
        id = "broken"
        window = 0

        def find(self, text: str) -> list[Span]:
            raise ValueError("down")

    child = Agent("child", model=FakeModel([SPLIT]))
    seen = await ask(parent(child, output_processors=[Broken(strategy="redact")]), way)
    assert seen.tripwire.metadata == {"kind": "guard_failed"}
    assert text_of(seen.chunks) == ""


@both_ways
async def test_text_before_a_question_is_shown_before_it(way: str) -> None:
    """A sub-agent that asks has shown all that it said, as guards leave it; after the answer its stream goes on."""

    @tool(requires_approval=True)
    def pay() -> str:
        """Pay."""
        return f"paid to {MAIL}"

    child = Agent(
        "child", model=FakeModel([say("Ask ann@", "acme.org") + call_tool("pay", id="p1"), SPLIT]), tools=[pay]
    )
    agent = parent(child, output_processors=[PIIDetector(redaction="placeholder")])
    asked = await ask(agent, way)
    kinds = [chunk.type for chunk in inner(asked.chunks)]
    assert kinds[-2:] == ["tool-call", "tool-call-approval"]
    assert text_of(asked.chunks) == "Ask [EMAIL]"
    seen = await go_on(agent, way, asked.result.run_id, {"c1": {"p1": {"approved": True}}})
    assert text_of(seen.chunks) == "Write to [EMAIL] today."
    assert "acme" not in repr([*asked.chunks, *seen.chunks])
    assert seen.result.text == "Done."
