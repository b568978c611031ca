"""
Records: how what is kept stands in a store.

A record is a text, and stands there as it is, encrypted, or as a reference to an object elsewhere.  What is not as it is
begins with a mark; a text that begins with it itself stands behind one, so that nobody can write what is taken for more.
"""

from __future__ import annotations

import json
import os
from base64 import b64encode
from binascii import a2b_base64
from collections.abc import Iterable, Sequence

from procession.errors import DefinitionError, StoreError
from procession.storage.attachments import AttachmentSink
from procession.storage.cipher import KEY_VARIABLE, Cipher

__all__ = ["ELSEWHERE", "Records", "can_stand", "record_name"]

LIMIT = 1_000_000
"""Bytes above which a record goes to the sink, unless told otherwise."""

_MARK = "procession:"
_TEXT = "procession:text:"
_JSON = "procession:json:"
"""Before a text with half of a character, which no store can keep: JSON has another word for it."""

_SEALED = "procession:sealed:"
_KEPT = "procession:kept:"
ELSEWHERE = _KEPT
"""What begins with it stands for a text that is kept elsewhere, which :meth:`Records.forget` deletes."""

_OBJECT = b"procession record\n"
_SEALED_OBJECT = b"procession sealed record\n"


def record_name(kind: str, *parts: str | None) -> str:
    """
    Return what a record is called that is of some *kind*, and of a thread, a message, ...: no two have one name.

    >>> record_name("message", "t:1", "m") == record_name("message", "t", "1:m")
    False
    """
    return json.dumps([kind, *parts], separators=(",", ":"))


class Records:
    """
    How texts stand in a store: as they are, or with a *key* encrypted, and with a *sink* elsewhere where they are long.

    *scope* is the resource whose text it is, *name* says where it stands, see :func:`record_name`: what is read under
    another name than it was written is refused where that can be told.

    >>> import anyio
    >>> from procession.storage.cipher import new_key
    >>> async def main() -> str:
    ...     records = Records(key=new_key())
    ...     stored = await records.write("My secret", scope="ada", name="note")
    ...     assert "secret" not in stored
    ...     return await records.read(stored, scope="ada", name="note")
    >>> anyio.run(main)
    'My secret'
    """

    def __init__(
        self,
        *,
        key: str | Sequence[str] | Cipher | None = None,
        sink: AttachmentSink | None = None,
        limit: int | None = None,
        refuse_plain: bool = False,
    ) -> None:
        """
        Encrypt with *key*, one or more separated by commas, of which the first writes and all read.

        What is longer than *limit* bytes, a million unless told otherwise, goes to the *sink*.  With *refuse_plain* what
        stands in the store unencrypted, as from the time before, is not read.

        Raises ``DefinitionError`` for what cannot work.
        """
        if isinstance(key, str):
            key = key.split(",")
        self._cipher = Cipher(key) if key is not None and not isinstance(key, Cipher) else key
        if limit is not None and sink is None:
            raise DefinitionError(f"Records has limit={limit!r} and no sink=", hint="sink=FileSink(directory)")
        if limit is not None and limit < 1:
            raise DefinitionError(f"Records has limit={limit!r}", hint="give bytes, at least 1")
        if refuse_plain and self._cipher is None:
            raise DefinitionError("Records has refuse_plain=True and no key", hint=f"key=, or {KEY_VARIABLE}")
        self._sink = sink
        self._limit = limit if limit is not None else LIMIT
        self._refuse_plain = refuse_plain

    @classmethod
    def from_environment(
        cls, *, sink: AttachmentSink | None = None, limit: int | None = None, refuse_plain: bool = False
    ) -> Records:
        """
        Return records with the keys of ``PROCESSION_STORE_KEY``, unencrypted where that is not set.

        Raises ``DefinitionError`` where it is set and has no keys in it, empty as well: whoever set it wants encryption.
        """
        key = os.environ.get(KEY_VARIABLE)
        if key is not None and not key.strip():  # a command that was to make one has failed, or a secret is not there
            raise DefinitionError(
                f"{KEY_VARIABLE} is set and empty, and nothing would be encrypted",
                hint="give it a key, made with `procession db key` or new_key() of procession.storage.cipher, or unset it",
            )
        return cls(key=key, sink=sink, limit=limit, refuse_plain=refuse_plain)

    @property
    def is_plain(self) -> bool:
        """
        Whether texts that begin with ``{`` stand as they are, so that a store need not ask for them, neither when it writes
        nor when it reads them.
        """
        return self._cipher is None and self._sink is None

    @property
    def is_encrypted(self) -> bool:
        """
        Whether what is written can be read with a key only.
        """
        return self._cipher is not None

    @property
    def has_sink(self) -> bool:
        """
        Whether long records stand elsewhere, so that something is to be deleted there when their rows go.
        """
        return self._sink is not None

    async def write(self, text: str, *, scope: str, name: str) -> str:
        """
        Return what stands in the store for *text*.

        Each call for a text that goes to the sink makes an object of its own: where the row is not written after all, or
        another one was in its place, :meth:`let_go` deletes it.  Raises ``StoreError`` where it cannot be kept.
        """
        if self._sink is not None and 4 * len(text) > self._limit:
            data = _encoded(text)
            if len(data) > self._limit:
                return _KEPT + await self._keep(self._sink, data, scope, name)
        if self._cipher is not None:
            return _SEALED + b64encode(self._cipher.seal(_encoded(text), _place("row", scope, name))).decode()
        if not can_stand(text):
            return _JSON + json.dumps(text)
        return _TEXT + text if text.startswith(_MARK) else text

    async def read(self, stored: str, *, scope: str, name: str) -> str:
        """
        Return the text that *stored* stands for.

        Raises ``StoreError``, which quotes neither text nor key, where it cannot be read, or is not what was written there.
        """
        try:
            if not stored.startswith(_MARK):
                return self._plain(stored)
            if stored.startswith(_TEXT):
                return self._plain(stored.removeprefix(_TEXT))
            if stored.startswith(_JSON):
                return self._plain(_said(stored.removeprefix(_JSON)))
            if stored.startswith(_SEALED):
                return self._opened(_decoded(stored.removeprefix(_SEALED)), _place("row", scope, name))
            if stored.startswith(_KEPT):
                return await self._fetched(stored.removeprefix(_KEPT), scope, name)
            raise StoreError("it was changed, or a newer version wrote it", hint="update procession, or restore it")
        except StoreError as error:
            raise StoreError(f"record {name} cannot be read: {error.message}", hint=error.hint) from error

    async def forget(self, stored: Iterable[str], *, scope: str) -> None:
        """
        Delete what is kept elsewhere for what was deleted from the store; no key is needed for it.

        Raises ``StoreError`` where something could not be deleted, after all else was.
        """
        left, why = await self._deleted(stored, scope)
        if why is not None:
            told = why.message if isinstance(why, StoreError) else type(why).__name__
            raise StoreError(
                f"{len(left)} large records are still in their sink ({', '.join(left[:10])}): {told}",
                hint="give Records the sink= that they were written to, and delete them there",
            ) from why

    async def let_go(self, stored: Iterable[str], *, scope: str) -> None:
        """
        Delete what is kept elsewhere for what was written anew, or was not written after all.

        Whoever wrote has not failed by that: what could not be deleted is told in the log.
        """
        left, why = await self._deleted(stored, scope)
        if why is not None:
            import structlog

            structlog.get_logger("procession").warning(
                "large records that no row names any more are still in their sink",
                objects=left[:10],
                number=len(left),
                error=type(why).__name__,
            )

    def __repr__(self) -> str:
        return f"Records(encrypted={self.is_encrypted}, sink={self._sink!r})"

    def _plain(self, text: str) -> str:
        if self._refuse_plain:
            raise StoreError(
                "it is not encrypted", hint="refuse_plain=False reads what was written before there was a key"
            )
        return text

    def _opened(self, sealed: bytes, place: bytes) -> str:
        if self._cipher is None:
            raise StoreError(
                "it is encrypted, and there is no key", hint=f"set {KEY_VARIABLE} to the key, or give key="
            )
        return _text(self._cipher.open(sealed, place))

    # -- elsewhere

    async def _deleted(self, stored: Iterable[str], scope: str) -> tuple[list[str], Exception | None]:
        """
        Delete what *stored* refers to, and return the references of what could not be, and the last reason.
        """
        left: list[str] = []
        why: Exception | None = None
        for one in stored:
            if not one.startswith(_KEPT):
                continue
            reference = one.removeprefix(_KEPT)
            try:
                if self._sink is None or not reference.startswith(self._sink.prefix):
                    raise StoreError("it is in a sink that is not given")
                await self._sink.delete(reference, scope=scope)
            except Exception as error:
                left.append(reference)
                why = error
        return left, why

    async def _keep(self, sink: AttachmentSink, data: bytes, scope: str, name: str) -> str:
        """
        Put *data* into the sink and return the reference.  No two objects are the same, so that none is another's, too.
        """
        place = _place("object", scope, name)
        if self._cipher is not None:
            whole = _SEALED_OBJECT + self._cipher.seal(data, place)
        else:
            whole = b"".join((_OBJECT, os.urandom(16), len(place).to_bytes(4, "big"), place, data))
        try:
            return await sink.put(whole, media_type="application/octet-stream", name=None, scope=scope)
        except StoreError as error:
            raise StoreError(f"record {name} cannot be kept in its sink: {error.message}", hint=error.hint) from error

    async def _fetched(self, reference: str, scope: str, name: str) -> str:
        if self._sink is None or not reference.startswith(self._sink.prefix):
            raise StoreError(
                f"it is in a sink that is not given, at {reference}",
                hint="give Records the sink= that it was written to",
            )
        whole = await self._sink.get(reference, scope=scope)
        if whole is None:
            raise StoreError(
                f"it is not in its sink any more, at {reference}", hint="restore it there, or delete the record"
            )
        place = _place("object", scope, name)
        if whole.startswith(_SEALED_OBJECT):
            return self._opened(whole[len(_SEALED_OBJECT) :], place)
        begin = len(_OBJECT) + 16
        size = int.from_bytes(whole[begin : begin + 4], "big")
        body = begin + 4 + size
        if not whole.startswith(_OBJECT) or whole[begin + 4 : body] != place:
            raise StoreError(
                f"what is in its sink is something else, at {reference}", hint="restore it, or delete the record"
            )
        return self._plain(_text(whole[body:]))


def can_stand(text: str) -> bool:
    """
    Return whether *text* is one that every store can keep: it has no half of a character.

    >>> can_stand("ü"), can_stand("\\ud800")
    (True, False)
    """
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _said(text: str) -> str:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, str):
        raise StoreError("it was changed", hint="restore it from a backup, or delete it")
    return found


def _place(kind: str, scope: str, name: str) -> bytes:
    return _encoded(json.dumps(["procession", 1, kind, scope, name], separators=(",", ":")))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise StoreError("it was changed", hint="restore it from a backup, or delete it") from None


def _decoded(text: str) -> bytes:
    try:
        data = a2b_base64(text, strict_mode=True)
    except ValueError:
        data = b""
    # The last letter before a padding has bits that say nothing, and one = more is passed over.
    end = len(data) % 3 or 3
    if not data or b64encode(data[-end:]).decode() != text[-4:]:
        raise StoreError("it was changed", hint="restore it from a backup, or delete it")
    return data
