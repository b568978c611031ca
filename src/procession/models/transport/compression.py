"""
Compressed answers, unpacked within bounds: a few bytes may stand for any number.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from procession.errors import ModelError
from procession.models.transport.sse import LARGEST_EVENT

__all__ = ["ACCEPTED", "Unpacker"]

ACCEPTED = "gzip"
"""What servers are told that they may use."""
_GZIP = zlib.MAX_WBITS | 16


class Unpacker:
    """
    Unpacks an answer as it comes.

    >>> Unpacker([], model="local/m").feed(b"plain")
    b'plain'
    """

    __slots__ = ("_model", "_unpacking")

    def __init__(self, encodings: Sequence[str], *, model: str) -> None:
        """
        *encodings* is what the server says of its answer, and *model* is named in errors.

        Raises ``ModelError`` for more than one compression, and for one that was not asked for.
        """
        used = [name.strip().lower() for name in encodings]
        used = [name for name in used if name not in ("", "identity")]
        if used not in ([], [ACCEPTED]):
            raise ModelError(
                f"{model}: the answer is compressed as {', '.join(used)[:100]}, which was not asked for", kind="stream"
            )
        self._model = model
        self._unpacking = zlib.decompressobj(_GZIP) if used else None

    def feed(self, piece: bytes) -> bytes:
        """
        Return what *piece* stands for.

        Raises ``ModelError`` of kind ``stream`` for what is not compressed as it should be, and for far too much.
        """
        unpacking = self._unpacking
        if unpacking is None:
            return piece
        try:
            whole = unpacking.decompress(piece, LARGEST_EVENT)
        except zlib.error as error:
            raise ModelError(f"{self._model}: the answer cannot be unpacked: {error}", kind="stream") from error
        if unpacking.unconsumed_tail:
            raise ModelError(f"{self._model}: the answer unpacks to more than {LARGEST_EVENT:,} bytes", kind="stream")
        return whole
