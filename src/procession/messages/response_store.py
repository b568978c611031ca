"""
ResponseStore: the answer of a run as the loop builds it, part by part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from procession.errors import MessageError
from procession.messages import combine
from procession.messages.keeping_store import KeepingStore
from procession.messages.message import Message
from procession.messages.parts import Part, Parts, StepStartPart, ToolCallPart
from procession.messages.sources import RESPONSE, UNSAVED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from procession.messages.edits import RedactedSpans

__all__ = ["ResponseStore"]

_ANSWER = RESPONSE | UNSAVED
_STEP_START = StepStartPart()


class ResponseStore(KeepingStore):
    """
    What is said last grows step by step, at a cost that does not grow with it.
    """

    __slots__ = ()

    def append_response(self, parts: Sequence[Part], *, message_id: str, new_step: bool = False) -> None:
        """
        Add *parts* to the answer *message_id*, which begins with them if there is none; *new_step* puts a border first.

        Takes the same time however long the answer is.  Raises ``MessageError`` where the id is no assistant's.
        """
        position = self._position(message_id)
        if position < 0:
            if not parts:
                return
            self._append(
                Message(
                    "assistant", Parts(parts), id=message_id, created_at=self._stamp(),
                    thread_id=self._owner[0], resource_id=self._owner[1],
                ),
                _ANSWER,
            )  # fmt: skip
            return
        known = self._items[position]
        if known.role != "assistant":
            raise MessageError(f"message {message_id!r} is of role {known.role!r}, so it cannot take a response")
        so_far = known.parts
        if new_step and so_far.length:
            parts = (_STEP_START, *parts)
        elif not parts:
            return
        segment = so_far.segment
        if len(segment) == 1 and segment[0].__class__ is StepStartPart and so_far.before is not None:
            parts, so_far = (*segment, *parts), so_far.before  # a step is one segment, its border included
        self._put(position, combine.with_parts(known, so_far.extended(parts)), _ANSWER)

    def append_border(self, message_id: str) -> None:
        """
        Put the border between two steps behind the answer *message_id*, where that is the last message and has none there.
        """
        last = self._length - 1
        if last < 0 or self._items[last].id != message_id:
            return
        known = self._items[last]
        segment = known.parts.segment or known.parts.flat
        if segment and segment[-1].__class__ is not StepStartPart:
            self._put(last, combine.with_parts(known, known.parts.extended((_STEP_START,))), _ANSWER)

    def restore_response(self, message_id: str, before: Message | None) -> None:
        """
        Let the answer *message_id* be what it was *before*; with ``None`` there was none, and it goes.
        """
        position = self._position(message_id)
        if before is None:
            if position >= 0:
                self._cut((position,))
        elif position < 0:
            self._append(before, _ANSWER)
            if self._disordered:
                self._sort()
        elif self._items[position] is not before:
            self._put(position, before, self._flags[position])

    def tool_call(self, tool_call_id: str) -> ToolCallPart | None:
        """
        Return the newest tool call with this id.
        """
        for at in range(self._length - 1, -1, -1):
            message = self._items[at]
            if message.role in ("assistant", "tool"):
                for part in reversed(message.parts):
                    if isinstance(part, ToolCallPart) and part.tool_call_id == tool_call_id:
                        return part
        return None

    def update_tool_call(self, part: ToolCallPart, *, redacted: RedactedSpans | None = None) -> bool:
        """
        Let *part* be the next state of its tool call, found by its id, newest first; tells whether there is one.

        The call keeps its arguments, title and provider, whose notes are merged.  A provider that answers under
        another id than it called is matched by the tool's name.  The message counts as response and is saved.
        """
        if self._update_call(part, _ANSWER, redacted):
            return True
        for at in range(self._length - 1, -1, -1):
            message = self._items[at]
            if message.role == "assistant":
                for back, known in enumerate(reversed(message.parts), 1):
                    if (
                        isinstance(known, ToolCallPart)
                        and known.provider_executed
                        and known.state == "call"
                        and known.tool_name == part.tool_name
                    ):
                        parts = message.parts.replaced(len(message.parts) - back, combine.updated_call(known, part))
                        self._put_parts(at, message, parts, _ANSWER, redacted)
                        return True
        return False

    def _update_call(self, part: ToolCallPart, flags: int, redacted: RedactedSpans | None) -> bool:
        wanted = part.tool_call_id
        for at in range(self._length - 1, -1, -1):
            message = self._items[at]
            if message.role != "assistant":
                continue
            parts = message.parts
            segment = parts.segment
            for index in range(len(segment) - 1, -1, -1):
                known = segment[index]
                if isinstance(known, ToolCallPart) and known.tool_call_id == wanted:
                    made = (*segment[:index], combine.updated_call(known, part), *segment[index + 1 :])
                    self._put_parts(at, message, Parts(made, parts.before), flags, redacted)
                    return True
            if parts.before is not None:
                index = len(parts.before)
                for known in reversed(parts.before):
                    index -= 1
                    if isinstance(known, ToolCallPart) and known.tool_call_id == wanted:
                        made_parts = parts.replaced(index, combine.updated_call(known, part))
                        self._put_parts(at, message, made_parts, flags, redacted)
                        return True
        return False

    def _put_parts(self, at: int, message: Message, parts: Parts, flags: int, redacted: RedactedSpans | None) -> None:
        marked = flags if flags & RESPONSE else self._flags[at] | flags
        self._put(at, combine.with_parts(message, parts), marked, redacted)
