"""Reported failures of streams (STR-...), each as what may be relied on here; counted, not timed."""

from __future__ import annotations

import copy
import json
import re
import sys
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from typing import Any

import anyio
import httpx
import pytest
from tests.agents.kit import WAYS, ask, at, counted_tool

from procession.agents.agent import Agent
from procession.messages.chunks import Chunk, TextDelta, TripwireChunk
from procession.messages.text.patterns import Rule
from procession.messages.text.spans import Span
from procession.messages.usage import Usage
from procession.models.openai_chat import OpenAIChatModel
from procession.processors.context import HookContext
from procession.processors.guardrails.pii import PIIDetector
from procession.processors.memory.memory import Memory
from procession.processors.text_guard import TextGuard
from procession.runtime.runtime import Runtime
from procession.storage.memory import InMemoryStore
from procession.testing.fake_model import FakeModel, Reply
from procession.testing.recorder import record
from procession.testing.script import call_tool, say
from procession.workflows.workflow import create_workflow

both_ways = pytest.mark.parametrize("way", WAYS)


# -- STR-011


async def _costs(count: int, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, int], int, int]:
    """Return what each arm saw of a stream of *count* chunks, how many runs were made, and how often was saved."""
    seen = {"a": 0, "b": 0}
    runs, saves = [0], [0]

    class Store(InMemoryStore):
        async def save(self, *args: Any, **options: Any) -> None:
            saves[0] += 1
            await super().save(*args, **options)

    def counting(id: str) -> Any:
        def act(ctx: Any) -> Chunk:
            seen[id] += type(ctx.chunk) is TextDelta
            chunk: Chunk = ctx.chunk
            return chunk

        return at("process_output_stream", act, id=id)

    create = Runtime.create_run

    def create_run(self: Runtime, *args: Any, **options: Any) -> Any:
        runs[0] += 1
        return create(self, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Runtime, "create_run", create_run)
        arms = create_workflow("arms", kind="processor").parallel([counting("a"), counting("b")]).commit()
        model = FakeModel(Reply(["0123456789"] * count))
        agent = Agent("a", model=model, output_processors=[arms], memory=Memory(Store()))
        async with agent.stream("Hi", thread="t", resource="r") as stream:
            assert await stream.text == "0123456789" * count
    return seen, runs[0], saves[0]


async def test_no_run_and_no_write_per_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    """STR-011: branches in a stream see each chunk once; runs and writes are as many for 500 chunks as for 50."""
    few, many = await _costs(50, monkeypatch), await _costs(500, monkeypatch)
    assert few[0] == {"a": 50, "b": 50}
    assert many[0] == {"a": 500, "b": 500}
    assert few[1:] == many[1:]
    assert many[1] == 1


class Looks(TextGuard):
    """A guard with a search of its own, which counts how many characters it was shown."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id, strategy="redact")
        self.shown = 0

    def find(self, text: str) -> list[Span]:
        """Find codes."""
        self.shown += len(text)
        return [Span(*found.span(), "code") for found in re.finditer(r"ABC-\d+", text)]


class Knows(TextGuard):
    """A guard with a rule."""

    rules = (Rule("number", r"\d{4}-\d{4}"),)


async def _work(count: int, beside: bool) -> tuple[int, int, str]:
    """Return how many functions were called for *count* chunks, what a search was shown, and what came out."""
    looks = Looks("looks")
    guards: list[Any] = [looks, Knows(id="knows", strategy="redact"), PIIDetector(id="pii", strategy="redact")]
    arms = create_workflow("arms", kind="processor").parallel(guards).commit()
    said = (
        ("the code ABC-1", "23 of eva@exam", "ple.net is 11", "11-2222, as ", "was said. ")[n % 5] for n in range(count)
    )
    agent = Agent("a", model=FakeModel(Reply(said)), output_processors=[arms] if beside else guards)
    calls = 0

    def called(frame: Any, event: str, arg: Any) -> None:
        nonlocal calls
        calls += event == "call"

    async with agent.stream("Hi", replay=False) as stream:
        sys.setprofile(called)
        try:
            out = "".join([piece async for piece in stream.text_stream])
        finally:
            sys.setprofile(None)
    return calls, looks.shown, out


@pytest.mark.parametrize(("backend", "beside"), [("asyncio", True), ("trio", False)])
def test_ten_times_the_chunks_are_ten_times_the_work(backend: str, beside: bool) -> None:
    """STR-011: three guards of a stream do for 5,000 chunks ten times of what they do for 500, and find it all (06 §C13)."""

    async def main() -> list[tuple[int, int, str]]:
        await _work(50, beside)  # what is done once is done
        return [await _work(count, beside) for count in (500, 5_000)]

    few, many = anyio.run(main, backend=backend)
    assert many[0] < 11 * few[0]
    assert many[1] < 11 * few[1]
    assert len(many[2]) == 10 * len(few[2]) > 10 * 500 * 8
    for secret in ("ABC-123", "eva@example.net", "1111-2222"):
        assert secret not in many[2]


async def test_the_text_so_far_is_not_held_for_each_chunk() -> None:
    """STR-011: behind branches that look at 5,000 chunks memory holds the text, and not one copy of it for each."""
    seen = [0, 0]

    def counting(arm: int) -> Any:
        def act(ctx: Any) -> Chunk:
            seen[arm] += type(ctx.chunk) is TextDelta
            chunk: Chunk = ctx.chunk
            return chunk

        return at("process_output_stream", act, id=f"noop-{arm}")

    arms = create_workflow("arms", kind="processor").parallel([counting(0), counting(1)]).commit()
    model = FakeModel(Reply(("0123456789" for _ in range(5000)), usage=Usage(1, 1)))
    async with Agent("a", model=model, output_processors=[arms]).stream("Hi", replay=False) as stream:
        tracemalloc.start()
        try:
            length = sum([len(piece) async for piece in stream.text_stream])
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert (length, seen) == (50_000, [5000, 5000])
    assert peak < 100 * length  # every copy of what had come would make it 2,500 times the text


# -- STR-012


@both_ways
async def test_a_final_hook_costs_nothing_per_chunk(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """STR-012: a processor of the result alone is called once, takes no part in the stream, and nothing is deep-copied."""
    calls: list[str] = []
    copies: list[Any] = []
    deepcopy = copy.deepcopy

    def counted(value: Any, *rest: Any) -> Any:
        copies.append(value)
        return deepcopy(value, *rest)

    def final(ctx: Any) -> None:
        calls.append(ctx.hook.value)

    made: list[str] = []
    make: Any = vars(HookContext)["__init__"]

    def noted(self: Any, *args: Any) -> None:
        made.append(type(self).__name__)
        make(self, *args)

    agent = Agent(
        "a", model=FakeModel(Reply(["x"] * 1000)), output_processors=[at("process_output_result", final, id="final")]
    )
    monkeypatch.setattr(copy, "deepcopy", counted)
    monkeypatch.setattr(HookContext, "__init__", noted)
    metadata = {f"key-{number}": {"value": number} for number in range(40)}
    seen = await ask(agent, way, request_context=metadata, tracing_context={"metadata": metadata})
    assert seen.result.text == "x" * 1000
    assert calls == ["process_output_result"]
    assert made == ["OutputResultContext"]  # no hook of any processor is dispatched while the answer streams
    assert copies == []


# -- STR-013


class StopWord(TextGuard):
    """A guard that blocks one word."""

    id = "stop-word"
    rules = (Rule("stop-word", "stop-word"),)


def _per_chunk(ctx: Any) -> Chunk:
    """Block the word as a user may write it: with the text so far in the state."""
    chunk: Chunk = ctx.chunk
    if isinstance(chunk, TextDelta):
        ctx.state["so far"] = ctx.state.get("so far", "") + chunk.text
        if "stop-word" in ctx.state["so far"]:
            ctx.abort("a stop word")
    return chunk


def _deep(guard: Any, depth: int) -> Any:
    for number in range(depth):
        guard = create_workflow(f"w{number}", kind="processor").then(guard).commit()
    return guard


class Upstream(httpx.AsyncByteStream):
    """An answer over HTTP that would never end, and notes that it was closed."""

    def __init__(self) -> None:
        self.closed = 0
        self.sent = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        pieces = ["all good ", "now stop-", "word here"]
        while True:
            await anyio.lowlevel.checkpoint()  # as a socket is waited for
            text = pieces[self.sent] if self.sent < len(pieces) else " more"
            self.sent += 1
            choice = {"index": 0, "delta": {"content": text}, "finish_reason": None}
            yield f"data: {json.dumps({'id': 'r', 'model': 'm', 'choices': [choice]})}\n\n".encode()

    async def aclose(self) -> None:
        """Note it."""
        self.closed += 1


@pytest.mark.parametrize("kind", ["text guard", "per chunk"])
@pytest.mark.parametrize("depth", [0, 1, 2])
async def test_a_verdict_in_a_workflow_ends_the_stream(depth: int, kind: str) -> None:
    """STR-013: a block in a workflow, also two deep, is the last chunk, and the HTTP answer is closed by then."""
    upstream = Upstream()

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=upstream)

    guard = StopWord() if kind == "text guard" else at("process_output_stream", _per_chunk, id="stop-word")
    model = OpenAIChatModel("m", base_url="http://test/v1", transport=httpx.MockTransport(answer))
    agent = Agent("a", model=model, output_processors=[_deep(guard, depth)])
    async with agent.stream("Hi") as stream:
        closed_at: list[int] = []
        chunks: list[Chunk] = []
        async for chunk in stream:
            chunks.append(chunk)
            if isinstance(chunk, TripwireChunk):
                closed_at.append(upstream.closed)
        result = await stream.result()
    last = chunks[-1]
    assert isinstance(last, TripwireChunk)
    assert last.tripwire.processor_id == "stop-word"
    assert last.tripwire.reason
    assert closed_at == [1]
    assert upstream.sent <= 4
    assert "word" not in "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta))
    assert (result.status, result.tripwire, result.text) == ("blocked", last.tripwire, "")


# -- STR-014


@both_ways
@pytest.mark.parametrize("depth", [0, 2])
async def test_processors_see_the_borders_with_one_state(way: str, depth: int) -> None:
    """STR-014: borders of steps, text, tool calls and the model's end pass a stream processor, with one state for all."""
    types: list[str] = []
    states: list[dict[str, Any]] = []

    def note(ctx: Any) -> Chunk:
        types.append(ctx.chunk.type)
        states.append(ctx.state)
        chunk: Chunk = ctx.chunk
        return chunk

    tool, _ = counted_tool("t1")
    probe = _deep(at("process_output_stream", note, id="probe"), depth)
    model = FakeModel([say("call ") + call_tool("t1"), say("done")])
    await ask(Agent("a", model=model, tools=[tool], output_processors=[probe]), way)
    order = iter(types)
    for wanted in (
        "step-start", "text-delta", "tool-call", "step-finish",
        "step-start", "text-delta", "finish", "step-finish",
    ):  # fmt: skip
        assert wanted in order, (wanted, types)
    assert all(state is states[0] for state in states)


# -- STR-016


@pytest.mark.parametrize("beside", [False, True])
async def test_a_guard_does_not_collapse_the_stream(beside: bool) -> None:
    """STR-016: behind a guard that redacts, plain text goes on in many chunks, never more than its window behind."""
    words = "plain words without personal data ".split(" ")
    pieces = [f"{words[number % len(words)]} " for number in range(60)]
    asked = [0]
    behind: list[int] = []
    shown: list[str] = []

    def said() -> Iterator[str]:
        for piece in pieces:
            asked[0] += len(piece)
            yield piece

    def note(chunk: Chunk) -> None:
        if isinstance(chunk, TextDelta):
            shown.append(chunk.text)
            behind.append(asked[0] - sum(map(len, shown)))

    guard: Any = PIIDetector(detection_types=["email", "phone"], redaction="mask")
    if beside:
        arms = create_workflow("arms", kind="processor").parallel([guard, StopWord(strategy="redact")])
        guard = arms.commit()
    agent = Agent("a", model=FakeModel(Reply(said())), output_processors=[guard])
    async with agent.stream("Hi", on_chunk=note) as stream:
        chunks = await record(stream.full_stream)
    assert chunks.text == "".join(shown) == "".join(pieces)
    assert len(shown) >= 20
    assert max(behind) <= 128
    assert behind[0] + len(shown[0]) <= 128, "the first text comes as soon as the window is full"


@pytest.mark.parametrize("beside", [False, True])
async def test_the_first_text_does_not_wait_for_the_last(beside: bool) -> None:
    """STR-016: of sixty chunks the reader has the first text before the twelfth has come, with the reported guard."""
    piece = "plain words without personal data "
    asked = [0]
    shown_at: list[int] = []

    def said() -> Iterator[str]:
        for _ in range(60):
            asked[0] += 1
            yield piece

    def note(chunk: Chunk) -> None:
        if isinstance(chunk, TextDelta):
            shown_at.append(asked[0])

    guard: Any = PIIDetector(detection_types=["email", "phone"], redaction="mask")
    if beside:
        guard = create_workflow("arms", kind="processor").parallel([guard, StopWord(strategy="redact")]).commit()
    agent = Agent("a", model=FakeModel(Reply(said())), output_processors=[guard])
    async with agent.stream("Hi", on_chunk=note) as stream:
        assert await stream.text == piece * 60
    assert shown_at[0] < 12
    assert len(shown_at) >= 20
