"""
What a Chat Completions answer cost, as its servers count it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from procession.messages.usage import Usage
from procession.models.loose import as_count, as_mapping

__all__ = ["chat_usage"]


def chat_usage(payload: Mapping[str, Any]) -> Usage | None:
    """
    Return the tokens that an event tells of, or ``None`` where it tells of none.

    >>> chat_usage({"usage": {"prompt_tokens": 9, "completion_tokens": 4}}).total_tokens
    13
    """
    counts = as_mapping(payload.get("usage")) or as_mapping(as_mapping(payload.get("x_groq")).get("usage"))
    asked, said = as_count(counts.get("prompt_tokens")), as_count(counts.get("completion_tokens"))
    if not asked + said:
        return None
    of_prompt = as_mapping(counts.get("prompt_tokens_details"))
    thought = as_count(as_mapping(counts.get("completion_tokens_details")).get("reasoning_tokens"))
    if thought and as_count(counts.get("total_tokens")) == asked + said + thought:
        said += thought  # xAI and Gemini count what was thought beside what was said
    # DeepSeek and Moonshot say at the top what came from the cache.
    cached = of_prompt.get("cached_tokens") or counts.get("prompt_cache_hit_tokens") or counts.get("cached_tokens")
    written = of_prompt.get("cache_write_tokens") or of_prompt.get("cache_creation_tokens")
    return Usage(asked, said, thought, as_count(cached), as_count(written))
