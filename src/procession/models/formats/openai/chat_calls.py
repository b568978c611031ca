"""
The tool calls of one Chat Completions answer, put together from fragments.

Servers differ: the index is missing, or 0 for every call, the id comes late, twice or never, arguments come as an
object, as nothing or in any order.  What belongs to what is decided here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from procession.ids import new_id
from procession.messages.chunks import Chunk, ToolCall, ToolInputDelta, ToolInputEnd, ToolInputStart
from procession.models.loose import as_mapping, as_text

__all__ = ["ToolCallParts"]

_PATIENCE = 100


class _Call:
    __slots__ = ("extra", "id", "index", "looks", "name", "pieces", "server_id")

    def __init__(self, index: int, server_id: str | None) -> None:
        self.index = index
        self.server_id = server_id
        self.id = server_id or f"call-{new_id()}"
        self.name = ""
        self.pieces: list[str] = []
        self.extra: Mapping[str, Any] = {}
        self.looks = 0

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    def may_be_complete(self) -> bool:
        """
        Tell whether it is worth a look; after many looks it is not, so that they cost no more than what came.
        """
        self.looks += 1
        return self.looks < _PATIENCE and bool(self.pieces) and self.pieces[-1].rstrip().endswith("}")


class ToolCallParts:
    """
    Collects fragments and gives the calls once the answer is complete.

    *provider* is the key under which what has to go back with a call is noted, such as Gemini's signature of it.
    """

    def __init__(self, provider: str = "openai") -> None:
        self._provider = provider
        self._calls: list[_Call] = []
        self._latest: dict[int, _Call] = {}
        self._by_id: dict[str, _Call] = {}

    def __bool__(self) -> bool:
        return bool(self._calls)

    def add(self, fragment: Mapping[str, Any]) -> Iterator[Chunk]:
        """
        Take one fragment and yield the chunks that show it.
        """
        function = as_mapping(fragment.get("function"))
        name, args = as_text(function.get("name")), _argument_text(function.get("arguments"))
        server_id = as_text(fragment.get("id"))
        if not (name or args or server_id):
            return
        call = self._find(fragment.get("index"), server_id, name, args)
        call.extra = as_mapping(fragment.get("extra_content")) or call.extra
        if name and not call.name:
            call.name = name
            yield ToolInputStart(call.id, name)
            if call.pieces:  # arguments that came before the name
                yield ToolInputDelta(call.id, call.text, name)
        if args:
            call.pieces.append(args)
            if call.name:
                yield ToolInputDelta(call.id, args, call.name)

    def _find(self, index: Any, server_id: str, name: str, args: str) -> _Call:
        if not isinstance(index, int) or isinstance(index, bool):
            return self._find_without_index(server_id, name, args)
        call = self._latest.get(index)
        if call is None or _is_another(call, server_id, name, args):
            return self._open(index, server_id)
        return self._named(call, server_id)

    def _find_without_index(self, server_id: str, name: str, args: str) -> _Call:
        if server_id in self._by_id:
            return self._by_id[server_id]
        last = self._calls[-1] if self._calls else None
        if last is None or _is_another(last, server_id, name, args) or (name and last.name and not server_id):
            return self._open(last.index + 1 if last is not None else 0, server_id)
        return self._named(last, server_id)

    def _open(self, index: int, server_id: str) -> _Call:
        call = _Call(index, server_id or None)
        self._calls.append(call)
        self._latest[index] = call
        if server_id:
            self._by_id[server_id] = call
        return call

    def _named(self, call: _Call, server_id: str) -> _Call:
        if server_id and call.server_id is None:
            call.server_id = server_id
            self._by_id[server_id] = call
            if not call.name:  # nobody has seen our own name for it yet
                call.id = server_id
        return call

    def finish(self, *, cut: bool) -> tuple[list[Chunk], list[Mapping[str, str]]]:
        """
        Return the chunks of the complete calls, in the order of their index, and what was dropped.

        *cut* tells that the answer ended before its end.  A call whose arguments are incomplete is dropped then, and
        so is one without arguments: they may not have begun.  Otherwise arguments that are no JSON object go on as
        text, for the tool to refuse.
        """
        chunks: list[Chunk] = []
        dropped: list[Mapping[str, str]] = []
        for call in sorted(self._calls, key=lambda call: call.index):
            text = call.text
            args = _parsed(text)
            if not call.name or (cut and (args is None or not text.lstrip().startswith("{"))):
                dropped.append({"tool_call_id": call.id, "tool_name": call.name, "args_text": text})
                continue
            metadata = {self._provider: {"extra_content": call.extra}} if call.extra else None
            asked = ToolCall(call.id, call.name, text if args is None else args, provider_metadata=metadata)
            chunks += [ToolInputEnd(call.id), asked]
        return chunks, dropped


def _is_another(call: _Call, server_id: str, name: str, args: str) -> bool:
    """
    Return whether a fragment for the place of *call* begins a call of its own.
    """
    if server_id and call.server_id is not None:
        return server_id != call.server_id
    # Without ids only a name after complete arguments tells; some servers repeat the name in every fragment.
    if not (name and call.name and not server_id and args.lstrip().startswith("{") and call.may_be_complete()):
        return False
    return bool(_parsed(call.text) and call.text.strip())


def _parsed(text: str) -> Mapping[str, Any] | None:
    if text.strip() in ("", "null"):
        return {}
    try:
        args: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return as_mapping(args) if isinstance(args, dict) else None


def _argument_text(arguments: Any) -> str:
    if isinstance(arguments, str):
        return arguments
    return json.dumps(arguments) if isinstance(arguments, (dict, list)) else ""
