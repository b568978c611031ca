"""
GoogleModel: Google's Gemini.
"""

from __future__ import annotations

import re
from typing import ClassVar, Unpack

from procession.errors import InputError
from procession.models.formats.google.answer import GoogleAnswer
from procession.models.formats.google.body import Schemas, google_body
from procession.models.model import ModelRequest
from procession.models.providers import PROVIDERS, Provider
from procession.models.wire_model import AnswerContext, WireModel, WireOptions, WireRequest

__all__ = ["GoogleModel"]

_is_name = re.compile(r"(?:(?:models|tunedModels)/)?[A-Za-z0-9_][A-Za-z0-9._-]*").fullmatch


class GoogleModel(WireModel):
    """
    A model behind Gemini's ``generateContent``, streamed.

    Without *base_url* and *api_key* the environment is asked when the first call is made: ``GOOGLE_BASE_URL``, and
    ``GOOGLE_API_KEY`` or ``GEMINI_API_KEY``.  Google itself needs a key; another server is called without one where
    none is given.

    >>> GoogleModel("gemini-2.5-flash").id
    'google/gemini-2.5-flash'
    """

    server: ClassVar[Provider] = PROVIDERS["google"]

    def __init__(
        self,
        model: str,
        *,
        provider: str = "google",
        schemas: Schemas = "json_schema",
        **options: Unpack[WireOptions],
    ) -> None:
        """
        *options* are those that every client takes: ``WireOptions``.

        *model* may begin with ``models/`` or ``tunedModels/``.  *schemas* is for servers that do not know
        ``responseJsonSchema`` and ``parametersJsonSchema`` yet: with ``"openapi"`` they are sent the older subset.

        Raises ``InputError`` for a name that would change the address of the request.
        """
        if _is_name(model) is None:
            raise InputError(
                f"{model!r} cannot be the name of a model of Gemini",
                hint="a name is letters, digits, '.', '_' and '-', as in 'gemini-2.5-flash'",
            )
        super().__init__(model, provider=provider, **options)
        self._schemas: Schemas = schemas

    def prepare(self, request: ModelRequest, *, base_url: str, key: str | None) -> WireRequest:
        """
        Return *request* as Gemini wants it.
        """
        body, warnings = google_body(request, model=self.model, provider=self.provider, schemas=self._schemas)
        headers = {"accept": "text/event-stream"}
        if key is not None:
            headers["x-goog-api-key"] = key
        path = self.model if "/" in self.model else f"models/{self.model}"
        return WireRequest(path=f"/{path}:streamGenerateContent?alt=sse", body=body, headers=headers, warnings=warnings)

    def reader(self, context: AnswerContext) -> GoogleAnswer:
        """
        Return what reads an answer of Gemini.
        """
        return GoogleAnswer(context)
