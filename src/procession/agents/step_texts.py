"""
The texts of a run's steps, read from the messages.
"""

from __future__ import annotations

from collections.abc import Iterable

from procession.agents.output import AgentStep
from procession.agents.state import LoopState
from procession.messages.message import Message
from procession.messages.parts import FilePart, Part, SourcePart, StepStartPart, TextPart

__all__ = ["refresh_texts"]


def refresh_texts(state: LoopState) -> None:
    """
    Read the steps' texts from the messages again, where processors have edited those (D37).

    A step's text is what stands between two step borders; what was added behind the last one belongs to the last step.
    """
    steps: list[AgentStep] = state.steps
    if not state.step_texts_stale or not steps:
        return
    state.step_texts_stale = False
    said = _parts_by_step(state.messages.view("response"))
    for index, step in enumerate(steps):
        own = said[index] if index < len(said) else []
        if step is steps[-1]:
            own = [part for parts in said[index:] for part in parts]
        step.text = "".join(part.text for part in own if isinstance(part, TextPart))
        if step.files or step.sources:
            step.files = tuple(part for part in own if isinstance(part, FilePart))
            step.sources = tuple(part for part in own if isinstance(part, SourcePart))


def _parts_by_step(messages: Iterable[Message]) -> list[list[Part]]:
    steps: list[list[Part]] = []
    current: list[Part] | None = None
    for message in messages:
        for part in message.parts if message.role == "assistant" else ():
            current = [] if current is None else current
            if isinstance(part, StepStartPart):
                steps.append(current)
                current = []
            else:
                current.append(part)
    if current is not None:
        steps.append(current)
    return steps
