"""
The providers that have a name: where their servers are, which variables hold their keys, what they speak.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches

from procession.errors import InputError
from procession.messages.value import Value

__all__ = ["PROVIDERS", "Address", "Provider", "address_of", "server_of", "url_of"]

_login = re.compile(r"//[^/@]*@")
_FORMS = (
    "'openai/gpt-5-mini', 'anthropic/<model>', 'google/<model>', 'openrouter/<vendor>/<model>', 'ollama/<model>' "
    "or 'custom@<base URL>#<model>'"
)


class Provider(Value):
    """
    Where a provider's server is, and which variables of the environment say so.
    """

    base_url: str
    base_url_variable: str | None
    key_variables: tuple[str, ...]
    """Of which the first that is set has the key."""
    needs_key: bool = True
    speaks: str = "openai-chat"
    """The format of its own server: a key of ``router.CLIENTS``."""
    elsewhere: str | None = None
    """The format of a server that stands in for it, where that is another one."""

    def is_at(self, url: str) -> bool:
        """
        Whether *url* is an address of the provider's own server, and not one that only begins alike.
        """
        return f"{url}/".startswith(f"{self.base_url}/")


class Address(Value):
    """
    A server, and the key to it.
    """

    base_url: str
    api_key: str | None
    speaks: str


_OPENAI = Provider("https://api.openai.com/v1", "OPENAI_BASE_URL", ("OPENAI_API_KEY",))

PROVIDERS: Mapping[str, Provider] = {
    # Its own server speaks both; those that imitate it speak Chat Completions.
    "openai": _OPENAI.replace(speaks="openai-responses", elsewhere="openai-chat"),
    "openai-chat": _OPENAI,
    "openai-responses": _OPENAI.replace(speaks="openai-responses"),
    "anthropic": Provider(
        "https://api.anthropic.com", "ANTHROPIC_BASE_URL", ("ANTHROPIC_API_KEY",), speaks="anthropic"
    ),
    "google": Provider(
        "https://generativelanguage.googleapis.com/v1beta",
        "GOOGLE_BASE_URL",
        ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        speaks="google",
    ),
    "openrouter": Provider("https://openrouter.ai/api/v1", "OPENROUTER_BASE_URL", ("OPENROUTER_API_KEY",)),
    "ollama": Provider("http://localhost:11434/v1", "OLLAMA_BASE_URL", ("OLLAMA_API_KEY",), needs_key=False),
}


def address_of(
    name: str,
    provider: Provider,
    environ: Mapping[str, str],
    *,
    base_url: str | None,
    api_key: str | None,
    give: str = "resolve_model",
) -> Address:
    """
    Return where the server of *provider* is and the key to it: as given, else as the environment says.

    A key of the environment goes to the server that the environment or the provider names, and to no server that was
    named in code.

    Raises ``InputError`` for a base URL that is none, and, where the provider's own server needs a key and there is none,
    one that names the variable; *give* is what it could be given to.
    """
    told = _told(provider, environ)
    url = url_of(provider, environ, base_url)
    own = provider.is_at(url)
    if not url.startswith(("http://", "https://")):
        where = provider.base_url_variable if told and not base_url else "base_url=..."
        raise InputError(f"the base URL of {name} is no address", hint=f"begin it with https:// or http:// in {where}")
    key = (api_key or "").strip() or None
    if key is None and (base_url is None or own):
        key = next((found for variable in provider.key_variables if (found := environ.get(variable, "").strip())), None)
    if key is None and provider.needs_key and own:
        raise InputError(
            f"there is no key for {name}", hint=f"set {provider.key_variables[0]}, or pass api_key=... to {give}"
        )
    return Address(url, key, provider.speaks if own or provider.elsewhere is None else provider.elsewhere)


def url_of(provider: Provider, environ: Mapping[str, str], base_url: str | None) -> str:
    """
    Return where the server of *provider* is: as given, else as the environment says.
    """
    return (base_url or _told(provider, environ) or provider.base_url).rstrip("/")


def _told(provider: Provider, environ: Mapping[str, str]) -> str:
    return environ.get(provider.base_url_variable, "").strip() if provider.base_url_variable else ""


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
