"""
Embedder: the port behind which texts become vectors, so that what is alike can be found.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

from procession.errors import InputError
from procession.messages.usage import NO_USAGE, Usage
from procession.messages.value import Value

__all__ = ["Embedder", "Embeddings", "Vector", "checked_texts"]

Vector: TypeAlias = "array[float]"
"""
One text's vector: an ``array("f")`` of 32-bit floats, an eighth of what a list of them takes.

``tobytes()`` is what a database keeps, ``numpy.frombuffer(vector, numpy.float32)`` a view without a copy, and
``tolist()`` plain floats.
"""


class Embeddings(Value):
    """
    What came of one call: a vector for each text, in their order, and what they cost.
    """

    vectors: tuple[Vector, ...]
    usage: Usage = NO_USAGE
    """The tokens of all texts, as far as the server said; none where nothing was sent."""


@runtime_checkable
class Embedder(Protocol):
    """
    Something that makes vectors of texts: the nearer two texts in meaning, the smaller the angle between their vectors.

    Vectors of two embedders, or of one with other ``dimensions``, cannot be compared.
    """

    @property
    def id(self) -> str:
        """The embedder's name, e.g. ``openai/text-embedding-3-small``."""
        ...

    @property
    def dimensions(self) -> int | None:
        """The length of its vectors; ``None`` until it is known, with the first answer."""
        ...

    async def embed(self, texts: Sequence[str]) -> Embeddings:
        """
        Return a vector for each of *texts*, in their order, however many there are; for no texts none, without a call.

        Every vector has the same length and none is all zeros, but they need not be of length 1.  Raises ``InputError``
        for a text without a word in it, which has no direction, and ``ModelError`` where the embedder fails.
        """
        ...


def checked_texts(texts: Any) -> list[str]:
    """
    Return *texts* as a list of texts that can be embedded.

    Raises ``InputError`` for a single text, for what is no text, and for a text of nothing but blanks.

    >>> checked_texts(("Hello", "you"))
    ['Hello', 'you']
    """
    if isinstance(texts, (str, bytes)):
        raise InputError(f"the texts to embed are one {type(texts).__name__}", hint="give a list: embed([text])")
    found = list(texts)
    for place, text in enumerate(found):
        if not isinstance(text, str):
            raise InputError(f"text {place} of {len(found)} to embed is {type(text).__name__}", hint="give texts")
        if not text.strip():
            raise InputError(
                f"text {place} of {len(found)} to embed is empty", hint="leave it out: it has no meaning to compare"
            )
    return found
