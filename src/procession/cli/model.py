"""
The model that a command line names: ``--model`` and ``--base-url``.
"""

from __future__ import annotations

from procession.models.model import LanguageModel
from procession.models.router import resolve_model

__all__ = ["model_of"]


def model_of(name: str | None, base_url: str | None) -> LanguageModel | None:
    """
    Return the model, or ``None`` where neither is given; a server that is named without a provider is any that speaks
    OpenAI's Chat Completions.

    Raises ``InputError`` for a name that stands for nothing and for a missing key.
    """
    if name is None and base_url is None:
        return None
    if base_url is not None and (name is None or "/" not in name):
        return resolve_model(f"custom@{base_url}" + (f"#{name}" if name else ""))
    return resolve_model(name or "", base_url=base_url)
