"""
Who took away what the user said last, so that a turn with nothing left to answer can name it (D8).
"""

from __future__ import annotations

from typing import Any

from procession.messages.message_list import MessageList
from procession.messages.parts import TextPart
from procession.steps.scope import RequestScope

__all__ = ["begin_noting", "emptied_by", "note_emptied", "user_speaks"]

_SEEN, _BY = "emptied-seen", "emptied-by"


def user_speaks(messages: MessageList) -> bool:
    """
    Whether a user says something in the input: a message that guards left without a word or a file says nothing.
    """
    return any(
        message.role == "user" and any(not isinstance(part, TextPart) or part.text.strip() for part in message.parts)
        for message in messages.view("input")
    )


def begin_noting(scope: RequestScope, messages: MessageList) -> None:
    """
    A hook begins in which processors may take messages away.
    """
    scope.resources[_SEEN] = messages.version


def note_emptied(scope: RequestScope, messages: MessageList, processor_id: str) -> None:
    """
    Look at what a processor left, if it changed *messages*: the first that leaves no word of a user is noted.
    """
    resources: dict[Any, Any] = scope.resources
    version = messages.version
    if version == resources.get(_SEEN):
        return
    resources[_SEEN] = version
    if not user_speaks(messages):
        resources.setdefault(_BY, processor_id)
    elif messages is resources.get("messages"):  # no fork, beside which another may have been emptied
        resources.pop(_BY, None)


def emptied_by(scope: RequestScope) -> str | None:
    """
    Return the id of the processor that left no word of a user, if one did.
    """
    found: str | None = scope.resources.get(_BY)
    return found
