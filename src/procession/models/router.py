"""
resolve_model(): from ``"openai/gpt-5-mini"`` to a model.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from procession.models.model import LanguageModel

if TYPE_CHECKING:
    from procession.models.http import Transport

__all__ = ["CLIENTS", "resolve_model"]

CLIENTS = {
    "openai-chat": ("procession.models.openai_chat", "OpenAIChatModel"),
    "openai-responses": ("procession.models.openai_responses", "OpenAIResponsesModel"),
    "anthropic": ("procession.models.anthropic", "AnthropicModel"),
    "google": ("procession.models.google", "GoogleModel"),
}
"""Who speaks which format; a client is imported when a name first leads to it."""


def resolve_model(
    model: str | LanguageModel,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    transport: Transport | None = None,
    environ: Mapping[str, str] | None = None,
) -> LanguageModel:
    """
    Return the model that a name stands for; a model stands for itself.

    ``provider/model`` takes the key and the base URL from the environment, such as ``OPENAI_API_KEY`` and
    ``OPENAI_BASE_URL``, unless *api_key* and *base_url* are given.  A key of the environment is not sent to a *base_url*
    that is given.  ``custom@URL#model`` is any other server that speaks OpenAI's Chat Completions, with
    ``CUSTOM_API_KEY`` if it wants a key.

    Raises ``InputError`` for a name that stands for nothing and for a missing key, before anything is sent.

    >>> resolve_model("ollama/qwen3", environ={})
    OpenAIChatModel('ollama/qwen3')
    """
    if not isinstance(model, str):
        return model
    from procession.models.providers import address_of, server_of  # with the first name, not with the library

    provider, name, found = server_of(model, base_url)
    variables = os.environ if environ is None else environ
    address = address_of(model, found, variables, base_url=base_url, api_key=api_key)
    module, client = CLIENTS[address.speaks]
    make: Any = getattr(import_module(module), client)
    resolved: LanguageModel = make(
        name,
        provider=provider.removesuffix("-chat").removesuffix("-responses"),
        base_url=address.base_url,
        api_key=address.api_key,
        transport=transport,
    )
    return resolved
