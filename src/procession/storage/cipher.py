"""
Cipher: what a store keeps can be read with a key only.
"""

from __future__ import annotations

import os
from base64 import b64decode, urlsafe_b64encode
from binascii import Error
from collections.abc import Sequence
from hashlib import sha256
from importlib.util import find_spec
from typing import Any

from procession.errors import DefinitionError, StoreError

__all__ = ["KEY_VARIABLE", "Cipher", "new_key"]

KEY_VARIABLE = "PROCESSION_STORE_KEY"
"""The variable of the environment that has the keys, separated by commas, the one that writes first."""

_BYTES = 32
_NONCE = 12
_ID = 8


def new_key() -> str:
    """
    Return a new key, for ``PROCESSION_STORE_KEY``: 32 random bytes as 44 letters.

    >>> len(new_key())
    44
    """
    return urlsafe_b64encode(os.urandom(_BYTES)).decode()


class Cipher:
    """
    Seals bytes with the first of its *keys*, and opens what was sealed with any of them (AES-256-GCM).

    What is sealed is bound to a *place*, and opens nowhere else; where a single bit of it was changed it does not open at
    all.  Put a new key in front to change keys: what is written from then on is sealed with it, and the others are needed
    for as long as something is there that they have sealed.

    >>> cipher = Cipher([new_key()])
    >>> cipher.open(cipher.seal(b"hello", b"here"), b"here")
    b'hello'
    """

    def __init__(self, keys: Sequence[str]) -> None:
        """
        Take *keys* as :func:`new_key` makes them.

        Raises ``DefinitionError`` where cryptography is not installed, and for a key that is none, which is not quoted.
        """
        if find_spec("cryptography") is None:
            raise DefinitionError(
                "encryption needs the package cryptography", hint="pip install 'procession[encryption]'"
            )
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        made = [_key_of(key, number) for number, key in enumerate(keys, start=1)]
        if not made:
            raise DefinitionError("there is no key to encrypt with", hint=_HINT)
        self._by_id: dict[bytes, Any] = {_id_of(key): AESGCM(key) for key in made}
        self._first = _id_of(made[0])

    def seal(self, data: bytes, place: bytes) -> bytes:
        """
        Return *data* as only a key opens it, and only at *place*.
        """
        nonce = os.urandom(_NONCE)
        sealed: bytes = self._by_id[self._first].encrypt(nonce, data, place)
        return b"".join((self._first, nonce, sealed))

    def open(self, sealed: bytes, place: bytes) -> bytes:
        """
        Return what was sealed at *place*.

        Raises ``StoreError``, which quotes neither keys nor contents, where none of the keys has sealed it, and where it was
        changed or is of another place.
        """
        from cryptography.exceptions import InvalidTag

        key = self._by_id.get(sealed[:_ID])
        if key is None:
            raise StoreError("it was encrypted with a key that is not given", hint=f"add that key to {KEY_VARIABLE}")
        try:
            data: bytes = key.decrypt(sealed[_ID : _ID + _NONCE], sealed[_ID + _NONCE :], place)
        except (InvalidTag, ValueError):
            raise StoreError(
                "it was changed, or copied there from another place", hint="restore it from a backup, or delete it"
            ) from None
        return data

    def __repr__(self) -> str:
        return f"Cipher(keys={len(self._by_id)})"


_HINT = (
    f"{KEY_VARIABLE} has one or more keys, separated by commas; make one with `procession db key`, or with new_key() of "
    "procession.storage.cipher"
)


def _key_of(key: str, number: int) -> bytes:
    try:
        data = b64decode(key.strip().encode("ascii"), altchars=b"-_", validate=True)
    except (UnicodeEncodeError, Error):
        data = b""
    if len(data) != _BYTES:
        raise DefinitionError(f"key {number} of {KEY_VARIABLE} is no key: one is 32 bytes in base64", hint=_HINT)
    return data


def _id_of(key: bytes) -> bytes:
    """
    Return by which name a key stands beside what it has sealed; nothing of the key can be told from it.
    """
    return sha256(b"procession key id\0" + key).digest()[:_ID]
