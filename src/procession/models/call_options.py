"""
Call options: what a call's settings and ``provider_options`` say to every client, and what nobody would read of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from procession.errors import InputError
from procession.models.model import ModelSettings
from procession.models.providers import PROVIDERS

__all__ = ["retries_of", "seconds_of", "unread_options"]


def seconds_of(settings: ModelSettings) -> float | None:
    """
    Return how many seconds the whole call may take; ``None`` and 0 mean without limit.

    Raises ``InputError`` for what is no such number.
    """
    value = settings.get("timeout")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
        raise _faulty("timeout", value, "give the seconds that the whole call may take, such as 20")
    return float(value) or None


def retries_of(settings: ModelSettings, otherwise: int) -> int:
    """
    Return how often the call may be made again; *otherwise*, where the settings do not say.

    Raises ``InputError`` for what is no count.
    """
    value = settings.get("max_retries")
    if value is None:
        return otherwise
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise _faulty("max_retries", value, "give how often the call may be made again, such as 2")
    return value


def unread_options(given: Mapping[str, Any] | None, provider: str) -> tuple[Mapping[str, Any], ...]:
    """
    Return a warning for each name in ``provider_options`` that is no provider's: nobody reads what stands there.

    Raises ``InputError`` where what stands under a name is no mapping of options.

    >>> unread_options({"opnai": {"store": True}, "google": {}}, "openai")
    ({'type': 'other', 'message': "provider_options name no provider 'opnai': did you mean 'openai'?"},)
    """
    warnings: list[Mapping[str, Any]] = []
    for name, options in (given or {}).items():
        if options is not None and not isinstance(options, Mapping):
            raise InputError(
                f"provider_options[{name!r}] is {type(options).__name__}",
                hint=f"options stand under the name of a provider: {{{provider!r}: {{{name!r}: ...}}}}",
            )
        if name != provider and name not in PROVIDERS:
            near = get_close_matches(str(name).lower(), {provider, *PROVIDERS}, n=1, cutoff=0.75)
            hint = f"did you mean {near[0]!r}?" if near else f"those of this model stand under {provider!r}"
            warnings.append({"type": "other", "message": f"provider_options name no provider {name!r}: {hint}"})
    return tuple(warnings)


def _faulty(name: str, value: Any, hint: str) -> InputError:
    shown = repr(value) if isinstance(value, (int, float)) else type(value).__name__
    return InputError(f"the setting {name!r} is {shown}", hint=hint)
