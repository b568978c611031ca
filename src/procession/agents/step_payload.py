"""
StepPayload: what ``process_input_step`` is given in an agent's loop, where agents and workflows are tools, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from procession.agents.toolset import tools_by_name
from procession.models.structured_output import StructuredOutput, structured_output
from procession.processors.payloads import InputStepPayload

__all__ = ["StepPayload"]


class StepPayload(InputStepPayload):
    """
    Of ``process_input_step``: the ``tools`` and the output that it returns are read as an agent's own.
    """

    __slots__ = ()

    @staticmethod
    def read_tools(given: Any) -> Mapping[str, Any]:
        """
        Return tools by name; agents and workflows become tools.
        """
        return tools_by_name(given)

    @staticmethod
    def read_output(given: Any) -> StructuredOutput | None:
        """
        Return what the answer is to be.

        Raises ``DefinitionError`` for what is no schema.
        """
        return structured_output(given)
