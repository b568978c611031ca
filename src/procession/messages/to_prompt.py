"""
To prompt: a message list as what a model is sent, converted once and kept.

A run asks for a prompt at every step, and what was said before does not change.  So the builder keeps the entries
that it made, finds by identity how far the messages are still the same, and converts the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from procession.messages.parts import Part, Parts, StepStartPart, TextPart
from procession.messages.prompt import PromptMessage
from procession.messages.prompt_memo import PromptMemo
from procession.messages.prompt_parts import signal_content, step_entries, user_content
from procession.messages.window import Window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from procession.messages.message import Message, SystemMessage
    from procession.messages.message_list import MessageList

__all__ = ["PromptBuilder"]

_OPENING = PromptMessage("user", (TextPart("."),))
"""Stands before an assistant's message that would come first: providers refuse a prompt that starts with one."""


class _Link:
    """
    How far an assistant's message was converted at one link of its chain of parts.  Entries are counted without the
    system entries.
    """

    __slots__ = ("block", "end", "parts", "start")

    def __init__(self, parts: Parts | None, start: int, block: tuple[Part, ...]) -> None:
        self.parts = parts
        """The link, after which the rest holds."""
        self.start = start
        """Number of entries before the open step."""
        self.block = block
        """The parts of the open step."""
        self.end = -1
        """Number of entries after the open step, if they were written when it stood there."""


class PromptBuilder:
    """
    Makes the prompts of one run.

    What ``build`` returns is a snapshot: later prompts share its entries and never change them.

    >>> from procession.messages.message_list import MessageList
    >>> messages = MessageList("Is it raining?")
    >>> messages.add_system("You are a parrot.")
    >>> [f"{entry.role}: {entry.text}" for entry in PromptBuilder().build(messages)]
    ['system: You are a parrot.', 'user: Is it raining?']
    """

    __slots__ = ("_ends", "_entries", "_links", "_seen", "_system", "_version", "_view", "_written", "memo")

    _view: Window[PromptMessage]
    """The last prompt, once there was one."""

    def __init__(self) -> None:
        self._system: tuple[SystemMessage, ...] = ()
        self._entries: list[PromptMessage] = []
        """System entries, then those of the messages.  Handed out, so only ever appended to."""
        self._seen: list[Message] = []
        self._ends: list[int] = []
        """For each message seen the number of entries up to its end, system entries left out."""
        self._links: list[_Link] = []
        """The chain of the last message seen, if it is an assistant's, oldest link first."""
        self._written: tuple[Part, ...] | None = None
        """The parts of the step that the last entries were made of."""
        self._version = -1
        self.memo = PromptMemo()
        """What models make of these prompts."""

    def build(self, message_list: MessageList) -> Sequence[PromptMessage]:
        """
        Return the prompt for *message_list*: system messages, then what users, models and tools said.

        Takes time for what is new since the last call, and for comparing references with what is not.
        """
        if message_list.version == self._version:
            return self._view
        if message_list.system_messages is not self._system:
            self._change_system(message_list.system_messages)
        messages = message_list.copied()
        kept = self._same(messages)
        last = len(self._seen) - 1
        if kept == last and kept < len(messages) and self._grow(messages[kept]):
            kept += 1
        else:
            self._cut(kept)
        for message in messages[kept:]:
            self._add(message)
        self._version = message_list.version
        self._view = Window(self._entries, 0, len(self._entries))
        return self._view

    # --- what is still the same --------------------------------------------------

    def _change_system(self, system: tuple[SystemMessage, ...]) -> None:
        if system != self._system:
            made = [PromptMessage("system", (TextPart(one.text),)) for one in system]
            self._entries = made + self._entries[len(self._system) :]
        self._system = system

    def _same(self, messages: list[Message]) -> int:
        """
        Count the messages at the beginning that were seen before.
        """
        seen = self._seen
        count = min(len(seen), len(messages))
        if count and seen[count - 1] is messages[count - 1] and seen[:count] == messages[:count]:
            return count
        # Usually the last message alone grew.
        if count and seen[: count - 1] == messages[: count - 1]:
            return count - 1
        for at in range(count):
            if seen[at] is not messages[at]:
                return at
        return count

    def _cut(self, kept: int) -> None:
        """
        Forget what was made of the messages from number *kept* on.
        """
        if kept == len(self._seen):
            return
        count = len(self._system) + (self._ends[kept - 1] if kept else 0)
        if count < len(self._entries):
            self._entries = self._entries[:count]
        del self._seen[kept:], self._ends[kept:]
        self._forget_links()

    def _forget_links(self) -> None:
        self._links = []
        self._written = None

    # --- what is new -------------------------------------------------------------

    def _grow(self, message: Message) -> bool:
        """
        Convert what the last message seen, in its new version, has beyond what is known; tells whether that could be.
        """
        if message.id != self._seen[-1].id or message.role != "assistant" or not self._links:
            return False
        # Both chains get shorter link by link; where they meet, everything before is known.  Usually that is at once.
        links = self._links
        at = len(links) - 1
        fresh: list[Parts] = []
        whole = message.parts
        if len(whole.segment) == 1 and whole.before is not None and whole.segment[0].__class__ is StepStartPart:
            whole = whole.before  # the border of a step that has said nothing yet adds nothing
        parts: Parts | None = whole
        while parts is not None:
            known = links[at].parts
            if known is parts:
                break
            if known is not None and known.length > parts.length:
                at -= 1
            else:
                fresh.append(parts)
                parts = parts.before
        else:
            at = 0
        del links[at + 1 :]
        self._convert(fresh)
        self._seen[-1] = message
        self._ends[-1] = len(self._entries) - len(self._system)
        return True

    def _add(self, message: Message) -> None:
        self._forget_links()
        if message.role == "assistant":
            self._links.append(_Link(None, len(self._entries) - len(self._system), ()))
            chain: list[Parts] = []
            parts: Parts | None = message.parts
            while parts is not None:
                chain.append(parts)
                parts = parts.before
            self._convert(chain)
        elif message.role == "user":
            content = user_content(message.parts, message.provider_metadata)
            if content:
                self._entries.append(PromptMessage("user", content))
        elif message.role == "signal":
            self._entries.append(PromptMessage("user", signal_content(message)))
        self._close(message)

    def _close(self, message: Message) -> None:
        self._seen.append(message)
        self._ends.append(len(self._entries) - len(self._system))

    def _convert(self, chain: list[Parts]) -> None:
        """
        Convert segments, newest first in *chain*, that follow the last link.
        """
        links = self._links
        offset = len(self._system)
        link = links[-1]
        start, block = link.start, link.block
        if link.end >= 0:
            if link.end + offset < len(self._entries):
                self._entries = self._entries[: link.end + offset]
            self._written = block
        for parts in reversed(chain):
            segment = parts.segment
            at = 0
            if segment and segment[0].__class__ is not StepStartPart:
                link.end = -1  # the step goes on, so its entries are written anew
            for index, part in enumerate(segment):
                if part.__class__ is StepStartPart:
                    if index or link.end < 0:  # else the open step stands there as it is
                        self._write(start + offset, block + segment[at:index])
                    start, block, at = len(self._entries) - offset, (), index + 1
                    if index == 0:
                        link.end = start
            block = block + segment[at:] if block else segment[at:]
            link = _Link(parts, start, block)
            links.append(link)
        self._write(start + offset, block)
        link.end = len(self._entries) - offset

    def _write(self, start: int, block: tuple[Part, ...]) -> None:
        """
        Let the entries from number *start* on be those of the step *block*.
        """
        if block and block is self._written:
            return
        self._written = block
        made = step_entries(block) if block else []
        if made and start == len(self._system):
            made.insert(0, _OPENING)
        entries = self._entries
        if start < len(entries):
            if entries[start:] == made:
                return
            entries = self._entries = entries[:start]
        entries += made
