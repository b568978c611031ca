"""
resolve_model(): from ``"openai/gpt-5-mini"`` to a model.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING

from procession.errors import InputError
from procession.messages.value import Value
from procession.models.model import LanguageModel

if TYPE_CHECKING:
    from procession.models.http import Transport

__all__ = ["resolve_model"]


class _Provider(Value):
    """
    Where a provider's server is, and which variables of the environment say so.
    """

    base_url: str
    key_variable: str
    base_url_variable: str
    needs_key: bool = True


_PROVIDERS = {
    "openai": _Provider("https://api.openai.com/v1", "OPENAI_API_KEY", "OPENAI_BASE_URL"),
    "openrouter": _Provider("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "OPENROUTER_BASE_URL"),
    "ollama": _Provider("http://localhost:11434/v1", "OLLAMA_API_KEY", "OLLAMA_BASE_URL", needs_key=False),
}
_WITHOUT_CLIENT = ("anthropic", "google")
_FORMS = "'openai/gpt-5-mini', 'openrouter/<vendor>/<model>', 'ollama/<model>' or 'custom@<base URL>#<model>'"


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
    ``OPENAI_BASE_URL``, unless *api_key* and *base_url* are given.  ``custom@URL#model`` is any other server that
    speaks OpenAI's Chat Completions, with ``CUSTOM_API_KEY`` if it wants a key.

    Raises ``InputError`` for a name that stands for nothing and for a missing key, before anything is sent.

    >>> resolve_model("ollama/qwen3", environ={})
    OpenAIChatModel('ollama/qwen3')
    """
    if not isinstance(model, str):
        return model
    from procession.models.openai_chat import OpenAIChatModel

    variables = os.environ if environ is None else environ
    if model.startswith("custom@"):
        url, _, name = model.removeprefix("custom@").partition("#")
        if not url.startswith(("http://", "https://")):
            raise InputError(f"{model!r} names no server", hint="write 'custom@https://host/v1#model'")
        key = api_key or variables.get("CUSTOM_API_KEY") or None
        return OpenAIChatModel(
            name or "default", base_url=base_url or url, api_key=key, provider="custom", transport=transport
        )
    provider, _, name = model.partition("/")
    known = _PROVIDERS.get(provider)
    if known is None or not name:
        raise _unknown(model, provider, name)
    url = base_url or variables.get(known.base_url_variable) or known.base_url
    key = api_key or variables.get(known.key_variable, "").strip() or None
    if key is None and known.needs_key and url == known.base_url:
        raise InputError(
            f"there is no key for {model}",
            hint=f"set {known.key_variable}, or give the address of a server that needs none: {known.base_url_variable}",
        )
    return OpenAIChatModel(name, base_url=url, api_key=key, provider=provider, transport=transport)


def _unknown(model: str, provider: str, name: str) -> InputError:
    if provider in _WITHOUT_CLIENT:
        return InputError(
            f"{model!r}: {provider} speaks a language of its own, and there is no client for it yet",
            hint=f"reach its models through 'openrouter/{provider}/{name or '<model>'}', or a server that translates",
        )
    if provider in _PROVIDERS or provider == "custom":
        return InputError(f"{model!r} names no model", hint=f"write {_FORMS}")
    near = get_close_matches(provider, _PROVIDERS, n=1, cutoff=0.75)  # a slip of the finger, not another word
    if near and name:
        return InputError(f"{model!r}: no provider is called {provider!r}", hint=f"did you mean '{near[0]}/{name}'?")
    return InputError(f"{model!r}: no provider is called {provider!r}", hint=f"write {_FORMS}")
