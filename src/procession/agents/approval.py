"""
Approval: whether a person must agree to a tool call before it is run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from procession.errors import ApprovalError
from procession.models.model import ToolSpec
from procession.tools.context import ToolContext
from procession.tools.tool import Approver, Tool

__all__ = ["needs_approval", "refuse_unasked"]


async def needs_approval(tool: Tool[Any], of_the_run: Approver, args: Mapping[str, Any], context: ToolContext) -> bool:
    """
    Ask the tool, then the agent or the call; only ``False`` of both lets the call pass.

    Raises ``ApprovalError`` where one of them raised: nobody knows then whether the tool may be run.
    """
    for rule in (tool.requires_approval, of_the_run):
        answer: Any = rule
        if not isinstance(rule, bool):
            try:
                answer = rule(args, context)
                if hasattr(answer, "__await__"):
                    answer = await answer
            except Exception as error:
                raise ApprovalError(
                    f"whether tool {tool.name!r} needs approval could not be told: {type(error).__name__}"
                ) from error
        if answer is not False:
            return True
    return False


def refuse_unasked(specs: Iterable[ToolSpec]) -> None:
    """
    Raise ``ApprovalError`` where one of the tools is run by the provider, which asks nobody.
    """
    for spec in specs:
        if spec.provider_tool is not None:
            raise ApprovalError(
                f"every tool call needs approval, and the provider runs {spec.name!r} without asking",
                hint="leave that tool out, or make require_tool_approval a function: it is asked about the other tools",
            )
