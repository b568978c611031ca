"""
HashEmbedder: vectors without a model, the same on every machine and in every run.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from hashlib import blake2b
from math import sqrt

from procession.messages.usage import Usage
from procession.models.embedder import Embeddings, Vector, checked_texts

__all__ = ["HashEmbedder"]

_WORD = re.compile(r"\w+")


class HashEmbedder:
    """
    Makes vectors of the words of a text: texts that share words are near each other, whatever they mean.

    What was asked is kept in ``requests``.  A word, whatever its case, costs one token.

    >>> import anyio
    >>> async def main():
    ...     one, same, other = (await HashEmbedder().embed(["blue whale", "Whale, blue!", "tax form"])).vectors
    ...     return one == same, sum(a * b for a, b in zip(one, other)) < 0.5
    >>> anyio.run(main)
    (True, True)
    """

    def __init__(self, dimensions: int = 64) -> None:
        self.id = f"hash/{dimensions}"
        self.dimensions = dimensions
        self.requests: list[list[str]] = []
        """The texts of each call."""

    async def embed(self, texts: Sequence[str]) -> Embeddings:
        """
        Return a vector of length 1 for each text; raises ``InputError`` for an empty one.
        """
        asked = checked_texts(texts)
        self.requests.append(asked)
        words = [_WORD.findall(text.casefold()) or [text.strip()] for text in asked]
        tokens = sum(map(len, words))
        return Embeddings(tuple(map(self._vector, words)), Usage(input_tokens=tokens))

    def _vector(self, words: Sequence[str]) -> Vector:
        sums = [0.0] * self.dimensions
        for word in words:
            number = int.from_bytes(blake2b(word.encode("utf-8", "replace"), digest_size=8).digest(), "big")
            sums[(number >> 1) % self.dimensions] += 1.0 if number & 1 else -1.0
        if not any(sums):  # words that cancel each other out still say something
            sums[0] = 1.0
        length = sqrt(sum(value * value for value in sums))
        return array("f", [value / length for value in sums])
