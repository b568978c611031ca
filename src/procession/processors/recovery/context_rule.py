"""
ContextRule: how a provider says that a request has more tokens than its model takes, and how many it says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from inspect import iscoroutinefunction
from typing import Any, TypeAlias

from procession.errors import ModelError, ProcessorDefinitionError
from procession.messages.value import Value
from procession.processors.recovery.compat_rule import words_of

__all__ = ["DEFAULT_CONTEXT_RULES", "ContextOverflow", "ContextRule"]


class ContextOverflow(Value, kw_only=True):
    """
    What a provider said of a request that is too long, in its own tokens; ``None`` where it did not say.
    """

    limit: int | None = None
    """How many the model takes."""
    used: int | None = None
    """How many the request has, the answer that was asked for left out."""
    reserved: int = 0
    """How many of the limit were asked for as the answer."""


Match: TypeAlias = "Callable[[ModelError], ContextOverflow | bool | None]"
"""Tells of an error whether it is about a request that is too long, and what it says of it."""


class ContextRule(Value, kw_only=True):
    """
    How to know that a request was refused because it is too long.

    *patterns* are regular expressions, searched for in the error, its causes and the provider's answer, whatever their
    case; what their groups ``limit``, ``used`` and ``reserved`` find is read as numbers.  *match* is a plain function of
    the error instead.

    Raises ``ProcessorDefinitionError`` for a pattern that is none, and unless there is just one of both.

    >>> rule = ContextRule(name="mine", patterns=[r"at most (?P<limit>[0-9,]+) words, got (?P<used>[0-9,]+)"])
    >>> rule.read(ModelError("at most 4,096 words, got 5,000"))
    ContextOverflow(limit=4096, used=5000)
    """

    name: str
    patterns: Sequence[str] = ()
    match: Match | None = None

    def __post_init__(self) -> None:
        if isinstance(self.patterns, str):
            raise ProcessorDefinitionError(f"patterns of rule {self.name!r} is a text", hint="give a list of them")
        if bool(self.patterns) == (self.match is not None):
            raise ProcessorDefinitionError(
                f"rule {self.name!r} has {'patterns and match' if self.patterns else 'neither patterns nor match'}",
                hint="patterns or match says which errors it is about: give one",
            )
        match: Any = self.match
        if match is not None and (not callable(match) or iscoroutinefunction(match)):
            raise ProcessorDefinitionError(f"match of rule {self.name!r} is no plain function")
        for pattern in self.patterns:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ProcessorDefinitionError(
                    f"{pattern!r} of rule {self.name!r} is no regular expression: {error}"
                ) from None

    def read(self, error: ModelError) -> ContextOverflow | None:
        """
        Return what *error* says of a request that is too long, or ``None`` where it is about something else.
        """
        if self.match is not None:
            found = self.match(error)
            return found if isinstance(found, ContextOverflow) else ContextOverflow() if found else None
        words = words_of(error)
        for pattern in self.patterns:
            said = re.search(pattern, words, re.IGNORECASE)
            if said is not None:
                numbers = {name: _number(text) for name, text in said.groupdict().items()}
                return ContextOverflow(
                    limit=numbers.get("limit"), used=numbers.get("used"), reserved=numbers.get("reserved") or 0
                )
        return None


def _number(text: str | None) -> int | None:
    digits = re.sub(r"\D", "", text or "")
    return int(digits) if 0 < len(digits) < 12 else None


_NUMBER = r"[\d,]+"
_GIVEN = r"(?:however,? )?(?:you requested|your request has|your messages resulted in)(?: about)?"

DEFAULT_CONTEXT_RULES: tuple[ContextRule, ...] = (
    ContextRule(
        name="anthropic",
        patterns=(
            rf"prompt is too long: (?P<used>{_NUMBER}) tokens > (?P<limit>{_NUMBER}) maximum",
            rf"exceed context limit: (?P<used>{_NUMBER}) \+ (?P<reserved>{_NUMBER}) > (?P<limit>{_NUMBER})",
            r"(?:prompt|input) is too long",
        ),
    ),
    ContextRule(
        name="google",
        patterns=(
            rf"input token count\s*(?:\((?P<used>{_NUMBER})\)\s*)?exceeds the maximum number of tokens allowed"
            rf"\s*\(?(?P<limit>{_NUMBER})?",
        ),
    ),
    ContextRule(
        name="openai",
        patterns=(
            # Also what speaks its format: Azure, vLLM, DeepSeek, OpenRouter, Groq.
            rf"maximum context length is (?P<limit>{_NUMBER}) tokens\W+{_GIVEN} {_NUMBER} (?:input )?tokens\W+"
            rf"(?P<used>{_NUMBER}) (?:in the messages|of text input|in your prompt)[^)]{{0,80}}?"
            rf"(?P<reserved>{_NUMBER}) (?:in the (?:completion|output)|for the completion)",
            rf"maximum context length is (?P<limit>{_NUMBER}) tokens\W+{_GIVEN} (?P<used>{_NUMBER}) (?:input )?tokens",
            rf"maximum context length is (?P<limit>{_NUMBER})",
            r"context_length_exceeded",
            r"input exceeds the context window",
            r"reduce the length of the (?:messages|prompt|input)",
        ),
    ),
    ContextRule(
        name="xai",
        patterns=(
            rf"maximum prompt length is (?P<limit>{_NUMBER}) but the request contains (?P<used>{_NUMBER}) tokens",
        ),
    ),
    ContextRule(
        name="mistral",
        patterns=(rf"prompt contains (?P<used>{_NUMBER}) tokens.{{0,80}}?(?P<limit>{_NUMBER}) maximum context length",),
    ),
    ContextRule(
        name="llama.cpp",
        patterns=(
            rf"request \((?P<used>{_NUMBER}) tokens\) exceeds the available context size \((?P<limit>{_NUMBER}) tokens\)",
            r"exceeds the available context size|exceed_context_size_error",
        ),
    ),
)
"""What providers say, as far as it is known; the first that knows an error is taken."""
