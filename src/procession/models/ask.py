"""
ask(): one question to a model, answered by a value.
"""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

from procession.errors import ModelError, SchemaError
from procession.messages.chunks import Finish, TextDelta
from procession.messages.parts import TextPart
from procession.messages.prompt import PromptMessage
from procession.models.model import LanguageModel, ModelRequest, ModelSettings
from procession.steps.schema import Schema
from procession.steps.scope import RequestScope

__all__ = ["ask"]

T = TypeVar("T")

_FENCE = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n?\s*```\s*\Z", re.DOTALL)


async def ask(
    model: LanguageModel,
    *,
    instructions: str,
    content: str,
    schema: type[T],
    scope: RequestScope | None = None,
    settings: ModelSettings | None = None,
) -> T:
    """
    Ask *model* about *content* and return its answer as an instance of *schema*.

    What the call costs is added to ``scope.usage``, also where the answer is of no use.  Nothing is asked twice.

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
    request = ModelRequest(
        messages=(
            PromptMessage("system", (TextPart(instructions),)),
            PromptMessage("user", (TextPart(content),)),
        ),
        settings=settings,
        response_format={"type": "json", "name": schema.__name__, "schema": wanted.json_schema()},
        streaming=False,
    )
    pieces: list[str] = []
    finish: Finish | None = None
    stream = model.stream(request)
    try:
        async for chunk in stream:
            if isinstance(chunk, TextDelta):
                pieces.append(chunk.text)
            elif isinstance(chunk, Finish):
                finish = chunk
    finally:
        await _close(stream)
    if scope is not None and finish is not None:
        scope.usage = scope.usage + finish.usage
    answer: T = _answer(model.id, "".join(pieces), finish, wanted)
    return answer


async def _close(stream: Any) -> None:
    close = getattr(stream, "aclose", None)
    if close is not None:
        await close()


def _answer(model: str, text: str, finish: Finish | None, wanted: Schema) -> Any:
    reason = f" (it ended with {finish.reason!r})" if finish is not None and finish.reason != "stop" else ""
    fenced = _FENCE.match(text)
    try:
        value = json.loads(fenced[1] if fenced else text)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{model} answered with text that is no JSON{reason}: {error}", body=text) from None
    try:
        return wanted.validate(value, where=f"the answer of {model}")
    except SchemaError as error:
        raise ModelError(f"{error.message}{reason}", body=text, hint=error.hint) from None
