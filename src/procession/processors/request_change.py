"""
Request change: what ``process_llm_request`` may return, a prompt or a response in place of the model's, as values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from procession.errors import MessageError
from procession.messages.chunk_reading import read_answer
from procession.messages.chunks import Chunk
from procession.messages.prompt import PromptMessage
from procession.messages.prompt_reading import read_prompt
from procession.messages.shapes import is_form, is_sequence
from procession.messages.value import Value

__all__ = ["GivenRequest", "GivenResponse", "read_request_change"]

_EXPECTED = 'return None or {"prompt": [...], "response": {"chunks": [...]}}'
_RAW = "rawResponse"
_OF_A_RESPONSE = frozenset({"chunks", "warnings", "request", "raw_response", _RAW})


class GivenResponse(Value):
    """
    What stands in place of a model's answer: its chunks, and what is said of the call that they once came from.
    """

    chunks: Sequence[Chunk]
    warnings: Sequence[Any] = ()
    request: Any = None
    raw_response: Any = None


class GivenRequest(NamedTuple):
    """
    What a hook made of the request; ``None`` is no change.
    """

    prompt: list[PromptMessage] | None
    response: GivenResponse | None


def read_request_change(result: Any) -> GivenRequest:
    """
    Return what a hook's *result* changes.

    Raises ``MessageError`` saying what was returned, what is wrong with it and what is expected.
    """
    if not is_form(result) or set(result) - {"prompt", "response"}:
        raise MessageError(
            f"process_llm_request returned {type(result).__name__}, which is neither a prompt nor a response",
            hint=_EXPECTED,
        )
    prompt, response = result.get("prompt"), result.get("response")
    try:
        return GivenRequest(
            None if prompt is None else read_prompt(prompt), None if response is None else _response(response)
        )
    except MessageError as fault:
        hint = f"{_EXPECTED}; {fault.hint}" if fault.hint else _EXPECTED
        names = " and ".join(
            f"{name}={type(given).__name__}"
            for name, given in (("prompt", prompt), ("response", response))
            if given is not None
        )
        raise MessageError(
            f"process_llm_request returned {names} with a fault in it: {fault.message}", hint=hint
        ) from fault


def _response(given: Any) -> GivenResponse:
    if is_sequence(given):
        return GivenResponse(read_answer(given, "the response"))
    if not is_form(given):
        raise MessageError(f"the response is {type(given).__name__}", hint="give a dict that has chunks")
    unknown = set(given) - _OF_A_RESPONSE
    if unknown or "chunks" not in given:
        names = ", ".join(sorted(map(str, unknown)))
        raise MessageError(
            f"the response has {names}, which means nothing there" if unknown else "the response has no 'chunks'",
            hint=f"it may have {', '.join(sorted(_OF_A_RESPONSE - {_RAW}))}, and has chunks at least",
        )
    warnings = given.get("warnings")
    if warnings is not None and not is_sequence(warnings):
        raise MessageError(f"the response has warnings={type(warnings).__name__}", hint="give a list of warnings")
    return GivenResponse(
        read_answer(given["chunks"], "the response"),
        warnings or (),
        given.get("request"),
        given.get("raw_response", given.get(_RAW)),
    )
