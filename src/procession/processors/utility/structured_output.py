"""
StructuredOutputProcessor: structured output as a processor, from a model of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from procession.errors import ProcessorDefinitionError
from procession.models.model import LanguageModel
from procession.models.structured_output import ErrorStrategy, StructuredOutput
from procession.processors.contexts import InputStepContext
from procession.processors.processor import Processor, StepOverrides

__all__ = ["StructuredOutputProcessor"]


class StructuredOutputProcessor(Processor):
    """
    Has *model* make a value of what the agent answered: the agent's own model answers in prose.

    It is the agent's ``structured_output=StructuredOutput(schema, model=...)`` as a processor, with the same options, and
    stands in the input or the output list.  A call that itself says what the answer is to be is left to that.

    Raises ``ProcessorDefinitionError`` without a schema or a model, and ``DefinitionError`` for options that cannot work, a
    fallback that does not fit the schema included.

    >>> from procession.testing.fake_model import FakeModel
    >>> schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    >>> StructuredOutputProcessor(schema, model=FakeModel('{"city": "Paris"}')).output.error_strategy
    'strict'
    """

    id = "structured-output"
    description = "Has a model make a value of the answer."

    def __init__(
        self,
        schema: Any = None,
        *,
        model: LanguageModel | str | None = None,
        error_strategy: ErrorStrategy = "strict",
        fallback_value: Any = None,
        instructions: str | None = None,
        json_prompt_injection: bool | Literal["system", "inline", "auto"] = False,
        provider_options: Mapping[str, Any] | None = None,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        if schema is None:
            raise ProcessorDefinitionError(
                "StructuredOutputProcessor has no schema", hint="give a pydantic model or a JSON schema"
            )
        if model is None:
            raise ProcessorDefinitionError(
                "StructuredOutputProcessor has no model",
                hint="give model=, or structured_output= to the agent where its own model is to answer in JSON",
            )
        self.output: StructuredOutput[Any] = StructuredOutput(
            schema,
            model=model,
            error_strategy=error_strategy,
            fallback_value=fallback_value,
            instructions=instructions,
            json_prompt_injection=json_prompt_injection,
            provider_options=provider_options,
        )
        """What is asked for, and what happens where there is none."""

    def process_input_step(self, ctx: InputStepContext) -> StepOverrides | None:
        """
        Say what the answer is to be.
        """
        return {"structured_output": self.output} if ctx.structured_output is None else None
