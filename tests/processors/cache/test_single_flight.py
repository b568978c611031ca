"""Of equal requests at one time one asks the model, and no other ever waits in vain for it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from tests.agents.kit import WAYS, ask, at
from tests.processors.cache.kit import Broken, Store, parrot, said

from procession.agents.agent import Agent
from procession.errors import ProcessionError
from procession.messages.chunks import Chunk, Finish, TextDelta
from procession.processors.cache.flights import Flight, Flights
from procession.processors.cache.response_cache import CacheLookup, ResponseCache
from procession.steps.scope import RequestScope
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool
from procession.tools.tool import tool

both_ways = pytest.mark.parametrize("way", WAYS)


async def rounds(number: int = 60) -> None:
    """Let the loop go round, until everybody waits who is going to."""
    for _ in range(number):
        await anyio.lowlevel.checkpoint()


class Held:
    """A model that answers when it is told to, each call by itself."""

    id = "fake/held"

    def __init__(self) -> None:
        self.gates: list[anyio.Event] = []
        self.answers: list[Any] = []

    def stream(self, request: Any) -> AsyncIterator[Chunk]:
        """Wait, then give the answer of this call."""
        gate = anyio.Event()
        self.gates.append(gate)
        return self._stream(gate, len(self.gates) - 1)

    async def _stream(self, gate: anyio.Event, number: int) -> AsyncIterator[Chunk]:
        await gate.wait()
        answer = self.answers[number]
        if isinstance(answer, Exception):
            raise answer
        yield TextDelta(answer[0])
        yield Finish(answer[1] if len(answer) > 1 else "stop")

    async def asked(self, number: int) -> None:
        """Wait until it was asked so often, and nobody else is about to ask."""
        with anyio.fail_after(20):
            while len(self.gates) < number:
                await anyio.lowlevel.checkpoint()
        await rounds()
        assert len(self.gates) == number

    def answer(self, answer: Any) -> None:
        """Answer the next call."""
        self.answers.append(answer)
        self.gates[len(self.answers) - 1].set()


class Crowd:
    """Equal requests at one time."""

    def __init__(self, agent: Agent, way: str = "generate") -> None:
        self.agent = agent
        self.way = way
        self.texts: list[str] = []
        self.errors: list[ProcessionError] = []

    async def one(self, *, task_status: Any = anyio.TASK_STATUS_IGNORED) -> None:
        """Make one request."""
        task_status.started()
        seen = await ask(self.agent, self.way)
        if seen.error is not None:
            self.errors.append(seen.error)
        else:
            self.texts.append(seen.result.text or str(seen.result.status))


@both_ways
async def test_equal_requests_share_one_call(way: str) -> None:
    """Ten at a time ask once; each gets the whole answer, and is told that it is one it waited for."""
    looked: list[CacheLookup] = []
    model = Held()
    agent, _ = parrot([], ResponseCache(on_hit=looked.append), model=model)
    crowd = Crowd(agent, way)
    async with anyio.create_task_group() as group:
        for _ in range(10):
            group.start_soon(crowd.one)
        await model.asked(1)
        model.answer(("once",))
    assert crowd.texts == ["once"] * 10
    assert ([one.waited for one in looked], len(model.gates)) == ([True] * 9, 1)


async def test_unequal_requests_do_not_wait() -> None:
    """Another tenant asks for itself, at once; so does who busts the cache."""
    model = Held()
    agent, _ = parrot([], ResponseCache(), model=model)
    busting = {"resource": "t-a", "request_context": ResponseCache.context(bust=True)}
    requests: list[dict[str, Any]] = [{"resource": "t-a"}, {"resource": "t-b"}, busting]
    async with anyio.create_task_group() as group:
        for options in requests:
            group.start_soon(partial(said, agent, **options))
        await model.asked(3)
        for _ in range(3):
            model.answer(("x",))


@both_ways
@pytest.mark.parametrize("how", ["fails", "trips", "is cancelled"])
async def test_where_the_first_comes_to_nothing_the_next_one_asks(way: str, how: str) -> None:
    """The second asks, the others wait for that one; whoever was first has what became of it."""
    model = Held()
    rejected: list[str] = []

    def reject(ctx: Any) -> None:
        if ctx.text == "bad":
            rejected.append(ctx.text)
            ctx.abort("bad")

    agent, _ = parrot([], ResponseCache(), model=model, output_processors=[at("process_output_step", reject)])
    crowd = Crowd(agent, way)
    async with anyio.create_task_group() as group:
        first = await group.start(_cancellable, crowd.one)
        await model.asked(1)
        for _ in range(4):
            group.start_soon(crowd.one)
        await rounds()
        if how == "fails":
            model.answer(OSError("down"))
        elif how == "trips":
            model.answer(("bad",))
        else:
            model.answers.append(("too late",))
            first.cancel()
        await model.asked(2)
        model.answer(("good",))
    blocked = ["blocked"] if how == "trips" else []
    assert sorted(crowd.texts) == sorted([*blocked, *["good"] * 4])
    assert (len(crowd.errors), len(model.gates)) == (1 if how == "fails" else 0, 2)


async def _cancellable(work: Callable[[], Any], *, task_status: Any) -> None:
    with anyio.CancelScope() as scope:
        task_status.started(scope)
        await work()


async def test_who_is_cancelled_while_waiting_touches_nobody() -> None:
    """The first and the other waiters have the answer."""
    model = Held()
    agent, _ = parrot([], ResponseCache(), model=model)
    crowd = Crowd(agent)
    async with anyio.create_task_group() as group:
        group.start_soon(crowd.one)
        await model.asked(1)
        waiter = await group.start(_cancellable, crowd.one)
        group.start_soon(crowd.one)
        await rounds()
        waiter.cancel()
        await rounds()
        model.answer(("once",))
    assert (crowd.texts, len(model.gates)) == (["once", "once"], 1)


async def test_nobody_waits_twice_for_what_is_not_kept() -> None:
    """An answer that was cut off is the first one's own: all others ask at the same time, not one after the other."""
    model = Held()
    agent, _ = parrot([], ResponseCache(), model=model)
    crowd = Crowd(agent)
    async with anyio.create_task_group() as group:
        for _ in range(4):
            group.start_soon(crowd.one)
        await model.asked(1)
        model.answer(("cut", "length"))
        await model.asked(4)
        for _ in range(3):
            model.answer(("cut", "length"))
    assert crowd.texts == ["cut"] * 4


async def test_the_wait_is_bounded() -> None:
    """After ``wait`` seconds a request asks for itself; with 0 none waits."""
    for wait in (0.05, 0):
        model = Held()
        agent, _ = parrot([], ResponseCache(wait=wait), model=model)
        crowd = Crowd(agent)
        async with anyio.create_task_group() as group:
            group.start_soon(crowd.one)
            await model.asked(1)
            group.start_soon(crowd.one)
            with anyio.fail_after(20):
                while len(model.gates) < 2:
                    await anyio.lowlevel.checkpoint()
            model.answer(("one",))
            model.answer(("two",))
        assert sorted(crowd.texts) == ["one", "two"]


@both_ways
async def test_who_is_inside_of_the_first_does_not_wait_for_it(way: str) -> None:
    """The same request from a tool of the first one's step, by any door, would wait for ever: it asks for itself."""
    cache = ResponseCache(key="same", agent_id="one", wait=30.0)
    inner = Agent("inner", model=FakeModel("inside", id="fake"), input_processors=[cache])

    @tool
    async def by_hand() -> str:
        """Ask by hand."""
        return (await inner.generate("Hi")).text

    for tools, name, args in (([by_hand], "by_hand", {}), ([inner], "agent-inner", {"prompt": "Hi"})):
        model = FakeModel([call_tool(name, args), "outside"], id="fake")
        agent = Agent("outer", model=model, tools=tools, input_processors=[cache])
        with anyio.fail_after(20):
            assert await said(agent, way, resource=name) == "outside"


async def test_two_that_would_wait_for_each_other_do_not() -> None:
    """Each is first with one request and needs the other's: one of them asks for itself, and both end."""
    model = Held()
    caches = {name: ResponseCache(key=name, agent_id="one", wait=30.0) for name in ("a", "b")}
    started = {name: anyio.Event() for name in caches}
    inner = {name: Agent(name, model=model, input_processors=[cache]) for name, cache in caches.items()}

    def outer(own: str, other: str) -> Agent:
        @tool
        async def crossing() -> str:
            """Ask for what the other one asks for."""
            started[own].set()
            await started[other].wait()
            return (await inner[other].generate("Hi")).text

        asking = FakeModel([call_tool("crossing"), f"{own} is done"], id="fake/held")
        return Agent(own, model=asking, tools=[crossing], input_processors=[caches[own]])

    texts: list[str] = []

    async def one(agent: Agent) -> None:
        texts.append(await said(agent))

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(one, outer("a", "b"))
            group.start_soon(one, outer("b", "a"))
            await model.asked(1)
            model.answer(("inside",))
    assert sorted(texts) == ["a is done", "b is done"]


async def test_a_flight_that_is_over_holds_nobody() -> None:
    """However often it is ended, the first end counts, and nothing is left under way."""
    flights, scope = Flights(), RequestScope()
    flight = await flights.join("k", scope, 1)
    assert isinstance(flight, Flight)
    flight.land("entry")
    flight.fail()
    assert (flight.is_over, flight.entry, flight.failed) == (True, "entry", False)
    with anyio.fail_after(5):
        await flight.wait()
    assert isinstance(await flights.join("k", RequestScope(), 1), Flight)


async def test_a_store_that_fails_is_none() -> None:
    """Whatever the store raises the model is asked, and equal requests at a time still share its answer."""
    store = Broken()
    model = Held()
    agent, _ = parrot([], ResponseCache(store), model=model)
    crowd = Crowd(agent)
    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(crowd.one)
        await model.asked(1)
        model.answer(("once",))
    assert crowd.texts == ["once"] * 3
    assert store.calls == 2


async def test_a_run_that_ends_early_lets_the_others_go_on() -> None:
    """A processor that answers itself, or fails, behind the cache leaves nobody waiting."""
    store = Store()
    ways: list[Callable[[Any], Any]] = [lambda ctx: ctx.replace_response("mine"), lambda ctx: ctx.abort("no"), _fails]
    for act in ways:
        cache = ResponseCache(store, wait=30.0)
        stopped = Agent("parrot", model=FakeModel("x"), input_processors=[cache, at("process_llm_request", act)])
        plain, _ = parrot(["asked"], cache)
        await ask(stopped)
        with anyio.fail_after(10):
            assert await said(plain) == "asked"
        await cache.forget(None)
        await store.clear()


def _fails(ctx: Any) -> Any:
    raise ValueError("broken")


async def test_a_run_that_waits_for_a_person_holds_up_nobody() -> None:
    """Equal requests go on once the first is suspended; each waits for its own person."""
    store = Store()
    cache = ResponseCache(store, wait=30.0)

    @tool
    async def ask_first() -> str:
        """Ask a person first."""
        return "yes"

    model = FakeModel([call_tool("ask_first")] * 3)
    agent = Agent("parrot", model=model, tools=[ask_first], input_processors=[cache], require_tool_approval=True)
    crowd = Crowd(agent)
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(crowd.one)
    assert (crowd.texts, store.kept, len(model.requests)) == (["suspended"] * 3, {}, 3)
