"""
What the client for Anthropic knows of single models: how long an answer may be, and how to ask for JSON.

Anthropic wants every request to say how many tokens the answer may have, and gives no default.  Names are searched
rather than compared, so that dated names and those of gateways (``anthropic/claude-sonnet-4-5``) count as well.
"""

from __future__ import annotations

import re

__all__ = ["knows_output_format", "most_output_tokens"]

_MOST: tuple[tuple[re.Pattern[str], int], ...] = (
    (re.compile(r"claude-(?:2|instant|3-(?:haiku|sonnet|opus))"), 4_096),
    (re.compile(r"claude-3-5"), 8_192),
    (re.compile(r"claude-opus-4-(?:0|1|20\d{6})(?!\d)|claude-4-opus"), 32_000),
    (re.compile(r"claude-3-7|claude-\w+-4-(?:0|5|20\d{6})(?!\d)|claude-4-sonnet"), 64_000),
    (re.compile(r"claude-"), 128_000),
)
"""From the oldest to the newest; what is unknown is newer than this list."""
_OF_OTHERS = 4_096
_BEFORE_FORMATS = re.compile(r"claude-(?:2|instant|3-)|claude-\w+-4-(?:0|20\d{6})(?!\d)|claude-4-")


def most_output_tokens(model: str) -> int:
    """
    Return how many tokens an answer of *model* can have, thoughts included; 4,096 for a model that is none of
    Anthropic's.

    >>> most_output_tokens("claude-sonnet-4-5-20250929"), most_output_tokens("claude-opus-5-5")
    (64000, 128000)
    """
    return next((most for name, most in _MOST if name.search(model)), _OF_OTHERS)


def knows_output_format(model: str) -> bool:
    """
    Return whether *model* can be held to a JSON schema (``output_config.format``).

    >>> knows_output_format("claude-haiku-5-5"), knows_output_format("claude-3-7-sonnet-20250219")
    (True, False)
    """
    return _BEFORE_FORMATS.search(model) is None
