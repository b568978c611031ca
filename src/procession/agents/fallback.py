"""
Model fallbacks: where a model has failed, and no processor had it asked again, the next one of the list is asked.
"""

from __future__ import annotations

from copy import copy

from procession.agents.output import AgentStep
from procession.agents.retry import reject
from procession.agents.state import Attempt, LoopState
from procession.errors import ModelError, ProcessionError
from procession.models.fallback import tell_earlier
from procession.processors.payloads import InputStepPayload

__all__ = ["fall_back", "with_earlier"]


async def fall_back(state: LoopState, error: ModelError) -> bool:
    """
    Roll the failed attempt back and make ready to ask the next model; return whether there is one.

    What ``process_input_step`` made of the step stays, but for the model (D16).  An error of our own, such as messages
    that cannot be sent, is no failure of the model: another one would be asked in vain.
    """
    attempt = state.attempt
    models = state.settings.fallbacks
    if attempt is None or state.fallen >= len(models) or isinstance(error.__cause__, ProcessionError):
        return False
    using = attempt.using
    if isinstance(using, InputStepPayload):
        using = copy(using)
        using.model = models[state.fallen]
    else:
        using = using.replace(model=models[state.fallen])
    state.fallen += 1
    state.failures = (*state.failures, error)
    state.own_retries += 1  # of neither budget
    await reject(state, attempt)
    step = AgentStep(state.step_number, state.response_id)
    state.attempt = Attempt(using, step, state.messages.get_by_id(state.response_id))
    state.attempt.is_fallback = True
    state.begin_chunks()
    return True


def with_earlier(state: LoopState, error: ModelError) -> ModelError:
    """
    Return the error of the last model, with those of the models before it.
    """
    if state.failures:
        tell_earlier(error, state.failures)
    return error
