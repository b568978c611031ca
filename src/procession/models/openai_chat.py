"""
OpenAIChatModel: any server that speaks OpenAI's Chat Completions.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from procession.errors import InputError
from procession.messages.chunks import Chunk
from procession.models.model import ModelRequest
from procession.models.openai_answer import ChatAnswer
from procession.models.openai_prompt import chat_body, chat_warnings

if TYPE_CHECKING:
    from procession.models.http import Transport

__all__ = ["OpenAIChatModel"]

OPENAI = "https://api.openai.com/v1"


class OpenAIChatModel:
    """
    A model behind OpenAI's Chat Completions, at OpenAI or at any server that speaks them.

    Without *base_url* and *api_key* the environment is asked, ``OPENAI_BASE_URL`` and ``OPENAI_API_KEY``, when the
    first call is made.  OpenAI itself needs a key; another server is called without one where none is given.

    >>> OpenAIChatModel("qwen3", base_url="http://localhost:8080/v1", provider="local").id
    'local/qwen3'
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        provider: str = "openai",
        headers: Mapping[str, str] | None = None,
        connect_timeout: float | None = 10.0,
        read_timeout: float | None = 120.0,
        system_role: Literal["system", "developer"] = "system",
        structured_output: Literal["json_schema", "json_object"] = "json_schema",
        include_usage: bool = True,
        transport: Transport | None = None,
    ) -> None:
        """
        *provider* names the server in the model's id and is the key of its ``provider_options``.

        The timeouts are in seconds: for the connection, and for the longest silence of the server.  The setting
        ``timeout`` of a call limits the whole of it.  *structured_output* and *include_usage* are for servers that
        know no JSON schema, or refuse ``stream_options``.  *transport* carries the requests instead of the network.
        """
        self.id = f"{provider}/{model}"
        self.provider = provider
        self._model = model
        self._base_url = base_url
        self._api_key = api_key
        self._headers = dict(headers or {})
        self._connect_timeout = connect_timeout
        self._read_timeout = read_timeout
        self._system_role = system_role
        self._structured_output: Literal["json_schema", "json_object"] = structured_output
        self._include_usage = include_usage
        self._transport = transport

    def __repr__(self) -> str:
        return f"OpenAIChatModel({self.id!r})"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """
        Ask the model.  Closing the generator, or cancelling its reader, closes the connection.

        Raises ``InputError`` where there is no key, and ``ModelError`` for whatever goes wrong on the way.
        """
        from procession.models.http import Timeouts, post

        base_url = self._base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI
        key = self._key(base_url)
        settings = request.settings or {}
        body = chat_body(
            request,
            model=self._model,
            provider=self.provider,
            system_role=self._system_role,
            max_tokens_key="max_completion_tokens" if base_url.startswith(OPENAI) else "max_tokens",
            structured_output=self._structured_output,
            include_usage=self._include_usage,
        )
        headers = {"accept": "text/event-stream", "content-type": "application/json", **self._headers}
        if key is not None:
            headers["authorization"] = f"Bearer {key}"
        secrets = (key,) if key else ()
        timeouts = Timeouts(
            connect=self._connect_timeout, read=self._read_timeout, total=_seconds(settings.get("timeout"))
        )
        async with post(
            f"{base_url.rstrip('/')}/chat/completions",
            body,
            model=self.id,
            headers=headers,
            timeouts=timeouts,
            transport=self._transport,
            secrets=secrets,
        ) as reply:
            answer = ChatAnswer(
                self.id,
                headers=reply.headers,
                secrets=secrets,
                request=body,
                warnings=chat_warnings(request, structured_output=self._structured_output),
            )
            async for event in reply:
                for chunk in answer.read(event.data, event.name):
                    yield chunk
                if answer.done:
                    break
            for chunk in answer.finish():
                yield chunk
            await reply.drain()

    def _key(self, base_url: str) -> str | None:
        if self._api_key is not None:
            return self._api_key.strip()
        if self._base_url is not None and not base_url.startswith(OPENAI):
            return None  # OpenAI's key is not for every server that speaks its language
        key = os.environ.get("OPENAI_API_KEY", "").strip()
        if not key and base_url.startswith(OPENAI):
            raise InputError(
                f"there is no key for {self.id}", hint="set OPENAI_API_KEY, or pass api_key=... to OpenAIChatModel"
            )
        return key or None


def _seconds(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and value > 0 else None
