"""
A request as the body of Gemini's ``generateContent``: pure functions, no network.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from procession.models.formats.google.prompt import contents_of, google_piece
from procession.models.formats.google.schema import json_schema, openapi_schema
from procession.models.loose import as_mapping
from procession.models.model import CALL_SETTINGS, ModelRequest, ToolChoice, ToolSpec
from procession.models.pieces import changes_of, pieces_of

__all__ = ["Schemas", "google_body"]

Schemas = Literal["json_schema", "openapi"]
"""How schemas are written: as JSON schema, or, for servers that do not know it yet, in the subset of OpenAPI."""

_SETTINGS = {
    "temperature": "temperature",
    "top_p": "topP",
    "top_k": "topK",
    "max_tokens": "maxOutputTokens",
    "stop": "stopSequences",
    "seed": "seed",
    "presence_penalty": "presencePenalty",
    "frequency_penalty": "frequencyPenalty",
}
_CONFIG = frozenset({
    *_SETTINGS.values(), "audioTimestamp", "audioTranscriptionConfig", "candidateCount", "enableAffectiveDialog",
    "enableEnhancedCivicAnswers", "imageConfig", "logprobs", "mediaResolution", "responseFormat", "responseJsonSchema",
    "responseLogprobs", "responseMimeType", "responseModalities", "responseSchema", "routingConfig", "speechConfig",
    "thinkingConfig", "translationConfig",
})  # fmt: skip
"""What the server looks for in ``generationConfig``, and refuses elsewhere."""
_signs_calls = re.compile(r"(?:models/)?gemini-(?![12][.-])(?:[^/]*)").fullmatch
"""Gemini 3 and later, and names like ``gemini-flash-latest``, which stand for the newest."""
_GOES_ON = {"type": "other", "message": "a prompt that ends with the model's turn is refused: it is asked to go on"}
_JSON_IN_WORDS = {
    "type": "unsupported-setting",
    "setting": "response_format",
    "details": "this model cannot be held to JSON while it has tools: it is asked for it in the system instruction",
}


def google_body(
    request: ModelRequest, *, model: str, provider: str = "google", schemas: Schemas = "json_schema"
) -> tuple[dict[str, Any], tuple[Mapping[str, Any], ...]]:
    """
    Return the body of a call, and what of *request* cannot be sent as it is, as hooks are told (``ctx.warnings``).

    ``provider_options`` have the last word: what belongs into ``generationConfig`` or ``toolConfig`` is merged into
    them, anything else replaces, and ``None`` removes.

    >>> body, _ = google_body(ModelRequest(messages=(), settings={"max_tokens": 9}), model="gemini-2.5-flash")
    >>> body
    {'contents': [], 'generationConfig': {'maxOutputTokens': 9}}

    Raises ``InputError`` for a schema that cannot be sent, naming whose it is.
    """
    signs = _signs_calls(model) is not None
    pieces = pieces_of(
        request.messages, lambda message: google_piece(message, signs=signs), memo=request.memo, key=f"google:{signs}"
    )
    contents, system, moved = contents_of(pieces)
    warnings: list[Mapping[str, Any]] = [*changes_of(pieces), *moved]
    if signs and contents and contents[-1]["role"] == "model":
        wish = "Continue." if request.response_format is None else "Generate the structured response."
        contents.append({"role": "user", "parts": [{"text": wish}]})
        warnings.append(_GOES_ON)
    body: dict[str, Any] = {"contents": contents}
    tools, functions = _tools(request, schemas, warnings)
    config = _config(request, warnings)
    if request.response_format is not None:
        if functions and not signs:
            system.append({"text": _wish(request.response_format)})
            warnings.append(_JSON_IN_WORDS)
        else:
            config.update(_response_format(request.response_format, schemas, warnings))
    if system:
        body["systemInstruction"] = {"parts": system}
    if tools:
        body["tools"] = tools
    if functions:
        choice = _calling(request.tool_choice, functions, warnings)
        if choice is not None:
            body["toolConfig"] = {"functionCallingConfig": choice}
    if config:
        body["generationConfig"] = config
    _have_last_word(body, request, provider)
    return body, tuple(warnings)


def _config(request: ModelRequest, warnings: list[Mapping[str, Any]]) -> dict[str, Any]:
    config: dict[str, Any] = {}
    for key, value in (request.settings or {}).items():
        if key in CALL_SETTINGS or value is None:
            continue
        name = _SETTINGS.get(key, key)
        if name not in _CONFIG:
            warnings.append(
                {"type": "unsupported-setting", "setting": key, "details": "Gemini does not know it: it is not sent"}
            )
        else:
            config[name] = [value] if name == "stopSequences" and isinstance(value, str) else value
    return config


def _tools(
    request: ModelRequest, schemas: Schemas, warnings: list[Mapping[str, Any]]
) -> tuple[list[Any], list[ToolSpec]]:
    functions: list[ToolSpec] = []
    tools: list[Any] = []
    for spec in request.tools:
        if spec.provider_tool is None:
            functions.append(spec)
        elif "google" in spec.provider_tool:
            tools.append(spec.provider_tool["google"])
        else:
            details = "it is run by another provider, and left out"
            warnings.append({"type": "unsupported-setting", "setting": f"tools.{spec.name}", "details": details})
    if functions:
        tools.insert(0, {"functionDeclarations": [_function(spec, schemas, warnings) for spec in functions]})
    return tools, functions


def _function(spec: ToolSpec, schemas: Schemas, warnings: list[Mapping[str, Any]]) -> dict[str, Any]:
    function: dict[str, Any] = {"name": spec.name, "description": spec.description}
    parameters = as_mapping(spec.parameters)
    if _takes_nothing(parameters):
        return function  # an object without fields is refused
    if schemas == "json_schema":
        function["parametersJsonSchema"] = json_schema(parameters)
    else:
        function["parameters"] = _openapi(parameters, f"tool {spec.name!r}", f"tools.{spec.name}", warnings)
    return function


def _takes_nothing(parameters: Mapping[str, Any]) -> bool:
    return not any(
        parameters.get(key) for key in ("properties", "additionalProperties", "$ref", "anyOf", "allOf", "oneOf")
    )


def _calling(
    choice: ToolChoice, functions: Sequence[ToolSpec], warnings: list[Mapping[str, Any]]
) -> dict[str, Any] | None:
    """
    Return how functions are to be called, and ``None`` where the model decides, as it does unasked.
    """
    name = None if isinstance(choice, str) else choice.get("tool_name", choice.get("toolName"))
    if any(spec.name == name for spec in functions):
        return {"mode": "ANY", "allowedFunctionNames": [name]}
    if name:
        details = f"{name!r} is no function that is sent, so that the model cannot be made to call it"
        warnings.append({"type": "unsupported-setting", "setting": "tool_choice", "details": details})
        return None
    wish = choice if isinstance(choice, str) else choice.get("type", "auto")
    if wish == "none":
        return {"mode": "NONE"}
    if wish == "required":
        return {"mode": "ANY"}
    # With VALIDATED the arguments fit their schema, and the model may still answer in text.
    return {"mode": "VALIDATED"} if any(spec.strict for spec in functions) else None


def _response_format(wanted: Mapping[str, Any], schemas: Schemas, warnings: list[Mapping[str, Any]]) -> dict[str, Any]:
    config: dict[str, Any] = {"responseMimeType": "application/json"}
    schema = wanted.get("schema")
    if schema is None:
        return config
    if schemas == "json_schema":
        config["responseJsonSchema"] = json_schema(schema)
    else:
        config["responseSchema"] = _openapi(schema, "structured output", "response_format.schema", warnings)
    return config


def _openapi(schema: Any, name: str, setting: str, warnings: list[Mapping[str, Any]]) -> Mapping[str, Any]:
    made = openapi_schema(schema, name=name)
    if made.dropped:
        details = f"the server is not told of {', '.join(made.dropped)}"
        warnings.append({"type": "unsupported-setting", "setting": setting, "details": details})
    return made.schema


def _wish(wanted: Mapping[str, Any]) -> str:
    schema = wanted.get("schema")
    if schema is None:
        return "Answer with one JSON object."
    return f"Answer with one JSON object that fits this JSON schema: {json.dumps(schema, ensure_ascii=False)}"


def _have_last_word(body: dict[str, Any], request: ModelRequest, provider: str) -> None:
    options = request.provider_options or {}
    for own in dict.fromkeys(("google", provider)):
        for key, value in as_mapping(options.get(own)).items():
            if key in _CONFIG:
                body["generationConfig"] = _merged(body.get("generationConfig"), {key: value})
            elif key in ("generationConfig", "toolConfig"):
                body[key] = _merged(body.get(key), as_mapping(value))
            elif value is None:
                body.pop(key, None)
            else:
                body[key] = value


def _merged(known: Any, more: Mapping[str, Any]) -> dict[str, Any]:
    merged = {**as_mapping(known), **more}
    return {key: value for key, value in merged.items() if value is not None}
