"""
Which messages a guard looks at on the way in, and what in them it does not look at.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from procession.errors import ProcessorDefinitionError
from procession.messages.message import Message
from procession.messages.parts import FilePart
from procession.processors.context import HookContext
from procession.processors.contexts import InputContext
from procession.processors.options import one_of
from procession.processors.remembered import remembered_messages
from procession.processors.violation import Violation

__all__ = ["Scope", "messages_in", "note_files", "scope_of"]

Scope = Literal["new_messages", "last_message", "last_user", "all"]
"""All that came with the call, the last of them, the last of a user among them, or what memory recalled as well,
also of other conversations."""


def scope_of(name: str, scope: Scope | None, last_message_only: bool) -> Scope:
    """
    Return which messages the class *name* looks at; *last_message_only* is the documents' word for ``last_message``.

    Raises ``ProcessorDefinitionError`` for a scope that is none, and where both are given and differ.
    """
    if last_message_only and scope not in (None, "last_message"):
        raise ProcessorDefinitionError(f"{name} has last_message_only and scope={scope!r}", hint="give one of them")
    wanted = "last_message" if last_message_only else scope or "new_messages"
    found: Scope = one_of(name, "scope", wanted, ("new_messages", "last_message", "last_user", "all"))
    return found


def messages_in(ctx: InputContext, scope: Scope) -> list[Message]:
    """
    Return the messages that *scope* names.
    """
    if scope == "all":
        return [*ctx.view, *remembered_messages(ctx.message_list)]
    messages = list(ctx.message_list.view("input"))
    if scope == "last_user":
        messages = [message for message in messages if message.role == "user"]
    return messages if scope == "new_messages" else messages[-1:]


def note_files(ctx: HookContext[Any], messages: Iterable[Message]) -> None:
    """
    Note in ``result.violations`` that the files of *messages* were not looked at: no guard over text says that one is
    allowed.  Nobody is called for it, since nothing was found.
    """
    files = [
        {"messageId": message.id, "partIndex": index, "mediaType": part.media_type}
        for message in messages
        for index, part in enumerate(message.parts)
        if isinstance(part, FilePart)
    ]
    if files:
        said = f"{ctx.processor_id}: not scanned: {len(files)} {'file' if len(files) == 1 else 'files'}"
        detail = {"phase": ctx.hook.value, "files": files}
        ctx.scope.violations.append(
            Violation(ctx.processor_id, said, detail, "skipped", ctx.hook.value, ctx.step_number)
        )
