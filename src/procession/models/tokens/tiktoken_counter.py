"""
TiktokenCounter: the tokens of OpenAI's models, exactly and offline.
"""

from __future__ import annotations

from collections.abc import Callable

from anyio import to_thread

from procession.models.tokens.counter import TokenCounter
from procession.models.tokens.encodings import load_encoding, need_encodings
from procession.models.tokens.images import OPENAI_TILES, ImageRule
from procession.models.tokens.pieces import LONGEST, pieces_of

__all__ = ["TiktokenCounter"]


class TiktokenCounter(TokenCounter):
    """
    Counts with a tokenizer of OpenAI's, ``o200k_base`` or ``cl100k_base``.  Needs the extra ``tokens``, and no network.

    The tokenizer is loaded with the first count, once for the process.  With *estimated* its counts stand for those of
    a model that has another tokenizer.

    A text of over 8,192 characters is counted in pieces, cut at a space where that changes nothing; where there is none
    for a thousand characters, such as in base64, each cut may count a token too many or too few.  So a megabyte takes a
    fraction of a second, whatever is in it.

    Raises ``DefinitionError`` for another name, and where the extra is missing.

    >>> TiktokenCounter("o200k_base").count("The marker <|endoftext|> ends documents.")
    12
    """

    per_message = 3.0
    per_request = 3.0

    def __init__(self, name: str = "o200k_base", *, estimated: bool = False, images: ImageRule = OPENAI_TILES) -> None:
        need_encodings(name)
        self.name = name
        self.estimated = estimated
        self.images = images
        self._encode: Callable[[str], list[int]] | None = None
        """The tokenizer, once there was a text."""

    async def load(self) -> None:
        """
        Load the tokenizer in a worker thread, unless it is there.
        """
        if self._encode is None:
            loaded = await to_thread.run_sync(load_encoding, self.name)
            self._encode = loaded.encode_ordinary

    def count(self, text: str) -> int:
        """
        Return how many tokens *text* has.
        """
        encode = self._encode
        if encode is None:
            encode = self._encode = load_encoding(self.name).encode_ordinary
        if len(text) <= LONGEST:
            return len(encode(text))
        return sum(len(encode(piece)) for piece in pieces_of(text))
