"""
AttachmentSink: the port of where the bytes of attachments are kept, and how they are called there.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Protocol

__all__ = ["AttachmentSink", "is_key", "key_of"]

_KEY = re.compile("[0-9a-f]{32}/[0-9a-f]{64}")


class AttachmentSink(Protocol):
    """
    Keeps bytes, and hands out a reference to them that stands in a message in their place.

    *scope* says whose they are, such as a resource's id; ``None`` is nobody's, which is a place of its own.  What is of
    another scope is as good as not there (D35).  A method that cannot do what it should raises, best a ``StoreError``.
    """

    @property
    def prefix(self) -> str:
        """
        What every reference begins with: a scheme, such as ``attachment:``, that no other sink of the application has.
        """
        ...

    async def put(self, data: bytes, *, media_type: str, name: str | None, scope: str | None) -> str:
        """
        Keep *data*, whole or not at all, and return the reference to it.

        The same data of the same scope has the same reference.  *name* is what a person calls the file: it says nothing
        of where it is kept.
        """
        ...

    async def get(self, reference: str, *, scope: str | None) -> bytes | None:
        """
        Return what *reference* stands for, as it was put; ``None`` where *scope* has nothing of that name.
        """
        ...

    async def url(self, reference: str, *, scope: str | None) -> str | None:
        """
        Return an address from which whoever has it can fetch the data, for a while at least; ``None`` where there is none.
        """
        ...

    async def delete(self, reference: str, *, scope: str | None) -> bool:
        """
        Forget what *reference* stands for; ``False`` where *scope* has nothing of that name.
        """
        ...


def key_of(data: bytes, scope: str | None) -> str:
    """
    Return what *data* of *scope* is called: a folder of the scope's own, and the digest of the content.

    Nothing of what people write is in it, so that no name leads elsewhere.

    >>> key_of(b"hi", "ada").count("/")
    1
    """
    return f"{_owner_of(scope)}/{sha256(data).hexdigest()}"


def is_key(key: str, scope: str | None) -> bool:
    """
    Whether *key* is one that :func:`key_of` gives for *scope*.
    """
    return _KEY.fullmatch(key) is not None and key.startswith(f"{_owner_of(scope)}/")


def _owner_of(scope: str | None) -> str:
    whose = b"\0" if scope is None else b"\1" + scope.encode("utf-8", "surrogatepass")
    return sha256(whose).hexdigest()[:32]
