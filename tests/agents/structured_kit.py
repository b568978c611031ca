"""What the tests of structured output share."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from tests.agents.kit import Seen

from procession.messages.chunks import ObjectDelta
from procession.messages.text.patterns import Rule
from procession.processors.text_guard import TextGuard

DATA = {"name": "Bob", "city": "Paris"}
JSON = '{"name": "Bob", "city": "Paris"}'


class Person(BaseModel):
    """What the tests ask for."""

    name: str
    city: str


class Codenames(TextGuard):
    """A guard that knows one word."""

    id = "codenames"
    rules = (Rule("codename", r"\bHeron\b"),)


def types(seen: Seen) -> list[str]:
    """Return the kinds of the chunks that a caller saw."""
    return [chunk.type for chunk in seen.chunks]


def partials(seen: Seen) -> list[Any]:
    """Return the values as they came."""
    return [chunk.object for chunk in seen.chunks if isinstance(chunk, ObjectDelta)]
