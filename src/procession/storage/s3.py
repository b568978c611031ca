"""
S3Sink: attachments in a bucket of a server that speaks S3.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from importlib.util import find_spec
from typing import Any, Literal, TypeAlias, TypeVar

from anyio.to_thread import run_sync

from procession.errors import DefinitionError, StoreError
from procession.storage.attachments import is_key, key_of

__all__ = ["Links", "S3Sink"]

T = TypeVar("T")
Links: TypeAlias = Literal["presigned", "public", "none"]
_LINKS = ("presigned", "public", "none")
_WEEK = 604_800
_MISSING = frozenset({"404", "NoSuchKey", "NotFound"})


class S3Sink:
    """
    An ``AttachmentSink`` in the *bucket* of AWS, or of the server at *endpoint_url* (MinIO, R2, Ceph, ...), under *prefix*.

    It needs ``pip install 'procession[s3]'`` and works in worker threads.  Keys of access are found as boto3 finds them, or
    are those of *session*, a ``boto3.Session``.  *links* says what ``url`` gives: ``"presigned"`` an address that holds for
    *expires* seconds, ``"public"`` the plain one, for a bucket that everybody may read, ``"none"`` nothing, for a server that
    others cannot reach.  *connect_timeout* and *read_timeout* are in seconds; a call is tried *attempts* times.

        sink = S3Sink("attachments", endpoint_url="https://minio.example", prefix="chat/", links="none")

    Every method raises ``StoreError`` where the server cannot be used, with its code and without keys or contents.
    """

    def __init__(
        self,
        bucket: str,
        *,
        prefix: str = "",
        endpoint_url: str | None = None,
        region: str | None = None,
        session: Any = None,
        links: Links = "presigned",
        expires: int = 3600,
        connect_timeout: float = 5.0,
        read_timeout: float = 20.0,
        attempts: int = 2,
    ) -> None:
        """
        Raises ``DefinitionError`` where boto3 is not installed, and for options that cannot work.
        """
        if find_spec("boto3") is None:
            raise DefinitionError("S3Sink needs the package boto3", hint="pip install 'procession[s3]'")
        if not bucket or "/" in bucket:
            raise DefinitionError(f"S3Sink has bucket={bucket!r}", hint="give the name alone, and a path as prefix=")
        if links not in _LINKS:
            raise DefinitionError(f"S3Sink has links={links!r}", hint='"presigned", "public" or "none"')
        for name, value in (("expires", expires), ("read_timeout", read_timeout), ("connect_timeout", connect_timeout),
                            ("attempts", attempts)):  # fmt: skip
            if not value > 0:
                raise DefinitionError(f"S3Sink has {name}={value!r}", hint="it is more than 0")
        if expires > _WEEK:
            raise DefinitionError(f"S3Sink has expires={expires!r}", hint=f"no server takes more than {_WEEK}, a week")
        self.bucket = bucket
        self.prefix = f"s3://{bucket}/{prefix}"
        """What every reference begins with."""
        self.links: Links = links
        self._folder = prefix
        self._endpoint = endpoint_url
        self._region = region
        self._session = session
        self._expires = expires
        self._limits = {
            "connect_timeout": connect_timeout, "read_timeout": read_timeout, "retries": {"total_max_attempts": attempts},
            # What boto3 adds unasked, servers other than AWS's refuse or do not answer; contents have their own digest.
            "request_checksum_calculation": "when_required", "response_checksum_validation": "when_required",
        }  # fmt: skip
        self._client: Any = None
        self._making = threading.Lock()

    async def put(self, data: bytes, *, media_type: str, name: str | None, scope: str | None) -> str:
        """
        Keep *data* and return the reference to it.
        """
        return self.prefix + await self._do(partial(self._kept, data, media_type, scope))

    async def get(self, reference: str, *, scope: str | None) -> bytes | None:
        """
        Return what *reference* stands for, or ``None``.

        Raises ``StoreError`` also where it is no longer what was put.
        """
        key = self._key(reference, scope)
        if key is None:
            return None
        data = await self._do(partial(_fetched, bucket=self.bucket, key=self._folder + key))
        if data is not None and sha256(data).hexdigest() != key.rpartition("/")[2]:
            raise StoreError(
                "an attachment is no longer what was put", hint="its object was changed: restore or remove it"
            )
        return data

    async def url(self, reference: str, *, scope: str | None) -> str | None:
        """
        Return an address of the data; it says nothing of whether they are still there.
        """
        key = self._key(reference, scope)
        if key is None or self.links == "none":
            return None
        return await self._do(partial(self._address, self._folder + key))

    async def delete(self, reference: str, *, scope: str | None) -> bool:
        """
        Remove the data; ``False`` where there are none.
        """
        key = self._key(reference, scope)
        return key is not None and await self._do(partial(_removed, bucket=self.bucket, key=self._folder + key))

    def __repr__(self) -> str:
        return f"S3Sink({self.prefix!r}, links={self.links!r})"

    def _key(self, reference: str, scope: str | None) -> str | None:
        key = reference.removeprefix(self.prefix)
        return key if key != reference and is_key(key, scope) else None

    def _kept(self, data: bytes, media_type: str, scope: str | None, client: Any) -> str:
        key = key_of(data, scope)
        # A browser that is given the address shows nothing of it as a page of the bucket's own site.
        more = {"ContentType": media_type, "ContentDisposition": "attachment"}
        client.put_object(Bucket=self.bucket, Key=self._folder + key, Body=data, **more)
        return key

    def _address(self, key: str, client: Any) -> str:
        where = {"Bucket": self.bucket, "Key": key}
        made: str = client.generate_presigned_url("get_object", Params=where, ExpiresIn=self._expires)
        return made.partition("?")[0] if self.links == "public" else made

    async def _do(self, call: Callable[[Any], T]) -> T:
        """
        Do *call* with the client in a worker thread; who is cancelled does not wait for the server.
        """
        return await run_sync(partial(self._called, call), abandon_on_cancel=True)

    def _called(self, call: Callable[[Any], T]) -> T:
        try:
            return call(self._made())
        except Exception as error:
            raise StoreError(
                f"the S3 server could not be used: {_code_of(error) or type(error).__name__}",
                hint="look at the bucket, the endpoint, and the keys of access",
            ) from error

    def _made(self) -> Any:
        """
        Return the client, which threads may share; it is slow to make.
        """
        with self._making:
            if self._client is None:
                import boto3
                from botocore.config import Config

                session: Any = self._session if self._session is not None else boto3.Session()
                self._client = session.client(
                    "s3",
                    endpoint_url=self._endpoint,
                    region_name=self._region,
                    config=Config(signature_version="s3v4", **self._limits),
                )
            client: Any = self._client
            return client


def _fetched(client: Any, bucket: str, key: str) -> bytes | None:
    try:
        data: bytes = client.get_object(Bucket=bucket, Key=key)["Body"].read()
    except Exception as error:
        if _code_of(error) in _MISSING:
            return None
        raise
    return data


def _removed(client: Any, bucket: str, key: str) -> bool:
    try:
        client.head_object(Bucket=bucket, Key=key)
    except Exception as error:
        if _code_of(error) in _MISSING:
            return False
        raise
    client.delete_object(Bucket=bucket, Key=key)
    return True


def _code_of(error: Exception) -> str | None:
    """
    Return what the server says is wrong, in its own code.
    """
    told: Any = getattr(error, "response", None)
    code = told.get("Error", {}).get("Code") if isinstance(told, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return str(code) if code else None  # pyright: ignore[reportUnknownArgumentType]
