"""
The items of one Responses answer while they stream: which event belongs to which, and what of it was told.

Servers differ: an item is never announced, its id changes from event to event, every item has the same index, or the
deltas are missing and only the end has the text.  What belongs to what is decided here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from procession.ids import new_id
from procession.models.loose import as_mapping, as_text

__all__ = ["Block", "Item", "ItemTable", "Streamed"]


class Streamed:
    """
    Text that comes in pieces, and once more as a whole.
    """

    __slots__ = ("_length", "_pieces")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0

    def add(self, piece: str) -> None:
        """
        Take the next piece.
        """
        self._pieces.append(piece)
        self._length += len(piece)

    def rest(self, whole: str) -> str:
        """
        Return what of the *whole* has not come in pieces; nothing where they say something else.
        """
        # The lengths first: a server that sends the end again and again does not cost more than its bytes.
        return whole[self._length :] if len(whole) > self._length and whole.startswith(self.text) else ""

    @property
    def text(self) -> str:
        """
        The pieces, joined.
        """
        return "".join(self._pieces)


class Block:
    """
    A stretch of text or reasoning: one part of a message's content, or of the summary of what was thought.
    """

    __slots__ = ("id", "index", "item", "kind", "streamed")

    def __init__(self, item: Item, kind: str, index: int) -> None:
        self.item = item
        self.kind = kind
        """``text``, ``summary``, or ``thought`` for reasoning as it was thought."""
        self.index = index
        self.id = ""
        """What its chunks are called while it is open."""
        self.streamed = Streamed()

    @property
    def metadata(self) -> Mapping[str, Any] | None:
        """
        What has to come back with the block.
        """
        noted: dict[str, Any] = {"itemId": self.item.id} if self.item.id else {}
        if self.item.phase:
            noted["phase"] = self.item.phase
        if self.item.encrypted:
            noted["reasoningEncryptedContent"] = self.item.encrypted
        if self.kind == "thought":
            noted["reasoningText"] = True
        return {"openai": noted} if noted else None


class Item:
    """
    One item of the answer.
    """

    __slots__ = (
        "_latest", "announced", "args", "blocks", "call_id", "cut", "done", "encrypted", "ended", "id", "kind", "name", "phase",
        "streamed", "text",
    )  # fmt: skip

    def __init__(self, kind: str, item_id: str) -> None:
        self.kind = kind
        self.id = item_id
        self.phase = ""
        self.encrypted = ""
        self.blocks: dict[str, dict[int, Block]] = {}
        """By their kind and index."""
        self._latest: dict[str, Block] = {}
        self.done = False
        """Whether the server said that this is all of it."""
        self.name = ""
        self.call_id = ""
        self.streamed = Streamed()
        """The arguments of a call."""
        self.ended = False
        """Whether the arguments are complete."""
        self.text = ""
        self.args: Mapping[str, Any] | None = None
        """The complete arguments, where they are a JSON object."""
        self.cut = False
        """Whether the server said that the arguments are not complete."""
        self.announced = False
        """Whether a call was told of, so that its id and name stay."""

    def update(self, fields: Mapping[str, Any]) -> None:
        """
        Take what an event says of the item.
        """
        self.id = as_text(fields.get("id")) or self.id
        self.phase = as_text(fields.get("phase")) or self.phase
        if self.kind == "function_call" and not self.announced:
            self.name = as_text(fields.get("name")) or self.name
            self.call_id = as_text(fields.get("call_id")) or self.call_id or self.id or f"call-{new_id()}"

    def begin_block(self, kind: str, index: Any) -> Block:
        """
        Return the block that is announced with this index.
        """
        blocks = self.blocks.setdefault(kind, {})
        number = index if isinstance(index, int) else len(blocks)
        found = blocks.get(number)
        if found is None:
            found = blocks[number] = self._latest[kind] = Block(self, kind, number)
        return found

    def block(self, kind: str, index: Any) -> Block:
        """
        Return the block that an event goes on with: the one with its index, else the last.

        vLLM counts the index up with every piece of one part.
        """
        known = self.blocks.get(kind, {}).get(index) if isinstance(index, int) else None
        return known or self._latest.get(kind) or self.begin_block(kind, index)

    def parts(self, kind: str, count: int) -> list[Block]:
        """
        Return the blocks of the *count* parts that there are in the end, in their order.
        """
        blocks = self.blocks.get(kind, {})
        strays = [block for index, block in blocks.items() if not 0 <= index < count]
        strays.reverse()
        return [
            blocks.get(index) or (strays.pop() if strays else self.begin_block(kind, index)) for index in range(count)
        ]

    def end(self, text: str) -> None:
        """
        Let *text* be the complete arguments of this call; none at all are an empty object.
        """
        self.ended = True
        self.text = text
        self.args = {}
        if text.strip() not in ("", "null"):
            try:
                args: Any = json.loads(text)
            except (ValueError, RecursionError):
                args = None
            self.args = as_mapping(args) if isinstance(args, dict) else None


class ItemTable:
    """
    Finds the item that an event is about.
    """

    def __init__(self) -> None:
        self.calls: list[Item] = []
        """The calls of functions, in their order."""
        self._items: list[Item] = []
        self._by_id: dict[str, Item] = {}
        self._by_index: dict[int, Item] = {}
        self._last: dict[str, Item] = {}

    def __len__(self) -> int:
        return len(self._items)

    def begin(self, kind: str, item_id: str, index: Any) -> Item:
        """
        Return the item that begins here, which is the known one where a server announces it again.
        """
        known = self._by_id.get(item_id)
        if known is not None and known.kind == kind:
            return known
        item = Item(kind, item_id)
        self._items.append(item)
        if kind == "function_call":
            self.calls.append(item)
        self._last[kind] = item
        if item_id:
            self._by_id[item_id] = item
        if isinstance(index, int):
            self._by_index[index] = item
        return item

    def find(self, kind: str, item_id: str, index: Any) -> Item:
        """
        Return the item of this kind with this id, else with this index, else the last one, else a new one.
        """
        found = self._by_id.get(item_id)
        if found is None or found.kind != kind:
            found = self._by_index.get(index) if isinstance(index, int) else self._last.get(kind)
        return found if found is not None and found.kind == kind else self.begin(kind, item_id, index)

    def matched(self, output: Sequence[Mapping[str, Any]]) -> list[Item]:
        """
        Return the item that each entry of the complete answer is: the n-th of its kind, since ids and places may differ.
        """
        waiting: dict[str, list[Item]] = {}
        for item in reversed(self._items):
            waiting.setdefault(item.kind, []).append(item)
        matched: list[Item] = []
        for fields in output:
            kind = as_text(fields.get("type"))
            same = waiting.get(kind)
            matched.append(same.pop() if same else self.begin(kind, "", None))
        return matched
