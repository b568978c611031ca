"""
A prompt as the messages of OpenAI's Chat Completions: pure functions, no network.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from procession.errors import InputError
from procession.messages.parts import FilePart, ReasoningPart, TextPart
from procession.messages.prompt import PromptMessage, PromptPart, PromptToolCall, PromptToolResult
from procession.messages.value import Value
from procession.models.formats.openai.chat_dialects import ChatDialect
from procession.models.formats.openai.files import chat_file
from procession.models.formats.openai.values import arguments_text, fitting_id, nine_letters, result_parts
from procession.models.loose import as_list, as_mapping
from procession.models.pieces import Piece

__all__ = ["ChatPrompt"]

_LONGEST_ID = 40
_FILES_LEFT_OUT = {"type": "other", "message": "files that a model made are not sent"}
_SIGNED_LEFT_OUT = {"type": "other", "message": "reasoning that another provider signed is not sent"}
_RUN_LEFT_OUT = {"type": "other", "message": "what tools of a provider did is not sent"}
_RESULT_FILES_LEFT_OUT = {"type": "other", "message": "files in what a tool answered are not sent"}


class ChatPrompt(Value):
    """
    Writes a prompt for one server.

    >>> ChatPrompt().piece(PromptMessage("user", (TextPart("Hello"),))).entries
    ({'role': 'user', 'content': 'Hello'},)
    """

    provider: str = "openai"
    system_role: str = "system"
    dialect: ChatDialect = ChatDialect()

    def piece(self, message: PromptMessage) -> Piece:
        """
        Return one entry of a prompt as messages.

        Left out, since the format has no place for it: reasoning that the server does not want back, files that a
        model made, and what a provider's own tools did.

        Raises ``InputError`` for a file that cannot be sent, naming its type.
        """
        if message.role == "system":
            return Piece(({"role": self.system_role, "content": self._content(message.content)},))
        if message.role == "user":
            return Piece(({"role": "user", "content": self._content(message.content)},))
        if message.role == "tool":
            changes: list[Mapping[str, Any]] = []
            return Piece(tuple(self._results(message.content, changes)), tuple(changes))
        entry = self._assistant(message)
        left_out = [change for part in message.content if (change := self._left_out(part)) is not None]
        return Piece(() if entry is None else (entry,), tuple(left_out))

    def _left_out(self, part: PromptPart) -> Mapping[str, Any] | None:
        if isinstance(part, FilePart):
            return _FILES_LEFT_OUT
        if isinstance(part, ReasoningPart):
            signed = part.signature or part.redacted or (part.provider_metadata and not self._own(part))
            return _SIGNED_LEFT_OUT if signed else None
        if isinstance(part, PromptToolCall):
            return _RUN_LEFT_OUT if part.provider_executed else None
        return None

    def _own(self, part: PromptPart) -> Mapping[str, Any]:
        """
        Return what this server said beside a part.
        """
        return as_mapping(as_mapping(part.provider_metadata).get(self.provider))

    def _content(self, parts: Sequence[PromptPart]) -> str | list[dict[str, Any]]:
        """
        Return texts and files; texts alone are one text, which every server takes.
        """
        given = [part for part in parts if isinstance(part, (TextPart, FilePart))]
        content = [self._given(part) for part in given]
        if all(isinstance(part, TextPart) for part in given) and not any("cache_control" in it for it in content):
            return "\n".join(block["text"] for block in content)
        return content

    def _given(self, part: TextPart | FilePart) -> dict[str, Any]:
        block = {"type": "text", "text": part.text} if isinstance(part, TextPart) else chat_file(part)
        if self.dialect.cache_marks and part.provider_metadata:
            noted = {**as_mapping(part.provider_metadata.get("anthropic")), **self._own(part)}
            mark = as_mapping(noted.get("cache_control", noted.get("cacheControl")))
            if mark:
                return {**block, "cache_control": dict(mark)}
        return block

    def _assistant(self, message: PromptMessage) -> dict[str, Any] | None:
        calls = [self._call(part) for part in message.content if _is_ours(part)]
        entry: dict[str, Any] = {"role": "assistant", "content": message.text}
        thoughts = [part for part in message.content if isinstance(part, ReasoningPart)]
        if calls:
            entry.update(content=message.text or None, tool_calls=calls)
        elif message.content and not any(isinstance(part, TextPart) for part in message.content):
            return None  # all of it is left out
        for part in thoughts:
            for key in ("reasoning_details", "thinking_blocks"):
                signed = as_list(self._own(part).get(key))
                if signed:
                    entry[key] = [*entry.get(key, ()), *signed]
        own_thoughts = [part.text for part in thoughts if self._own(part)]
        if self.dialect.reasoning_key is not None and (own_thoughts or calls):
            entry[self.dialect.reasoning_key] = "".join(own_thoughts)
        return entry

    def _call(self, part: Any) -> dict[str, Any]:
        call: dict[str, Any] = {
            "id": self._id(part.tool_call_id),
            "type": "function",
            "function": {
                "name": part.tool_name,
                "arguments": arguments_text(part.args, any_text=self.dialect.any_arguments),
            },
        }
        extra = as_mapping(self._own(part).get("extra_content"))
        return {**call, "extra_content": extra} if extra else call

    def _id(self, call_id: str) -> str:
        return nine_letters(call_id) if self.dialect.short_ids else fitting_id(call_id, _LONGEST_ID)

    def _results(self, parts: Sequence[PromptPart], changes: list[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
        """
        Yield what tools answered; pictures and files of it follow in a user's message, the one place that takes them.
        """
        files: list[dict[str, Any]] = []
        for result in parts:
            if not isinstance(result, PromptToolResult):
                continue
            texts: list[str] = []
            for part in result_parts(result.output):
                block = None if isinstance(part, TextPart) else self._file(part)
                if block is not None:
                    files += [{"type": "text", "text": f"From the tool {result.tool_name}:"}, block]
                elif isinstance(part, FilePart):
                    changes.append(_RESULT_FILES_LEFT_OUT)
                texts.append(part.text if isinstance(part, TextPart) else f"[{part.media_type}]")
            yield {"role": "tool", "tool_call_id": self._id(result.tool_call_id), "content": "\n".join(texts)}
        if files:
            yield {"role": "user", "content": files}

    def _file(self, part: FilePart) -> dict[str, Any] | None:
        if not self.dialect.user_after_tool:
            return None
        try:
            return chat_file(part)
        except InputError:  # what a tool answered must not end the run
            return None


def _is_ours(part: PromptPart) -> bool:
    return isinstance(part, PromptToolCall) and not part.provider_executed
