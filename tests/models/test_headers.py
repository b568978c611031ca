"""Headers: keys that cannot be sent are not quoted, and neither are those that stand in headers of one's own."""

from __future__ import annotations

import traceback
from typing import Any

import httpx
import pytest

from procession.errors import InputError, ModelError
from procession.models.anthropic import AnthropicModel
from procession.models.google import GoogleModel
from procession.models.model import ModelRequest
from procession.models.openai_chat import OpenAIChatModel
from procession.models.openai_embedder import OpenAIEmbedder
from procession.models.openai_responses import OpenAIResponsesModel
from procession.testing.recorder import record

ASK = ModelRequest(messages=())
CLIENTS = (AnthropicModel, GoogleModel, OpenAIChatModel, OpenAIResponsesModel)


async def failure_of(make: Any, **options: Any) -> ModelError:
    """Return what asking a client ends in."""
    client = make("m", base_url="http://test/v1", max_retries=0, **options)
    with pytest.raises(ModelError) as caught:
        await (client.embed(["Hello"]) if make is OpenAIEmbedder else record(client.stream(ASK)))
    return caught.value


def never(_: httpx.Request) -> httpx.Response:
    """Answer no request."""
    raise AssertionError("nothing is to be sent")


@pytest.mark.parametrize("make", [*CLIENTS, OpenAIEmbedder])
def test_a_header_that_is_no_text(make: Any) -> None:
    """A header whose variable is not set is refused when the client is made, by its name."""
    with pytest.raises(InputError, match=r"/m: the header 'x-key' is NoneType \(hint: give a text; .*variable"):
        make("m", headers={"x-key": None})


@pytest.mark.parametrize("make", CLIENTS)
def test_a_model_without_a_name(make: Any) -> None:
    """A model without a name is refused when the client is made."""
    with pytest.raises(InputError, match="no model is named|cannot be the name of a model"):
        make("")


@pytest.mark.parametrize("make", [*CLIENTS, OpenAIEmbedder])
@pytest.mark.parametrize("key", ["sword\nfish", "sword\rfish", "sword\x00fish", "sword\u2028fish", "schwertfisch-ä"])
async def test_a_key_that_no_header_can_have(make: Any, key: str) -> None:
    """Such a key, as of two lines that were copied, is refused before anything is sent, and nothing quotes it."""
    error = await failure_of(make, api_key=key, transport=httpx.MockTransport(never))
    assert (error.kind, error.retryable) == ("rejected", False)
    assert "cannot be sent" in str(error)
    told = "".join(traceback.format_exception(error, limit=0))
    assert "sword" not in told
    assert "schwert" not in told


@pytest.mark.parametrize("make", [*CLIENTS, OpenAIEmbedder])
@pytest.mark.parametrize(("name", "value"), [("api-key", "swordfish"), ("Authorization", "Basic swordfish")])
async def test_a_key_in_a_header_of_ones_own(make: Any, name: str, value: str) -> None:
    """A server that repeats such a header is not quoted with it."""

    def told(request: httpx.Request) -> httpx.Response:
        return httpx.Response(401, json={"error": {"message": f"swordfish is no key: {request.headers[name]}"}})

    error = await failure_of(make, headers={name: value}, transport=httpx.MockTransport(told))
    assert "is no key" in str(error)
    assert "swordfish" not in f"{error} {error.body}"
