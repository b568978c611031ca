"""
ToolSearch: the model looks for the tools that it needs, instead of being told of all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Literal

from procession.errors import ProcessorDefinitionError
from procession.messages.message import Message
from procession.messages.parts import ToolCallPart
from procession.messages.shapes import is_form, is_sequence
from procession.messages.value import Value
from procession.processors.contexts import InputStepContext
from procession.processors.log import log_callback_error, log_once
from procession.processors.options import one_of
from procession.processors.processor import Processor, StepOverrides
from procession.processors.utility.loaded_tools import LoadedTools
from procession.processors.utility.tool_index import ToolIndex, bm25
from procession.steps.request_context import RequestContext
from procession.steps.scope import RequestScope
from procession.tools.context import ToolContext
from procession.tools.tool import Tool

__all__ = ["ToolPhase", "ToolQuestion", "ToolSearch", "ToolSearchProcessor"]

ToolPhase = Literal["search", "load", "active"]
"""What is about to happen to a tool: it is found, it is loaded, or it is given to the model of a step."""

SEARCH, LOAD = "search_tools", "load_tool"
TAG = "tool-search"
_LONGEST = 150
_SEARCH_OPTIONS: Mapping[str, Any] = {"top_k": 5, "min_score": 0, "auto_load": False}
_ASK = (
    "More tools exist than you are shown. Before you say that you cannot do something, look for a tool with "
    f"{SEARCH}, by what it does."
)
_THEN_LOAD = (
    f" Then load it by its exact name with {LOAD}. A tool that you have loaded can be called from your next turn on."
)
_LOADS = " What it finds is loaded, and can be called from your next turn on."


class ToolQuestion(Value, kw_only=True):
    """
    What the ``filter`` of a ``ToolSearch`` is asked: whether this request may do that with this tool.
    """

    tool_name: str
    tool: Tool[Any]
    request_context: RequestContext
    phase: ToolPhase


class ToolSearch(Processor):
    """
    Keeps *tools* away from the model until it looks for them: it is given ``search_tools`` and ``load_tool``, and what
    it loads can be called from its next step on, in this thread.

    * ``tools``: those that can be found, a list or a mapping of names.
    * ``include_resolved_tools``: whether the agent's own tools are to be found as well, instead of being shown.
    * ``inject_catalog``: whether the model is shown a list of all names and descriptions.
    * ``search``: ``top_k`` (5) results at most, of at least ``min_score`` (0); with ``auto_load`` what is found is loaded.
    * ``storage``: where it is kept what a thread has loaded. ``"in-memory"`` in this object for *ttl* seconds, by thread
      and resource; without both for the request. ``"context"`` reads it from the messages.
    * ``filter``: a function of a :class:`ToolQuestion`, plain or async; where it does not say ``True``, or raises, the
      tool is neither found nor loaded nor given.

    Raises ``ProcessorDefinitionError`` for what is no tool, for options that do not exist, and without the extra
    ``search``.

    >>> from procession.tools.tool import Tool
    >>> mail = Tool(name="send_email", description="Sends a message", execute=lambda args, ctx: "sent")
    >>> ToolSearch(tools=[mail], search={"top_k": 3}).top_k
    3
    """

    id = "tool-search"
    description = "Lets the model look for the tools it needs."

    def __init__(
        self,
        *,
        tools: Sequence[Any] | Mapping[str, Any] = (),
        include_resolved_tools: bool = False,
        inject_catalog: bool = False,
        search: Mapping[str, Any] | None = None,
        storage: Literal["in-memory", "context"] = "in-memory",
        ttl: float = 3600.0,
        filter: Callable[[ToolQuestion], Any] | None = None,
        id: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(id=id)
        self.tools = _tools(tools)
        """The tools that can be found, by name."""
        if not self.tools and not include_resolved_tools:
            raise ProcessorDefinitionError(
                "ToolSearch has no tools to find",
                hint="give tools=, or include_resolved_tools=True for the agent's own",
            )
        self.include_resolved_tools = include_resolved_tools
        self.inject_catalog = inject_catalog
        self.top_k, self.min_score, self.auto_load = _search_options(search)
        self.storage = one_of("ToolSearch", "storage", storage, ("in-memory", "context"))
        if filter is not None and not callable(filter):
            raise ProcessorDefinitionError(
                f"ToolSearch has filter={filter!r}", hint="give a function of a ToolQuestion"
            )
        self.filter = filter
        self._loaded = LoadedTools(self.id, ttl, clock)
        bm25()  # that it is missing is told here, and not in the middle of a run
        self._index: ToolIndex | None = None
        self._meta = {
            tool.name: tool for tool in ((self._searcher(),) if self.auto_load else (self._searcher(), self._loader()))
        }

    async def process_input_step(self, ctx: InputStepContext) -> StepOverrides:
        """
        Give the model the tools that it has loaded, and those to find others with.
        """
        taken = self._meta.keys() & ctx.tools.keys()
        if taken:
            raise ProcessorDefinitionError(
                f"the step has a tool called {min(taken)!r} already",
                hint="rename it; one ToolSearch is enough for an agent",
            )
        active = ctx.active_tools
        resolved: Mapping[str, Any] = {}
        if self.include_resolved_tools:
            resolved = {name: tool for name, tool in ctx.tools.items() if active is None or name in active}
            ctx.state["resolved"] = resolved
        known = {**resolved, **self.tools}
        given = {name: known[name] for name in await self._names(ctx, known) if name in known}
        given = {name: given[name] for name in await self._allowed(given, ctx.scope, "active")}
        shown: Mapping[str, Any] = ctx.tools if not self.include_resolved_tools else {}
        for name in self.tools.keys() & ctx.tools.keys():
            if ctx.tools[name] != self.tools[name]:
                called = "the agent's own" if not self.include_resolved_tools else "that of ToolSearch"
                log_once(self.id, f"there are two tools called {name!r}, and {called} is the one that is called")
        # What changes comes last: providers keep the beginning of a prompt, of which tools are the first part.
        tools = {**shown, **self._meta, **{name: tool for name, tool in given.items() if name not in shown}}
        await self._explain(ctx, known)
        if active is None:
            return {"tools": tools}
        return {"tools": tools, "active_tools": [name for name in tools if name not in shown or name in active]}

    async def _explain(self, ctx: InputStepContext, known: Mapping[str, Tool[Any]]) -> None:
        text = _ASK + (_LOADS if self.auto_load else _THEN_LOAD)
        if self.inject_catalog:
            allowed = await self._allowed(known, ctx.scope, "search")
            text += "\n\nTools that can be found:" + "".join(f"\n- {name}: {_short(known[name])}" for name in allowed)
        there = ctx.message_list.system(TAG)
        if [one.text for one in there] != [text]:
            ctx.message_list.clear_system(TAG)
            ctx.message_list.add_system(text, TAG)

    # -- what the model calls

    def _searcher(self) -> Tool[Any]:
        return Tool(
            name=SEARCH,
            description="Finds tools by what they do." + (_LOADS if self.auto_load else ""),
            parameters=_one_text("query", "What the tool should do, in a few words."),
            execute=self._search,
        )

    def _loader(self) -> Tool[Any]:
        return Tool(
            name=LOAD,
            description="Loads a tool, so that it can be called from your next turn on.",
            parameters=_one_text("tool_name", f"The exact name, as {SEARCH} gives it."),
            execute=self._load,
        )

    async def _search(self, args: Mapping[str, Any], ctx: ToolContext) -> Mapping[str, Any]:
        known = self._known(ctx.scope)
        results: list[Mapping[str, Any]] = []
        for found in self._index_of(ctx.scope).search(args["query"]):
            if len(results) == self.top_k or found.score < self.min_score:
                break
            if await self._may(found.name, known[found.name], ctx.scope, "search"):
                results.append(
                    {"name": found.name, "description": _short(known[found.name]), "score": round(found.score, 2)}
                )
        names = [result["name"] for result in results]
        if not names:
            return {"results": [], "message": "No tools found. Try other words for what the tool should do."}
        if not self.auto_load:
            return {"results": results, "message": f"Found {len(names)} tool(s). Load what you need with {LOAD}."}
        names = [name for name in names if await self._may(name, known[name], ctx.scope, "load")]
        self._loaded.add(ctx.scope, names)
        loaded = ", ".join(names) or "none"
        return {
            "results": results,
            "message": f"Found and loaded {len(names)} tool(s): {loaded}. They are available on your next turn — call them "
            "directly.",
        }

    async def _load(self, args: Mapping[str, Any], ctx: ToolContext) -> Mapping[str, Any]:
        name: str = args["tool_name"]
        known = self._known(ctx.scope)
        if name in known and await self._may(name, known[name], ctx.scope, "load"):
            self._loaded.add(ctx.scope, [name])
            message = f'Tool "{name}" loaded successfully. It will be available on your next turn.'
            return {"success": True, "tool_name": name, "message": message}
        allowed = await self._allowed(known, ctx.scope, "search")
        others = [each for each in allowed if each != name and len(name) <= _LONGEST]
        near = get_close_matches(name, others, 3, 0.5)
        hint = f"Did you mean: {', '.join(near)}?" if near else f"Look for it with {SEARCH}."
        said = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
        return {"success": False, "message": f'Tool "{said}" not found. {hint}'}

    # -- which tools

    def _known(self, scope: RequestScope) -> Mapping[str, Tool[Any]]:
        return {**scope.state(self.id).get("resolved", {}), **self.tools}

    def _index_of(self, scope: RequestScope) -> ToolIndex:
        """
        Return the index of the tools of this request, made when first asked for: of its own tools once for all.
        """
        resolved: Mapping[str, Any] = scope.state(self.id).get("resolved", {})
        if not resolved:
            if self._index is None:
                self._index = ToolIndex(_described(self.tools))
            return self._index
        described = _described({**resolved, **self.tools})
        kept = scope.state(self.id).get("index")
        if kept is None or kept[0] != described:
            kept = scope.state(self.id)["index"] = (described, ToolIndex(described))
        index: ToolIndex = kept[1]
        return index

    async def _names(self, ctx: InputStepContext, known: Mapping[str, Tool[Any]]) -> Collection[str]:
        """
        Return what the thread has loaded.

        In memory, what this run's own messages tell counts as well: after a resume elsewhere, and where a cache answered,
        this object knows nothing of it.  Messages say neither who may load a tool nor that one of those found was not
        allowed, so the filter is asked again.
        """
        in_memory = self.storage == "in-memory"
        names = dict.fromkeys(self._loaded.of(ctx.scope) if in_memory else ())
        told = self._called_for(ctx.message_list.view("response") if in_memory else ctx.message_list.view())
        for name in told:
            if name in known and name not in names and await self._may(name, known[name], ctx.scope, "load"):
                names[name] = None
        return names

    def _called_for(self, messages: Iterable[Message]) -> Collection[str]:
        """
        Return what was loaded as *messages* tell it: names alone, which are looked up and filtered like any other.
        """
        names: dict[str, None] = {}
        for message in messages:
            for part in message.parts:
                if isinstance(part, ToolCallPart) and part.tool_name in self._meta and part.state == "result":
                    names.update(dict.fromkeys(_loaded_by(part, found_is_loaded=self.auto_load)))
        return names

    async def _allowed(self, known: Mapping[str, Tool[Any]], scope: RequestScope, phase: ToolPhase) -> list[str]:
        return [name for name, tool in known.items() if await self._may(name, tool, scope, phase)]

    async def _may(self, name: str, tool: Tool[Any], scope: RequestScope, phase: ToolPhase) -> bool:
        """
        Ask the filter; whatever is no plain yes is a no.
        """
        if self.filter is None:
            return True
        question = ToolQuestion(tool_name=name, tool=tool, request_context=scope.request_context, phase=phase)
        try:
            answer = self.filter(question)
            if hasattr(answer, "__await__"):
                answer = await answer
        except Exception as error:
            log_callback_error(self.id, error, "filter")
            return False
        return answer is True


ToolSearchProcessor = ToolSearch
"""The documents' name of :class:`ToolSearch`."""


def _loaded_by(part: ToolCallPart, *, found_is_loaded: bool) -> Iterable[str]:
    result: Any = part.result
    if not is_form(result):
        return ()
    if part.tool_name == LOAD:
        return (str(result.get("tool_name")),) if result.get("success") is True else ()
    results: Any = result.get("results") if found_is_loaded else None
    return [str(each.get("name")) for each in results if is_form(each)] if is_sequence(results) else ()


def _described(tools: Mapping[str, Tool[Any]]) -> dict[str, str]:
    return {name: tool.description for name, tool in tools.items()}


def _short(tool: Tool[Any]) -> str:
    text = " ".join(tool.description.split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _one_text(name: str, description: str) -> Mapping[str, Any]:
    text = {"type": "string", "description": description}
    return {"type": "object", "properties": {name: text}, "required": [name], "additionalProperties": False}


def _tools(given: Sequence[Any] | Mapping[str, Any]) -> Mapping[str, Tool[Any]]:
    named: list[tuple[Any, Any]] = list(given.items()) if is_form(given) else [(None, each) for each in given]
    found: dict[str, Tool[Any]] = {}
    for key, each in named:
        make = getattr(each, "as_tool", None)
        made: Any = make() if callable(make) and not isinstance(each, type) else each
        if not isinstance(made, Tool):
            raise ProcessorDefinitionError(
                f"ToolSearch was given {type(each).__name__}, which is no tool",
                hint="make it one with @tool, or give an agent",
            )
        tool: Tool[Any] = made  # pyright: ignore[reportUnknownVariableType]
        name = key if isinstance(key, str) else tool.name
        if name in found or name in (SEARCH, LOAD):
            raise ProcessorDefinitionError(f"ToolSearch has two tools called {name!r}", hint="give one another name")
        found[name] = tool if tool.name == name else tool.replace(name=name)
    return found


def _search_options(given: Mapping[str, Any] | None) -> tuple[int, float, bool]:
    options = {**_SEARCH_OPTIONS, **(given or {})}
    unknown = options.keys() - _SEARCH_OPTIONS.keys()
    if unknown:
        raise ProcessorDefinitionError(
            f"ToolSearch has search={min(unknown)!r}", hint=f"there are {', '.join(sorted(_SEARCH_OPTIONS))}"
        )
    top_k, min_score = options["top_k"], options["min_score"]
    if not isinstance(top_k, int) or isinstance(top_k, bool) or top_k < 1:
        raise ProcessorDefinitionError(f"ToolSearch has top_k={top_k!r}", hint="give how many results, at least 1")
    if not isinstance(min_score, (int, float)) or isinstance(min_score, bool):
        raise ProcessorDefinitionError(f"ToolSearch has min_score={min_score!r}", hint="give a number")
    return top_k, min_score, bool(options["auto_load"])
