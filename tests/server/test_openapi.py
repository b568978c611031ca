"""The OpenAPI document is true: what it shows can be asked as it says."""

import json
import re
from typing import Any

import pytest
from tests.server.live import Live, live

from procession.agents.agent import Agent
from procession.processors.guardrails.regex_filter import RegexFilter
from procession.server.app import App
from procession.testing.fake_model import FakeModel


def app(**options: Any) -> App:
    """Return an app in which every example can be asked."""
    agent = Agent("parrot", model=FakeModel(["Hello!"] * 20), input_processors=[RegexFilter(presets=["secrets"])])
    return App(agents=[agent], **options)


async def test_the_document_is_valid() -> None:
    """The document is OpenAPI 3.1, each operation has an id of its own, and the token is in it where one is needed."""
    validator: Any = pytest.importorskip("openapi_spec_validator")
    async with live(app(token="correct-horse"), headers={"Authorization": "Bearer correct-horse"}) as server:
        document = await server.get("/openapi.json")
    validator.validate(document, cls=validator.OpenAPIV31SpecValidator)
    operations = [one["operationId"] for path in document["paths"].values() for one in path.values()]
    assert len(operations) == len(set(operations))
    assert document["security"] == [{"token": []}]
    assert document["paths"]["/healthz"]["get"]["security"] == []


async def test_every_example_can_be_asked() -> None:
    """Each endpoint with an example is asked as it says, and answers with the status and the schema that it names."""
    async with live(app()) as server:
        document = await server.get("/openapi.json")
        asked = 0
        for path, methods in document["paths"].items():
            for method, one in methods.items():
                parameters = {each["name"]: each for each in one.get("parameters", ()) if each["required"]}
                content = one.get("requestBody", {}).get("content", {}).get("application/json")
                if any("example" not in each for each in parameters.values()) or (content and "example" not in content):
                    continue
                await ask(server, document, method, path, one)
                asked += 1
    assert asked >= 12


async def ask(server: Live, document: Any, method: str, path: str, one: Any) -> None:
    """Ask one endpoint by its example, and hold the answer against the document."""
    examples = {each["name"]: each.get("example") for each in one.get("parameters", ()) if each["in"] == "path"}
    where = re.sub(r"\{(\w+)\}", lambda found: examples[found[1]], path)
    body = one.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example")
    answer = await server.client.request(method, where, json=body)
    status = next(iter(one["responses"]))
    if where.startswith("/studio"):
        return  # its own tests
    assert str(answer.status_code) == status, (path, answer.text)
    media, content = next(iter(one["responses"][status]["content"].items()))
    assert answer.headers["content-type"].startswith(media), path
    if media == "application/json" and "schema" in content:
        schema = {**content["schema"], "components": document["components"]}
        jsonschema: Any = pytest.importorskip("jsonschema")
        jsonschema.Draft202012Validator(schema).validate(answer.json())


async def test_unknown_query_and_body_are_refused() -> None:
    """What the document does not name is refused, so that a mistyped option is not passed over."""
    async with live(app()) as server:
        answer = await server.client.get("/api/runs?ownr=x")
        assert answer.status_code == 422 and "owner" in answer.json()["error"]["hint"]


CHATS: Any = [
    {"messages": [{"role": "user", "content": "Hi"}]},
    {
        "messages": [
            {"role": "developer", "content": [{"type": "text", "text": "Be brief."}]},
            {"role": "user", "content": "Open the door."},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "door", "arguments": "{}"}}],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "open"},
        ],
        "tools": [{"type": "function", "function": {"name": "door", "parameters": {"type": "object"}}}],
        "tool_choice": "auto",
        "temperature": 0.5,
        "max_completion_tokens": 50,
        "stop": ["END"],
        "stream_options": {"include_usage": True},
        "procession": {"show_tools": True},
    },
]


async def test_chat_completions_are_described() -> None:
    """What is taken and given by /v1 fits what the document says of it: bodies, answers, pieces of a stream, errors."""
    jsonschema: Any = pytest.importorskip("jsonschema")
    async with live(app()) as server:
        document = await server.get("/openapi.json")
        one = document["paths"]["/v1/chat/completions"]["post"]

        def check(content: Any, value: Any, media: str = "application/json") -> None:
            schema = {**content[media]["schema"], "components": document["components"]}
            jsonschema.Draft202012Validator(schema).validate(value)

        with pytest.raises(jsonschema.ValidationError):
            check(one["requestBody"]["content"], {"model": "parrot"})
        with pytest.raises(jsonschema.ValidationError):
            check(one["requestBody"]["content"], {"model": "parrot", "messages": [{"role": "robot"}]})
        for chat in CHATS:
            body = {"model": "parrot", **chat}
            check(one["requestBody"]["content"], body)
            check(one["responses"]["200"]["content"], await server.post("/v1/chat/completions", body))
            streamed = await server.client.post("/v1/chat/completions", json={**body, "stream": True})
            pieces = [line.removeprefix("data: ") for line in streamed.text.splitlines() if line]
            assert pieces.pop() == "[DONE]" and len(pieces) > 2
            for piece in pieces:
                check(one["responses"]["200"]["content"], json.loads(piece), "text/event-stream")
        refused = await server.client.post("/v1/chat/completions", json={"model": "nobody", "messages": []})
        assert refused.status_code == 400
        check(one["responses"]["default"]["content"], refused.json())
        lacking = await server.client.get("/v1/models/nobody")
        check(document["paths"]["/v1/models/{model}"]["get"]["responses"]["default"]["content"], lacking.json())
