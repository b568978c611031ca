"""
RunWatch: what a run of an agent tells whoever observes it, besides what is in the run's log.

There is one only where somebody does: nothing is done per step or per chunk for nobody.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from procession.agents.output import AgentResult
from procession.messages.chunks import Chunk
from procession.processors.hooks import Hook
from procession.runtime.observer import Told
from procession.runtime.run import Run

if TYPE_CHECKING:
    from procession.agents.state import Attempt, LoopState
    from procession.models.model import ModelRequest
    from procession.processors.stream_watched import Passed

__all__ = ["RunWatch"]


class RunWatch:
    """
    Tells the observers of one run what they are not told by its log.
    """

    __slots__ = ("_asked_at", "_number", "_run", "_state")

    def __init__(self, state: LoopState, run: Run[Any, Any], *, agent_id: str, resumed: bool) -> None:
        """
        Begin to tell of *run*, which has not begun; the stream's processors are watched from now on.
        """
        self._state = state
        self._run = run
        self._number = 0
        self._asked_at = 0.0
        messages = [*state.messages.copied("context"), *state.messages.copied("input")]
        self._tell(
            "agent.began",
            "",
            {"agent_id": agent_id, "messages": messages, "options": state.options, "resumed": resumed},
        )
        plan = state.pipelines.stream
        if plan is not None:
            from procession.processors.stream_watched import WatchedChain

            state.chain = WatchedChain(plan, state.scope, state.messages, self._passed)

    def _tell(self, kind: str, path: str, payload: dict[str, Any]) -> None:
        run = self._run.state
        told = Told(kind, run.now(), path, payload)
        for tap in run.watchers:
            tap(told)

    def asked(self, request: ModelRequest, path: str) -> None:
        """
        The model is asked *request*.
        """
        state = self._state
        model = state.attempt.using.model.id if state.attempt is not None else None
        self._asked_at = self._run.state.now()
        self._tell("model.asked", path, {"request": request, "model": model, "step_number": state.step_number})

    def answered(self, attempt: Attempt, path: str) -> None:
        """
        The model has answered, or what was given in its place was read.
        """
        seconds = self._run.state.now() - self._asked_at if not attempt.from_cache else 0.0
        payload = {"attempt": attempt, "step_number": self._state.step_number, "seconds": round(seconds, 6)}
        self._tell("model.answered", path, payload)

    async def heard(self, stream: AsyncIterator[Chunk]) -> AsyncIterator[Chunk]:
        """
        Pass on a stream that no processor looks at, and tell of each chunk.
        """
        from procession.processors.stream_watched import Passed

        state = self._state
        try:
            async for chunk in stream:
                self._passed(Passed(state.turns - 1, state.step_number, chunk, (), [chunk]))
                yield chunk
        finally:
            close = getattr(stream, "aclose", None)
            if close is not None:
                await close()

    def _passed(self, passed: Passed) -> None:
        path = Hook.OUTPUT_STREAM.value
        if passed.turn is not None:
            path = f"step[{passed.turn}]/{path}"
        self._tell("stream.passed", path, {"passed": passed, "number": self._number})
        self._number += 1

    def ended(self, result: AgentResult[Any] | None) -> None:
        """
        The run has come to *result*, or was broken off.
        """
        self._tell("agent.ended", "", {"result": result})
