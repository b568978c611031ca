"""
What can be told of OpenAI's models from their names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

__all__ = ["SAMPLING", "refused_sampling", "thinks"]

_thinking = re.compile(r"(?:o[134]|gpt-[5-9]|codex)(?![a-z0-9])").match
_plain = re.compile(r"(?:gpt-[34]|chatgpt-|gpt-[5-9](?:\.\d+)?-chat)").match

SAMPLING = ("temperature", "top_p", "presence_penalty", "frequency_penalty", "logit_bias", "logprobs", "top_logprobs")
"""Settings that a model refuses where it thinks before it answers."""


def thinks(model: str) -> bool | None:
    """
    Return whether a model thinks before it answers; ``None`` where its name does not tell.

    >>> thinks("openai/gpt-5-mini"), thinks("gpt-4.1"), thinks("gpt-5.2-chat-latest"), thinks("gpt-oss-20b")
    (True, False, False, None)
    """
    name = model.rpartition("/")[2].lower()
    if _plain(name):
        return False
    return True if _thinking(name) else None


def refused_sampling(model: str, settings: Mapping[str, Any], effort: Any) -> tuple[Mapping[str, Any], ...]:
    """
    Return, as hooks are told, which of *settings* the model would refuse; *effort* ``none`` is no thinking.

    >>> [it["setting"] for it in refused_sampling("gpt-5-mini", {"temperature": 0, "seed": 1}, None)]
    ['temperature']
    """
    if not thinks(model) or effort == "none":
        return ()
    details = f"{model} thinks before it answers, and refuses it then: it is not sent"
    return tuple(
        {"type": "unsupported-setting", "setting": name, "details": details}
        for name in SAMPLING
        if settings.get(name) is not None
    )
