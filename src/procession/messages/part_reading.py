"""
Part reading: the documents' part objects, of their UI, core and DB forms, as parts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast, get_args

from procession.errors import MessageError
from procession.messages.media_types import media_type_of
from procession.messages.parts import (
    Approval,
    DataPart,
    ErrorPart,
    FilePart,
    Part,
    Parts,
    ReasoningPart,
    SourcePart,
    StepStartPart,
    TextPart,
    ToolCallPart,
    ToolState,
)
from procession.messages.shapes import is_form, is_items
from procession.messages.value import Value

__all__ = ["DEFAULT_FILE", "DEFAULT_IMAGE", "read_part", "read_parts", "take"]

Form: TypeAlias = Mapping[str, Any]
DEFAULT_IMAGE = "image/jpeg"
"""What an image is taken for if neither anybody nor its first bytes say."""
DEFAULT_FILE = "application/octet-stream"
"""What a file is taken for then."""

_STATES = frozenset(get_args(ToolState))
_UI_STATES = {
    "input-streaming": "partial-call",
    "input-available": "call",
    "output-available": "result",
}


def take(form: Form, *names: str, default: Any = None) -> Any:
    """
    Return the first of *names* that *form* has and that is not ``None``.
    """
    for name in names:
        value = form.get(name)
        if value is not None:
            return value
    return default


def read_parts(forms: Any, where: str) -> list[Part]:
    """
    Return the parts of a content: a text, or a sequence of parts and part objects.

    Raises ``MessageError`` naming *where* and the number of the part that cannot be read.
    """
    if isinstance(forms, str):
        return [TextPart(forms)]
    if not is_items(forms) and not isinstance(forms, Parts):
        raise MessageError(f"{where}: the parts are {type(forms).__name__}, not a list")
    return [read_part(form, f"{where}, part {at}") for at, form in enumerate(forms)]


def read_part(form: Any, where: str) -> Part:
    """
    Return the part that *form* describes.  A part stays what it is, a text becomes a text part.

    Raises ``MessageError`` for an unknown type or a field that is missing, naming *where*.
    """
    if isinstance(form, Value):
        return cast("Part", form)
    if isinstance(form, str):
        return TextPart(form)
    if not is_form(form):
        raise MessageError(f"{where} is {type(form).__name__}, not a part")
    part = form
    kind = part.get("type")
    if not isinstance(kind, str):
        raise MessageError(f"{where} has no type", hint=f"a part's type is one of {_known()}")
    try:
        reader = _READERS.get(kind)
        if reader is not None:
            return reader(part, _notes(part))
        if kind.startswith("data-"):
            return DataPart(kind, part.get("data"), part.get("id"))
        if kind.startswith("tool-") or kind == "dynamic-tool":
            return _ui_tool(part, kind)
    except KeyError as error:
        raise MessageError(f"{where} of type {kind!r} has no {error.args[0]!r}") from None
    raise MessageError(f"{where} has the unknown type {kind!r}", hint=f"a part's type is one of {_known()}")


def _known() -> str:
    return ", ".join((*sorted(_READERS), "data-*"))


def _notes(part: Form) -> Mapping[str, Any] | None:
    notes: Mapping[str, Any] | None = take(part, "providerMetadata", "provider_metadata", "providerOptions")
    return notes


def _text(part: Form, notes: Any) -> Part:
    return TextPart(part["text"], notes)


def _reasoning(part: Form, notes: Any) -> Part:
    text: str = take(part, "reasoning", "text", default="")
    signature, redacted = part.get("signature"), part.get("redacted")
    details = cast("Sequence[Form]", part.get("details") or ())
    if details and not text:
        text = "".join(str(detail.get("text", "")) for detail in details)
    for detail in details:
        signature = detail.get("signature") if signature is None else signature
        if detail.get("type") == "redacted":
            redacted = detail.get("data") if redacted is None else redacted
    return ReasoningPart(text, signature, redacted, notes)


def _redacted_reasoning(part: Form, notes: Any) -> Part:
    return ReasoningPart("", None, part["data"], notes)


def _file(part: Form, notes: Any) -> Part:
    data = take(part, "data", "url")
    if data is None:
        raise KeyError("data")
    data = _plain(data)
    kind: str | None = take(part, "mimeType", "mediaType", "media_type")
    return FilePart(data, kind or media_type_of(data, DEFAULT_FILE), part.get("filename"), notes)


def _image(part: Form, notes: Any) -> Part:
    data = take(part, "image", "data", "url")
    if data is None:
        raise KeyError("image")
    data = _plain(data)
    kind: str | None = take(part, "mimeType", "mediaType", "media_type")
    return FilePart(data, kind or media_type_of(data, DEFAULT_IMAGE), part.get("filename"), notes)


def _plain(data: Any) -> str | bytes:
    if isinstance(data, bytearray):
        return bytes(data)
    return data if isinstance(data, bytes) else str(data)


def _source(part: Form, notes: Any) -> Part:
    source = cast("Form", part.get("source") or part)
    return SourcePart(
        take(source, "id", "sourceId", "url", default=""),
        "document" if take(source, "sourceType", "source_type") == "document" else "url",
        source.get("url"),
        source.get("title"),
        take(source, "mediaType", "media_type"),
        source.get("filename"),
        notes,
    )


def _source_document(part: Form, notes: Any) -> Part:
    found = _source(part, notes)
    return found.replace(source_type="document")


def _step_start(part: Form, notes: Any) -> Part:
    return StepStartPart(part.get("model"))


def _error(part: Form, notes: Any) -> Part:
    error = part.get("error") or part
    if isinstance(error, str):
        return ErrorPart("Error", error)
    return ErrorPart(str(error.get("name", "Error")), str(error.get("message", "")))


def _tool_invocation(part: Form, notes: Any) -> Part:
    call = cast("Form", take(part, "toolInvocation", "tool_invocation", default=part))
    return _tool_call(call, part, str(call.get("state", "call")))


def _core_call(part: Form, notes: Any) -> Part:
    return _tool_call(part, part, "call")


def _core_result(part: Form, notes: Any) -> Part:
    output = part.get("output")
    if "result" in part or not is_form(output) or "type" not in output:
        result, kind = part.get("result", output), ""
    else:
        result, kind = output.get("value"), str(output["type"])
    failed = kind.startswith("error") or bool(take(part, "isError", "is_error"))
    made = _tool_call(part, part, "output-error" if kind == "error-text" else "result")
    if kind == "error-text":
        return made.replace(error_text=str(result), is_error=True)
    return made.replace(result=result, is_error=failed)


def _ui_tool(part: Form, kind: str) -> Part:
    name = part["toolName"] if kind == "dynamic-tool" else kind.removeprefix("tool-")
    state = str(part.get("state", "input-available"))
    renamed = {**part, "toolName": name, "args": part.get("input"), "result": part.get("output")}
    return _tool_call(renamed, part, _UI_STATES.get(state, state))


def _tool_call(call: Form, part: Form, state: str) -> ToolCallPart:
    if state not in _STATES:
        raise MessageError(f"unknown state {state!r} of a tool call", hint=f"it is one of {', '.join(sorted(_STATES))}")
    call_id, name = take(call, "toolCallId", "tool_call_id"), take(call, "toolName", "tool_name")
    for value, field in ((call_id, "toolCallId"), (name, "toolName")):
        if value is None:
            raise KeyError(field)
    notes = _notes(part)
    model_output = take(part, "modelOutput", "model_output")
    own = notes.get("mastra") if notes else None
    if is_form(own) and "modelOutput" in own:
        # What the model was shown is a field of its own: as a note it would outlive a redaction of the result.
        model_output = own["modelOutput"]
        rest = {key: value for key, value in own.items() if key != "modelOutput"}
        notes = {key: value for key, value in (notes or {}).items() if key != "mastra"} | (
            {"mastra": rest} if rest else {}
        )
    approval = call.get("approval")
    return ToolCallPart(
        call_id,
        name,
        take(call, "args", "input", default={}),
        cast("ToolState", state),
        call.get("result"),
        take(call, "errorText", "error_text"),
        bool(take(call, "isError", "is_error", default=False)),
        take(call, "rawInput", "raw_input"),
        Approval(approval["id"], approval.get("approved"), approval.get("reason")) if approval else None,
        model_output,
        bool(take(part, "providerExecuted", "provider_executed", default=False)),
        part.get("title"),
        notes or None,
    )


_READERS: dict[str, Callable[[Form, Any], Part]] = {
    "text": _text,
    "reasoning": _reasoning,
    "redacted-reasoning": _redacted_reasoning,
    "file": _file,
    "image": _image,
    "source": _source,
    "source-url": _source,
    "source-document": _source_document,
    "step-start": _step_start,
    "error": _error,
    "tool-invocation": _tool_invocation,
    "tool-call": _core_call,
    "tool-result": _core_result,
}
