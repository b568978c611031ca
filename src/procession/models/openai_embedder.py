"""
OpenAIEmbedder: any server that speaks OpenAI's embeddings.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from procession.errors import DefinitionError, ModelError
from procession.messages.usage import NO_USAGE
from procession.models.embedder import Embeddings, Vector, checked_texts
from procession.models.formats.openai.embeddings import Encoding, batches, embeddings_body, read_embeddings
from procession.models.providers import PROVIDERS, address_of
from procession.models.transport.headers import own_headers, secrets_in

if TYPE_CHECKING:
    from procession.models.http import Transport

__all__ = ["OpenAIEmbedder"]


class OpenAIEmbedder:
    """
    An embedding model behind OpenAI's ``/embeddings``, at OpenAI or at any server that imitates it.

    Texts are sent in batches, one after the other, and the vectors come back in the order of the texts.  They are the
    server's: of length 1 at OpenAI, of any length elsewhere.

    >>> OpenAIEmbedder("nomic-embed-text", base_url="http://localhost:11434/v1", provider="ollama").id
    'ollama/nomic-embed-text'
    """

    def __init__(
        self,
        model: str,
        *,
        provider: str = "openai",
        base_url: str | None = None,
        api_key: str | None = None,
        dimensions: int | None = None,
        max_batch: int = 96,
        encoding: Encoding | None = None,
        options: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        connect_timeout: float | None = 10.0,
        read_timeout: float | None = 120.0,
        timeout: float | None = None,
        max_retries: int = 2,
        http2: bool = False,
        transport: Transport | None = None,
    ) -> None:
        """
        *provider* names the server in the embedder's id.  Without *base_url* and *api_key* the environment is asked,
        ``OPENAI_BASE_URL`` and ``OPENAI_API_KEY``, when the first call is made.

        *dimensions* asks a model that can for shorter vectors.  *max_batch* is how many texts one request has: OpenAI
        takes 2048, many servers fewer, some 32.  *encoding* is how vectors are asked for, as ``"base64"`` at OpenAI and as
        ``"float"``, which every server knows, elsewhere.  *options* are further fields of the request's body.  The
        timeouts are in seconds: for the connection, for the longest silence, and for one request as a whole; a request
        that fails and may succeed later is made again up to *max_retries* times.  *http2* asks for HTTP/2, which needs
        the extra of that name.  *transport* carries the requests instead of the network.

        Raises ``DefinitionError`` for dimensions or a batch of less than one.
        """
        if max_batch < 1 or (dimensions is not None and dimensions < 1):
            raise DefinitionError(
                f"an embedder with max_batch={max_batch} and dimensions={dimensions}", hint="both are at least 1"
            )
        self.id = f"{provider}/{model}"
        self.provider = provider
        self.model = model
        """The name that the server knows."""
        self.dimensions = dimensions
        """The length of the vectors: as asked for, else as the first answer had them; ``None`` before."""
        self._asked = dimensions
        self._base_url = base_url
        self._api_key = api_key
        self._max_batch = max_batch
        self._encoding: Encoding | None = encoding
        self._options = dict(options or {})
        self._headers = own_headers(headers, self.id)
        self._connect_timeout = connect_timeout
        self._read_timeout = read_timeout
        self._timeout = timeout
        self._max_retries = max_retries
        self._http2 = http2
        self._transport = transport

    def __repr__(self) -> str:
        return f"OpenAIEmbedder({self.id!r})"

    async def embed(self, texts: Sequence[str]) -> Embeddings:
        """
        Return a vector for each text, in their order; where one batch fails, all do.

        Raises ``InputError`` for an empty text and where there is no key, and ``ModelError`` for whatever goes wrong on
        the way, and for vectors that cannot be used, or are not as long as those before.
        """
        asked = checked_texts(texts)
        vectors: list[Vector] = []
        usage = NO_USAGE
        for batch in batches(asked, self._max_batch):
            made = await self._embed(batch)
            self.dimensions = len(made.vectors[0])
            vectors += made.vectors
            usage += made.usage
        return Embeddings(tuple(vectors), usage)

    async def _embed(self, texts: Sequence[str]) -> Embeddings:
        from procession.models.http import Timeouts, post

        openai = PROVIDERS["openai"]
        server = address_of(self.id, openai, os.environ, base_url=self._base_url, api_key=self._api_key)
        key = server.api_key
        encoding = self._encoding or ("base64" if openai.is_at(server.base_url) else "float")
        headers = {
            "accept": "application/json",
            "content-type": "application/json",
            **({"authorization": f"Bearer {key}"} if key else {}),
            **self._headers,
        }
        secrets = secrets_in(headers)
        async with post(
            f"{server.base_url}/embeddings",
            embeddings_body(texts, model=self.model, encoding=encoding, dimensions=self._asked, options=self._options),
            model=self.id,
            headers=headers,
            timeouts=Timeouts(connect=self._connect_timeout, read=self._read_timeout, total=self._timeout),
            max_retries=self._max_retries,
            http2=self._http2,
            transport=self._transport,
            secrets=secrets,
        ) as answer:
            async for event in answer:
                return read_embeddings(
                    event.data,
                    count=len(texts),
                    dimensions=self.dimensions,
                    model=self.id,
                    secrets=secrets,
                )
        raise ModelError(f"{self.id} answered with nothing", kind="stream")
