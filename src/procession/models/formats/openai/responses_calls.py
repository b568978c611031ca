"""
The function calls of one Responses answer, put together from its events.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from procession.ids import new_id
from procession.messages.chunks import Chunk, ToolCall, ToolInputDelta, ToolInputEnd, ToolInputStart
from procession.models.formats.openai.responses_items import Item, ItemTable
from procession.models.loose import as_text

__all__ = ["ResponsesCalls"]


class ResponsesCalls:
    """
    Tells of calls while their arguments come, and gives each once it is certain to be whole.

    That is at the end of the answer, or once the answer goes on with something else: a call that is cut never comes out.
    """

    def __init__(self, items: ItemTable) -> None:
        self._items = items
        self._given = 0

    def __bool__(self) -> bool:
        return bool(self._items.calls)

    def announce(self, item: Item) -> Iterator[Chunk]:
        """
        Yield the beginning of a call, once its name and id are known.
        """
        if item.name and item.call_id and not item.announced:
            item.announced = True
            yield ToolInputStart(item.call_id, item.name)
            said = item.streamed.text
            if said:  # arguments that came before the name
                yield ToolInputDelta(item.call_id, said, item.name)

    def add(self, payload: Mapping[str, Any]) -> Iterator[Chunk]:
        """
        Take more of a call's arguments.
        """
        item = self._find(payload)
        piece = as_text(payload.get("delta"))
        if piece and not item.ended:
            item.streamed.add(piece)
            if item.announced:
                yield ToolInputDelta(item.call_id, piece, item.name)

    def end_arguments(self, payload: Mapping[str, Any]) -> Iterator[Chunk]:
        """
        Take the whole of a call's arguments.
        """
        item = self._find(payload)
        if not item.ended:
            item.name = item.name or as_text(payload.get("name"))
            yield from self.end(item, payload)

    def end(self, item: Item, fields: Mapping[str, Any]) -> Iterator[Chunk]:
        """
        Take what the end of a call says of its arguments.
        """
        yield from self.announce(item)
        arguments = fields.get("arguments")
        whole = arguments if isinstance(arguments, str) else json.dumps(arguments) if arguments else ""
        rest = item.streamed.rest(whole)
        if rest:
            item.streamed.add(rest)
            if item.announced:
                yield ToolInputDelta(item.call_id, rest, item.name)
        item.end(whole or item.streamed.text)

    def settled(self) -> Iterator[Chunk]:
        """
        Yield the calls that are whole, in their order, up to the first of which only the end will tell.
        """
        calls = self._items.calls
        while self._given < len(calls):
            item = calls[self._given]
            if item.args is None or item.cut or not item.announced:
                return
            self._given += 1
            yield from _call(item, item.args)

    def finish(self, *, cut: bool) -> tuple[list[Chunk], list[Mapping[str, str]]]:
        """
        Return the chunks of the remaining calls, and what was dropped.

        *cut* tells that the answer ended before its end.  A call whose arguments are incomplete is dropped then, and
        so is one without arguments: they may not have begun.  Otherwise arguments that are no JSON object go on as
        text, for the tool to refuse.
        """
        chunks: list[Chunk] = []
        dropped: list[Mapping[str, str]] = []
        for item in self._items.calls[self._given :]:
            if not item.ended:
                item.end(item.streamed.text)
            unsure = cut and (item.args is None or not item.text.lstrip().startswith("{"))
            if unsure or item.cut or not item.name:
                dropped.append({"tool_call_id": item.call_id, "tool_name": item.name, "args_text": item.text})
                continue
            item.call_id = item.call_id or item.id or f"call-{new_id()}"
            chunks += [*self.announce(item), *_call(item, item.text if item.args is None else item.args)]
        return chunks, dropped

    def _find(self, payload: Mapping[str, Any]) -> Item:
        return self._items.find("function_call", as_text(payload.get("item_id")), payload.get("output_index"))


def _call(item: Item, args: Any) -> tuple[Chunk, ...]:
    metadata = {"openai": {"itemId": item.id}} if item.id else None
    return ToolInputEnd(item.call_id), ToolCall(item.call_id, item.name, args, provider_metadata=metadata)
