"""
OpenAIResponsesModel: OpenAI Responses, at OpenAI or at a server that speaks them.
"""

from __future__ import annotations

from typing import ClassVar, Literal, Unpack

from procession.models.formats.openai.chat_dialects import dialect_of
from procession.models.formats.openai.responses_answer import ResponsesAnswer
from procession.models.formats.openai.responses_body import responses_body
from procession.models.model import ModelRequest
from procession.models.providers import PROVIDERS, Provider
from procession.models.wire_model import AnswerContext, WireModel, WireOptions, WireRequest

__all__ = ["OpenAIResponsesModel"]


class OpenAIResponsesModel(WireModel):
    """
    A model behind OpenAI Responses.

    Without *base_url* and *api_key* the environment is asked, ``OPENAI_BASE_URL`` and ``OPENAI_API_KEY``, when the
    first call is made.  The server is asked to keep nothing; what the model thought goes back encrypted.

    >>> OpenAIResponsesModel("gpt-5-mini", api_key="key").id
    'openai/gpt-5-mini'
    """

    server: ClassVar[Provider] = PROVIDERS["openai-responses"]

    def __init__(
        self,
        model: str,
        *,
        provider: str = "openai",
        system_role: Literal["system", "developer"] = "system",
        item_ids: bool | None = None,
        **options: Unpack[WireOptions],
    ) -> None:
        """
        *options* are those that every client takes: ``WireOptions``.

        Items go back under their ids where the server keeps them (``provider_options={"openai": {"store": True}}``), and
        encrypted reasoning anywhere; *item_ids* is for servers that want the ids of all items always, or none ever.
        """
        super().__init__(model, provider=provider, **options)
        self._system_role = system_role
        self._item_ids = item_ids

    def prepare(self, request: ModelRequest, *, base_url: str, key: str | None) -> WireRequest:
        """
        Return *request* as OpenAI Responses.
        """
        body, warnings = responses_body(
            request,
            model=self.model,
            provider=self.provider,
            system_role=self._system_role,
            item_ids=self._item_ids,
            dialect=dialect_of(self.provider, base_url, self.model),
        )
        headers = {"accept": "text/event-stream"}
        if key is not None:
            headers["authorization"] = f"Bearer {key}"
        return WireRequest(path="/responses", body=body, headers=headers, warnings=warnings)

    def reader(self, context: AnswerContext) -> ResponsesAnswer:
        """
        Return what reads an answer of OpenAI Responses.
        """
        return ResponsesAnswer(
            context.model,
            headers=context.headers,
            secrets=context.secrets,
            request=context.request,
            warnings=context.warnings,
        )
