"""How a call of the official client ends early: errors, hanging up, being cancelled, taking too long."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import anyio
import httpx
import pytest
from tests.server.live import live

openai = pytest.importorskip("openai")

from openai import AsyncOpenAI  # noqa: E402
from tests.server.openai.kit import HI, TOKEN, client_of, sdk  # noqa: E402

from procession.agents.agent import Agent  # noqa: E402
from procession.messages.chunks import Chunk, TextDelta, TextStart  # noqa: E402
from procession.processors.processor import processor  # noqa: E402
from procession.server.app import App  # noqa: E402
from procession.server.limits import Limits  # noqa: E402
from procession.testing.fake_model import FakeModel  # noqa: E402
from procession.testing.script import call_tool, fail, say  # noqa: E402
from procession.tools.tool import Tool  # noqa: E402


async def test_a_model_that_fails_in_its_middle_ends_the_stream() -> None:
    """Where another model takes over, what the first one said cannot be taken back: the stream ends with an error."""

    class Breaks(FakeModel):
        async def stream(self, request: Any) -> AsyncGenerator[Chunk, None]:
            yield TextStart()
            yield TextDelta("Half an ans")
            raise fail("gone", status=500)

    agent = Agent("a", model=[Breaks("x"), FakeModel(["Whole.", "Whole."], id="second")])
    async with client_of(agent) as client:
        asked = await client.chat.completions.create(model="a", messages=HI, stream=True)
        texts: list[str] = []
        with pytest.raises(openai.APIError) as error:
            async for chunk in asked:
                texts += [choice.delta.content or "" for choice in chunk.choices]
        whole = await client.chat.completions.create(model="a", messages=HI)
    assert ("".join(texts), error.value.code) == ("Half an ans", "answer-withdrawn")
    assert whole.choices[0].message.content == "Whole."


@pytest.mark.parametrize("stream", [False, True])
async def test_errors_are_those_of_the_client(stream: bool) -> None:
    """Each kind of error is the official client's own, with the code and the field; nothing private is in one."""
    agents = Agent("a", model=FakeModel("x")), Agent("b", model=FakeModel(fail("a private text", status=500)))
    async with live(App(agents=agents, token=TOKEN)) as server:
        async with sdk(server, "wrong") as stranger:
            with pytest.raises(openai.AuthenticationError) as denied:
                await stranger.chat.completions.create(model="a", messages=HI, stream=stream)
            assert denied.value.type == "authentication_error"
        async with sdk(server) as client:
            with pytest.raises(openai.NotFoundError) as missing:
                await client.chat.completions.create(model="none", messages=HI, stream=stream)
            assert (missing.value.code, missing.value.param) == ("model_not_found", "model")
            with pytest.raises(openai.BadRequestError) as several:
                await client.chat.completions.create(model="a", messages=HI, n=2, stream=stream)
            assert (several.value.type, several.value.param) == ("invalid_request_error", "n")
        async with AsyncOpenAI(base_url=f"{server.url}/v1", api_key=TOKEN, max_retries=2) as client:
            with pytest.raises(openai.InternalServerError) as failed:
                await client.chat.completions.create(model="b", messages=HI, stream=stream)
        assert (failed.value.status_code, failed.value.type) == (502, "server_error")
        assert "private" not in str(failed.value.body)
        model: Any = agents[1].model
        assert len(model.requests) == 1  # the client was told not to try again
        refused = await server.client.get("/v1/nowhere", headers={"Authorization": f"Bearer {TOKEN}"})
        assert refused.json()["error"]["type"] == "invalid_request_error"


async def test_an_error_behind_the_beginning_is_in_the_stream() -> None:
    """What fails once something was sent is told in the stream, where the official client raises it."""
    broken = processor(hook="process_output_result", id="broken")(lambda ctx: 1 / 0)
    async with client_of(Agent("a", model=FakeModel("Hello"), output_processors=[broken])) as client:
        asked = await client.chat.completions.create(model="a", messages=HI, stream=True)
        with pytest.raises(openai.APIError) as error:
            async for _ in asked:
                pass
    assert error.value.code == "processor"


@pytest.mark.parametrize("stream", [False, True])
async def test_who_hangs_up_cancels(stream: bool) -> None:
    """A client that goes ends the run: no further step is made."""
    begun, cancelled = anyio.Event(), anyio.Event()

    async def forever(args: Any, ctx: Any) -> None:
        begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.set()

    wait: Tool[Any] = Tool(name="wait", parameters={"type": "object"}, execute=forever)
    model = FakeModel([say("Wait.") + call_tool("wait", {}), "Never."])
    async with live(App(agents=[Agent("a", model=model, tools=[wait])])) as server:
        body = {"model": "a", "messages": HI, "stream": stream}
        async with httpx.AsyncClient(base_url=server.url) as client, anyio.create_task_group() as group:

            async def ask() -> None:
                async with client.stream("POST", "/v1/chat/completions", json=body) as answer:
                    async for _ in answer.aiter_bytes():
                        pass

            group.start_soon(ask)
            await begun.wait()
            group.cancel_scope.cancel()
        await cancelled.wait()
    assert len(model.requests) == 1


@pytest.mark.parametrize("stream", [False, True])
async def test_a_run_can_be_cancelled_by_its_id(stream: bool) -> None:
    """A run is cancelled under the id that its answer has; the client is told, and does not begin it once more."""
    begun: list[str] = []
    ids: set[str] = set()
    going = anyio.Event()

    async def forever(args: Any, ctx: Any) -> None:
        begun.append(ctx.run_id)
        going.set()
        await anyio.sleep_forever()

    wait: Tool[Any] = Tool(name="wait", parameters={"type": "object"}, execute=forever)
    agent = Agent("a", model=FakeModel([say("Wait.") + call_tool("wait", {})]), tools=[wait])
    async with live(App(agents=[agent], token=TOKEN)) as server:
        client = AsyncOpenAI(base_url=f"{server.url}/v1", api_key=TOKEN, max_retries=2)
        async with client, anyio.create_task_group() as group:

            async def ask() -> None:
                with pytest.raises(openai.APIError) as error:
                    asked: Any = await client.chat.completions.create(model="a", messages=HI, stream=stream)
                    async for chunk in asked:
                        ids.add(chunk.id)
                assert error.value.code == "cancelled"

            group.start_soon(ask)
            await going.wait()
            token = {"Authorization": f"Bearer {TOKEN}"}
            assert (await server.post(f"/api/runs/{begun[0]}/cancel", headers=token))["cancelled"] is True
    assert len(begun) == 1
    assert ids == ({f"chatcmpl-{begun[0]}"} if stream else set())


@pytest.mark.parametrize("stream", [False, True])
async def test_a_call_that_takes_too_long_is_told_so(stream: bool) -> None:
    """Where the server's time for a call is over the client is told, in the stream where something was sent."""

    async def forever(args: Any, ctx: Any) -> None:
        await anyio.sleep_forever()

    wait: Tool[Any] = Tool(name="wait", parameters={"type": "object"}, execute=forever)
    agent = Agent("a", model=FakeModel([say("Wait.") + call_tool("wait", {})]), tools=[wait])
    async with client_of(agent, limits=Limits(seconds=0.2)) as client:
        with pytest.raises(openai.APIError) as error:
            asked: Any = await client.chat.completions.create(model="a", messages=HI, stream=stream)
            async for _ in asked:
                pass
    assert (error.value.code, error.value.type) == ("timeout", "server_error")
