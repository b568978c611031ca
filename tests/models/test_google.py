"""The client as a whole: what it sends to Gemini, what it needs to be called, and an agent on it."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from tests.models.google_kit import SIGNATURE, call, candidate
from tests.models.wire import WireAnswer, event, serving

from procession.agents.agent import Agent
from procession.errors import InputError, ModelError
from procession.messages.chunks import Finish, ToolCall
from procession.messages.parts import TextPart
from procession.messages.prompt import PromptMessage
from procession.models.google import GoogleModel
from procession.models.model import LanguageModel, ModelRequest, ToolSpec
from procession.testing.recorder import record
from procession.tools.provider_tool import ProviderTool
from procession.tools.tool import tool

ASK = ModelRequest(messages=(PromptMessage("user", (TextPart("Weather?"),)),), tools=(ToolSpec("weather"),))
DONE = candidate({"text": "Done."}, finish="STOP")


@tool
def weather(city: str) -> dict[str, Any]:
    """Tell the weather of a city."""
    return {"city": city, "sky": "rain"}


async def sent_by(model_options: dict[str, Any], name: str = "gemini-2.5-flash") -> httpx.Request:
    """Return the request that a model sends."""
    requests: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(200, json=[DONE])

    await record(GoogleModel(name, transport=httpx.MockTransport(answer), **model_options).stream(ASK))
    return requests[0]


async def test_question_and_answer() -> None:
    """A question reaches the server with its key, and the answer comes back as text, tool call and usage."""
    packets = [
        event(candidate({"text": "One moment."})),
        event({**candidate(call("weather", {"city": "Paris"}, id="c")), "usageMetadata": {"promptTokenCount": 9}}),
        event({**candidate(finish="STOP"), "usageMetadata": {"candidatesTokenCount": 4}}),
    ]
    async with serving(WireAnswer(packets)) as server:
        model = GoogleModel("gemini-2.5-flash", base_url=server.base_url + "/", api_key="k-1")
        recording = await record(model.stream(ASK))
    head = server.heads[0].lower().splitlines()
    assert head[0] == "post /v1/models/gemini-2.5-flash:streamgeneratecontent?alt=sse http/1.1"
    assert "x-goog-api-key: k-1" in head
    assert not any(line.startswith("authorization") for line in head)
    assert server.bodies[0]["contents"] == [{"role": "user", "parts": [{"text": "Weather?"}]}]
    assert recording.text == "One moment."
    assert recording.of(ToolCall) == [ToolCall("c", "weather", {"city": "Paris"})]
    assert recording.of(Finish)[0].usage.total_tokens == 13


def test_it_is_a_model() -> None:
    """It fits the port, and says which model it is."""
    model = GoogleModel("gemini-2.5-flash", provider="proxy")
    assert isinstance(model, LanguageModel)
    assert repr(model) == "GoogleModel('proxy/gemini-2.5-flash')"


@pytest.mark.parametrize("name", ["GOOGLE_API_KEY", "GEMINI_API_KEY"])
async def test_environment_has_the_key(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The key has either of the names that Google's own clients know."""
    for variable in ("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(InputError, match="no key for google/gemini-2.5-flash") as caught:
        await sent_by({})
    assert "GOOGLE_API_KEY" in str(caught.value.hint)
    monkeypatch.setenv(name, " k-2\n")
    request = await sent_by({})
    assert request.headers["x-goog-api-key"] == "k-2"
    assert str(request.url) == f"{GoogleModel.server.base_url}/models/gemini-2.5-flash:streamGenerateContent?alt=sse"


async def test_environment_has_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """The address of the server is taken from the environment, and a server named in code gets no key of another's."""
    monkeypatch.setenv("GOOGLE_API_KEY", "k-2")
    monkeypatch.setenv("GOOGLE_BASE_URL", "http://test/elsewhere")
    assert str((await sent_by({})).url).startswith("http://test/elsewhere/models/")
    assert "x-goog-api-key" not in (await sent_by({"base_url": "http://test/v1"})).headers


@pytest.mark.parametrize("name", ["models/gemini-2.5-flash", "tunedModels/my-model-1"])
async def test_names_with_their_collection(name: str) -> None:
    """A name may say what kind of model it is of, as Google's own names do."""
    request = await sent_by({"base_url": "http://test/v1"}, name)
    assert str(request.url) == f"http://test/v1/{name}:streamGenerateContent?alt=sse"


@pytest.mark.parametrize(
    "name",
    [
        "",
        "..",
        ".",
        "a/b",
        "../x",
        "models/..",
        "models/",
        "models/a/b",
        "a?key=x",
        "a#b",
        "a%2fb",
        "a b",
        "a:b",
        "a\n",
        "é",
        "\\",
    ],
)
def test_names_that_would_change_the_address(name: str) -> None:
    """A name is part of the address: one that would lead elsewhere is refused before anything is sent."""
    with pytest.raises(InputError, match="cannot be the name"):
        GoogleModel(name)


@pytest.mark.parametrize("listed", [False, True])
async def test_refusals(listed: bool) -> None:
    """A refusal is an error with Google's words for it, as an object or in a list, and without the key."""
    error = {"error": {"code": 400, "message": "API key k-1234567 is not valid.", "status": "INVALID_ARGUMENT"}}
    body = json.dumps([error] if listed else error).encode()
    refusal = WireAnswer([body], 400, (("content-type", "application/json; charset=UTF-8"),))
    async with serving(refusal) as server:
        model = GoogleModel("m", base_url=server.base_url, api_key="k-1234567")
        recording = await record(model.stream(ASK), catch=ModelError)
    raised = recording.error
    assert isinstance(raised, ModelError)
    assert (raised.kind, raised.status_code, raised.provider_code) == ("rejected", 400, "INVALID_ARGUMENT")
    assert "is not valid" in str(raised)
    assert "k-1234567" not in f"{raised} {raised.body}"


async def test_tool_step_sends_the_signatures_back() -> None:
    """An agent's second request has the thought, the call with its signature and the result, as they came."""
    first = [
        event(candidate({"text": "The user wants weather.", "thought": True})),
        event(candidate({"text": "Let me look.", "thoughtSignature": "c2lnLXRleHQ="})),
        event(
            candidate(
                {**call("weather", {"city": "Bergen"}), "thoughtSignature": SIGNATURE},
                call("weather", {"city": "Oslo"}),
            )
        ),
        event(candidate({"text": "", "thoughtSignature": "YWxvbmU="}, finish="STOP")),
    ]
    second = [event(candidate({"text": "Rain in both."}, finish="STOP"))]
    async with serving(WireAnswer(first), WireAnswer(second)) as server:
        model = GoogleModel("gemini-3-pro-preview", base_url=server.base_url)
        result = await Agent("a", model=model, tools=[weather]).generate("Bergen or Oslo?")
    assert result.steps[-1].text == "Rain in both."
    user, said, answered = server.bodies[1]["contents"]
    assert user == {"role": "user", "parts": [{"text": "Bergen or Oslo?"}]}
    ids = [part["functionCall"]["id"] for part in said["parts"] if "functionCall" in part]
    assert len(set(ids)) == 2
    bergen, oslo = (
        {"id": id, "name": "weather", "args": {"city": city}} for id, city in zip(ids, ("Bergen", "Oslo"), strict=True)
    )
    assert said == {
        "role": "model",
        "parts": [
            {"text": "The user wants weather.", "thought": True},
            {"text": "Let me look.", "thoughtSignature": "c2lnLXRleHQ="},
            {"functionCall": bergen, "thoughtSignature": SIGNATURE},
            {"functionCall": oslo},
            {"text": "", "thoughtSignature": "YWxvbmU="},
        ],
    }
    responses = [part["functionResponse"] for part in answered["parts"]]
    assert [(it["id"], it["response"]["output"]["city"]) for it in responses] == [(ids[0], "Bergen"), (ids[1], "Oslo")]


async def test_code_that_google_ran_goes_back() -> None:
    """What Google's own tool did in a step is in the next request, in its place and with its signatures."""
    code: dict[str, Any] = {"executableCode": {"language": "PYTHON", "code": "print(6*7)"}, "thoughtSignature": "YQ=="}
    outcome = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "42"}, "thoughtSignature": "Yg=="}
    search = {"toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "id": "s", "args": {"q": "x"}}}
    hits = {"toolResponse": {"toolType": "GOOGLE_SEARCH_WEB", "id": "s", "response": {"n": 3}}}
    parts = [code, outcome, search, hits, {"text": "It is 42."}, call("weather", {"city": "Oslo"}, id="c")]
    answers = [WireAnswer([event(candidate(*parts, finish="STOP"))]), WireAnswer([event(DONE)])]
    run = ProviderTool("code_execution", google={"codeExecution": {}})
    async with serving(*answers) as server:
        model = GoogleModel("gemini-2.5-flash", base_url=server.base_url)
        result = await Agent("a", model=model, tools=[weather, run]).generate("Six times seven?")
    assert result.steps[-1].text == "Done."
    assert server.bodies[0]["tools"][1] == {"codeExecution": {}}
    assert server.bodies[1]["contents"][1]["parts"] == parts


async def test_warnings_reach_the_caller() -> None:
    """What could not be sent as it was is told with the result."""
    async with serving(WireAnswer([event({**DONE, "responseId": "r"})])) as server:
        model = GoogleModel("gemini-2.5-flash", base_url=server.base_url)
        result = await Agent("a", model=model).generate("Hello", model_settings={"logit_bias": {}})
    assert [warning["setting"] for warning in result.warnings] == ["logit_bias"]
