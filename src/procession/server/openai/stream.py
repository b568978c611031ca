"""
ChatStream: an agent's stream as the chunks of Chat Completions.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

from procession.agents.output import AgentResult
from procession.errors import RequestRefused
from procession.messages.chunks import (
    Chunk,
    FileChunk,
    StepFinish,
    StepStart,
    TextDelta,
    ToolError,
    ToolResult,
)
from procession.server.openai.answer import (
    chat_calls,
    extension,
    finish_reason,
    open_calls,
    picture,
    refusal,
    shown_tool,
    usage_of,
)

__all__ = ["ChatStream", "Hold"]

Hold: TypeAlias = Literal["nothing", "step", "run"]
"""What is held back: nothing; each step until it is accepted, since nothing that was sent can be taken back here; or all
but the last step, of which alone an answer in JSON is made."""


class ChatStream:
    """
    Turns what an agent's stream gives into chunks of Chat Completions, each a JSON object.

    ``read`` takes one chunk, ``finish`` the result; joined, the texts are the answer's whole text.

    >>> stream = ChatStream(id="chatcmpl-1", model="support", created=0)
    >>> [piece["choices"][0]["delta"] for piece in stream.read(TextDelta("Hi"))]
    [{'role': 'assistant', 'content': ''}, {'content': 'Hi'}]
    """

    def __init__(
        self,
        *,
        id: str,
        model: str,
        created: int,
        hold: Hold = "nothing",
        include_usage: bool = False,
        show_tools: bool = False,
    ) -> None:
        self._frame: dict[str, Any] = {"id": id, "object": "chat.completion.chunk", "created": created, "model": model}
        if include_usage:
            self._frame["usage"] = None
        self._include_usage = include_usage
        self._hold = hold
        self._show_tools = show_tools
        self._begun = False
        self._held: list[dict[str, Any]] = []
        self._sent = False
        """Whether something of the present step was sent."""

    def read(self, chunk: Chunk) -> list[dict[str, Any]]:
        """
        Return what a client is sent of *chunk*.

        Raises ``RequestRefused`` where a step is taken back of which something was sent.
        """
        if isinstance(chunk, TextDelta):
            return self._say({"content": chunk.text}) if chunk.text else []
        if isinstance(chunk, FileChunk):
            return self._say({"images": [picture(chunk)]}) if chunk.media_type.startswith("image/") else []
        if isinstance(chunk, StepStart):
            self._sent = False
        elif isinstance(chunk, StepFinish):
            return self._end_step(chunk)
        elif self._show_tools and isinstance(chunk, ToolResult | ToolError):
            return self._pieces([{}], procession={"tools": [shown_tool(chunk)]})
        return []

    def finish(self, result: AgentResult) -> list[dict[str, Any]]:
        """
        Return the end of the stream: the client's calls, what the user is told in place of an answer, and why it ended.
        """
        calls = open_calls(result)
        deltas: list[dict[str, Any]] = [
            {"tool_calls": [{"index": index, **call}]} for index, call in enumerate(chat_calls(calls))
        ]
        refused = refusal(result)
        if refused is not None:
            deltas.append({"refusal": refused})
        pieces = self._pieces(deltas)
        pieces += self._pieces([{}], reason=finish_reason(result, calls), procession=extension(result))
        if self._include_usage:
            pieces.append({**self._frame, "choices": [], "usage": usage_of(result.usage)})
        return pieces

    def _say(self, delta: dict[str, Any]) -> list[dict[str, Any]]:
        if self._hold != "nothing":
            self._held.append(delta)
            return []
        self._sent = True
        return self._pieces([delta])

    def _end_step(self, end: StepFinish) -> list[dict[str, Any]]:
        held, self._held = self._held, []
        if end.reason == "retry":
            if self._sent:
                raise RequestRefused(
                    "what was sent of the answer was taken back",
                    status=500,
                    reason="answer-withdrawn",
                    hint="ask again without stream",
                )
            return []
        return [] if self._hold == "run" and end.is_continued else self._pieces(held)

    def _pieces(
        self, deltas: Iterable[dict[str, Any]], *, reason: str | None = None, **more: Any
    ) -> list[dict[str, Any]]:
        every = [*deltas]
        if every and not self._begun:
            self._begun = True
            every.insert(0, {"role": "assistant", "content": ""})
        pieces = [self._piece(delta, None) for delta in every[:-1]]
        return [*pieces, {**self._piece(every[-1], reason), **more}] if every else pieces

    def _piece(self, delta: dict[str, Any], reason: str | None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return {**self._frame, "choices": [choice]}
