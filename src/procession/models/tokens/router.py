"""
Which counter a model is counted with, by its name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from inspect import iscoroutinefunction
from typing import Any, cast

from procession.errors import DefinitionError
from procession.models.tokens.counter import TokenCounter
from procession.models.tokens.encodings import ENCODINGS, has_encodings
from procession.models.tokens.heuristic import HeuristicCounter
from procession.models.tokens.images import (
    ANTHROPIC_AREA,
    GOOGLE_TILES,
    OPENAI_TILES,
    ImageRule,
    openai_patches,
    openai_tiles,
)
from procession.models.tokens.tiktoken_counter import TiktokenCounter

__all__ = ["FunctionCounter", "counter_for", "resolve_counter"]

_O200K = re.compile(r"(?:ft:)?(?:chatgpt-4o|gpt-4o|gpt-4\.[1-9]|gpt-[5-9]|gpt-oss|o[1-9]|codex)(?![a-z0-9])")
_CL100K = re.compile(r"(?:ft:)?(?:gpt-4|gpt-3\.5|gpt-35|text-embedding-(?:3|ada-002))(?![a-z0-9])")
_IMAGES: tuple[tuple[re.Pattern[str], ImageRule], ...] = (
    (re.compile(r"claude"), ANTHROPIC_AREA),
    (re.compile(r"gemini|gemma"), GOOGLE_TILES),
    (re.compile(r"gpt-4\.1-mini|gpt-5(?:\.\d+)?-mini"), openai_patches(1.62)),
    (re.compile(r"gpt-4\.1-nano|gpt-5(?:\.\d+)?-nano"), openai_patches(2.46)),
    (re.compile(r"o4-mini"), openai_patches(1.72)),
    (re.compile(r"gpt-4o-mini"), openai_tiles(2833, 5667)),
    (re.compile(r"gpt-[5-9]"), openai_tiles(70, 140)),
    (re.compile(r"(?<![a-z0-9])o[1-9]"), openai_tiles(75, 150)),
    (re.compile(r""), OPENAI_TILES),
)
"""What images cost, by a part of the model's name; the first that is found."""


class FunctionCounter(TokenCounter):
    """
    Counts with a function of a text, and adds what Mastra adds: 3.8 tokens for a message, 24 for a request.

    >>> FunctionCounter(len).count("abc")
    3
    """

    per_message = 3.8
    per_request = 24.0

    def __init__(self, function: Callable[[str], float]) -> None:
        self.name = getattr(function, "__name__", "function")
        self._function = function

    def count(self, text: str) -> float:
        """
        Return what the function says of *text*.
        """
        return self._function(text)


def counter_for(model: Any = None) -> TokenCounter:
    """
    Return the counter for a model, given by itself or by its id.

    OpenAI's models since GPT-4o, and its o-series, have ``o200k_base``, GPT-4 and GPT-3.5 ``cl100k_base``.  Any other is
    counted with ``o200k_base``, and the counter says that it is ``estimated``.  Without the extra ``tokens`` all are
    estimated from the kinds of their characters.

    >>> counter_for("openai/gpt-5-mini").name, counter_for("gpt-4-turbo").name, counter_for("claude-opus-4-5").estimated
    ('o200k_base', 'cl100k_base', True)
    """
    name = model if isinstance(model, str) else getattr(model, "id", None)
    return _counter_of(name.rpartition("/")[2].lower() if isinstance(name, str) else "", has_encodings())


@lru_cache(maxsize=256)
def _counter_of(name: str, exact: bool) -> TokenCounter:
    images = next(rule for form, rule in _IMAGES if form.search(name))
    if not exact:
        estimate = HeuristicCounter()
        estimate.images = images
        return estimate
    if _O200K.match(name):
        return TiktokenCounter("o200k_base", images=images)
    if _CL100K.match(name):
        return TiktokenCounter("cl100k_base", images=images)
    return TiktokenCounter("o200k_base", estimated=True, images=images)


def resolve_counter(given: Any) -> TokenCounter | None:
    """
    Return the counter that is *given*: one itself, a function of a text, or the name of a tokenizer, ``estimate``
    included.  ``None`` and ``auto`` stand for the model's own, and give ``None``.

    Raises ``DefinitionError`` for anything else, and where the extra is missing that a name needs.

    >>> resolve_counter("estimate")
    HeuristicCounter('estimate')
    """
    if given is None or given == "auto":
        return None
    if isinstance(given, TokenCounter):
        return given
    if given == "estimate":
        return HeuristicCounter()
    if isinstance(given, str):
        return TiktokenCounter(given)
    if callable(given) and not isinstance(given, type) and not iscoroutinefunction(given):
        return FunctionCounter(cast("Callable[[str], float]", given))
    raise DefinitionError(
        f"{given!r} does not count tokens",
        hint=f"give a TokenCounter, a plain function of a text, 'estimate', or one of {', '.join(ENCODINGS)}",
    )
