"""An App as an MCP server: the official SDK's own client asks it, over HTTP and as a process."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from tests.server.live import live

pytest.importorskip("mcp")

import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from procession import Agent, App, StepContext, create_workflow, step
from procession.errors import DefinitionError
from procession.messages.chunks import Chunk, Finish, TextDelta
from procession.processors.cache.response_cache import ResponseCache
from procession.server.limits import Limits
from procession.server.mcp.offers import offers_of
from procession.server.mcp.serving import serve_stdio
from procession.testing.fake_model import FakeModel
from procession.testing.script import call_tool
from procession.tools.mcp.mcp_tools import MCPTools
from procession.tools.tool import tool

MODES = ["legacy", "auto"]


class NoSecrets:
    """A guard that stops a prompt."""

    id = "no-secrets"

    def process_input(self, ctx: Any) -> None:
        if "secret" in str(ctx.messages):
            ctx.abort("it matched rule 7", message="We do not speak of that.")


class Slow:
    """A model that says a little, and then waits until it is cancelled."""

    id = "slow"

    def __init__(self) -> None:
        self.cancelled = anyio.Event()

    async def stream(self, request: Any) -> AsyncIterator[Chunk]:
        yield TextDelta("x" * 250)
        try:
            await anyio.sleep_forever()
        finally:
            self.cancelled.set()
        yield Finish("stop")


class Broken:
    """A model that fails with private words."""

    id = "broken"

    async def stream(self, request: Any) -> AsyncIterator[Chunk]:
        for _ in [1]:
            raise RuntimeError("the key is sk-private")
        yield Finish("stop")


@step
async def double(ctx: StepContext[int]) -> int:
    """Double it."""
    return 2 * ctx.input


@tool(requires_approval=True)
def wipe() -> str:
    """Delete all."""
    return "gone"


def made(**options: Any) -> tuple[App, Slow]:
    """Return an app, and its model that waits."""
    slow = Slow()
    helper = Agent("help", model=FakeModel(["Hello!"] * 9), description="Helps.", input_processors=[NoSecrets()])
    agents = [
        helper, Agent("slow", model=slow), Agent("broken", model=Broken(), max_processor_retries=0),
        Agent("asks", model=FakeModel([call_tool("wipe", {}, id="c1"), "No."]), tools=[wipe]),
    ]  # fmt: skip
    workflow = create_workflow("double-it", int).then(double).commit()
    return App(agents=agents, workflows=[workflow], **options), slow


def text(result: Any) -> str:
    """Return the text of a result."""
    return "".join(block.text for block in result.content)


@pytest.mark.parametrize("mode", MODES)
async def test_agents_and_workflows_are_tools(mode: str) -> None:
    """The SDK's client lists agents and workflows with their schemas, and calls them, in either era of the protocol."""
    app, _ = made()
    async with live(app) as server, Client(f"{server.url}/mcp", mode=mode) as client:
        listed = {one.name: one for one in (await client.list_tools()).tools}
        assert list(listed) == ["agent-help", "agent-slow", "agent-broken", "agent-asks", "workflow-double-it"]
        assert listed["agent-help"].description == "Helps."
        assert listed["agent-help"].input_schema["required"] == ["prompt"]
        assert text(await client.call_tool("agent-help", {"prompt": "Hi"})) == "Hello!"
        assert text(await client.call_tool("workflow-double-it", {"input": 21})) == "42"


@pytest.mark.parametrize("mode", MODES)
async def test_what_goes_wrong_is_told_without_what_is_private(mode: str) -> None:
    """A tripwire, a failure, wrong arguments and a question are error results that say no more than a caller may know."""
    app, _ = made()
    async with live(app) as server, Client(f"{server.url}/mcp", mode=mode) as client:
        for name, args, said in (
            ("agent-help", {"prompt": "a secret"}, "We do not speak of that."),
            ("agent-help", {"prompt": 5, "run_id": "x"}, "prompt: should be a string; run_id: is no argument"),
            ("workflow-double-it", {"input": "x"}, "input: should be an integer"),
            ("agent-asks", {"prompt": "wipe"}, "it waits for somebody's answer, which cannot be given here (run "),
            ("agent-broken", {"prompt": "Hi"}, "the run went wrong: ModelError"),
        ):
            result = await client.call_tool(name, args)
            assert result.is_error
            assert said in text(result)
            assert "sk-private" not in text(result) and "rule 7" not in text(result)
        with pytest.raises(MCPError, match="there is no tool 'agent-nobody'"):
            await client.call_tool("agent-nobody", {})


@pytest.mark.parametrize("mode", MODES)
async def test_progress_and_cancellation(mode: str) -> None:
    """What an agent says comes as progress, and a client that cancels its call cancels the run."""
    app, slow = made()
    heard = anyio.Event()
    told: list[tuple[float, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, message))
        heard.set()

    async with live(app) as server, Client(f"{server.url}/mcp", mode=mode) as client:
        async with anyio.create_task_group() as group:

            async def call() -> None:
                await client.call_tool("agent-slow", {"prompt": "Hi"}, progress_callback=hear)

            group.start_soon(call)
            with anyio.fail_after(20):
                await heard.wait()
            group.cancel_scope.cancel()
        with anyio.fail_after(20):
            await slow.cancelled.wait()
    assert told == [(250, "x" * 250)]


async def test_the_door_is_guarded() -> None:
    """Without the token, from another origin or host, or as a form, nothing at /mcp answers; read-only runs nothing."""
    app, _ = made(token="t-1", read_only=True, limits=Limits(body=10_000))
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    accept = {"Accept": "application/json, text/event-stream"}
    async with live(app) as server:
        owner = {**accept, "Authorization": "Bearer t-1"}
        for headers, status in (
            (accept, 401),
            ({**owner, "Origin": "https://evil.example"}, 403),
            ({**owner, "Host": "evil.example"}, 421),
            ({**owner, "Content-Type": "text/plain"}, 403),
        ):
            answer = await server.client.post("/mcp", json=body, headers=headers)
            assert answer.status_code == status
        assert (await server.client.post("/mcp", json={"a": "x" * 20_000}, headers=owner)).status_code == 413
        authorized = httpx2.AsyncClient(headers={"Authorization": "Bearer t-1"})
        async with authorized, Client(streamable_http_client(f"{server.url}/mcp", http_client=authorized)) as client:
            result = await client.call_tool("agent-help", {"prompt": "Hi"})
            assert result.is_error and "read-only" in text(result)


async def test_a_call_that_takes_too_long_ends() -> None:
    """A call is told to end after the time that calls have, and says so."""
    app, slow = made(limits=Limits(seconds=0.2))
    async with live(app) as server, Client(f"{server.url}/mcp") as client:
        result = await client.call_tool("agent-slow", {"prompt": "Hi"})
        assert result.is_error and "took longer than 0.2 seconds" in text(result)
        await slow.cancelled.wait()


async def test_an_app_that_is_not_running_says_so() -> None:
    """Where the lifespan of an app is not held, /mcp says what is missing."""
    app, _ = made()
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        answer = await client.post("/mcp", json={})
    assert answer.status_code == 503 and "app.running()" in answer.json()["error"]["hint"]


async def test_our_client_and_our_server() -> None:
    """Our own MCPTools use an App over HTTP: a tripwire there is an error of the tool here."""
    app, _ = made(token="t-1")
    headers = {"Authorization": "Bearer t-1"}
    async with live(app) as server:
        async with MCPTools.http(f"{server.url}/mcp", headers=headers, include=["agent-help"]) as tools:
            [helper] = tools
            assert await helper.run({"prompt": "Hi"}) == "Hello!"
            with pytest.raises(Exception, match="We do not speak of that."):
                await helper.run({"prompt": "secret"})
        with pytest.raises(Exception, match=r"could not be connected to|refused") as raised:
            async with MCPTools.http(f"{server.url}/mcp?key=k-9"):
                pass
        assert "k-9" not in str(raised.value)


TARGET = """
from procession import Agent
from procession.testing.fake_model import FakeModel

print("a line that is no message")
agent = Agent("parrot", model=FakeModel(["Hello!"]), description="Says hello.")
"""


async def test_the_command_serves_by_standard_output(tmp_path: Path) -> None:
    """``procession mcp TARGET`` is a server for the SDK's client, also where the target prints."""
    (tmp_path / "parrot.py").write_text(TARGET)
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "procession", "mcp", "parrot.py:agent"], cwd=tmp_path,
        env={"PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip
    async with Client(command) as client:
        assert [one.name for one in (await client.list_tools()).tools] == ["agent-parrot"]
        assert text(await client.call_tool("agent-parrot", {"prompt": "Hi"})) == "Hello!"


async def test_a_cache_without_a_scope_is_not_served() -> None:
    """A cache that would give one caller's answers to another is refused by standard input and output as over HTTP."""
    agent = Agent("cached", model=FakeModel("Hi"), input_processors=[ResponseCache(scope=None)])
    with pytest.raises(DefinitionError, match="shares answers"):
        await serve_stdio(App(agents=[agent]))


def test_two_of_one_name_are_refused() -> None:
    """Agents whose ids become one name of a tool are refused."""
    model = FakeModel(["Hi"])
    with pytest.raises(DefinitionError, match="would be called 'agent-a_b'"):
        offers_of(App(agents=[Agent("a.b", model=model), Agent("a_b", model=model)]))
