"""
OpenAIChatModel: any server that speaks OpenAI's Chat Completions.
"""

from __future__ import annotations

from typing import ClassVar, Literal, Unpack

from procession.models.formats.openai.chat_answer import ChatAnswer
from procession.models.formats.openai.chat_body import chat_body
from procession.models.formats.openai.chat_dialects import StructuredOutput, dialect_of
from procession.models.model import ModelRequest
from procession.models.providers import PROVIDERS, Provider
from procession.models.wire_model import AnswerContext, WireModel, WireOptions, WireRequest

__all__ = ["OpenAIChatModel"]


class OpenAIChatModel(WireModel):
    """
    A model behind OpenAI's Chat Completions, at OpenAI or at any server that speaks them.

    Without *base_url* and *api_key* the environment is asked, ``OPENAI_BASE_URL`` and ``OPENAI_API_KEY``, when the
    first call is made.  OpenAI itself needs a key; another server is called without one where none is given.

    >>> OpenAIChatModel("qwen3", base_url="http://localhost:8080/v1", provider="local").id
    'local/qwen3'
    """

    server: ClassVar[Provider] = PROVIDERS["openai-chat"]

    def __init__(
        self,
        model: str,
        *,
        provider: str = "openai",
        system_role: Literal["system", "developer"] = "system",
        structured_output: StructuredOutput | None = None,
        include_usage: bool = True,
        **options: Unpack[WireOptions],
    ) -> None:
        """
        *options* are those that every client takes: ``WireOptions``.

        *structured_output* and *include_usage* are for servers that know no JSON schema, or refuse ``stream_options``.
        How servers differ otherwise is known of those in ``chat_dialects``, by their address or by *provider*.
        """
        super().__init__(model, provider=provider, **options)
        self._system_role = system_role
        self._structured_output: StructuredOutput | None = structured_output
        self._include_usage = include_usage

    def prepare(self, request: ModelRequest, *, base_url: str, key: str | None) -> WireRequest:
        """
        Return *request* as Chat Completions.
        """
        body, warnings = chat_body(
            request,
            model=self.model,
            provider=self.provider,
            system_role=self._system_role,
            dialect=dialect_of(self.provider, base_url, self.model),
            structured_output=self._structured_output,
            include_usage=self._include_usage,
        )
        headers = {"accept": "text/event-stream"}
        if key is not None:
            headers["authorization"] = f"Bearer {key}"
        return WireRequest(path="/chat/completions", body=body, headers=headers, warnings=warnings)

    def reader(self, context: AnswerContext) -> ChatAnswer:
        """
        Return what reads a Chat Completions answer.
        """
        return ChatAnswer(
            context.model,
            provider=self.provider,
            headers=context.headers,
            secrets=context.secrets,
            request=context.request,
            warnings=context.warnings,
        )
