"""
LaterPrompt: a prompt that is converted when somebody reads it.

It is a snapshot all the same: what is said afterwards does not show in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

from procession.messages.message import Message, SystemMessage
from procession.messages.message_list import MessageList
from procession.messages.prompt import PromptMessage
from procession.messages.shapes import is_sequence
from procession.messages.to_prompt import PromptBuilder

__all__ = ["LaterPrompt"]


class LaterPrompt(Sequence[PromptMessage]):
    """
    The prompt of a message list as it is now.
    """

    __slots__ = ("_builder", "_made", "_view", "system_messages", "version")

    def __init__(self, builder: PromptBuilder, messages: MessageList) -> None:
        self._builder = builder
        self._view = messages.view()
        self.system_messages: tuple[SystemMessage, ...] = messages.system_messages
        self.version = messages.version
        self._made: Sequence[PromptMessage] | None = None

    def view(self) -> Sequence[Message]:
        """
        The messages that the prompt is made of.
        """
        return self._view

    def _read(self) -> Sequence[PromptMessage]:
        made = self._made
        if made is None:
            made = self._made = self._builder.build(self)
        return made

    def __len__(self) -> int:
        return len(self._read())

    def __iter__(self) -> Iterator[PromptMessage]:
        return iter(self._read())

    @overload
    def __getitem__(self, index: int) -> PromptMessage: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[PromptMessage]: ...
    def __getitem__(self, index: int | slice) -> Any:
        return self._read()[index]

    def __eq__(self, other: object) -> bool:
        return list(self._read()) == list(other) if is_sequence(other) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self._read()))
