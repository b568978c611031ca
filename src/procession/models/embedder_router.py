"""
resolve_embedder(): from ``"openai/text-embedding-3-small"`` to an embedder.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from procession.errors import InputError
from procession.models.embedder import Embedder
from procession.models.providers import address_of, server_of

if TYPE_CHECKING:
    from procession.models.http import Transport

__all__ = ["resolve_embedder"]

_OFFLINE = "offline/universal-sentence-encoder"
_FORMS = f"'openai/text-embedding-3-small', 'ollama/<model>', 'custom@<base URL>#<model>' or {_OFFLINE!r}"


def resolve_embedder(
    embedder: str | Embedder,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    dimensions: int | None = None,
    transport: Transport | None = None,
    environ: Mapping[str, str] | None = None,
) -> Embedder:
    """
    Return the embedder that a name stands for; an embedder stands for itself.

    Names are those of :func:`~procession.models.router.resolve_model`, for every provider that speaks OpenAI's protocol,
    and ``offline/universal-sentence-encoder`` for the one that needs no server.  *dimensions* asks for vectors of that
    length.

    Raises ``InputError`` for a name that stands for nothing, for a missing key and for dimensions that the offline model
    does not have, and ``DefinitionError`` where the offline model is not installed.

    >>> resolve_embedder("ollama/nomic-embed-text", environ={})
    OpenAIEmbedder('ollama/nomic-embed-text')
    """
    if not isinstance(embedder, str):
        return embedder
    if embedder == _OFFLINE:
        from procession.models.offline_embedder import SentenceEncoder

        if dimensions not in (None, SentenceEncoder.dimensions):
            raise InputError(
                f"{embedder} has no vectors of length {dimensions}", hint=f"they have {SentenceEncoder.dimensions}"
            )
        return SentenceEncoder()
    if embedder.startswith("offline/"):
        raise InputError(f"there is no offline embedder {embedder!r}", hint=f"write {_OFFLINE!r}")
    from procession.models.openai_embedder import OpenAIEmbedder

    provider, model, server = server_of(embedder, base_url, forms=_FORMS)
    if not server.speaks.startswith("openai"):
        raise InputError(
            f"{embedder!r}: there is no client for the embeddings of {provider}",
            hint=f"write {_FORMS}",
        )
    variables = os.environ if environ is None else environ
    address = address_of(embedder, server, variables, base_url=base_url, api_key=api_key, give="resolve_embedder")
    return OpenAIEmbedder(
        model,
        provider=provider,
        base_url=address.base_url,
        api_key=address.api_key,
        dimensions=dimensions,
        transport=transport,
    )
