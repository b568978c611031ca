"""
WireModel: what the clients of all providers have in common, from the key to the last chunk.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypedDict

from procession.errors import InputError
from procession.messages.chunks import Chunk
from procession.messages.value import Value
from procession.models.call_options import retries_of, seconds_of, unread_options
from procession.models.model import ModelRequest
from procession.models.providers import Provider, address_of, url_of
from procession.models.transport.headers import own_headers, secrets_in

if TYPE_CHECKING:
    from procession.models.http import Transport

__all__ = ["AnswerContext", "AnswerReader", "WireModel", "WireOptions", "WireRequest"]


_NOT_OF_THE_ANSWER = frozenset({
    "_api_key", "_base_url", "_connect_timeout", "_headers", "_http2", "_max_retries", "_read_timeout", "_transport",
})  # fmt: skip
"""What a client is made with that no answer depends on, and what is told in another way."""


class WireRequest(Value, kw_only=True):
    """
    A request in a provider's own words.
    """

    path: str
    """What follows the base URL, with a ``/`` in front."""
    body: Mapping[str, Any]
    headers: Mapping[str, str]
    warnings: tuple[Mapping[str, Any], ...] = ()
    """What could not be sent as it was asked for."""


class AnswerContext(Value, kw_only=True):
    """
    What whoever reads an answer is told besides.
    """

    model: str
    """The model's id, for errors."""
    headers: Mapping[str, str] | None = None
    """The answer's headers, without keys."""
    secrets: tuple[str, ...] = ()
    """What must not be quoted."""
    request: Mapping[str, Any] | None = None
    """The body that was sent, and, in ``warnings``, what was not done as asked: hooks are told of both."""
    warnings: tuple[Mapping[str, Any], ...] = ()


class AnswerReader(Protocol):
    """
    Turns the events of one answer into chunks, without a network.
    """

    done: bool
    """Whether the server said that this was all."""

    def read(self, data: str, event: str = "message") -> Iterator[Chunk]:
        """
        Yield the chunks of one event.

        Raises ``ModelError`` of kind ``stream`` for an error in place of an answer, and for what cannot be read.
        """
        ...

    def finish(self) -> Iterator[Chunk]:
        """
        Yield the end of the answer.

        Raises ``ModelError`` of kind ``stream`` where the answer is not complete.
        """
        ...


class WireOptions(TypedDict, total=False):
    """
    What the clients of all providers take.
    """

    base_url: str | None
    """Where the server is; without one the environment is asked, when the first call is made."""
    api_key: str | None
    """The key to it; without one the environment is asked, unless *base_url* is another server than the provider's."""
    headers: Mapping[str, str] | None
    """Further headers of every request."""
    connect_timeout: float | None
    """Seconds until the connection stands, 10 unless told; ``None`` is for ever."""
    read_timeout: float | None
    """The longest silence of the server in seconds, 120 unless told; the setting ``timeout`` limits a whole call."""
    max_retries: int
    """How often a call that fails before its answer begins is made again where the failure may pass, 2 unless told.
    A call's setting of that name replaces it."""
    http2: bool
    """Whether to ask for HTTP/2, which needs the extra of that name."""
    transport: Transport | None
    """What carries the requests instead of the network."""


class WireModel(ABC):
    """
    A model behind a provider's own protocol.

    A subclass says where the provider's server is, writes the request and reads the answer; this class finds the
    key, sends, tries again and reports.
    """

    server: ClassVar[Provider]
    """Where the provider's server is, and which variables of the environment have its key."""

    def __init__(
        self,
        model: str,
        *,
        provider: str,
        base_url: str | None = None,
        api_key: str | None = None,
        headers: Mapping[str, str] | None = None,
        connect_timeout: float | None = 10.0,
        read_timeout: float | None = 120.0,
        max_retries: int = 2,
        http2: bool = False,
        transport: Transport | None = None,
    ) -> None:
        """
        *provider* names the server in the model's id and is the key of its ``provider_options``.

        The others are described at ``WireOptions``.  Raises ``InputError`` where no model is named, and for a header
        that is no text.
        """
        if not model:
            raise InputError("no model is named", hint=f'name it as its server does: {type(self).__name__}("...")')
        self.id = f"{provider}/{model}"
        self.provider = provider
        self.model = model
        """The name that the server knows."""
        self._base_url = base_url
        self._api_key = api_key
        self._headers = own_headers(headers, self.id)
        self._connect_timeout = connect_timeout
        self._read_timeout = read_timeout
        self._max_retries = max_retries
        self._http2 = http2
        self._transport = transport

    @property
    def identity(self) -> Mapping[str, Any]:
        """
        What tells the model from others: its server, and all that it was made with but keys and what concerns the call.
        """
        secret = secrets_in(self._headers)
        own = {name: value for name, value in vars(self).items() if name not in _NOT_OF_THE_ANSWER}
        headers = {name.lower(): value for name, value in self._headers.items() if value not in secret}
        url = url_of(self.server, os.environ, self._base_url)
        return {**own, "client": type(self).__name__, "base_url": url, "headers": headers}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r})"

    @abstractmethod
    def prepare(self, request: ModelRequest, *, base_url: str, key: str | None) -> WireRequest:
        """
        Return *request* as the server at *base_url* wants it.
        """

    @abstractmethod
    def reader(self, context: AnswerContext) -> AnswerReader:
        """
        Return what reads the answer.
        """

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """
        Ask the model.  Closing the generator, or cancelling its reader, closes the connection.

        Raises ``InputError`` where there is no key or a setting is none, and ``ModelError`` for whatever goes wrong on
        the way.
        """
        from procession.models.http import Timeouts, post

        address = address_of(
            self.id, self.server, os.environ, base_url=self._base_url, api_key=self._api_key, give=type(self).__name__
        )
        base_url, key = address.base_url, address.api_key
        settings = request.settings or {}
        unread = unread_options(request.provider_options, self.provider)
        wire = self.prepare(request, base_url=base_url, key=key)
        headers = {"content-type": "application/json", **wire.headers, **self._headers}
        secrets = ((key,) if key else ()) + secrets_in(headers)
        async with post(
            base_url + wire.path,
            wire.body,
            model=self.id,
            headers=headers,
            timeouts=Timeouts(connect=self._connect_timeout, read=self._read_timeout, total=seconds_of(settings)),
            max_retries=retries_of(settings, self._max_retries),
            http2=self._http2,
            transport=self._transport,
            secrets=secrets,
        ) as reply:
            answer = self.reader(
                AnswerContext(
                    model=self.id,
                    headers=reply.headers,
                    secrets=secrets,
                    request=wire.body,
                    warnings=(*wire.warnings, *unread),
                )
            )
            async for event in reply:
                for chunk in answer.read(event.data, event.name):
                    yield chunk
                if answer.done:
                    break
            for chunk in answer.finish():
                yield chunk
            await reply.drain()
