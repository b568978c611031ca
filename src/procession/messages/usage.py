"""
Usage and FinishReason: what a model call cost and why it ended.
"""

from __future__ import annotations

from typing import Literal

from procession.messages.value import Value

__all__ = ["NO_USAGE", "FinishReason", "Usage"]

FinishReason = Literal[
    "stop", "length", "content-filter", "tool-calls", "error", "other", "unknown", "retry", "suspended", "aborted"
]
"""Why a step or a run ended.  The first seven are a model's; a run stopped by a tripwire ends with ``other``."""


class Usage(Value):
    """
    Tokens of one model call, or of several added up.

    >>> Usage(10, 5) + Usage(1, 2)
    Usage(input_tokens=11, output_tokens=7)
    """

    input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cached_input_tokens: int = 0
    cache_creation_input_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        """
        Input and output tokens together.
        """
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        if self is NO_USAGE:
            return other
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.cached_input_tokens + other.cached_input_tokens,
            self.cache_creation_input_tokens + other.cache_creation_input_tokens,
        )

    def __sub__(self, other: Usage) -> Usage:
        return Usage(*(getattr(self, name) - getattr(other, name) for name in Usage.__fields__))


NO_USAGE = Usage()
