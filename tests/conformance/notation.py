"""
The text notation of the traces, written from our values: messages, prompts, chunks, usage, errors, results.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeGuard

from tests.conformance.scenario import Json, mapping

from procession.messages.parts import (
    DataPart,
    ErrorPart,
    FilePart,
    Part,
    ReasoningPart,
    SourcePart,
    StepStartPart,
    TextPart,
    ToolCallPart,
)
from procession.messages.prompt import PromptMessage, PromptToolCall, PromptToolResult
from procession.messages.value import Value

__all__ = [
    "SETTINGS", "error_of", "message_text", "prompt_text", "result_of", "settings_of", "shown_text", "step_texts", "tool_choice_of",
    "tripwire_of", "usage_of",
]  # fmt: skip

SETTINGS: Mapping[str, str] = {
    "max_retries": "maxRetries",
    "top_p": "topP",
    "top_k": "topK",
    "max_tokens": "maxOutputTokens",
    "stop": "stopSequences",
    "presence_penalty": "presencePenalty",
    "frequency_penalty": "frequencyPenalty",
}
"""Our names of model settings, and the traces'."""


WORKING_MEMORY = re.compile(
    r"<working_memory_template>\n(.*)\n</working_memory_template>\s*"
    r"<working_memory_data>\n(.*)\n</working_memory_data>",
    re.DOTALL,
)
"""What of the instructions on a working memory the traces tell: its template, and what it holds."""


def dumps(value: Any) -> str:
    """
    Return compact JSON, as the traces write it.
    """
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=plain)


def plain(value: Any) -> Json:
    """
    Return what JSON can hold of *value*.
    """
    if isinstance(value, Value):
        fields = type(value).__fields__
        return {field: getattr(value, field) for field in fields if getattr(value, field) is not None}
    if _is_mapping(value):
        return dict(value.items())
    if isinstance(value, BaseException):
        return error_of(value)
    if hasattr(value, "model_dump"):
        return value.model_dump()
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return list(value) if _is_iterable(value) else str(value)


def _is_mapping(value: Any) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, Mapping)


def _is_iterable(value: Any) -> TypeGuard[Iterable[Any]]:
    return isinstance(value, Iterable)


def as_json(value: Any) -> Json:
    """
    Return *value* as JSON data, so that both sides of a comparison are made of the same types.
    """
    return json.loads(dumps(value))


def _call_text(part: ToolCallPart) -> str:
    head = f"{part.state} {part.tool_name}#{part.tool_call_id} {dumps(part.args)}"
    if part.state == "result":
        head += f" => {dumps(part.result)}"
    elif part.state == "output-error":
        head += f" !! {dumps(part.error_text)}"
    return f"tool-invocation({head})"


def part_text(part: Part) -> str:
    """
    Write one part of a message.
    """
    match part:
        case TextPart():
            return f"text({dumps(part.text)})"
        case ReasoningPart():
            return f"reasoning({dumps(part.text)})"
        case StepStartPart():
            return "step-start"
        case ToolCallPart():
            return _call_text(part)
        case ErrorPart():
            return f"error({dumps({'error': {'name': part.name, 'message': part.message}, 'createdAt': 0})})"
        case DataPart():
            return f"{part.type}({dumps({'data': part.data, 'createdAt': 0})})"
        case FilePart():
            return f"file({dumps({'mediaType': part.media_type})})"
        case SourcePart():
            return f"source({dumps({'id': part.id})})"


def message_text(message: Any) -> str:
    """
    Write a message or a draft of one: ``role: part, part``.
    """
    text = f"{message.role}: {', '.join(part_text(part) for part in message.parts)}"
    metadata: Mapping[str, Any] | None = message.metadata
    return f"{text} metadata={dumps(metadata)}" if metadata else text


def shown_text(messages: Iterable[Any]) -> str:
    """
    Return the joined text of the assistant messages.
    """
    assistants = [message for message in messages if message.role == "assistant"]
    return "".join(part.text for message in assistants for part in message.parts if isinstance(part, TextPart))


def step_texts(messages: Iterable[Any], said: str) -> list[str]:
    """
    Return, of each assistant message, the joined text of what follows its last ``step-start``; the last one first.
    A step that, by its own account, has *said* nothing is in none of them, and where there is none nothing is left.
    """
    found: list[str] = []
    for message in messages:
        if message.role == "assistant":
            texts: list[str] = []
            for part in message.parts:
                if isinstance(part, StepStartPart):
                    texts.clear()
                elif isinstance(part, TextPart):
                    texts.append(part.text)
            found.insert(0, "".join(texts))
    return found if said and found else [*found, ""]


def prompt_text(entry: PromptMessage) -> str:
    """
    Write one entry of a prompt.
    """
    if entry.role == "system":
        if shown := WORKING_MEMORY.search(entry.text):
            return f"system: <working-memory instructions>(template={dumps(shown[1])}, data={dumps(shown[2])})"
        return f"system: {dumps(entry.text)}"
    parts: list[str] = []
    for part in entry.content:
        match part:
            case TextPart():
                parts.append(f"text({dumps(part.text)})")
            case ReasoningPart():
                parts.append(f"reasoning({dumps(part.text)})")
            case PromptToolCall():
                parts.append(f"tool-call({part.tool_name}#{part.tool_call_id} {dumps(part.args)})")
            case PromptToolResult():
                parts.append(f"tool-result({part.tool_name}#{part.tool_call_id} {dumps(part.output)})")
            case FilePart():
                parts.append(f"file({dumps({'mediaType': part.media_type})})")
    return f"{entry.role}: {', '.join(parts)}"


def usage_of(usage: Any) -> Json:
    """
    Write usage as ``[input, output, total]``.
    """
    if usage is None:
        return [0, 0, 0]
    return [usage.input_tokens, usage.output_tokens, usage.total_tokens]


def error_of(error: BaseException) -> Json:
    """
    Write an error with the messages of its causes: what R6 looks a text up in.
    """
    found: dict[str, Json] = {"name": type(error).__name__, "message": str(error)}
    chain: list[str] = []
    status: int | None = None
    seen: BaseException | None = error
    while seen is not None and len(chain) < 10:
        chain.append(str(seen))
        status = status or getattr(seen, "status_code", None)
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)
    if status is not None:
        found["status"] = status
    found["chain"] = chain
    return found


def tripwire_of(info: Any) -> Json:
    """
    Write why a run was stopped.  No retry is the same as none said.
    """
    found: dict[str, Json] = {"reason": info.reason}
    if info.retry:
        found["retry"] = True
    if info.metadata is not None:
        found["metadata"] = as_json(info.metadata)
    if info.processor_id is not None:
        found["processor_id"] = info.processor_id
    return found


def settings_of(settings: Mapping[str, Any] | None) -> Json:
    """
    Write model settings under the traces' names.
    """
    return {SETTINGS.get(name, name): as_json(value) for name, value in mapping(settings).items()}


def tool_choice_of(choice: Any) -> Json:
    """
    Write a tool choice as the processors of a trace see it.
    """
    if _is_mapping(choice):
        wanted: dict[str, Json] = dict(choice)
        if "tool_name" in wanted:
            wanted["toolName"] = wanted.pop("tool_name")
        return wanted
    return choice


def call_name(call: Any) -> str:
    return f"{call.tool_name}#{call.tool_call_id}"


def step_of(step: Any) -> Json:
    """
    Write one step of a result.
    """
    found: dict[str, Json] = {"text": step.text, "finish_reason": step.finish_reason}
    if step.tool_calls:
        found["tool_calls"] = [call_name(call) for call in step.tool_calls]
    results = [answer for answer in step.tool_results if answer.type == "tool-result"]
    if results:
        found["tool_results"] = [{"tool": call_name(answer), "result": as_json(answer.result)} for answer in results]
    tripwire = getattr(step, "tripwire", None)
    if tripwire is not None:
        found["tripwire"] = tripwire_of(tripwire)
    return found


def result_of(result: Any) -> Json:
    """
    Write the result of a call.
    """
    found: dict[str, Json] = {"text": result.text, "finish_reason": result.finish_reason}
    if result.tripwire is not None:
        found["tripwire"] = tripwire_of(result.tripwire)
    if result.object is not None:
        found["object"] = as_json(result.object)
    found["steps"] = [step_of(step) for step in result.steps]
    rejected: list[Json] = [step_of(step) for step in result.rejected]
    if rejected:
        found["rejected"] = [{key: step[key] for key in ("tripwire", "tool_calls") if key in step} for step in rejected]
    found["usage"] = usage_of(result.usage)
    return found
