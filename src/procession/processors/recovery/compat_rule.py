"""
CompatRule: what one provider refuses in a history, and how it is mended.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from inspect import iscoroutinefunction
from typing import Any, TypeAlias

from procession.errors import ModelError, ProcessorDefinitionError
from procession.messages.draft import MessageDraft
from procession.messages.prompt import PromptMessage
from procession.messages.shapes import yields
from procession.messages.value import Value

__all__ = ["CompatRule", "causes_of", "family_of", "words_of"]

Fix: TypeAlias = Callable[[Sequence[MessageDraft]], bool]
"""Edits the run's messages in place, and tells whether it changed something."""
OnMessage: TypeAlias = Callable[[PromptMessage, Any], "PromptMessage | None"]
"""Takes an entry of the prompt and the model; returns the entry to send, or ``None`` to leave it out."""
OnPrompt: TypeAlias = Callable[[Sequence[PromptMessage], Any], "Sequence[PromptMessage] | None"]
"""Takes the prompt and the model; returns the prompt to send, or ``None`` where it stays as it is."""

_CAUSES = 5
_WORDS = 10_000
"""Characters that are looked at of each: a server may answer anything."""
_FAMILIES = {"azure": "openai", "gemini": "google", "vertex": "google", "claude": "anthropic"}
"""Providers that speak, and sign, as another one does."""


class CompatRule(Value, kw_only=True):
    """
    What one provider refuses in a history, and how it is mended: before the call, after it was refused, or both.

    *apply_to_message* is called with each entry of the prompt and the model; what it returns is kept from step to step,
    so it must depend on nothing else.  *apply_to_prompt* is called with the whole prompt, at every step.  *fix* is
    called once a provider has answered what one of *error_patterns* matches, with drafts of the run's messages.

    Raises ``ProcessorDefinitionError`` for a pattern that is none, for a fix without patterns and patterns without a fix,
    and for functions that are not plain ones.

    >>> def without_files(message, model):
    ...     return message.replace(content=tuple(part for part in message.content if part.type != "file"))
    >>> CompatRule(name="no-files", apply_to_message=without_files).name
    'no-files'
    """

    name: str
    error_patterns: Sequence[str] = ()
    """Regular expressions, searched for in the error, its causes and the provider's answer, whatever their case."""
    fix: Fix | None = None
    apply_to_message: OnMessage | None = None
    apply_to_prompt: OnPrompt | None = None

    def __post_init__(self) -> None:
        if isinstance(self.error_patterns, str):
            raise ProcessorDefinitionError(
                f"error_patterns of rule {self.name!r} is a text", hint="give a list of them"
            )
        for pattern in self.error_patterns:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ProcessorDefinitionError(
                    f"{pattern!r} of rule {self.name!r} is no regular expression: {error}"
                ) from None
        for field in ("fix", "apply_to_message", "apply_to_prompt"):
            function = getattr(self, field)
            if function is not None and (iscoroutinefunction(function) or yields(function)):
                raise ProcessorDefinitionError(
                    f"{field} of rule {self.name!r} is async or a generator", hint="make it a plain function"
                )
        if bool(self.error_patterns) != (self.fix is not None):
            raise ProcessorDefinitionError(
                f"rule {self.name!r} has {'no fix' if self.error_patterns else 'no error_patterns'}",
                hint="fix says what to do once an error matches one of error_patterns: give both, or neither",
            )

    def matches(self, words: str) -> bool:
        """
        Whether *words*, those of an error, are what the rule has a fix for.
        """
        return any(re.search(pattern, words, re.IGNORECASE) for pattern in self.error_patterns)


def words_of(error: ModelError) -> str:
    """
    Return what an error says, with its causes and what the provider answered; of each the first ten thousand characters.
    """
    words: list[str] = []
    for one in causes_of(error):
        words += [str(one)[:_WORDS], str(getattr(one, "body", None) or "")[:_WORDS]]
    return "\n".join(words)


def causes_of(error: BaseException) -> Iterator[BaseException]:
    """
    Yield an error and then its causes, five at most.
    """
    one: BaseException | None = error
    for _ in range(_CAUSES):
        if one is None:
            return
        yield one
        one = one.__cause__


def family_of(provider: object) -> str | None:
    """
    Return whose format a provider speaks, by its name, so far as the name tells; ``None`` where there is no name.

    >>> family_of("azure-openai"), family_of("google-vertex"), family_of("cerebras"), family_of(None)
    ('openai', 'google', 'cerebras', None)
    """
    if not isinstance(provider, str) or not provider:
        return None
    first = re.split(r"[^a-z0-9]", provider.lower(), maxsplit=1)[0]
    return _FAMILIES.get(first, first)
