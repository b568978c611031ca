"""
User text: what the user said last, cut where it alone is more than a model may be sent.
"""

from __future__ import annotations

from procession.messages.parts import TextPart
from procession.messages.prompt import PromptMessage, PromptPart
from procession.models.tokens.counter import TokenCounter

__all__ = ["cut_user_text"]


def cut_user_text(counter: TokenCounter, entry: PromptMessage, budget: float, marker: str) -> PromptMessage | None:
    """
    Return *entry* with so much of its text that it has at most *budget* tokens, and *marker* where it was cut.

    Files and images stay.  ``None`` where nothing would be left of the text.
    """
    files = [part for part in entry.content if not isinstance(part, TextPart)]
    left = budget - counter.count_message(entry.replace(content=tuple(files))) - counter.count(marker)
    while left > 0:
        made = entry.replace(content=tuple(_cut(counter, entry, left, marker)))
        over = counter.count_message(made) - budget
        if over <= 0:
            return made if any(isinstance(part, TextPart) and part.text != marker for part in made.content) else None
        left -= max(1.0, over)  # text and marker together may count more than each by itself
    return None


def _cut(counter: TokenCounter, entry: PromptMessage, budget: float, marker: str) -> list[PromptPart]:
    parts: list[PromptPart] = []
    cut = False
    for part in entry.content:
        if not isinstance(part, TextPart):
            parts.append(part)
        elif not cut:
            cost = counter.count(part.text)
            cut = cost > budget
            parts.append(part.replace(text=counter.prefix(part.text, budget).rstrip() + marker) if cut else part)
            budget -= cost
    return parts
