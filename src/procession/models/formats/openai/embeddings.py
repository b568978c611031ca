"""
OpenAI's embeddings as bytes: what is asked, and the vectors of an answer that promises nothing.
"""

from __future__ import annotations

import base64
import binascii
import json
import sys
from array import array
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import Any, Literal

from procession.errors import ModelError
from procession.messages.usage import Usage
from procession.models.embedder import Embeddings, Vector
from procession.models.failures import failure_of, scrub
from procession.models.loose import as_count, as_list, as_mapping

__all__ = ["Encoding", "batches", "embeddings_body", "read_embeddings"]

Encoding = Literal["float", "base64"]
"""How a server is asked to write vectors; both are understood whatever was asked."""

_LONGEST_BATCH = 200_000
"""Characters of one request; OpenAI takes 300,000 tokens, and a token is seldom less than a character."""


def batches(texts: Sequence[str], most: int) -> Iterator[Sequence[str]]:
    """
    Yield *texts* in runs of at most *most*, and of no more than a server takes at once.

    >>> list(batches(["a", "b", "c"], 2))
    [['a', 'b'], ['c']]
    """
    batch: list[str] = []
    size = 0
    for text in texts:
        if batch and (len(batch) == most or size + len(text) > _LONGEST_BATCH):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += len(text)
    if batch:
        yield batch


def embeddings_body(
    texts: Sequence[str],
    *,
    model: str,
    encoding: Encoding,
    dimensions: int | None = None,
    options: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """
    Return the request's body; *options* have the last word.

    >>> embeddings_body(["Hi"], model="m", encoding="float", options={"user": "u-1"})
    {'model': 'm', 'input': ['Hi'], 'encoding_format': 'float', 'user': 'u-1'}
    """
    asked = {"dimensions": dimensions} if dimensions is not None else {}
    return {"model": model, "input": list(texts), "encoding_format": encoding, **asked, **(options or {})}


def read_embeddings(
    text: str, *, count: int, dimensions: int | None, model: str, secrets: tuple[str, ...] = ()
) -> Embeddings:
    """
    Return the vectors of an answer to *count* texts, in the order of the texts.

    *dimensions* is how long each must be, where that is known.  Raises ``ModelError``, which does not quote the texts,
    for an error in a body of status 200, and for an answer of which any text's vector is missing, there twice, of
    another length, all zeros, or not made of finite numbers.
    """
    try:
        body = as_mapping(json.loads(text))
    except (ValueError, RecursionError):
        raise ModelError(f"{model} answered with what is no JSON object", kind="stream") from None
    if "data" not in body:
        if body.get("error"):
            raise failure_of(body, model=model, kind="other", secrets=secrets)
        raise _fault(model, f"it has no 'data', but {', '.join(sorted(scrub(key) for key in body)) or 'nothing'}")
    entries = [as_mapping(entry) for entry in as_list(body["data"])]
    if len(entries) != count:
        raise _fault(model, f"{count} texts were sent, and {len(entries)} vectors came back")
    vectors: list[Vector | None] = [None] * count
    for place, entry in enumerate(entries):
        index = entry.get("index", place)
        if type(index) is not int or not 0 <= index < count or vectors[index] is not None:
            raise _fault(model, f"entry {place} says that it is number {str(index)[:20]} of {count}")
        vector = _vector(entry.get("embedding"), index, model)
        dimensions = dimensions or len(vector)
        if len(vector) != dimensions:
            raise _fault(model, f"vector {index} has {len(vector)} numbers in place of {dimensions}")
        vectors[index] = vector
    return Embeddings(tuple(vector for vector in vectors if vector is not None), _usage(body.get("usage")))


def _vector(value: Any, index: int, model: str) -> Vector:
    vector = array("f")
    try:
        if isinstance(value, str):
            vector.frombytes(base64.b64decode(value, validate=True))
            if sys.byteorder == "big":
                vector.byteswap()
        else:
            vector.extend(as_list(value))
    except (binascii.Error, ValueError, TypeError, OverflowError):
        raise _fault(model, f"vector {index} is not made of numbers") from None
    if not isfinite(sum(vector)):  # a sum with NaN or an infinity in it is one of them
        raise _fault(model, f"vector {index} has numbers that are not finite")
    if not any(vector):
        raise _fault(model, f"vector {index} is {'all zeros' if vector else 'empty'}")
    return vector


def _usage(told: Any) -> Usage:
    usage = as_mapping(told)
    return Usage(input_tokens=as_count(usage.get("prompt_tokens")) or as_count(usage.get("total_tokens")))


def _fault(model: str, what: str) -> ModelError:
    return ModelError(
        f"{model}: the answer cannot be used: {what}",
        hint="is it an embedding model, and does the base URL lead to an OpenAI-compatible server?",
    )
