"""
The tools that a client brings, and its choice between them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from procession.errors import ToolDefinitionError
from procession.messages.message import Message
from procession.messages.parts import ToolCallPart
from procession.messages.shapes import is_form, is_items
from procession.models.loose import as_mapping
from procession.models.model import ToolChoice
from procession.server.openai.refused import refused
from procession.tools.tool import Tool, client_tool

__all__ = ["calls_of", "check_apart", "client_tools", "tool_choice"]


def client_tools(given: Any) -> list[Tool[Any]]:
    """
    Return a request's ``tools``: the client runs them.

    Raises ``RequestRefused`` for what is no function, and for two of one name.

    >>> [tool.name for tool in client_tools([{"type": "function", "function": {"name": "door"}}])]
    ['door']
    """
    if not is_items(given):
        raise refused("tools", "should be a list")
    made: dict[str, Tool[Any]] = {}
    for at, entry in enumerate(given):
        where = f"tools[{at}]"
        if not is_form(entry) or entry.get("type") != "function":
            raise refused(f"{where}.type", "should be function", code="unsupported_value")
        function = as_mapping(entry.get("function"))
        name, parameters = function.get("name"), function.get("parameters")
        if not isinstance(name, str):
            raise refused(f"{where}.function.name", "should be a text")
        if name in made:
            raise refused(f"{where}.function.name", "stands there twice")
        if parameters is not None and not is_form(parameters):
            raise refused(f"{where}.function.parameters", "should be a JSON schema: an object")
        try:
            tool = client_tool(name, str(function.get("description") or ""), parameters)
        except ToolDefinitionError as error:
            raise refused(f"{where}.function.name", error.hint or error.message) from error
        made[name] = tool.replace(check=_as_given)
    return list(made.values())


def _as_given(args: Mapping[str, Any]) -> Mapping[str, Any]:
    """
    The client checks the arguments: its schema is not evaluated here, where a pattern could take for ever, for all.
    """
    return args


def tool_choice(given: Any, names: Collection[str]) -> ToolChoice:
    """
    Return a request's ``tool_choice``; *names* are those of the client's tools, the only ones that it may choose.

    Raises ``RequestRefused`` for any other choice.

    >>> tool_choice({"type": "function", "function": {"name": "door"}}, ["door"])
    {'type': 'tool', 'tool_name': 'door'}
    """
    if given in ("auto", "none", "required"):
        choice: ToolChoice = given
        return choice
    chosen = as_mapping(given)
    if chosen.get("type") != "function":
        raise refused("tool_choice", "should be auto, none, required, or a function of tools", code="unsupported_value")
    name = as_mapping(chosen.get("function")).get("name")
    if name not in names:
        raise refused("tool_choice.function.name", "names none of tools")
    return {"type": "tool", "tool_name": name}


def check_apart(tools: Sequence[Tool[Any]], messages: Iterable[Message], own: Collection[str]) -> None:
    """
    Refuse a client's tool, and a call that a client says there was, with the name of one of the agent's *own* tools.
    """
    for at, tool in enumerate(tools):
        if tool.name in own:
            raise refused(f"tools[{at}].function.name", "the agent has a tool of that name: give yours another one")
    for message in messages:
        for call in calls_of(message):
            if call.tool_name in own:
                raise refused(
                    "messages", f"a call of {call.tool_name!r}, which the agent runs itself, is none of yours"
                )


def calls_of(message: Message) -> list[ToolCallPart]:
    """
    Return the calls of tools in a message.
    """
    return [part for part in message.parts if isinstance(part, ToolCallPart)]
