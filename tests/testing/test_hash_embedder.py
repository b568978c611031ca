"""The embedder without a model."""

from __future__ import annotations

import pytest

from procession.errors import InputError
from procession.models.embedder import Embedder
from procession.testing.hash_embedder import HashEmbedder


async def test_the_same_text_has_the_same_vector() -> None:
    """Vectors are the same in every process and of length 1; case and signs do not count, words do."""
    embedder = HashEmbedder()
    one, same, other = (await embedder.embed(["The blue whale", "the BLUE whale!", "a tax form"])).vectors
    assert one == same != other
    assert sum(value * value for value in one) == pytest.approx(1.0)
    assert [place for place, value in enumerate(one) if value] == [4, 23, 45]
    assert isinstance(embedder, Embedder)


async def test_it_keeps_what_it_was_asked() -> None:
    """Each call is kept, words are what it costs, and the dimensions are those that were given."""
    embedder = HashEmbedder(8)
    made = await embedder.embed(["one two", "?!"])
    assert [len(vector) for vector in made.vectors] == [8, 8]
    assert made.usage.input_tokens == 3
    assert (await embedder.embed([])).vectors == ()
    assert embedder.requests == [["one two", "?!"], []]
    with pytest.raises(InputError, match="empty"):
        await embedder.embed([""])
