"""What the tests of working memory share: replies that write something down, and what a model was shown."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from procession.models.model import ModelRequest
from procession.storage.memory import InMemoryStore
from procession.storage.notes import NoteKey
from procession.testing.fake_model import Reply
from procession.testing.script import call_tool

ADA: dict[str, Any] = {"thread": "t", "resource": "ada"}
TEMPLATE = "# User\n- Name:\n- Likes:"
KEY = NoteKey(kind="working-memory", resource_id="ada")


def note(memory: Any, id: str = "w1") -> Reply:
    """Return a reply that only writes something down."""
    return call_tool("updateWorkingMemory", {"memory": memory}, id=id)


def shown(request: ModelRequest) -> str | None:
    """Return what a model was shown as its working memory's data, or ``None`` where it was shown none."""
    texts = [message.text for message in request.messages if message.role == "system"]
    found = [text.split("<working_memory_data>\n", 1)[1] for text in texts if "<working_memory_data>\n" in text]
    return found[0].removesuffix("\n</working_memory_data>") if found else None


def names(request: ModelRequest) -> list[str]:
    """Return the names of the tools that a model was given."""
    return [each.name for each in request.tools]


async def stored(store: InMemoryStore, thread: str = "t") -> list[tuple[str, str]]:
    """Return role and text of what is in a thread."""
    return [(message.role, message.text) for message in await store.messages(thread)]


class Person(BaseModel):
    """What is to be known of a user."""

    name: str
    age: int | None = Field(default=None, ge=0)
    likes: list[str] = []
    home: dict[str, str] = {}
