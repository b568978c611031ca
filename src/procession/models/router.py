"""
resolve_model(): from ``"openai/gpt-5-mini"`` to a model.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any

from procession.errors import InputError
from procession.models.model import LanguageModel
from procession.models.providers import PROVIDERS, Provider, address_of

if TYPE_CHECKING:
    from procession.models.http import Transport

__all__ = ["CLIENTS", "resolve_model", "server_of"]

CLIENTS = {
    "openai-chat": ("procession.models.openai_chat", "OpenAIChatModel"),
    "openai-responses": ("procession.models.openai_responses", "OpenAIResponsesModel"),
    "anthropic": ("procession.models.anthropic", "AnthropicModel"),
    "google": ("procession.models.google", "GoogleModel"),
}
"""Who speaks which format; a client is imported when a name first leads to it."""
_login = re.compile(r"//[^/@]*@")
_FORMS = (
    "'openai/gpt-5-mini', 'anthropic/<model>', 'google/<model>', 'openrouter/<vendor>/<model>', 'ollama/<model>' "
    "or 'custom@<base URL>#<model>'"
)


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


def server_of(name: str, base_url: str | None = None, *, forms: str = _FORMS) -> tuple[str, str, Provider]:
    """
    Return the provider that *name* begins with, what the provider calls the model, and the provider's server.

    Raises ``InputError`` for a name that stands for nothing, with what to write instead: *forms*, unless it is a slip.
    """
    if name.startswith("custom@"):
        url, _, model = name.removeprefix("custom@").partition("#")
        if not url.startswith(("http://", "https://")):
            shown = _login.sub("//", name)
            raise InputError(f"{shown!r} names no server", hint="write 'custom@https://host/v1#model'")
        server = Provider(base_url or url.rstrip("/"), None, ("CUSTOM_API_KEY",), needs_key=False)
        return "custom", model or "default", server
    provider, _, model = name.partition("/")
    known = PROVIDERS.get(provider)
    if known is None or not model:
        raise _unknown(name, provider, model, forms)
    return provider, model, known


def _unknown(name: str, provider: str, model: str, forms: str) -> InputError:
    if provider in PROVIDERS or provider == "custom":
        return InputError(f"{name!r} names no model", hint=f"write {forms}")
    near = get_close_matches(
        provider.strip().lower(), PROVIDERS, n=1, cutoff=0.75
    )  # a slip of the finger, not another word
    if near and model:
        return InputError(f"{name!r}: no provider is called {provider!r}", hint=f"did you mean '{near[0]}/{model}'?")
    return InputError(f"{name!r}: no provider is called {provider!r}", hint=f"write {forms}")
