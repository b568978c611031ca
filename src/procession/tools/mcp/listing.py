"""
The tools that a server lists: read, bounded, named and compared with what they were.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from procession.errors import DefinitionError, ToolDefinitionError, ToolServerError
from procession.messages.value import Value
from procession.tools.mcp.limits import MCPLimits
from procession.tools.mcp.schemas import checkable, shown, visible

if TYPE_CHECKING:
    from mcp import ClientSession
    from mcp import Tool as ServerTool

__all__ = ["Listed", "check_pins", "list_tools", "named", "selected"]

_PAGES: Final = 200
_LONGEST_NAME: Final = 64
_ILLEGAL: Final = re.compile(r"[^A-Za-z0-9_-]")


class Listed(Value, kw_only=True):
    """
    A tool as its server lists it.
    """

    name: str
    """Its name on the server."""
    description: str
    parameters: Mapping[str, Any]
    check: Any
    """The schema that arguments are checked by."""
    output: Any
    """The schema that structured results are checked by, or ``None``."""
    destructive: bool
    """Whether the server says that it may destroy something."""
    digest: str
    """``sha256:...`` of its name, description and schemas, as the server said them."""


async def list_tools(session: ClientSession, server: str, limits: MCPLimits) -> dict[str, ServerTool]:
    """
    Ask for all tools, by name.

    Raises ``ToolServerError`` where there are too many, two of one name, or no end of pages.
    """
    from mcp.types import PaginatedRequestParams

    found: dict[str, ServerTool] = {}
    cursor: str | None = None
    for _ in range(_PAGES):
        page = await session.list_tools(params=PaginatedRequestParams(cursor=cursor) if cursor is not None else None)
        for tool in page.tools:
            if tool.name in found:
                raise ToolServerError(f"server {server!r} lists two tools called {tool.name[:100]!r}")
            if len(found) == limits.tools:
                raise ToolServerError(
                    f"server {server!r} lists more than {limits.tools} tools", hint="MCPLimits(tools=...) lets it"
                )
            found[tool.name] = tool
        cursor = page.next_cursor
        if not cursor:
            return found
    raise ToolServerError(f"server {server!r} lists its tools on more than {_PAGES} pages")


def digest_of(tool: ServerTool) -> str:
    """
    Return what stands for all that a model is told of a tool.
    """
    told = [tool.name, tool.description, tool.input_schema, tool.output_schema]
    return "sha256:" + hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def read(tool: ServerTool, description: str | None, limits: MCPLimits) -> Listed:
    """
    Return a tool as it was listed; *description* is the user's own in place of the server's.

    Raises ``ToolDefinitionError`` where it says more than *limits* lets it.
    """
    said = tool.description or ""
    schemas = json.dumps([tool.input_schema, tool.output_schema])
    for what, length, most, option in (
        ("name", len(tool.name), limits.name, "name"),
        ("description", len(said), limits.description, "description"),
        ("schema", len(schemas), limits.schema, "schema"),
    ):
        if length > most:
            raise ToolDefinitionError(
                f"the {what} of tool {tool.name[:100]!r} has {length} characters, more than {most}",
                hint=f"leave the tool out (exclude=), or let it: MCPLimits({option}=...)",
            )
    parameters = shown(tool.input_schema, tool.name)
    shown(tool.output_schema, tool.name)
    notes = tool.annotations
    return Listed(
        name=tool.name,
        description=description if description is not None else visible(said),
        parameters={**parameters, "type": "object"},
        check=checkable(parameters),
        output=checkable(tool.output_schema) if tool.output_schema is not None else None,
        destructive=notes is not None and notes.destructive_hint is True,
        digest=digest_of(tool),
    )


def selected(
    found: Mapping[str, ServerTool], include: Collection[str] | None, exclude: Collection[str], server: str
) -> list[ServerTool]:
    """
    Return the tools that are wanted, in the order of the server.

    Raises ``DefinitionError`` for a name that the server does not list.
    """
    unknown = sorted({*(include or ()), *exclude} - set(found))
    if unknown:
        raise DefinitionError(
            f"server {server!r} lists no tool {unknown[0]!r}", hint=f"it lists {', '.join(list(found)[:50]) or 'none'}"
        )
    return [tool for name, tool in found.items() if (include is None or name in include) and name not in exclude]


def check_pins(tools: Iterable[ServerTool], pinned: Mapping[str, str], server: str) -> None:
    """
    Raise ``DefinitionError`` unless *tools* are those that were pinned, as they were.
    """
    digests = {tool.name: digest_of(tool) for tool in tools}
    changed = [name for name, digest in digests.items() if name in pinned and pinned[name] != digest]
    new = [name for name in digests if name not in pinned]
    gone = [name for name in pinned if name not in digests]
    for names, what in ((changed, "changed"), (new, "are not pinned"), (gone, "are gone")):
        if names:
            raise DefinitionError(
                f"server {server!r} has other tools than those that were pinned: {', '.join(names[:20])} {what}",
                hint="look at what they say now; then pin them anew (tools.pins), or leave them out (exclude=)",
            )


def named(names: Iterable[str], prefix: str, server: str) -> dict[str, str]:
    """
    Return the names that models know the tools by: *prefix*, and what providers take of the name on the server.

    >>> named(["get/user", "add"], "crm_", "crm")
    {'get/user': 'crm_get_user', 'add': 'crm_add'}

    Raises ``DefinitionError`` where two would have one name.
    """
    made: dict[str, str] = {}
    whose: dict[str, str] = {}
    for name in names:
        ours = prefix + _ILLEGAL.sub("_", name)
        if len(ours) > _LONGEST_NAME:
            ours = f"{ours[: _LONGEST_NAME - 9]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"
        other = whose.setdefault(ours, name)
        if other != name:
            raise DefinitionError(
                f"tools {other!r} and {name!r} of server {server!r} would both be called {ours!r}",
                hint="leave one of them out: exclude=",
            )
        made[name] = ours
    return made
