"""From a name to a model."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from procession.errors import InputError, ModelError
from procession.models.model import ModelRequest
from procession.models.router import resolve_model
from procession.testing.fake_model import FakeModel
from procession.testing.recorder import record


async def sent_for(name: str, environ: dict[str, str], **options: Any) -> httpx.Request:
    """Return the request that the model of a name sends."""
    requests: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(200, json={"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]})

    model = resolve_model(name, environ=environ, transport=httpx.MockTransport(answer), **options)
    await record(model.stream(ModelRequest(messages=())), catch=ModelError)  # the answer is not of every format
    return requests[0]


@pytest.mark.parametrize(
    ("name", "environ", "url", "key", "model"),
    [
        ("openai-chat/gpt-5-mini", {"OPENAI_API_KEY": "k"}, "https://api.openai.com/v1", "k", "gpt-5-mini"),
        ("openai/m", {"OPENAI_BASE_URL": "http://here/v1"}, "http://here/v1", None, "m"),
        ("openrouter/a/b:free", {"OPENROUTER_API_KEY": "k"}, "https://openrouter.ai/api/v1", "k", "a/b:free"),
        ("ollama/qwen3:4b", {}, "http://localhost:11434/v1", None, "qwen3:4b"),
        ("ollama/m", {"OLLAMA_BASE_URL": "http://there/v1"}, "http://there/v1", None, "m"),
        ("custom@https://host:8000/v1#Org/model", {}, "https://host:8000/v1", None, "Org/model"),
        ("custom@http://host/v1/", {"CUSTOM_API_KEY": "k"}, "http://host/v1", "k", "default"),
    ],
)
async def test_names(name: str, environ: dict[str, str], url: str, key: str | None, model: str) -> None:
    """A name leads to the right server, with the right key and the server's own name of the model."""
    request = await sent_for(name, environ)
    assert str(request.url) == f"{url}/chat/completions"
    assert request.headers.get("authorization") == (f"Bearer {key}" if key else None)
    assert f'"model":"{model}"'.encode() in request.content


async def test_code_wins_over_environment() -> None:
    """What is given in code wins over the environment, and a server named in code needs no key."""
    environ = {"OPENAI_API_KEY": "env", "OPENAI_BASE_URL": "http://env/v1"}
    request = await sent_for("openai/m", environ, base_url="http://code/v1", api_key="code")
    assert (request.url.host, request.headers["authorization"]) == ("code", "Bearer code")
    assert "authorization" not in (await sent_for("openrouter/a/b", {}, base_url="http://code/v1")).headers


async def test_key_of_the_environment_is_for_its_server() -> None:
    """A key of the environment is not sent to a server that is named in code, nor to one whose name only begins alike."""
    environ = {"OPENAI_API_KEY": "k", "OPENROUTER_API_KEY": "k"}
    for url in ("http://code/v1", "https://api.openai.com/v1.elsewhere", "https://api.openai.com.elsewhere/v1"):
        assert "authorization" not in (await sent_for("openai-chat/m", environ, base_url=url)).headers
    own = await sent_for("openrouter/a/b", environ, base_url="https://openrouter.ai/api/v1/")
    assert own.headers["authorization"] == "Bearer k"


async def test_which_format_openai_is_spoken_to_in() -> None:
    """OpenAI's own server is asked for Responses, one that stands in for it for Chat Completions; a name can insist."""
    environ = {"OPENAI_API_KEY": "k"}
    elsewhere = {"OPENAI_BASE_URL": "http://here/v1"}
    for name, variables, path in (
        ("openai/m", environ, "/v1/responses"),
        ("openai/m", elsewhere, "/v1/chat/completions"),
        ("openai-chat/m", environ, "/v1/chat/completions"),
        ("openai-responses/m", elsewhere, "/v1/responses"),
    ):
        assert (await sent_for(name, variables)).url.path == path
        assert resolve_model(name, environ=variables).id == "openai/m"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("openai/gpt-5-mini", "OPENAI_API_KEY"),
        ("openrouter/a/b", "OPENROUTER_API_KEY"),
        ("anthropic/claude", "ANTHROPIC_API_KEY"),
        ("google/gemini", "GOOGLE_API_KEY"),
        ("opnai/gpt-5-mini", "did you mean 'openai/gpt-5-mini'"),
        ("OpenAI/gpt-5-mini", "did you mean 'openai/gpt-5-mini'"),
        ("nope/x", "write 'openai/gpt-5-mini'"),
        ("gpt-5-mini", "openai/gpt-5-mini"),
        ("openai/", "names no model"),
        ("", "provider"),
        ("custom@host/v1", "https://host/v1#model"),
        ("custom/x", "custom@"),
    ],
)
def test_names_that_lead_nowhere(name: str, told: str) -> None:
    """A name that leads nowhere, or to a server whose key is missing, is refused with what to write instead."""
    with pytest.raises(InputError) as caught:
        resolve_model(name, environ={})
    assert told in str(caught.value)


def test_password_in_an_address_is_not_quoted() -> None:
    """An address that is refused is quoted without the name and password in it."""
    with pytest.raises(InputError) as caught:
        resolve_model("custom@htps://ada:lovelace1815@host/v1#m", environ={})
    assert "htps://host/v1" in str(caught.value)
    assert "lovelace1815" not in str(caught.value)


def test_model_stands_for_itself() -> None:
    """A model passes through."""
    model = FakeModel("Hi")
    assert resolve_model(model) is model


def test_id_is_the_name() -> None:
    """The id of a model is the name that it was resolved from."""
    assert resolve_model("openai/gpt-5-mini", api_key="k").id == "openai/gpt-5-mini"
