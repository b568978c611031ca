"""
Explanation: which processor of an agent runs at which hook, as a value that prints well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from procession.messages.value import Value
from procession.processors.hooks import Hook

__all__ = ["Explanation", "HookPlace", "NeverCalled"]

_WHEN: Mapping[Hook, str] = {
    Hook.INPUT: "once, before the first step",
    Hook.INPUT_STEP: "before each model call",
    Hook.LLM_REQUEST: "before each model call: the prompt",
    Hook.OUTPUT_STREAM: "each chunk of the answer",
    Hook.API_ERROR: "each failed model call; the first retry wins",
    Hook.LLM_RESPONSE: "after each model call: the model's own chunks",
    Hook.OUTPUT_STEP: "after each model call, before its tools run",
    Hook.TOOL_RESULT: "each result of a tool",
    Hook.OUTPUT_RESULT: "once, after the last step",
}


class HookPlace(Value, kw_only=True):
    """
    One processor at one hook.
    """

    hook: Hook
    processor_id: str
    source: str
    """The list it stands in: ``input_processors`` and so on, ``memory``, ``prepare_step`` or ``default``."""
    workflows: tuple[str, ...] = ()
    """The ids of the workflows that it stands in, outermost first."""
    where: tuple[str, ...] = ()
    """How it stands there: beside which others, under which condition."""
    options: tuple[str, ...] = ()
    """How it deals with findings, failures and time."""
    beside_model: bool = False
    """Whether it runs beside the first model call."""

    def __str__(self) -> str:
        path = "/".join((*self.workflows, self.processor_id))
        where = "".join(f", {each}" for each in self.where)
        return f"{path} ({self.source}{where}) [{', '.join(self.options)}]"


class NeverCalled(Value, kw_only=True):
    """
    Hooks that a processor has and that are never called where it stands.
    """

    processor_id: str
    source: str
    hooks: Sequence[Hook]
    why: str

    def __str__(self) -> str:
        return f"{self.processor_id} ({self.source}) {', '.join(self.hooks)}: {self.why}"


class Explanation(Value, kw_only=True):
    """
    What ``agent.explain()`` returns: print it, or ask it.
    """

    agent_id: str
    summary: str
    """The model, the limits, and how guards run."""
    places: Sequence[HookPlace]
    """Who runs where, in order: hook by hook, and in each hook as they come."""
    never: Sequence[NeverCalled] = ()
    """The hooks that are there and will not be called, and why."""
    notes: Sequence[str] = ()
    """What else matters: what depends on the request, what memory does."""

    def at(self, hook: Hook | str) -> tuple[HookPlace, ...]:
        """
        Return who runs at one hook, in order.
        """
        return tuple(place for place in self.places if place.hook == hook)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"agent {self.agent_id!r}: {self.summary}"
        for hook in Hook:
            here = self.at(hook)
            yield f"{hook.value} ({_WHEN[hook]})" if here else f"{hook.value}: nobody"
            beside = False
            for number, place in enumerate(here, 1):
                if place.beside_model and not beside:
                    beside = True
                    yield "  beside the first model call:"
                yield f"  {number}. {place}"
        if self.never:
            yield "never called:"
            yield from (f"  - {each}" for each in self.never)
        if self.notes:
            yield "notes:"
            yield from (f"  - {note}" for note in self.notes)
