"""
One turn of a chat: the chunks of an answer shown as they come, and what is to be said at its end.
"""

from __future__ import annotations

from typing import Any

from procession.agents.output import AgentResult
from procession.agents.stream import AgentStream
from procession.cli.chat_screen import Screen, as_json
from procession.messages.chunks import (
    Chunk,
    FileChunk,
    Finish,
    ReasoningDelta,
    SourceChunk,
    StepFinish,
    StepStart,
    TextDelta,
    ToolCall,
    ToolError,
    ToolOutput,
    ToolOutputDenied,
    ToolResult,
)
from procession.messages.usage import NO_USAGE, Usage
from procession.messages.value import Value
from procession.models.loose import as_mapping

__all__ = ["Cost", "Turn"]

_ODD_ENDS = {
    "length": "the answer was cut off: it reached its longest length",
    "content-filter": "the provider's filter ended the answer",
}


class Cost(Value):
    """
    What something cost: the answers themselves, and what their guards asked a model.

    >>> str(Cost(Usage(1200, 40, reasoning_tokens=30, cached_input_tokens=1000)))
    '1,200 tokens in (1,000 cached), 40 out (30 reasoning)'
    """

    own: Usage = NO_USAGE
    guards: Usage = NO_USAGE

    @property
    def total(self) -> int:
        """
        All tokens.
        """
        return self.own.total_tokens + self.guards.total_tokens

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.own + other.own, self.guards + other.guards)

    def __str__(self) -> str:
        return _tokens(self.own) + (f"; guards: {_tokens(self.guards)}" if self.guards.total_tokens else "")


class Turn:
    """
    Shows the answer to one message on a screen, in several runs where it is suspended and goes on.
    """

    def __init__(self, screen: Screen, said: set[str]) -> None:
        self.screen = screen
        self.cost = Cost()
        """What the turn has cost so far, also where it failed."""
        self._said = said
        """The warnings that were shown before: a provider repeats them with every call."""
        self._verdicts: set[str] = set()
        """What was said of guards: a run that goes on still knows what they found before."""
        self._shown: list[str] = []
        """The text that was shown, and stands."""
        self._step = 0
        """How much of it is of earlier steps."""

    async def show(self, stream: AgentStream[Any]) -> AgentResult:
        """
        Show the answer to its end and return the result; raises what ``result`` of the stream raises.
        """
        self.screen.wait()
        try:
            async with stream:
                async for chunk in stream:
                    self._chunk(chunk)
                result = await stream.result()
        finally:
            self.screen.end()
        self.cost = Cost(result.usage, result.guard_usage)
        self._close(result)
        return result

    def _chunk(self, chunk: Chunk) -> None:
        screen = self.screen
        match chunk:
            case TextDelta():
                self._shown.append(chunk.text)
                screen.text(chunk.text)
            case ReasoningDelta():
                screen.aside(chunk.text)
            case StepStart():
                self._step = len(self._shown)
                screen.wait()
            case StepFinish(reason="retry"):
                del self._shown[self._step :]
                by = f" by {chunk.retry_processor_id}" if chunk.retry_processor_id else ""
                screen.mark("stop", f"sent back{by}: {chunk.retry_reason or 'once more'}")
            case Finish():
                self.cost = self.cost.replace(own=chunk.usage)
            case ToolOutput():
                self._nested(chunk)
            case _:
                if self._of_a_tool(chunk, ""):
                    screen.wait()

    def _nested(self, chunk: ToolOutput) -> None:
        """
        Show what a tool writes while it runs, or what an agent inside says.
        """
        inner: Any = chunk.output
        while isinstance(inner, ToolOutput):
            inner = inner.output
        if isinstance(inner, (TextDelta, ReasoningDelta)):
            self.screen.aside(inner.text)
        elif isinstance(inner, Chunk):
            self._of_a_tool(inner, f"{chunk.tool_name}: ")
        else:
            self.screen.note(f"  {chunk.tool_name}: {as_json(inner)}")

    def _of_a_tool(self, chunk: Chunk, where: str) -> bool:
        """
        Show what becomes of a tool call, or what a model names besides its text; returns whether it was one of these.
        """
        screen = self.screen
        match chunk:
            case ToolCall():
                screen.mark("call", f"{where}{chunk.tool_name} {as_json(chunk.args)}")
            case ToolResult(is_error=True):
                screen.mark("stop", f"{where}{chunk.tool_name} {as_json(chunk.result)}")
            case ToolResult():
                screen.mark("result", f"{where}{chunk.tool_name} {as_json(chunk.result)}")
            case ToolError():
                screen.mark("stop", f"{where}{chunk.tool_name}: {chunk.error}")
            case ToolOutputDenied():
                screen.mark("stop", f"{where}{chunk.tool_name} was not run")
            case SourceChunk():
                screen.mark("result", f"{where}source: {chunk.title or ''} {chunk.url or chunk.filename or ''}")
            case FileChunk():
                screen.mark("result", f"{where}a file: {chunk.filename or chunk.media_type}")
            case _:
                return False
        return True

    def _close(self, result: AgentResult) -> None:
        """
        Show what is to be said once the run has come to its end.
        """
        screen = self.screen
        if not screen.live:
            if result.text and result.status != "suspended":
                screen.whole(result.text)
        elif result.status == "completed" and result.text != "".join(self._shown):
            screen.note("a processor has changed the answer. It is now:")
            screen.whole(result.text)
        self._show_verdicts(result)
        if result.status == "aborted":
            screen.mark("stop", "stopped")
        elif result.finish_reason in _ODD_ENDS:
            screen.mark("warn", _ODD_ENDS[result.finish_reason])
        for warning in [each for step in result.steps for each in step.warnings] + list(result.warnings):
            told = _told(warning)
            if told not in self._said:
                self._said.add(told)
                screen.mark("warn", told)

    def _show_verdicts(self, result: AgentResult) -> None:
        """
        Show what guards found: what they let pass with a remark, and what stopped the run.
        """
        tripwire = result.tripwire
        for report in result.outcomes:
            stopped_it = (
                tripwire is not None and report.outcome == "blocked" and report.processor_id == tripwire.processor_id
            )
            if stopped_it or report.outcome in ("allowed", "skipped"):
                continue
            place = (report.processor_id, report.hook)
            why = dict.fromkeys(one.message for one in result.violations if (one.processor_id, one.hook) == place)
            reasons = f": {'; '.join(why)}" if why else ""
            verdict = f"{report.processor_id}: {report.outcome} in {report.hook}{reasons}"
            if verdict not in self._verdicts:
                self._verdicts.add(verdict)
                self.screen.mark("warn", verdict)
        if tripwire is not None:
            self.screen.mark("stop", f"blocked by {tripwire.processor_id or 'a processor'}: {tripwire.reason}")
            if tripwire.message:
                self.screen.whole(tripwire.message)


def _tokens(usage: Usage) -> str:
    cached = f" ({usage.cached_input_tokens:,} cached)" if usage.cached_input_tokens else ""
    reasoning = f" ({usage.reasoning_tokens:,} reasoning)" if usage.reasoning_tokens else ""
    return f"{usage.input_tokens:,} tokens in{cached}, {usage.output_tokens:,} out{reasoning}"


def _told(warning: Any) -> str:
    """
    Return a warning in words: a provider's is a mapping, an agent's a text.
    """
    known = as_mapping(warning)
    said = [known.get("setting") or known.get("type"), known.get("message") or known.get("details")]
    return ": ".join(str(each) for each in said if each) or str(warning)
