"""
The beginning of structured output: what is wanted is noted, and a reader is shown it as it comes.
"""

from __future__ import annotations

from procession.agents.state import LoopState
from procession.agents.structured.partial import PartialObjects
from procession.agents.structured.run import StructuredRun
from procession.agents.structured_guards import output_guards
from procession.models.structured_output import StructuredOutput, structured_output
from procession.processors.payloads import InputStepPayload

__all__ = ["ask_again", "ask_for_object", "watch_for_object"]

_NOT_KEPT = "the structured output that a processor asked for in the suspended step is not kept: there is no value"


def watch_for_object(state: LoopState, wanted: StructuredOutput | None) -> None:
    """
    Let the run end in a value, and its reader see it grow.
    """
    guards = output_guards(state.pipelines) if state.chain is not None else ()
    made = state.structured = StructuredRun(wanted, [guard.for_request(state.messages) for guard in guards])
    if state.on_chunk is not None:  # the reader is told by the same one: both get the same values in the same order
        state.on_chunk = PartialObjects(state.on_chunk, made, state.emit)
    elif state.emit is not None:
        state.emit = PartialObjects(state.emit, made)


def ask_for_object(state: LoopState, payload: InputStepPayload) -> None:
    """
    Take what ``process_input_step`` made of the structured output of this step (D7).

    Raises ``DefinitionError`` where it is none.
    """
    wanted = payload.structured_output = structured_output(payload.structured_output)
    if state.structured is not None:
        state.structured.wanted = wanted
        state.structured.warnings = ()
    elif wanted is not None:
        watch_for_object(state, wanted)


def ask_again(state: LoopState, wants: str) -> None:
    """
    Ask for what the suspended step of a run did: its ``own`` structured output, ``none``, or an ``other`` one, which a
    processor made and which is lost.
    """
    if wants == "own":
        return
    if state.structured is None:
        watch_for_object(state, None)
    assert state.structured is not None
    state.structured.wanted = None
    if wants == "other":
        state.structured.warnings = (_NOT_KEPT,)
