"""
StructuredOutput: that an answer is to be a value, of which kind, and what happens where it is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, get_origin, overload

from procession.errors import DefinitionError, SchemaError
from procession.messages.shapes import is_form
from procession.models.answer_schema import AnswerSchema, answer_schema
from procession.models.model import LanguageModel
from procession.models.router import resolve_model

__all__ = ["ErrorStrategy", "PromptInjection", "StructuredOutput", "may_be_structured", "structured_output"]

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Out = TypeVar("Out", default=Any)
else:
    from typing import TypeVar

    Out = TypeVar("Out")

ErrorStrategy: TypeAlias = Literal["strict", "warn", "fallback"]
PromptInjection: TypeAlias = Literal[False, "system", "inline", "auto"]
_STRATEGIES = ("strict", "warn", "fallback")
_INJECTIONS = (False, True, "system", "inline", "auto")


class StructuredOutput(Generic[Out]):
    """
    That an answer is to be a value: ``agent.generate(..., structured_output=StructuredOutput(City))``.

    *schema* is a pydantic model, any other type that pydantic knows, or a plain JSON schema.  Without *model* the agent's
    own model answers in JSON; with one it answers in prose, and *model* makes the value of that.

    >>> from pydantic import BaseModel
    >>> from procession.agents.agent import Agent
    >>> from procession.testing.fake_model import FakeModel
    >>> class City(BaseModel):
    ...     name: str
    >>> agent = Agent("geographer", model=FakeModel('{"name": "Paris"}'))
    >>> agent.generate_sync("Capital of France?", structured_output=StructuredOutput(City)).object
    City(name='Paris')
    """

    __slots__ = (
        "error_strategy", "fallback", "instructions", "json_prompt_injection", "model", "provider_options", "schema",
    )  # fmt: skip

    @overload
    def __init__(
        self,
        schema: type[Out],
        *,
        model: LanguageModel | str | None = ...,
        error_strategy: ErrorStrategy = ...,
        fallback_value: Any = ...,
        instructions: str | None = ...,
        json_prompt_injection: bool | Literal["system", "inline", "auto"] = ...,
        provider_options: Mapping[str, Any] | None = ...,
    ) -> None: ...
    @overload
    def __init__(
        self: StructuredOutput[Any],
        schema: Any,
        *,
        model: LanguageModel | str | None = ...,
        error_strategy: ErrorStrategy = ...,
        fallback_value: Any = ...,
        instructions: str | None = ...,
        json_prompt_injection: bool | Literal["system", "inline", "auto"] = ...,
        provider_options: Mapping[str, Any] | None = ...,
    ) -> None: ...
    def __init__(
        self,
        schema: Any,
        *,
        model: LanguageModel | str | None = None,
        error_strategy: ErrorStrategy = "strict",
        fallback_value: Any = None,
        instructions: str | None = None,
        json_prompt_injection: bool | Literal["system", "inline", "auto"] = False,
        provider_options: Mapping[str, Any] | None = None,
    ) -> None:
        """
        *error_strategy* says what an answer that does not fit comes to: ``strict`` raises ``StructuredOutputError``,
        ``warn`` leaves ``result.object`` empty and says so in ``result.warnings``, ``fallback`` takes *fallback_value*.
        *instructions* take the place of those that the second model is given, and *provider_options* are passed on to its
        provider.  *json_prompt_injection* puts the schema
        into the prompt, for a model that has no JSON mode: ``"system"`` into the system message, ``"inline"`` behind the
        user's last words.  With ``False`` and ``"auto"`` the model is told of the schema, and puts it into the prompt
        itself where its server knows no schemas.

        Raises ``DefinitionError`` for what cannot work, a fallback that does not fit the schema included.
        """
        self.schema: AnswerSchema = answer_schema(schema)
        self.model = resolve_model(model) if model is not None else None
        if error_strategy not in _STRATEGIES:
            raise DefinitionError(
                "structured output has an error_strategy that there is none of", hint="strict, warn or fallback"
            )
        self.error_strategy: ErrorStrategy = error_strategy
        if json_prompt_injection not in _INJECTIONS:
            raise DefinitionError(
                "structured output has a json_prompt_injection that there is none of",
                hint='"system", "inline" or False',
            )
        self.json_prompt_injection: PromptInjection = (
            "system" if json_prompt_injection is True else json_prompt_injection
        )
        self.instructions = instructions
        if provider_options is not None and not (is_form(provider_options) and self.model is not None):
            raise DefinitionError(
                "structured output has provider_options that are no mapping, or no second model to pass them on to",
                hint="give model=, or say them to the agent or its call: provider_options=",
            )
        self.provider_options = provider_options
        self.fallback: Any = None
        """The fallback as the schema's type."""
        if error_strategy == "fallback":
            try:
                self.fallback = self.schema.given(fallback_value)
            except SchemaError as error:
                raise DefinitionError(
                    f"the fallback_value of a structured output does not fit its schema: {'; '.join(error.faults)}",
                    hint="give a fallback_value that does",
                ) from error
        elif fallback_value is not None:
            raise DefinitionError(
                f"structured output has a fallback_value, and error_strategy={error_strategy!r}",
                hint='give error_strategy="fallback"',
            )

    def __repr__(self) -> str:
        second = f", model={self.model.id!r}" if self.model is not None else ""
        return f"StructuredOutput({self.schema.name}{second}, error_strategy={self.error_strategy!r})"

    @property
    def injects(self) -> bool:
        """
        Whether the schema is put into the prompt, and not told by ``response_format``.
        """
        return self.json_prompt_injection in ("system", "inline")

    @property
    def tells_model(self) -> bool:
        """
        Whether the agent's own model is told of the schema by ``response_format``.
        """
        return self.model is None and not self.injects

    def response_format(self) -> dict[str, Any]:
        """
        Return what a model is told of the schema.
        """
        return {"type": "json", "name": self.schema.name, "schema": self.schema.json_schema}


def may_be_structured(value: Any) -> bool:
    """
    Whether *value* is of a kind that ``structured_output=`` takes: the whole, a JSON schema, a type.
    """
    return (
        isinstance(value, (StructuredOutput, Mapping, type))
        or get_origin(value) is not None
        or type(value).__module__ in ("typing", "typing_extensions")  # NewType, and aliases made by ``type``
    )


def structured_output(given: Any) -> StructuredOutput | None:
    """
    Return what was given as ``structured_output=``, a schema or the whole, as the whole.

    Raises ``DefinitionError`` for what is none.
    """
    return given if given is None or isinstance(given, StructuredOutput) else StructuredOutput[Any](given)  # pyright: ignore[reportUnknownVariableType]
