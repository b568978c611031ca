"""
The calls of one answer of Gemini: of functions, which the caller runs, and of tools that Google runs itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from procession.errors import ModelError
from procession.messages.chunks import Chunk, ToolCall, ToolInputDelta, ToolInputEnd, ToolInputStart, ToolResult
from procession.models.formats.google.prompt import CODE_EXECUTION
from procession.models.loose import as_mapping, as_text

__all__ = ["PARTS", "GoogleCalls"]

PARTS = frozenset({"functionCall", "executableCode", "codeExecutionResult", "toolCall", "toolResponse"})
"""The kinds of parts that are read here."""
_SHOWS = (ToolInputStart, ToolInputDelta)
_NAMELESS = "server_tool"


class GoogleCalls:
    """
    Reads the parts of an answer that are calls, or what came of them.  It is true once there is a call of a function.

    Gemini sends calls whole, often without an id.  Such a call is named after the answer and its place in it: the same
    answer gives the same ids, and no two answers of a run share one.
    """

    def __init__(self, request: Mapping[str, Any] | None, failure: Callable[[Any], ModelError]) -> None:
        """
        *request* is the body that was sent, and *failure* makes the error for what cannot be read.
        """
        self.response_id = ""
        """The answer's id, if the server gives it one."""
        self._request = request
        self._failure = failure
        self._ids: set[str] = set()
        self._stem = ""
        self._functions = 0
        self._running: dict[str, dict[str, ToolCall]] = {}
        """For each of Google's own tools its calls that have no result yet, by their ids, oldest first."""

    def __bool__(self) -> bool:
        return self._functions > 0

    def shows(self, chunk: Chunk) -> bool:
        """
        Return whether *chunk* shows a call that is being made, and makes none.
        """
        return isinstance(chunk, _SHOWS)

    def read(self, part: Mapping[str, Any], notes: Mapping[str, Any]) -> Iterator[Chunk]:
        """
        Yield the chunks of one part; *notes* is what was said beside it, such as its signature.

        Raises ``ModelError`` of kind ``stream`` for a call without a name, and for one that comes in pieces.
        """
        if "functionCall" in part:
            yield from self._function(as_mapping(part["functionCall"]), notes)
        elif "executableCode" in part:
            code = as_mapping(part["executableCode"])
            args = {key: value for key, value in code.items() if key != "id"}
            yield self._run(CODE_EXECUTION, args, code, notes)
        elif "toolCall" in part:
            call = as_mapping(part["toolCall"])
            kind = as_text(call.get("toolType"))
            yield self._run(kind.lower() or _NAMELESS, as_mapping(call.get("args")), call, {"toolType": kind, **notes})
        elif "codeExecutionResult" in part:
            result = as_mapping(part["codeExecutionResult"])
            told = {key: value for key, value in result.items() if key != "id"}
            yield self._ran(CODE_EXECUTION, told, result, notes, is_error=told.get("outcome") != "OUTCOME_OK")
        else:
            result = as_mapping(part["toolResponse"])
            kind = as_text(result.get("toolType"))
            yield self._ran(kind.lower() or _NAMELESS, as_mapping(result.get("response")), result, notes)

    def _function(self, call: Mapping[str, Any], notes: Mapping[str, Any]) -> Iterator[Chunk]:
        name, given = as_text(call.get("name")), call.get("args")
        if call.get("partialArgs") or call.get("willContinue"):
            raise self._failure(
                "arguments came in pieces, which is not supported: leave out streamFunctionCallArguments"
            )
        if not name:
            raise self._failure("a function call has no name")
        args: Any = {} if given is None else given
        text = args if isinstance(args, str) else self._written(args)
        id = self._named(call.get("id"))
        self._functions += 1
        yield ToolInputStart(id, name)
        yield ToolInputDelta(id, text, name)
        yield ToolInputEnd(id)
        is_object = isinstance(args, dict)
        yield ToolCall(id, name, args if is_object else text, provider_metadata={"google": notes} if notes else None)

    def _run(self, name: str, args: Any, call: Mapping[str, Any], notes: Mapping[str, Any]) -> ToolCall:
        given = {"id": call["id"]} if as_text(call.get("id")) else {}
        id = self._named(call.get("id"))
        made = ToolCall(id, name, args, True, {"google": {**given, **notes}})
        self._running.setdefault(name, {})[id] = made
        return made

    def _ran(
        self, name: str, told: Any, result: Mapping[str, Any], notes: Mapping[str, Any], *, is_error: bool = False
    ) -> ToolResult:
        given = as_text(result.get("id"))
        running = self._running.get(name, {})
        id = given if given in running else next(iter(running), "") or self._named(given)
        call = running.pop(id, None)
        # The call has a signature of its own, and both are kept with it.
        signature = notes.get("thoughtSignature")
        beside = {"google": {"resultThoughtSignature": signature}} if signature else None
        return ToolResult(id, name, call.args if call else {}, told, is_error, True, beside)

    def _written(self, args: Any) -> str:
        try:
            return json.dumps(args, ensure_ascii=False)
        except (ValueError, RecursionError):
            raise self._failure("the arguments of a function call are nested too deeply") from None

    def _named(self, given: Any) -> str:
        id = as_text(given)
        number = len(self._ids)
        while not id or id in self._ids:
            number += 1
            id = f"call-{self._origin()}-{number}"
        self._ids.add(id)
        return id

    def _origin(self) -> str:
        """
        Return what tells this answer from others: its id, or else what it answers.
        """
        if not self._stem:
            import hashlib

            told = self.response_id or json.dumps(self._request, ensure_ascii=False, default=str)
            self._stem = hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()[:16]
        return self._stem
