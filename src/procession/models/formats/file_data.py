"""
File data: what a request has of a file that goes with it.
"""

from __future__ import annotations

import base64
import re
from typing import Any

from procession.errors import InputError
from procession.messages.parts import FilePart

__all__ = ["base64_text"]

_LOOKED_AT = 1024
"""How much of a text is looked at: what is mistaken for a file's data is its path, and no path is longer."""
_foreign = re.compile(r"[^A-Za-z0-9+/_=\s-]").search


def base64_text(part: FilePart) -> str:
    """
    Return the data of a file as base64: bytes are encoded, a ``data:`` URI gives what it holds.

    Raises ``InputError`` for anything else that is no base64, such as a path: nothing reads files of this machine here.

    >>> base64_text(FilePart(b"hi", "text/plain"))
    'aGk='
    """
    data: Any = part.data  # a field of a value, which nothing checks
    if isinstance(data, bytes):
        return base64.b64encode(data).decode("ascii")
    if isinstance(data, str) and data.startswith("data:"):
        return data.partition(",")[2]
    if not isinstance(data, str) or _foreign(data[:_LOOKED_AT]) is not None:
        raise InputError(
            f"the data of a file of type {part.media_type!r} is no base64",
            hint="give bytes or base64 text; of a file on this machine, Path(...).read_bytes()",
        )
    return data
