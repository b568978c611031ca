"""
Part writing: parts as the documents' part objects, in their DB, UI and core forms.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, TypeAlias

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
from procession.messages.shapes import is_form

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["core_part", "core_result", "db_part", "file_url", "ui_part"]

Form: TypeAlias = dict[str, Any]

_UI_STATES = {"partial-call": "input-streaming", "call": "input-available", "result": "output-available"}


def db_part(part: Part) -> Form:
    """
    Return the object that stands for *part* in a stored message.
    """
    return _with_notes(_DB[type(part)](part), part)


def ui_part(part: Part) -> Form:
    """
    Return the object that stands for *part* in a message for a user interface.
    """
    if isinstance(part, ReasoningPart):
        return _with_notes({"type": "reasoning", "text": part.text, **_secrets(part)}, part)
    if isinstance(part, FilePart):
        file = {"type": "file", "url": file_url(part), "mediaType": part.media_type}
        return _with_notes({**file, **_named(filename=part.filename)}, part)
    if isinstance(part, SourcePart) and part.source_type == "url":
        return _with_notes({"type": "source-url", "sourceId": part.id, **_named(url=part.url, title=part.title)}, part)
    if isinstance(part, ToolCallPart):
        form: Form = {
            "type": f"tool-{part.tool_name}",
            "toolCallId": part.tool_call_id,
            "state": _UI_STATES.get(part.state, part.state),
            "input": part.args,
            **_named(errorText=part.error_text, title=part.title, rawInput=part.raw_input),
        }
        if part.state == "result" or part.result is not None:
            form["output"] = part.result
        if part.is_error:
            form["isError"] = True
        if part.approval is not None:
            form["approval"] = _approval(part)
        if part.provider_executed:
            form["providerExecuted"] = True
        if part.model_output is not None:
            form["modelOutput"] = part.model_output
        return _with_notes(form, part)
    return db_part(part)


def core_part(part: Part) -> Form | None:
    """
    Return the object that stands for *part* in a message as models take it; ``None`` for what no model is sent.
    """
    if isinstance(part, TextPart):
        return _with_notes({"type": "text", "text": part.text}, part, "providerOptions")
    if isinstance(part, ReasoningPart):
        if part.redacted is not None and not part.text:
            return _with_notes({"type": "redacted-reasoning", "data": part.redacted}, part, "providerOptions")
        return _with_notes({"type": "reasoning", "text": part.text, **_secrets(part)}, part, "providerOptions")
    if isinstance(part, FilePart):
        if part.media_type.startswith("image/"):
            form: Form = {"type": "image", "image": part.data, "mimeType": part.media_type}
        else:
            form = {"type": "file", "data": part.data, "mimeType": part.media_type, **_named(filename=part.filename)}
        return _with_notes(form, part, "providerOptions")
    if isinstance(part, ToolCallPart):
        call = {"type": "tool-call", "toolCallId": part.tool_call_id, "toolName": part.tool_name, "args": part.args}
        return _with_notes(call, part, "providerOptions")
    return None


def core_result(part: ToolCallPart) -> Form | None:
    """
    Return the object that stands for the outcome of a tool call; ``None`` while there is none.
    """
    if part.state not in ("result", "output-error", "output-denied"):
        return None
    form = {"type": "tool-result", "toolCallId": part.tool_call_id, "toolName": part.tool_name, "result": part.result}
    if part.state != "result":
        form["result"] = part.error_text or (part.approval.reason if part.approval is not None else None) or "denied"
    if part.is_error or part.state != "result":
        form["isError"] = True
    return form


def file_url(part: FilePart) -> str:
    """
    Return the file's URL; bytes and base64 text become a ``data:`` URI.
    """
    if isinstance(part.data, bytes):
        return f"data:{part.media_type};base64,{base64.b64encode(part.data).decode()}"
    scheme = part.data[:32].split(":", 1)
    if len(scheme) == 2 and scheme[0].isalnum():
        return part.data
    return f"data:{part.media_type};base64,{part.data}"


def _named(**values: Any) -> Form:
    return {name: value for name, value in values.items() if value is not None}


def _with_notes(form: Form, part: Any, name: str = "providerMetadata") -> Form:
    notes: Mapping[str, Any] | None = getattr(part, "provider_metadata", None)
    if notes:
        form[name] = {**notes, **form.get(name, {})}
    return form


def _secrets(part: ReasoningPart) -> Form:
    return _named(signature=part.signature, redacted=part.redacted)


def _approval(part: ToolCallPart) -> Form | None:
    if part.approval is None:
        return None
    return {"id": part.approval.id, **_named(approved=part.approval.approved, reason=part.approval.reason)}


def _db_text(part: Any) -> Form:
    return {"type": "text", "text": part.text}


def _db_reasoning(part: Any) -> Form:
    details: list[Form] = []
    if part.text or part.signature is not None or part.redacted is None:
        details.append({"type": "text", "text": part.text, **_named(signature=part.signature)})
    if part.redacted is not None:
        details.append({"type": "redacted", "data": part.redacted})
    return {"type": "reasoning", "reasoning": part.text, "details": details}


def _db_file(part: Any) -> Form:
    return {"type": "file", "data": part.data, "mimeType": part.media_type, **_named(filename=part.filename)}


def _db_source(part: Any) -> Form:
    if part.source_type == "document":
        document = _named(mediaType=part.media_type, title=part.title, filename=part.filename, url=part.url)
        return {"type": "source-document", "sourceId": part.id, **document}
    source = {"sourceType": "url", "id": part.id, **_named(url=part.url, title=part.title)}
    return {"type": "source", "source": source}


def _db_step_start(part: Any) -> Form:
    return {"type": "step-start", **_named(model=part.model)}


def _db_error(part: Any) -> Form:
    return {"type": "error", "error": {"name": part.name, "message": part.message}}


def _db_data(part: Any) -> Form:
    return {"type": part.type, "data": part.data, **_named(id=part.id)}


def _db_tool(part: ToolCallPart) -> Form:
    call = {"state": part.state, "toolCallId": part.tool_call_id, "toolName": part.tool_name, "args": part.args}
    if part.state == "result" or part.result is not None:
        call["result"] = part.result
    if part.is_error:
        call["isError"] = True
    call |= _named(errorText=part.error_text, rawInput=part.raw_input, approval=_approval(part))
    form: Form = {"type": "tool-invocation", "toolInvocation": call, **_named(title=part.title)}
    if part.provider_executed:
        form["providerExecuted"] = True
    if part.model_output is not None:
        own: Any = (part.provider_metadata or {}).get("mastra")
        notes: Mapping[str, Any] = own if is_form(own) else {}
        form["providerMetadata"] = {"mastra": {**notes, "modelOutput": part.model_output}}
    return form


_DB: dict[type, Callable[[Any], Form]] = {
    TextPart: _db_text,
    ReasoningPart: _db_reasoning,
    FilePart: _db_file,
    SourcePart: _db_source,
    StepStartPart: _db_step_start,
    ErrorPart: _db_error,
    DataPart: _db_data,
    ToolCallPart: _db_tool,
}
