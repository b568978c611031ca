"""
What a hook returned, applied to its payload: the same rules for every message hook (D7, D8).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from typing import Any, cast

from procession.errors import DefinitionError, MessageError
from procession.messages.draft import MessageDraft
from procession.messages.message_list import MessageList
from procession.messages.reconcile import commit_drafts, reconcile
from procession.messages.shapes import is_form, is_sequence
from procession.models.router import resolve_model
from procession.processors.context import HookContext
from procession.processors.emptied import note_emptied
from procession.processors.hooks import Hook
from procession.processors.log import log_once
from procession.processors.protocols import option
from procession.processors.request_change import read_request_change
from procession.tools.json_value import json_value
from procession.tools.tool import Tool

__all__ = ["CHOICE_HINT", "NAMES_HINT", "apply_result", "fault_of_names", "is_choice"]

_INPUT_SIDE = frozenset({Hook.INPUT, Hook.INPUT_STEP})
_SETTINGS = ("tool_choice", "active_tools", "structured_output")
_MERGED = ("provider_options", "model_settings")
NAMES_HINT = 'give names of tools: ["search"], [] for none, None for all'
_OVERRIDES = frozenset({"model", "tools", "messages", "message_list", "system_messages", *_SETTINGS, *_MERGED})
_SYSTEM = "give a list of texts or of system messages"
CHOICE_HINT = '"auto", "none", "required", or {"type": "tool", "tool_name": "search"}'
_EXPECTED = "return None, ctx.message_list, a list of messages, or a dict of messages and system_messages"


def apply_result(ctx: HookContext[Any], payload: Any, result: Any) -> None:
    """
    Change *payload* as the hook's *result*, and its edits to ``ctx.messages``, say.

    Raises ``MessageError`` for a return that means nothing in this hook.
    """
    _APPLY[payload.hook](ctx, payload, result)


def _apply_input(ctx: HookContext[Any], payload: Any, result: Any) -> None:
    _apply_messages(ctx, payload, result)
    note_emptied(ctx.scope, payload.message_list, ctx.processor_id)


def _apply_messages(ctx: HookContext[Any], payload: Any, result: Any) -> None:
    messages: MessageList = payload.message_list
    if result is None or result is messages:
        if ctx.drafts is not None:
            _apply_edits(ctx, payload)
    elif isinstance(result, MessageList):
        raise MessageError(
            "a hook returned a message list other than the one it was given",
            hint="change ctx.message_list and return it, or return a list of messages",
        )
    elif is_form(result):
        unknown = set(result) - {"messages", "system_messages"}
        if unknown:
            raise MessageError(
                f"{payload.phase} returned {type(result).__name__} of {_names(unknown)}, which mean nothing there",
                hint=_EXPECTED,
            )
        _apply_messages(ctx, payload, result.get("messages"))
        _apply_system(messages, payload, result.get("system_messages"))
    elif is_sequence(result):
        try:
            _apply_list(ctx, payload, result)
        except MessageError as fault:
            hint = f"{_EXPECTED}; {fault.hint}" if fault.hint else _EXPECTED
            raise MessageError(
                f"{payload.phase} returned {type(result).__name__} with a fault in it: {fault.message}", hint=hint
            ) from fault
    else:
        raise MessageError(f"{payload.phase} returned {type(result).__name__}", hint=_EXPECTED)


def _apply_system(messages: MessageList, payload: Any, given: Any) -> None:
    if given is None:
        return
    if not is_sequence(given):
        raise MessageError(f"{payload.phase} returned system_messages={type(given).__name__}", hint=_SYSTEM)
    try:
        messages.replace_system(given)
    except MessageError as fault:
        raise MessageError(
            f"{payload.phase} returned system_messages with a fault in it: {fault.message}", hint=_SYSTEM
        ) from fault


def _output_of(payload: Any, given: Any) -> Any:
    try:
        return payload.read_output(given)
    except DefinitionError as fault:
        raise MessageError(
            f"{payload.phase} returned structured_output={type(given).__name__}: {fault.message}", hint=fault.hint
        ) from fault


def _names(keys: Collection[Any]) -> str:
    return ", ".join(sorted(map(str, keys)))


def _apply_edits(ctx: HookContext[Any], payload: Any) -> None:
    drafts = ctx.drafts or []
    if tuple(draft.original.id if draft.__class__ is MessageDraft else None for draft in drafts) == ctx.shown:
        commit_drafts(payload.message_list, drafts)
    else:  # the list itself was changed
        _apply_list(ctx, payload, drafts)


def _apply_list(ctx: HookContext[Any], payload: Any, returned: Sequence[Any]) -> None:
    if not returned and payload.hook is not Hook.INPUT:
        log_once(ctx.processor_id, "an empty list means no change here: return None", hook=payload.phase)
        return
    source = "input" if payload.hook in _INPUT_SIDE else "response"
    shown = ctx.shown if ctx.drafts is not None else [message.id for message in payload.messages]
    reconcile(payload.message_list, shown, returned, source)


def _apply_step(ctx: HookContext[Any], payload: Any, result: Any) -> None:
    if is_form(result):
        _apply_overrides(ctx, payload, result)
    else:
        _apply_messages(ctx, payload, result)
    note_emptied(ctx.scope, payload.message_list, ctx.processor_id)


def _apply_overrides(ctx: HookContext[Any], payload: Any, result: Mapping[str, Any]) -> None:
    unknown = set(result) - _OVERRIDES
    if unknown:
        raise MessageError(
            f"process_input_step returned {type(result).__name__} of {_names(unknown)}, which it cannot change",
            hint=f"return None, a list of messages, or a dict of {_names(_OVERRIDES)}",
        )
    if "messages" in result and "message_list" in result:
        raise MessageError("process_input_step returned both messages and message_list", hint="return one of them")
    fault = fault_of_names(result.get("active_tools"))
    if fault is not None:
        raise MessageError(fault, hint=NAMES_HINT)
    for name, (fits, hint) in _FITS.items():
        given = result.get(name)
        if given is not None and not fits(given):
            raise MessageError(f"process_input_step returned {name}={type(given).__name__}", hint=hint)
    tools = _tools_of(payload, result["tools"]) if "tools" in result else None
    output = _output_of(payload, result.get("structured_output"))
    _apply_system(payload.message_list, payload, result.get("system_messages"))
    _apply_messages(ctx, payload, result["messages"] if "messages" in result else result.get("message_list"))
    if result.get("model") is not None:
        payload.model = resolve_model(result["model"])
    if tools is not None:
        payload.tools = tools
    if result.get("active_tools") is not None:
        _tell_of_unknown(ctx, payload, result["active_tools"])
    for name in _SETTINGS:
        if name in result:
            setattr(payload, name, output if name == "structured_output" else result[name])
    for name in _MERGED:
        if result.get(name) is not None:
            setattr(payload, name, _merged(getattr(payload, name), result[name]))


def is_choice(value: Any) -> bool:
    """
    Whether *value* says which tools a model may call.
    """
    kind = value.get("type") if is_form(value) else value
    if kind == "tool" and is_form(value):
        name = value.get("tool_name", value.get("toolName"))
        return isinstance(name, str) and name != ""
    return isinstance(kind, str) and kind in ("auto", "none", "required")


def _is_model(value: Any) -> bool:
    return isinstance(value, str) or (callable(getattr(value, "stream", None)) and hasattr(value, "id"))


_MAPPING = "give a mapping of names to values"
_FITS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "tool_choice": (is_choice, CHOICE_HINT),
    "model": (_is_model, 'give a model, or the name of one, such as "openai/gpt-5-mini"'),
    "provider_options": (is_form, _MAPPING),
    "model_settings": (is_form, _MAPPING),
}
"""What the overrides of a step must be."""


def fault_of_names(names: object) -> str | None:
    """
    Return what is wrong with *names* as ``active_tools``, if anything: each part of a text would pass for a name.
    """
    if names is None:
        return None
    if not is_sequence(names) and not isinstance(names, Set):
        return f"active_tools is {type(names).__name__}"
    kinds = {type(name) for name in cast("Collection[object]", names)}
    odd = [kind.__name__ for kind in kinds if not issubclass(kind, str)]
    return f"active_tools has {min(odd)} in it" if odd else None


def _tell_of_unknown(ctx: HookContext[Any], payload: Any, names: Collection[str]) -> None:
    """
    Warn of names of no tool.  They are no error: a later processor may bring the tool, and nothing more is let in.
    """
    unknown = set(names) - set(payload.tools)
    if unknown:
        log_once(
            ctx.processor_id,
            f"active_tools names what is no tool of the step: {_names(unknown)}; there are {_names(payload.tools) or 'none'}",
            hook=payload.phase,
        )


def _merged(before: Mapping[str, Any] | None, changes: Mapping[str, Any]) -> dict[str, Any]:
    """
    Merge key by key; ``None`` deletes a key (D7).
    """
    return {key: value for key, value in {**(before or {}), **changes}.items() if value is not None}


def _tools_of(payload: Any, given: Any) -> Mapping[str, Any]:
    """
    Return by name the tools that a hook returned; what is none yet, such as an agent, becomes one where the run can tell.
    """
    if given is None:
        return {}
    each = given.values() if is_form(given) else given if is_sequence(given) else (None,)
    if all(isinstance(tool, Tool) for tool in each):
        return given if is_form(given) else {tool.name: tool for tool in given}
    hint: str | None = "give a list of tools, made with @tool, or a mapping of names to them"
    if is_form(given) or is_sequence(given):
        try:
            tools: Mapping[str, Any] | None = payload.read_tools(given)
            if tools is not None:
                return tools
        except DefinitionError as error:
            hint = error.hint
    raise MessageError(f"process_input_step returned tools={type(given).__name__}", hint=hint)


def _apply_request(ctx: HookContext[Any], payload: Any, result: Any) -> None:
    _apply_response(ctx, payload, None)
    if result is None:
        return
    given = read_request_change(result)
    if given.prompt is not None:
        payload.prompt = given.prompt
        payload.redactions += _hides(ctx)
    if given.response is not None and payload.response is None:
        payload.response = given.response


def _apply_retry(ctx: HookContext[Any], payload: Any, result: Any) -> None:
    _apply_messages(ctx, payload, None)
    if result is None:
        return
    if not is_form(result) or set(result) - {"retry"}:
        raise MessageError(
            f"process_api_error returned {type(result).__name__}, which says nothing of a retry",
            hint='return None or {"retry": True}',
        )
    if result.get("retry"):
        payload.retry = True
        payload.own_retry = bool(option(ctx.owner, "own_retries"))


def _apply_tool_result(ctx: HookContext[Any], payload: Any, result: Any) -> None:
    before: Any = payload.result
    given = is_form(result) and "result" in result
    if given:
        payload.result = json_value(result["result"])
    _apply_messages(ctx, payload, None if given else result)
    part = payload.message_list.tool_call(payload.tool_call_id)
    if part is not payload.seen:
        payload.seen = part
        if not given and part is not None and part.state in ("result", "output-error"):  # the hook replaced it there
            payload.result = part.error_text if part.state == "output-error" else json_value(part.result)
    if payload.result is not before:
        payload.redactions += _hides(ctx)


def _hides(ctx: HookContext[Any]) -> bool:
    """
    Return whether what the processor changes is hidden: it says so, or it is a guard, which may drop whole texts.
    """
    return bool(option(ctx.owner, "redacts") or option(ctx.owner, "fails_closed"))


def _apply_chunk(ctx: HookContext[Any], payload: Any, result: Any) -> None:
    payload.chunk = result


def _apply_response(ctx: HookContext[Any], payload: Any, result: Any) -> None:
    if result is not None and result is not payload.message_list:
        raise MessageError(
            f"{payload.phase} returned {type(result).__name__}, which means nothing there",
            hint="return nothing: change ctx.messages, or decide with ctx.abort() or ctx.replace_response()",
        )
    if ctx.drafts is not None:
        _apply_edits(ctx, payload)


_APPLY: Mapping[Hook, Callable[[HookContext[Any], Any, Any], None]] = {
    Hook.INPUT: _apply_input,
    Hook.INPUT_STEP: _apply_step,
    Hook.LLM_REQUEST: _apply_request,
    Hook.OUTPUT_STREAM: _apply_chunk,
    Hook.API_ERROR: _apply_retry,
    Hook.LLM_RESPONSE: _apply_response,
    Hook.OUTPUT_STEP: _apply_messages,
    Hook.TOOL_RESULT: _apply_tool_result,
    Hook.OUTPUT_RESULT: _apply_messages,
}
