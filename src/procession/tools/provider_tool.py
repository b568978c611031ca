"""
ProviderTool: a tool that the provider runs itself, such as its web search, declared among an agent's tools.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, NoReturn

from procession.errors import DefinitionError, InputError, ToolDefinitionError
from procession.messages.shapes import is_form
from procession.tools.context import ToolContext
from procession.tools.tool import Tool

__all__ = ["ProviderTool"]

_FORMATS = ("anthropic", "google", "openai")
"""What the clients of this package read; a client of one's own may read another."""
_PLAIN = "give it as the provider's documentation has it, such as {'type': 'web_search'}"


def _not_here(args: Any, ctx: ToolContext) -> NoReturn:
    raise InputError(f"tool {ctx.tool_name!r} is run by the model's provider, not here")


class ProviderTool(Tool[Any]):
    """
    A tool that the model's provider runs itself: its definition, in the words of each provider that has it.

    *name* is what it is called here, in ``active_tools`` and ``tool_choice``; the model's calls of it come under the name
    that the provider gives them, which it had best be.  A client sends the definition of its own format, as it is, and
    leaves the tool out, with a warning, where there is none.  Nothing is run here: calls and results come with the
    model's answer, and a call that comes without, as of a tool of ours, is an error that the model is told.

    Raises ``ToolDefinitionError`` for a name that no provider takes, and for definitions that are none.

    >>> search = ProviderTool(
    ...     "web_search",
    ...     openai={"type": "web_search"},
    ...     anthropic={"type": "web_search_20250305", "name": "web_search", "max_uses": 3},
    ...     google={"google_search": {}},
    ... )
    >>> search.provider_tool["openai"]
    {'type': 'web_search'}
    """

    definitions: Mapping[str, Mapping[str, Any]]
    """What each provider knows the tool by, by the name of the provider's format."""

    def __init__(self, name: str, **definitions: Mapping[str, Any]) -> None:
        super().__init__(name=name, parameters={}, execute=_not_here)
        object.__setattr__(self, "definitions", _checked(name, definitions))

    @property
    def provider_tool(self) -> Mapping[str, Mapping[str, Any]]:
        """
        The definitions: what models are told of the tool.
        """
        return self.definitions

    def read_arguments(self, args: Any) -> NoReturn:
        """
        Raise ``InputError``: only the provider knows which arguments there are.
        """
        _not_here(args, ToolContext(tool_name=self.name))

    def as_step(self) -> NoReturn:
        """
        Raise ``DefinitionError``: there is nothing that a workflow could run.
        """
        raise DefinitionError(f"tool {self.name!r} is run by the model's provider and cannot stand in a workflow")


def _checked(name: str, definitions: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    if not definitions:
        raise ToolDefinitionError(
            f"tool {name!r} is defined for no provider",
            hint='name them: ProviderTool("web_search", openai={"type": "web_search"})',
        )
    for provider, given in definitions.items():
        near = get_close_matches(provider, _FORMATS, n=1, cutoff=0.75)
        if near and provider not in _FORMATS:
            raise ToolDefinitionError(
                f"tool {name!r} is defined for {provider!r}, which no client reads", hint=f"did you mean {near[0]!r}?"
            )
        if not is_form(given) or not given:
            raise ToolDefinitionError(f"tool {name!r}: its definition for {provider} is none", hint=_PLAIN)
    try:
        made: Mapping[str, Mapping[str, Any]] = json.loads(
            json.dumps({key: dict(given) for key, given in definitions.items()}, allow_nan=False)
        )
    except (TypeError, ValueError) as error:
        raise ToolDefinitionError(f"a definition of tool {name!r} cannot be sent: {error}", hint=_PLAIN) from None
    return made
