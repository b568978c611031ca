"""
Documents' words: ``message_list.get.<scope>.<form>()`` as thin views, each a fresh list; and other spellings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from procession.errors import MessageError
from procession.messages.convert import to_core, to_ui
from procession.messages.part_reading import read_part
from procession.messages.parts import ToolCallPart
from procession.messages.response_store import ResponseStore

if TYPE_CHECKING:
    from procession.messages.message import Message
    from procession.messages.message_store import MessageStore

__all__ = ["DocumentsWords", "Getter", "Scope"]


class Scope:
    """
    The messages of one scope, in the documents' forms.
    """

    __slots__ = ("_messages",)

    def __init__(self, messages: list[Message]) -> None:
        self._messages = messages

    def db(self) -> list[Message]:
        """
        Return the messages themselves.
        """
        return list(self._messages)

    def ui(self) -> list[dict[str, Any]]:
        """
        Return what a user interface shows: no signals (D38).
        """
        return [to_ui(message) for message in self._messages if message.role != "signal"]

    def core(self) -> list[dict[str, Any]]:
        """
        Return the messages as models take them, results of tools as messages of their own.
        """
        return [form for message in self._messages for form in to_core(message)]


class Getter:
    """
    Scopes by name.  Unless *persisted*, messages leave ``input`` and ``response`` when they are drained to a store.
    """

    __slots__ = ("_persisted", "_store")

    def __init__(self, store: MessageStore, persisted: bool = False) -> None:
        self._store = store
        self._persisted = persisted

    @property
    def all(self) -> Scope:
        """
        Every message.
        """
        return Scope(list(self._store.view()))

    @property
    def input(self) -> Scope:
        """
        What came with the call.
        """
        return self._live("input")

    @property
    def response(self) -> Scope:
        """
        This turn's answer.
        """
        return self._live("response")

    @property
    def remembered(self) -> Scope:
        """
        What memory recalled.
        """
        return Scope(list(self._store.view("memory")))

    @property
    def context(self) -> Scope:
        """
        What is shown to the model and never stored.
        """
        return Scope(list(self._store.view("context")))

    def _live(self, source: str) -> Scope:
        store = self._store
        return Scope(list(store.view(source) if self._persisted else store.unsaved(source)))


class DocumentsWords(ResponseStore):
    """
    What the documents call things, where this house has another word.
    """

    __slots__ = ()

    @property
    def get(self) -> Getter:
        """
        The documents' spelling: ``message_list.get.all.db()``, ``.input.core()``, ``.response.ui()``.
        """
        return Getter(self)

    @property
    def get_persisted(self) -> Getter:
        """
        The same scopes with what has been drained to a store still in them.
        """
        return Getter(self, persisted=True)

    def update_tool_invocation(self, part: ToolCallPart | Mapping[str, Any]) -> bool:
        """
        Let *part* be the next state of its tool call, as ``update_tool_call`` does; tells whether there is one.

        A part in the documents' form is ``{"type": "tool-invocation", "toolInvocation": {"state": "result", ...}}``.
        Raises ``MessageError`` where it is no tool call.
        """
        read = read_part(part, "update_tool_invocation")
        if not isinstance(read, ToolCallPart):
            raise MessageError(
                f"update_tool_invocation was given a part of type {read.type!r}", hint="give a part of a tool call"
            )
        return self.update_tool_call(read)
