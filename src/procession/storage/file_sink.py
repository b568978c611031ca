"""
FileSink: attachments in a directory of this machine.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from stat import S_ISREG
from tempfile import mkstemp
from typing import TypeVar

from anyio.to_thread import run_sync

from procession.errors import StoreError
from procession.storage.attachments import is_key, key_of

__all__ = ["FileSink"]

T = TypeVar("T")
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
"""How a file is opened: not through a link, where the system can tell."""


class FileSink:
    """
    An ``AttachmentSink`` in *directory*, which is made where it is not there.

    Each scope has a folder that only the user of this process may open (0700), each content a file that only they may read
    (0600), named by its digest: what is there already is not written again, and what was changed is.  A file is there whole
    or not at all.

    >>> import anyio, tempfile
    >>> async def main(directory):
    ...     sink = FileSink(directory)
    ...     reference = await sink.put(b"hi", media_type="text/plain", name="hi.txt", scope="ada")
    ...     return await sink.get(reference, scope="ada"), await sink.get(reference, scope="bob")
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     anyio.run(main, directory)
    (b'hi', None)
    """

    def __init__(self, directory: str | Path) -> None:
        self.directory = Path(directory)
        self.prefix = "attachment:"
        """What every reference begins with."""

    async def put(self, data: bytes, *, media_type: str, name: str | None, scope: str | None) -> str:
        """
        Keep *data* and return the reference to it.

        Raises ``StoreError`` where it cannot be written.
        """
        return self.prefix + await _do(partial(self._write, data, scope))

    async def get(self, reference: str, *, scope: str | None) -> bytes | None:
        """
        Return what *reference* stands for, or ``None``.

        Raises ``StoreError`` where it cannot be read, or is no longer what was put.
        """
        path = self._path(reference, scope)
        return await _do(partial(_read, path)) if path is not None else None

    async def url(self, reference: str, *, scope: str | None) -> str | None:
        """
        Return ``None``: nobody elsewhere can fetch a file of this machine.
        """
        return None

    async def delete(self, reference: str, *, scope: str | None) -> bool:
        """
        Remove the file; ``False`` where there is none.

        Raises ``StoreError`` where it cannot be removed.
        """
        path = self._path(reference, scope)
        return path is not None and await _do(partial(_remove, path))

    def _path(self, reference: str, scope: str | None) -> Path | None:
        key = reference.removeprefix(self.prefix)
        return self.directory / key if key != reference and is_key(key, scope) else None

    def _write(self, data: bytes, scope: str | None) -> str:
        key = key_of(data, scope)
        path = self.directory / key
        try:
            if _has(path, data):
                return key
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.parent.mkdir(mode=0o700, exist_ok=True)
            number, beside = mkstemp(dir=path.parent, prefix=".new-")  # 0600
            try:
                with os.fdopen(number, "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(beside, path)
            except BaseException:
                with suppress(OSError):
                    os.unlink(beside)
                raise
        except OSError as error:
            raise _failed("written", error) from error
        return key


async def _do(call: Callable[[], T]) -> T:
    """
    Do *call* in a worker thread; who is cancelled does not wait for the disk, which may be elsewhere and gone.
    """
    return await run_sync(call, abandon_on_cancel=True)


def _has(path: Path, data: bytes) -> bool:
    """
    Whether the file is there, and what it should be: one that was changed, or is a link, is written anew.
    """
    try:
        status = path.lstat()
        if not S_ISREG(status.st_mode) or status.st_size != len(data):
            return False
        with open(os.open(path, _READ), "rb") as file:
            return file.read() == data
    except OSError:
        return False


def _read(path: Path) -> bytes | None:
    try:
        with open(os.open(path, _READ), "rb") as file:
            data = file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _failed("read", error) from error
    if sha256(data).hexdigest() != path.name:
        raise StoreError("an attachment is no longer what was put", hint="its file was changed: restore or remove it")
    return data


def _remove(path: Path) -> bool:
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise _failed("removed", error) from error
    return True


def _failed(what: str, error: OSError) -> StoreError:
    return StoreError(
        f"an attachment could not be {what}: {error.strerror or type(error).__name__}",
        hint="look at the directory of the FileSink: its disk, its owner, its rights",
    )
