"""
StepMarks: what waits for a step to be accepted, to keep its answer (D33).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from procession.messages.chunks import ToolResult
from procession.messages.prompt import PromptMessage
from procession.messages.value import Value

__all__ = ["StepAnswer", "StepMark", "StepMarks"]


class StepAnswer(Value, kw_only=True):
    """
    An answer that was accepted.
    """

    finish_reason: str
    from_cache: bool
    """Whether a processor gave it in place of the model."""
    prompt: Sequence[PromptMessage] | None
    """What the model was sent, where a hook looked at it."""
    results: Sequence[ToolResult] = ()
    """What its tools answered, before any processor saw it: of those that ran without a person's leave, and succeeded."""


class StepMark(Protocol):
    """
    Something that waits for the step in hand.  It is told how that ended, once.
    """

    async def accept(self, answer: StepAnswer) -> None:
        """
        The step stands.  Whatever goes wrong with keeping it is no fault of the run: nothing may be raised.
        """
        ...

    def drop(self) -> None:
        """
        It does not: it failed, was rejected, suspended or broken off.
        """
        ...


class StepMarks:
    """
    The marks of the step in hand, or of the last one, which stands once the turn does; and those that are told of every
    step but the last.
    """

    __slots__ = ("_last", "_staying", "_waiting")

    def __init__(self) -> None:
        self._staying: list[StepMark] = []
        self._waiting: list[StepMark] = []
        self._last: StepAnswer | None = None

    def add(self, mark: StepMark) -> None:
        """
        Let *mark* wait for the step in hand.
        """
        self._waiting.append(mark)

    def stay(self, mark: StepMark) -> None:
        """
        Let *mark* be told of each step that is accepted before the last: what becomes of that one the turn decides.
        """
        self._staying.append(mark)

    def hold(self, answer: StepAnswer) -> None:
        """
        The step is accepted, and the last one: its *answer* stands once the turn does.
        """
        self._last = answer

    async def settle(self, answer: StepAnswer | None = None) -> None:
        """
        Tell all who wait that *answer* stands, or the one that was held.
        """
        staying = tuple(self._staying) if answer is not None else ()
        answer = answer or self._last
        waiting, self._waiting, self._last = self._waiting, [], None
        try:
            if answer is not None:
                while waiting:
                    await waiting[0].accept(answer)
                    del waiting[0]
                for mark in staying:
                    await mark.accept(answer)
        finally:
            for mark in waiting:
                mark.drop()

    def drop(self) -> None:
        """
        Tell all who wait that the step does not stand.
        """
        waiting, self._waiting, self._last = self._waiting, [], None
        for mark in waiting:
            mark.drop()
