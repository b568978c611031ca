"""
The texts of a run's steps, read from the messages.
"""

from __future__ import annotations

from typing import Any

from procession.agents.output import AgentStep
from procession.agents.state import LoopState
from procession.messages.message import Message
from procession.messages.parts import StepStartPart, TextPart

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
    texts = _texts(state.messages.view("response"))
    for index, step in enumerate(steps):
        step.text = texts[index] if index < len(texts) else ""
    if len(texts) > len(steps):
        steps[-1].text = "".join(texts[len(steps) - 1 :])


def _texts(messages: Any) -> list[str]:
    texts: list[str] = []
    current: list[str] | None = None
    first = True
    message: Message
    for message in messages:
        if message.role != "assistant":
            continue
        for part in message.parts:
            if isinstance(part, StepStartPart):
                texts.append("".join(current or []))
                current = []
            elif isinstance(part, TextPart):
                current = [] if current is None else current
                current.append(part.text)
            first = False
    if current is not None or not first:
        texts.append("".join(current or []))
    return texts
