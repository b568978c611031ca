"""
A prompt as the input items of OpenAI Responses: pure functions, no network.

OpenAI encrypts what its models think; it goes back byte for byte, in front of the item that it led to.  It is kept in
``provider_metadata``, under ``openai``, with the ids of the items.
"""

from __future__ import annotations

import mimetypes
from collections.abc import Mapping, Sequence
from typing import Any

from procession.errors import InputError
from procession.messages.parts import FilePart, ReasoningPart, TextPart
from procession.messages.prompt import PromptMessage, PromptPart, PromptToolCall, PromptToolResult
from procession.models.formats.openai.responses_provider_tools import image_item, provider_item
from procession.models.formats.openai.values import arguments_text, fitting_id, result_parts, url_of
from procession.models.loose import as_mapping, as_text
from procession.models.pieces import Piece

__all__ = ["responses_piece", "with_own_ids"]

_LONGEST_ID = 64
_FOREIGN_THOUGHTS = {"type": "other", "message": "reasoning of another provider is not sent"}
_UNWANTED_THOUGHTS = {"type": "other", "message": "reasoning is not sent to a model that does not think"}
_LOST_THOUGHTS = {"type": "other", "message": "reasoning without its encrypted content is not sent"}
_LONE_THOUGHTS = {"type": "other", "message": "reasoning is not sent without what it led to"}
_FOREIGN_RUNS = {"type": "other", "message": "what another provider's tools did is not sent"}
_FILES_LEFT_OUT = {"type": "other", "message": "files that a model of another provider made are not sent"}


def responses_piece(
    message: PromptMessage,
    *,
    system_role: str = "system",
    item_ids: bool | None = None,
    any_arguments: bool = True,
    thinks: bool = True,
) -> Piece:
    """
    Return one entry of a prompt as input items.

    *item_ids* lets items go back under their ids, for a server that keeps them; unless it is false, encrypted reasoning
    does anywhere: it is not looked up, and some servers want its id.  *any_arguments* lets the arguments of
    a call go back as the model wrote them, though they are no JSON object; *thinks* lets reasoning go back, which a model
    that does not think refuses.

    Raises ``InputError`` for a file that cannot be sent, naming its type.

    >>> responses_piece(PromptMessage("user", (TextPart("Hello"),))).entries
    ({'type': 'message', 'role': 'user', 'content': [{'type': 'input_text', 'text': 'Hello'}]},)
    """
    if message.role == "system":
        return Piece(({"type": "message", "role": system_role, "content": message.text},))
    if message.role == "user":
        content = [_given(part) for part in message.content if isinstance(part, (TextPart, FilePart))]
        return Piece(({"type": "message", "role": "user", "content": content or ""},))
    if message.role == "tool":
        return Piece(tuple(_output(part) for part in message.content if isinstance(part, PromptToolResult)))
    said = _Said(message.content, item_ids=item_ids, any_arguments=any_arguments, thinks=thinks)
    return Piece(tuple(said.items), tuple(said.changes))


def with_own_ids(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """
    Return *items* in which no two calls have one id: those of a server that counts from nought in every answer come
    again, and OpenAI refuses such a conversation for good.

    >>> call, output = {"type": "function_call", "call_id": "f:0"}, {"type": "function_call_output", "call_id": "f:0"}
    >>> [item["call_id"] for item in with_own_ids([call, output, call, output])]
    ['f:0', 'f:0', 'f:0-2', 'f:0-2']
    """
    calls = [item["call_id"] for item in items if item["type"] == "function_call"]
    seen: set[str] = set()
    if len(set(calls)) == len(calls):
        return items
    numbers: dict[str, int] = {}
    unanswered: dict[str, list[str]] = {}
    made: list[dict[str, Any]] = []
    for item in items:
        told: str = item.get("call_id", "")
        own = told
        if item["type"] == "function_call":
            while own in seen:
                numbers[told] = numbers.get(told, 1) + 1
                own = fitting_id(f"{told}-{numbers[told]}", _LONGEST_ID)
            seen.add(own)
            unanswered.setdefault(told, []).append(own)
        elif item["type"] == "function_call_output" and unanswered.get(told):
            own = unanswered[told].pop(0)
        made.append({**item, "call_id": own} if own != told else item)
    return made


def _given(part: TextPart | FilePart) -> dict[str, Any]:
    """
    Return a text or a file that a model is given.
    """
    noted = _noted(part)
    block = {"type": "input_text", "text": part.text} if isinstance(part, TextPart) else _file(part, noted)
    mark = as_mapping(noted.get("promptCacheBreakpoint"))
    return {**block, "prompt_cache_breakpoint": mark} if mark else block


def _file(part: FilePart, noted: Mapping[str, Any]) -> dict[str, Any]:
    kind = part.media_type.partition(";")[0].strip().lower()
    uploaded = as_text(noted.get("fileId"))
    if kind.startswith("image/"):
        where = {"file_id": uploaded} if uploaded else {"image_url": url_of(part)}
        return {"type": "input_image", **where, "detail": as_text(noted.get("imageDetail")) or "auto"}
    if uploaded:
        return {"type": "input_file", "file_id": uploaded}
    if kind.startswith("text/") and isinstance(part.data, bytes):
        return {"type": "input_text", "text": part.data.decode("utf-8", "replace")}
    if kind.startswith(("audio/", "video/")):
        raise InputError(
            f"a file of type {part.media_type!r} cannot be sent to OpenAI Responses",
            hint="images, PDF, text and documents can; let a model transcribe it with a tool",
        )
    if isinstance(part.data, str) and part.data.startswith(("http://", "https://")):
        return {"type": "input_file", "file_url": part.data}
    name = part.filename or f"document{mimetypes.guess_extension(kind) or ''}"
    return {"type": "input_file", "filename": name, "file_data": url_of(part)}


def _output(result: PromptToolResult) -> dict[str, Any]:
    parts = result_parts(result.output)
    output: str | list[dict[str, Any]] = [_given(part) for part in parts]
    if all(isinstance(part, TextPart) for part in parts):
        output = "\n".join(part.text for part in parts if isinstance(part, TextPart))
    return {"type": "function_call_output", "call_id": fitting_id(result.tool_call_id, _LONGEST_ID), "output": output}


class _Said:
    """
    What a model said in one answer, as items in their order.
    """

    def __init__(
        self, parts: Sequence[PromptPart], *, item_ids: bool | None, any_arguments: bool, thinks: bool
    ) -> None:
        self.items: list[dict[str, Any]] = []
        self.changes: list[Mapping[str, Any]] = []
        self._item_ids = item_ids
        self._any_arguments = any_arguments
        self._thinks = thinks
        self._results = {part.tool_call_id: part for part in parts if isinstance(part, PromptToolResult)}
        self._thoughts: list[dict[str, Any]] = []
        """The reasoning in front of the next item."""
        self._latest: tuple[str, str] | None = None
        """The kind and id of the item that the next part may belong to."""
        self._linked = False
        """Whether reasoning went before under its id: only then may what follows have one, for a server looks for both."""
        for part in parts:
            self._add(part)
        self._forget_thoughts()

    def _add(self, part: PromptPart) -> None:
        if isinstance(part, TextPart):
            self._add_text(part)
        elif isinstance(part, ReasoningPart):
            self._add_reasoning(part)
        elif isinstance(part, FilePart):
            self._add_own(image_item(part), _FILES_LEFT_OUT)
        elif isinstance(part, PromptToolCall) and part.provider_executed:
            self._add_own(provider_item(part, self._results.get(part.tool_call_id)), _FOREIGN_RUNS)
        elif isinstance(part, PromptToolCall):
            self._append({
                "type": "function_call",
                "call_id": fitting_id(part.tool_call_id, _LONGEST_ID),
                "name": part.tool_name,
                "arguments": arguments_text(part.args, any_text=self._any_arguments),
            }, part)  # fmt: skip

    def _add_text(self, part: TextPart) -> None:
        noted = _noted(part)
        item_id, phase = as_text(noted.get("itemId")), as_text(noted.get("phase"))
        if item_id and self._latest == ("message", item_id):  # another part of the same message
            content = self.items[-1]["content"]
            self.items[-1]["content"] = content + (part.text if isinstance(content, str) else [_output_text(part.text)])
            return
        item = {"type": "message", "role": "assistant", "content": part.text}
        self._append({**item, "phase": phase} if phase else item, part)
        if "id" in self.items[-1]:
            self.items[-1].update(content=[_output_text(part.text)], status="completed")
        self._latest = ("message", item_id)

    def _add_reasoning(self, part: ReasoningPart) -> None:
        noted = _noted(part)
        if noted and not self._thinks:
            self.changes.append(_UNWANTED_THOUGHTS)
            return
        if not noted:
            if part.provider_metadata or part.signature or part.redacted:
                self.changes.append(_FOREIGN_THOUGHTS)
            return
        item_id, encrypted = as_text(noted.get("itemId")), as_text(noted.get("reasoningEncryptedContent"))
        if not item_id or self._latest != ("reasoning", item_id):
            own_id = {"id": item_id} if item_id and self._item_ids else {}
            self._thoughts.append({"type": "reasoning", **own_id, "summary": []})
            self._latest = ("reasoning", item_id)
        item = self._thoughts[-1]
        if noted.get("reasoningText") is True:
            item.setdefault("content", []).append({"type": "reasoning_text", "text": part.text})
        elif part.text:
            item["summary"].append({"type": "summary_text", "text": part.text})
        if encrypted:
            item["encrypted_content"] = encrypted
            if item_id and self._item_ids is None:
                item["id"] = item_id

    def _add_own(self, item: dict[str, Any] | None, left_out: Mapping[str, Any]) -> None:
        """
        Add what a tool of the provider did; where that cannot go back, neither can the reasoning that led to it.
        """
        if item is None:
            self.changes.append(left_out)
            self._forget_thoughts()
        else:
            self._append(item)

    def _append(self, item: dict[str, Any], part: PromptPart | None = None) -> None:
        for thought in self._thoughts:
            if "id" in thought or "encrypted_content" in thought or "content" in thought:
                self._linked = self._item_ids is True and "id" in thought
                self.items.append(thought)
            else:
                self._linked = False
                self.changes.append(_LOST_THOUGHTS)
        self._thoughts = []
        item_id = as_text(_noted(part).get("itemId"))
        self.items.append({**item, "id": item_id} if item_id and self._linked else item)
        self._latest = None

    def _forget_thoughts(self) -> None:
        if self._thoughts:
            self._thoughts = []
            self._linked = False
            self.changes.append(_LONE_THOUGHTS)
        self._latest = None


def _noted(part: PromptPart | None) -> Mapping[str, Any]:
    return as_mapping(as_mapping(getattr(part, "provider_metadata", None)).get("openai"))


def _output_text(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": []}
