"""OpenAI's embeddings without a network: what is asked, and reading answers that promise nothing."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from procession.errors import InputError, ModelError
from procession.models.embedder import checked_texts
from procession.models.formats.openai.embeddings import batches, embeddings_body, read_embeddings


def entry(*numbers: float, **fields: Any) -> dict[str, Any]:
    """Return one vector as a server writes it."""
    return {"object": "embedding", "embedding": list(numbers), **fields}


def packed(*numbers: float) -> str:
    """Return a vector as base64."""
    return base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()


def read(data: Any, count: int = 1, dimensions: int | None = None, **body: Any) -> list[list[float]]:
    """Return the vectors of an answer."""
    text = json.dumps({"data": data, **body})
    made = read_embeddings(text, count=count, dimensions=dimensions, model="openai/m")
    return [vector.tolist() for vector in made.vectors]


def test_vectors_stand_in_the_order_of_the_texts() -> None:
    """Vectors are sorted by their index, and where a server gives none, they stand as they came."""
    assert read([entry(2, 0, index=1), entry(1, 0, index=0)], 2) == [[1, 0], [2, 0]]
    assert read([entry(1, 0), entry(2, 0)], 2) == [[1, 0], [2, 0]]


def test_both_encodings_are_understood() -> None:
    """Floats and base64 are read whatever was asked, to the same vector of 32-bit floats."""
    assert read([entry(0.5, -0.25)]) == read([{"embedding": packed(0.5, -0.25)}]) == [[0.5, -0.25]]
    made = read_embeddings(json.dumps({"data": [entry(1, 2)]}), count=1, dimensions=None, model="m")
    assert (made.vectors[0].typecode, made.vectors[0].tobytes()) == ("f", struct.pack("=2f", 1, 2))


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [({"prompt_tokens": 7, "total_tokens": 7}, 7), ({"total_tokens": 4}, 4), (None, 0), ({"prompt_tokens": "x"}, 0)],
)
def test_usage(usage: Any, tokens: int) -> None:
    """The cost is what the server says, and nothing where it does not say."""
    text = json.dumps({"data": [entry(1)], "usage": usage})
    assert read_embeddings(text, count=1, dimensions=None, model="m").usage.input_tokens == tokens


UNUSABLE: list[tuple[Any, int, str]] = [
    ([entry(1)], 2, "2 texts were sent, and 1 vectors came back"),
    ([entry(1), entry(1)], 1, "1 texts were sent, and 2 vectors came back"),
    ("many", 1, "0 vectors came back"),
    ([entry(1, index=0), entry(1, index=0)], 2, "entry 1 says that it is number 0 of 2"),
    ([entry(1, index=5)], 1, "number 5 of 1"),
    ([entry(1, index=-1)], 1, "number -1 of 1"),
    ([entry(1, index="0"), entry(1)], 2, "entry 0"),
    ([entry(1, 2), entry(1)], 2, "vector 1 has 1 numbers in place of 2"),
    ([entry(1, float("nan"))], 1, "not finite"),
    ([entry(float("inf"), float("-inf"))], 1, "not finite"),
    ([entry(1e300)], 1, "vector 0 "),
    ([{"embedding": packed(1, float("nan"))}], 1, "not finite"),
    ([{"embedding": packed(1, 2)[:-3]}], 1, "not made of numbers"),
    ([{"embedding": "AAA="}], 1, "not made of numbers"),
    ([{"embedding": "ab\ud800"}], 1, "not made of numbers"),
    ([{"embedding": ["1"]}], 1, "not made of numbers"),
    ([{"embedding": [None, 1]}], 1, "not made of numbers"),
    ([{"embedding": []}], 1, "empty"),
    ([{"embedding": ""}], 1, "empty"),
    ([{}], 1, "empty"),
    ([None], 1, "empty"),
    ([entry(0, 0)], 1, "all zeros"),
]


@pytest.mark.parametrize(
    ("data", "count", "told"),
    UNUSABLE,
)
def test_what_cannot_be_used_is_an_error(data: Any, count: int, told: str) -> None:
    """An answer in which anything is missing, doubled, or no finite vector with a direction is an error that says so."""
    with pytest.raises(ModelError) as caught:
        read(data, count)
    assert told in caught.value.message
    assert caught.value.message.startswith("openai/m: the answer cannot be used")
    assert not caught.value.retryable


def test_vectors_of_another_length_are_refused() -> None:
    """Where the length is known, a vector of another one is an error: it would be compared with what it is not like."""
    assert read([entry(1, 2)], dimensions=2) == [[1, 2]]
    with pytest.raises(ModelError, match="has 2 numbers in place of 3"):
        read([entry(1, 2)], dimensions=3)


def test_an_error_in_a_good_answer() -> None:
    """An error object in an answer of status 200 is that error, without the key; nothing at all is one, too."""
    text = json.dumps({"error": {"message": "no model m for sk-abcdef123456", "code": "model_not_found"}})
    with pytest.raises(ModelError) as caught:
        read_embeddings(text, count=1, dimensions=None, model="openai/m")
    assert caught.value.provider_code == "model_not_found"
    assert "no model m for [redacted]" in caught.value.message
    for body in ("", "<html>", "[1]", "3", "{}", "[" * 100_000):
        with pytest.raises(ModelError, match="openai/m"):
            read_embeddings(body, count=1, dimensions=None, model="openai/m")


@given(st.text() | st.recursive(st.none() | st.floats() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.sampled_from(["data", "embedding", "index", "usage", "error"]), x)).map(json.dumps))  # fmt: skip
def test_any_body_is_an_answer_or_a_model_error(text: str) -> None:
    """Whatever a server sends is one whole answer or a ``ModelError``."""
    try:
        made = read_embeddings(text, count=1, dimensions=None, model="m")
    except ModelError:
        return
    assert len(made.vectors) == 1


@given(st.lists(st.text(max_size=5)), st.integers(1, 5))
def test_batches_keep_texts_and_their_order(texts: list[str], most: int) -> None:
    """Batches joined are the texts, each is full but the last, and none is empty."""
    made = list(batches(texts, most))
    assert [text for batch in made for text in batch] == texts
    assert all(len(batch) == most for batch in made[:-1])
    assert all(made)


def test_batches_of_long_texts_are_smaller() -> None:
    """A request holds no more text than a server takes; a text that is longer than that goes by itself."""
    long = "x" * 150_000
    assert [len(batch) for batch in batches([long, "a", long, long * 2, "b"], 96)] == [2, 1, 1, 1]


def test_the_body_says_no_more_than_was_asked() -> None:
    """Dimensions are sent where they were given, and options have the last word."""
    plain = embeddings_body(["a"], model="m", encoding="base64")
    assert plain == {"model": "m", "input": ["a"], "encoding_format": "base64"}
    asked = embeddings_body(["a"], model="m", encoding="float", dimensions=3, options={"encoding_format": "x"})
    assert (asked["dimensions"], asked["encoding_format"]) == (3, "x")


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        ("hello", "give a list"),
        (b"hello", "give a list"),
        (["a", 3], "text 1 of 2 to embed is int"),
        (["a", "", "b"], "text 1 of 3 to embed is empty"),
        ([" \n"], "leave it out"),
    ],
)
def test_texts_that_cannot_be_embedded(texts: Any, told: str) -> None:
    """One text in place of a list, what is no text, and a text without words are refused, by their place."""
    with pytest.raises(InputError) as caught:
        checked_texts(texts)
    assert told in str(caught.value)
