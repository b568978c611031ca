"""
The op language: what the hooks of a scenario's processors do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import anyio
from tests.conformance.chunks import data_chunk, scripted_chunk
from tests.conformance.notation import SETTINGS
from tests.conformance.scenario import Json, Unknown, is_list, is_object, mapping, named
from tests.conformance.trace import MESSAGE_HOOKS, Recorder
from tests.conformance.transforms import map_text, mapped_prompt_part, transform

from procession.messages.chunks import DataChunk
from procession.messages.message import SystemMessage
from procession.messages.message_list import MessageList
from procession.messages.parts import TextPart, ToolCallPart
from procession.messages.prompt import PromptMessage

__all__ = ["NOTHING", "HookCall", "check_names", "our_settings", "run_ops", "tool_choice"]

NOTHING: Any = object()
"""No op returned: the hook gives its default."""
OF_NO_STEP = frozenset({"process_input", "process_output_result"})


@dataclass(frozen=True, slots=True)
class HookCall:
    """
    One invocation of a hook, and what its ops may need.
    """

    hook: str
    ctx: Any
    label: str
    invocation: int
    """How many times this hook of this processor was called before, over all calls of the scenario."""
    recorder: Recorder
    models: Mapping[str, Any]
    tools: Mapping[str, Any]


def _given(call: HookCall, *names: str) -> Any:
    """
    Return what the hook was given under a name, or ``None`` where such a hook is not given it.
    """
    found: Any = call.ctx
    for name in names:
        found = getattr(found, name, None)
    return found


def _contains(text: Any, wanted: str) -> bool:
    return isinstance(text, str) and wanted in text


def _step(call: HookCall) -> int:
    """
    Return the number of the step; -1 in the hooks that belong to none.
    """
    return -1 if call.hook in OF_NO_STEP else call.ctx.step_number


CONDITIONS: Mapping[str, Callable[[HookCall, Any], bool]] = {
    "step": lambda call, value: _step(call) == value,
    "step_gt": lambda call, value: _step(call) > value,
    "retry_lt": lambda call, value: call.ctx.retry_count < value,
    "retry_eq": lambda call, value: call.ctx.retry_count == value,
    "part_type": lambda call, value: _given(call, "chunk", "type") == value,
    "part_contains": lambda call, value: _contains(_given(call, "chunk", "text"), value),
    "text_contains": lambda call, value: _contains(_given(call, "text"), value),
    "any_message_contains": lambda call, value: (
        call.hook in MESSAGE_HOOKS and any(value in message.text for message in call.ctx.view)
    ),
    "invocation": lambda call, value: call.invocation == value,
    "tool": lambda call, value: _given(call, "tool_name") == value,
    "error_contains": lambda call, value: _contains(str(_given(call, "error") or ""), value),
    "state_gte": lambda call, value: call.ctx.state.get(value[0], 0) >= value[1],
}
"""A hook that is not given what a condition asks about does not meet it."""


def applies(op: Mapping[str, Any], call: HookCall) -> bool:
    """
    Whether all conditions of an op hold.
    """
    for name, value in mapping(op.get("when")).items():
        if not CONDITIONS[name](call, value):
            return False
    return True


def check_names(ops: Sequence[Json], models: Mapping[str, Any], tools: Mapping[str, Any]) -> None:
    """
    Raise ``Unknown`` where an op names a model or a tool that the scenario does not have: also where it never runs.
    """
    for op in ops:
        if "model" in op:
            named("model", models, op["model"])
        for name in (name for names in mapping(op.get("tools")).values() if is_list(names) for name in names):
            named("tool", tools, name)


async def run_ops(ops: Sequence[Mapping[str, Any]], call: HookCall) -> Any:
    """
    Run the ops of a hook in order and return what the first *return* op gives, or ``NOTHING``.
    """
    for op in ops:
        if applies(op, call):
            given = OPS[op["op"]](op, call)
            if hasattr(given, "__await__"):
                given = await given
            if given is not NOTHING:
                return given
    return NOTHING


# -- ops that do something


def _abort(op: Json, call: HookCall) -> Any:
    options = mapping(op.get("options"))
    call.ctx.abort(op.get("reason"), retry=bool(options.get("retry", False)), metadata=options.get("metadata"))


def _throw(op: Json, call: HookCall) -> Any:
    raise RuntimeError(op["message"])


def _state_incr(op: Json, call: HookCall) -> Any:
    call.ctx.state[op["key"]] = call.ctx.state.get(op["key"], 0) + op.get("by", 1)
    return NOTHING


def _state_set(op: Json, call: HookCall) -> Any:
    call.ctx.state[op["key"]] = op.get("value")
    return NOTHING


def _state_append_text(op: Json, call: HookCall) -> Any:
    if call.ctx.chunk.type == "text-delta":
        call.ctx.state[op["key"]] = call.ctx.state.get(op["key"], "") + call.ctx.chunk.text
    return NOTHING


async def _emit(op: Json, call: HookCall) -> Any:
    writer = None if call.hook == "process_input" else call.ctx.writer  # the documents give it none
    call.recorder.note({"processor": call.label, "emit": op["chunk"]["type"], "writer": writer is not None})
    if writer is not None:
        await writer.custom(data_chunk(op["chunk"]))
    return NOTHING


async def _signal(op: Json, call: HookCall) -> Any:
    send = getattr(call.ctx, "send_signal", None)
    call.recorder.note({"processor": call.label, "send_signal": op["signal"], "available": send is not None})
    if send is not None:
        await send(op["signal"])
    return NOTHING


def _edit_in_place(op: Json, call: HookCall) -> Any:
    for draft in call.ctx.messages:
        if op.get("role") in (None, draft.role):
            for part in draft.parts:
                if part.type == "text":
                    part.text = map_text(op["map_text"], part.text)
    return NOTHING


def _list_add(op: Json, call: HookCall) -> Any:
    call.ctx.message_list.add({"role": op["role"], "content": op["text"]}, source=op.get("source", "input"))
    return NOTHING


def _list_remove(op: Json, call: HookCall) -> Any:
    call.ctx.message_list.remove([call.ctx.message_list.get.all.db()[op["index"]].id])
    return NOTHING


def _list_add_system(op: Json, call: HookCall) -> Any:
    call.ctx.message_list.add_system(op["text"], op.get("tag"))
    return NOTHING


def _update_tool_result(op: Json, call: HookCall) -> Any:
    ctx = call.ctx
    call.ctx.message_list.update_tool_call(
        ToolCallPart(ctx.tool_call_id, ctx.tool_name, ctx.args, state="result", result=op["result"])
    )
    return NOTHING


async def _sleep(op: Json, call: HookCall) -> Any:
    await anyio.sleep(op["ms"] / 1000)
    return NOTHING


# -- ops that return


def _return_messages(op: Json, call: HookCall) -> Any:
    return transform(op["transform"], call.ctx.view)


def _return_with_system(op: Json, call: HookCall) -> Any:
    return {
        "messages": transform(mapping(op.get("transform")), call.ctx.view),
        "system_messages": _system(op["system"], bool(op.get("append")), call),
    }


def _system(texts: str | Sequence[str], append: bool, call: HookCall) -> list[SystemMessage]:
    kept = list(call.ctx.system_messages) if append else []
    return [*kept, *(SystemMessage(text) for text in ([texts] if isinstance(texts, str) else texts))]


def tool_choice(choice: Any) -> Any:
    """
    Return a tool choice under our names.
    """
    if not is_object(choice):
        return choice
    return {"tool_name" if name == "toolName" else name: value for name, value in choice.items()}


def override(op: Json, call: HookCall) -> dict[str, Any]:
    """
    Return the settings of a step that an op gives.
    """
    given: dict[str, Any] = {}
    for key, value in op.items():
        match key:
            case "op" | "when" | "append_system":
                pass
            case "model":
                given["model"] = call.models[value]
            case "toolChoice":
                given["tool_choice"] = tool_choice(value)
            case "activeTools":
                given["active_tools"] = list(value)
            case "tools":
                kept = dict(call.ctx.tools) if value.get("keep_existing") else {}
                given["tools"] = kept | {name: call.tools[name] for name in value.get("set", value.get("add", ()))}
            case "system":
                given["system_messages"] = _system(value, bool(op.get("append_system")), call)
            case "providerOptions":
                given["provider_options"] = value
            case "modelSettings":
                given["model_settings"] = our_settings(value)
            case "transform":
                given["messages"] = transform(value, call.ctx.view)
            case _:
                raise Unknown("override", key)
    return given


def our_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """
    Return model settings under our names.
    """
    ours = {theirs: name for name, theirs in SETTINGS.items()}
    return {ours.get(name, name): value for name, value in settings.items()}


def _return_prompt(op: Json, call: HookCall) -> Any:
    prompt: list[PromptMessage] = list(call.ctx.prompt)
    if "replace_text" in op:
        before, after = op["replace_text"]
        prompt = [
            entry.replace(content=tuple(mapped_prompt_part(part, before, after) for part in entry.content))
            for entry in prompt
        ]
    if "append_user" in op:
        prompt.append(PromptMessage("user", (TextPart(op["append_user"]),)))
    return {"prompt": prompt}


def _return_response(op: Json, call: HookCall) -> Any:
    return {"response": {"chunks": [scripted_chunk(chunk) for chunk in op["chunks"]]}}


def _return_part_text(op: Json, call: HookCall) -> Any:
    chunk = call.ctx.chunk
    text = getattr(chunk, "text", None)
    return chunk if text is None else chunk.replace(text=map_text(op["map_text"], text))


def _return_part_data(op: Json, call: HookCall) -> Any:
    chunk = call.ctx.chunk
    return chunk.replace(data=op["data"]) if isinstance(chunk, DataChunk) else chunk


def _return(op: Json, call: HookCall) -> Any:
    value = op.get("value")
    if value == "undefined":
        return None
    if value == "part":
        return call.ctx.chunk
    if not is_object(value):
        return value
    if call.hook == "process_output_stream":
        return scripted_chunk(value)
    return {OUR_KEYS.get(name, name): _literal(name, inner) for name, inner in value.items()}


OUR_KEYS: Mapping[str, str] = {
    "activeTools": "active_tools",
    "messageList": "message_list",
    "modelSettings": "model_settings",
    "providerOptions": "provider_options",
    "structuredOutput": "structured_output",
    "systemMessages": "system_messages",
    "toolChoice": "tool_choice",
}
"""The keys of what a hook may return, and our names of them."""


def _literal(name: str, value: Json) -> Any:
    match name:
        case "toolChoice":
            return tool_choice(value)
        case "modelSettings" if is_object(value):
            return our_settings(value)
        case "systemMessages" if is_list(value):
            return [SystemMessage(str(each["content"]) if is_object(each) else str(each)) for each in value]
        case _:
            return value


OPS: Mapping[str, Callable[[Json, HookCall], Any]] = {
    "abort": _abort,
    "throw": _throw,
    "state_incr": _state_incr,
    "state_set": _state_set,
    "state_append_text": _state_append_text,
    "emit": _emit,
    "signal": _signal,
    "return_messages": _return_messages,
    "edit_in_place": _edit_in_place,
    "list_add": _list_add,
    "list_remove": _list_remove,
    "list_add_system": _list_add_system,
    "return_list": lambda op, call: call.ctx.message_list,
    "return_foreign_list": lambda op, call: MessageList(),
    "return_messages_and_list": lambda op, call: {
        "messages": call.ctx.messages,
        "message_list": call.ctx.message_list,
    },
    "return_with_system": _return_with_system,
    "return_override": override,
    "return_prompt": _return_prompt,
    "return_response": _return_response,
    "return_part_text": _return_part_text,
    "return_part_data": _return_part_data,
    "return": _return,
    "return_retry": lambda op, call: {"retry": op["value"]},
    "update_tool_result": _update_tool_result,
    "sleep": _sleep,
}
