"""Streams of events: many at once, slow readers, silence, and readers that come back."""

import asyncio
from typing import Any

import anyio
from tests.server.gated import Endless, Gated
from tests.server.live import Live, live
from tests.server.reading import Event, events_of, read_events

from procession.agents.agent import Agent
from procession.server.app import App
from procession.server.limits import Limits
from procession.steps.step import StepContext, step
from procession.testing.fake_model import FakeModel
from procession.workflows.workflow import Workflow, create_workflow


def counting(last: int) -> Workflow[Any, Any]:
    """Return a workflow of many events."""

    @step
    async def double(ctx: StepContext[int]) -> int:
        return 2 * ctx.input

    return create_workflow("counting", list[int]).foreach(double).commit()


async def open_slowly(server: Live, request: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Send a request over a socket that takes in next to nothing, and read nothing."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1024)
    writer.write(request.encode())
    await writer.drain()
    return reader, writer


def ask(path: str, body: str) -> str:
    """Return a request as it is sent."""
    return (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n{body}"
    )


async def test_a_hundred_streams_at_once() -> None:
    """A hundred clients are answered at the same time, each with its own whole answer."""
    app = App(agents=[Agent("parrot", model=FakeModel(["One two three."] * 100))])
    async with live(app) as server:
        texts: list[str] = []

        async def one(number: int) -> None:
            told = await events_of(server, "/api/agents/parrot/stream", {"messages": f"Hi {number}"})
            assert [int(each.id) for each in told] == list(range(len(told)))
            texts.append("".join(each.data["text"] for each in told if each.type == "text-delta"))

        async with anyio.create_task_group() as group:
            for number in range(100):
                group.start_soon(one, number)
    assert texts == ["One two three."] * 100


async def test_a_client_that_does_not_read_slows_down_its_own_stream_alone() -> None:
    """Where a client reads nothing its model is not asked on, so that nothing heaps up; another one is answered as ever."""
    endless = Endless("x" * 10_000)
    app = App(agents=[Agent("endless", model=endless), Agent("parrot", model=FakeModel("Hello!"))])
    async with live(app) as server:
        reader, writer = await open_slowly(server, ask("/api/agents/endless/stream", '{"messages": "Hi"}'))
        await reader.readexactly(100)
        assert (await server.post("/api/agents/parrot/generate", {"messages": "Hi"}))["text"] == "Hello!"
        said = -1
        while said != endless.said:  # until it stands still
            said = endless.said
            for _ in range(50):
                assert (await server.client.get("/healthz")).status_code == 200
        assert 0 < said < 3_000  # the buffers of two sockets, and no more
        assert not endless.left.is_set()
        writer.close()
        with anyio.fail_after(20):
            await endless.left.wait()


async def test_a_client_that_reads_nothing_at_all_is_let_go() -> None:
    """After `stalled` seconds a client that takes in nothing is taken for gone, and its run ends."""
    endless = Endless("x" * 10_000)
    async with live(App(agents=[Agent("endless", model=endless)], limits=Limits(stalled=0.05))) as server:
        _, writer = await open_slowly(server, ask("/api/agents/endless/stream", '{"messages": "Hi"}'))
        with anyio.fail_after(20):
            await endless.left.wait()
        writer.close()


async def test_a_silent_stream_says_that_it_is_alive() -> None:
    """While nothing happens a comment is sent now and then, so that no proxy takes the stream for dead."""
    model = Gated()
    app = App(agents=[Agent("slow", model=model)], limits=Limits(heartbeat=0.01))
    body = {"messages": "Hi"}
    async with live(app) as server, server.client.stream("POST", "/api/agents/slow/stream", json=body) as answer:
        lines: list[str] = []
        async for line in answer.aiter_lines():
            lines.append(line)
            if lines.count(": alive") == 3:
                model.gate.set()
    assert "event: result" in lines


async def test_a_reader_comes_back_and_misses_nothing() -> None:
    """A reader of a run's events that was cut off goes on behind the last event that it saw, by Last-Event-ID."""
    async with live(App(workflows=[counting(20)])) as server:
        run_id = (await server.post("/api/workflows/counting/runs", {"input": list(range(20))}))["run_id"]
        path = f"/api/runs/{run_id}/events"
        whole = await events_of(server, path)
        assert [int(each.id) for each in whole] == list(range(len(whole)))
        assert (whole[0].type, whole[-1].type) == ("run.started", "run.finished")
        seen: list[Event] = []
        while not seen or seen[-1].type != "run.finished":
            known = {"Last-Event-ID": seen[-1].id} if seen else {}
            headers = {"Accept": "text/event-stream", **known}
            async with server.client.stream("GET", path, headers=headers) as answer:
                async for each in read_events(answer):  # seven at a time
                    seen.append(each)
                    if len(seen) % 7 == 0:
                        break
        assert seen == whole
        again = await server.client.get(path, headers={"Accept": "text/event-stream", "Last-Event-ID": whole[-1].id})
        assert again.status_code == 204  # a browser connects no more
        for none in (b"--5", b"\xb2", b"9" * 5000, b"-", b"last"):  # of nobody's: as if it were not there
            answer = await server.client.get(
                path, headers=[(b"Accept", b"text/event-stream"), (b"Last-Event-ID", none)]
            )
            assert (answer.status_code, answer.text.count("data: ")) == (200, len(whole)), none


async def test_events_as_pages() -> None:
    """Events are given as JSON too, page by page and by type."""
    async with live(App(workflows=[counting(20)])) as server:
        run_id = (await server.post("/api/workflows/counting/runs", {"input": [1, 2], "wait": True}))["run_id"]
        path = f"/api/runs/{run_id}/events"
        whole = (await server.get(path))["events"]
        first = await server.get(f"{path}?limit=3")
        assert first["events"] == whole[:3]
        assert (await server.get(f"{path}?after=2&limit=5000"))["events"] == whole[3:]
        ends = (await server.get(f"{path}?types=run.started,run.finished"))["events"]
        assert [each["type"] for each in ends] == ["run.started", "run.finished"]
        assert (await server.client.get(f"{path}?limit=0")).status_code == 400
        assert (await server.client.get(f"{path}?after=x")).status_code == 422
        assert (await server.client.get("/api/runs/none/events")).status_code == 404


async def test_a_slow_reader_of_events_holds_nothing_up() -> None:
    """A run goes on to its end though somebody who watches it does not read; other readers see all of it meanwhile."""

    @step
    async def wide(ctx: StepContext[int]) -> str:
        return "x" * 50_000

    workflow = create_workflow("wide", list[int]).foreach(wide).commit()
    async with live(App(workflows=[workflow], redact=None)) as server:
        begun = {"input": list(range(100)), "run_id": "wide-1"}
        await server.post("/api/workflows/wide/runs", begun)
        request = "GET /api/runs/wide-1/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"
        _, writer = await open_slowly(server, request)
        told = await events_of(server, "/api/runs/wide-1/events")
        assert told[-1].type == "run.finished"
        assert (await server.get("/api/runs/wide-1"))["status"] == "success"
        writer.close()


async def test_too_many_at_once_are_told_when_to_come_again() -> None:
    """One call too many gets 503, one reader too many 429, both with Retry-After, and those that go on are not harmed."""
    model = Gated()
    app = App(agents=[Agent("slow", model=model)], limits=Limits(calls=1, readers=1))
    path, told = "/api/agents/slow/generate", {"messages": "Hi"}
    answers: list[Any] = []
    async with live(app) as server, anyio.create_task_group() as group:

        async def first() -> None:
            answers.append(await server.post(path, told))

        group.start_soon(first)
        await model.speaking.wait()
        busy = await server.client.post(path, json=told)
        assert (busy.status_code, busy.json()["error"]["code"]) == (503, "too-many-calls")
        assert busy.headers["retry-after"] == "1"
        run_id = (await server.get("/api/runs"))["runs"][0]["run_id"]
        headers = {"Accept": "text/event-stream"}
        async with server.client.stream("GET", f"/api/runs/{run_id}/events", headers=headers) as reading:
            lines = reading.aiter_lines()  # kept: the connection ends with it
            await anext(lines)
            crowd = await server.client.get(f"/api/runs/{run_id}/events", headers=headers)
        assert (crowd.status_code, crowd.json()["error"]["code"]) == (429, "too-many-readers")
        assert crowd.headers["retry-after"]
        model.gate.set()
    assert answers[0]["text"] == "One two."


async def test_a_call_that_takes_too_long_ends() -> None:
    """A call that takes longer than `seconds` is told to end: its result says so, and the model is not asked on."""
    model = Gated()
    async with live(App(agents=[Agent("slow", model=model)], limits=Limits(seconds=0.05))) as server:
        answer = await server.client.post("/api/agents/slow/generate", json={"messages": "Hi"})
        assert answer.json()["status"] == "aborted" and "longer than" in answer.json()["abort_reason"]
        with anyio.fail_after(20):
            await model.left.wait()
