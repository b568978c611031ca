"""
Tools by name: what an agent's or a call's ``tools`` means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from procession.errors import DefinitionError
from procession.tools.tool import Tool

__all__ = ["tools_by_name"]


def tools_by_name(tools: Sequence[Any] | Mapping[str, Any]) -> dict[str, Tool[Any]]:
    """
    Return tools by name; a mapping's keys are the names.

    Raises ``DefinitionError`` for what is no tool, and for two with one name.
    """
    pairs = (
        list(tools.items()) if isinstance(tools, Mapping) else [(getattr(each, "name", None), each) for each in tools]
    )
    found: dict[str, Tool[Any]] = {}
    for name, each in pairs:
        if not isinstance(each, Tool):
            raise DefinitionError(f"{each!r} is no tool", hint="make it one with @tool")
        if not isinstance(name, str) or name in found:
            raise DefinitionError(f"two tools are called {name!r}", hint="give one of them another name")
        found[name] = each if each.name == name else each.replace(name=name)  # pyright: ignore[reportUnknownMemberType]
    return found
