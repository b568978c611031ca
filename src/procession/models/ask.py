"""
ask(): one question to a model, answered by a value.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar

from procession.errors import ModelError, SchemaError
from procession.messages.chunks import Finish, ResponseMetadata, TextDelta
from procession.messages.parts import TextPart
from procession.messages.prompt import PromptMessage
from procession.models.charge import charge_call
from procession.models.json_answer import json_answer, unfenced
from procession.models.model import LanguageModel, ModelRequest, ModelSettings
from procession.steps.schema import Schema
from procession.steps.scope import RequestScope
from procession.steps.stray import is_failure

__all__ = ["ask", "whole_answer"]

T = TypeVar("T")


async def ask(
    model: LanguageModel,
    *,
    instructions: str,
    content: str,
    schema: type[T],
    scope: RequestScope | None = None,
    settings: ModelSettings | None = None,
    strict: bool = False,
    provider_options: Mapping[str, Any] | None = None,
    json_prompt_injection: bool = False,
) -> T:
    """
    Ask *model* about *content* and return its answer as an instance of *schema*.

    With *strict* nothing in the answer is taken for something else: ``"yes"`` is no boolean.  With
    *json_prompt_injection* the schema stands in the instructions, for models that cannot be held to one.  What the
    call costs is added to ``scope.guard_usage``, also where the answer is of no use.  Nothing is asked twice.

    Raises ``ModelError`` where the call fails, and of kind ``other`` where the answer is not what *schema* asks for.

    >>> import anyio
    >>> from pydantic import BaseModel
    >>> from procession.testing.fake_model import FakeModel
    >>> class Verdict(BaseModel):
    ...     spam: bool
    >>> async def main():
    ...     model = FakeModel('{"spam": true}')
    ...     return await ask(model, instructions="Is this spam?", content="Buy now!", schema=Verdict)
    >>> anyio.run(main)
    Verdict(spam=True)
    """
    wanted = Schema(schema)
    form = {"type": "json", "name": schema.__name__, "schema": wanted.json_schema()}
    if json_prompt_injection:
        instructions += (
            f"\n\nAnswer with JSON that fits this schema, and with nothing else:\n{json.dumps(form['schema'])}"
        )
    request = ModelRequest(
        messages=(
            PromptMessage("system", (TextPart(instructions),)),
            PromptMessage("user", (TextPart(content),)),
        ),
        settings=settings,
        provider_options=provider_options,
        response_format=None if json_prompt_injection else form,
        streaming=False,
    )
    text, finish = await whole_answer(model, request, scope, by_guard=True)
    answer: T = _answer(model.id, text, finish, wanted, strict)
    return answer


async def whole_answer(
    model: LanguageModel, request: ModelRequest, scope: RequestScope | None = None, *, by_guard: bool = False
) -> tuple[str, Finish | None]:
    """
    Return the text that *model* answers with, and how the answer ended; what it costs is charged to *scope*.

    Raises ``ModelError`` where the call fails.
    """
    pieces: list[str] = []
    told: ResponseMetadata | None = None
    finish: Finish | None = None
    paid = True
    stream = model.stream(request)
    try:
        async for chunk in stream:
            if isinstance(chunk, TextDelta):
                pieces.append(chunk.text)
            elif isinstance(chunk, Finish):
                finish = chunk
            elif isinstance(chunk, ResponseMetadata):
                told = chunk
    except BaseException as error:
        refused = is_failure(error) and getattr(error, "kind", None) != "timeout"
        paid = told is not None or bool(pieces) or not refused  # a model that refused to answer costs nothing
        raise
    finally:
        await _close(stream)
        if scope is not None and paid:
            usage = finish.usage if finish is not None else None
            charge_call(scope, model.id, request, told, usage, "".join(pieces), by_guard=by_guard)
    return "".join(pieces), finish


async def _close(stream: Any) -> None:
    close = getattr(stream, "aclose", None)
    if close is not None:
        await close()


def _answer(model: str, text: str, finish: Finish | None, wanted: Schema, strict: bool) -> Any:
    reason = f" (it ended with {finish.reason!r})" if finish is not None and finish.reason != "stop" else ""
    try:
        value = json_answer(text)
    except ValueError as error:
        raise ModelError(f"{model} answered with text that is no JSON{reason}: {error}", body=text) from None
    where = f"the answer of {model}"
    try:
        return wanted.validate_json(unfenced(text), where=where) if strict else wanted.validate(value, where=where)
    except SchemaError as error:
        raise ModelError(f"{error.message}{reason}", body=text, hint=error.hint) from None
