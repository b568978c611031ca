"""Embeddings held against OpenAI's own SDK: what is asked, and what is read of one answer."""

from __future__ import annotations

import base64
import json
import struct

import pytest
from tests.models.sdk_types import RequestTypes
from tests.models.wire import WireAnswer, serving

from procession.models.formats.openai.embeddings import Encoding, embeddings_body
from procession.models.openai_embedder import OpenAIEmbedder

openai = pytest.importorskip("openai", reason="pip install 'openai>=3,<4'")

from openai.types import CreateEmbeddingResponse  # noqa: E402
from openai.types.embedding_create_params import EmbeddingCreateParams  # noqa: E402

REQUESTS = RequestTypes(EmbeddingCreateParams)
VECTORS = [[0.25, -0.5, 1.0], [0.1, 0.2, 0.3]]


@pytest.mark.parametrize("encoding", ["float", "base64"])
@pytest.mark.parametrize("dimensions", [None, 256])
def test_requests_are_what_the_sdk_would_send(encoding: Encoding, dimensions: int | None) -> None:
    """Every field of a request is one that the SDK knows, of its type."""
    REQUESTS.check(embeddings_body(["a", "b"], model="m", encoding=encoding, dimensions=dimensions))


@pytest.mark.parametrize("encoding", ["float", "base64"])
async def test_an_answer_is_read_as_the_sdk_reads_it(encoding: Encoding) -> None:
    """The SDK's client sends the same request to the same server, and both read the same numbers and cost."""

    def written(vector: list[float]) -> object:
        packed = struct.pack(f"<{len(vector)}f", *vector)
        return base64.b64encode(packed).decode() if encoding == "base64" else [*struct.unpack("<3f", packed)]

    body = {
        "object": "list",
        "model": "m",
        "data": [{"object": "embedding", "index": n, "embedding": written(v)} for n, v in enumerate(VECTORS)],
        "usage": {"prompt_tokens": 5, "total_tokens": 5},
    }
    if encoding == "float":
        CreateEmbeddingResponse.model_validate(body, strict=True)
    answer = WireAnswer([json.dumps(body).encode()], headers=(("content-type", "application/json"),))
    async with serving(answer, answer) as server:
        made = await OpenAIEmbedder("m", base_url=server.base_url, api_key="k", encoding=encoding, dimensions=3).embed(
            ["a", "b"]
        )
        async with openai.AsyncOpenAI(base_url=server.base_url, api_key="k") as client:
            theirs = await client.embeddings.create(model="m", input=["a", "b"], encoding_format=encoding, dimensions=3)
    ours, sdk = server.bodies
    assert ours == sdk
    assert made.usage.input_tokens == theirs.usage.prompt_tokens == 5
    for vector, entry in zip(made.vectors, theirs.data, strict=True):
        expected = entry.embedding
        if isinstance(expected, str):  # the SDK decodes what it asked for by itself alone
            expected = [*struct.unpack("<3f", base64.b64decode(expected))]
        assert vector.tolist() == expected
