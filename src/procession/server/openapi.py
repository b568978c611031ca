"""
The OpenAPI document, made from the endpoints themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import procession
from procession.server.endpoint import Asked, Endpoint, Example
from procession.steps.schema import schema_of

__all__ = ["described", "document"]

_BRACES: Final = re.compile(r"\{(\w+)(?::\w+)?\}")
_WORDS: Final = re.compile("[a-z0-9]+")
_ERROR: Final[Mapping[str, Any]] = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "hint", "request_id"],
            "properties": {
                "code": {"type": "string"},
                "message": {"type": "string"},
                "hint": {"type": ["string", "null"]},
                "request_id": {"type": "string"},
                "faults": {"type": "array", "items": {"type": "string"}},
            },
        }
    },
}


def described(endpoints: Sequence[Endpoint], *, token_needed: bool) -> Endpoint:
    """
    Return the endpoint that describes *endpoints*, and itself.
    """

    async def show(asked: Asked) -> Any:
        return made

    own = Endpoint(
        method="GET", path="/openapi.json", handle=show, summary="Describe every endpoint, as OpenAPI 3.1.",
        answer=dict[str, Any], example=Example(),
    )  # fmt: skip
    made = document([*endpoints, own], token_needed=token_needed)
    return own


def document(endpoints: Iterable[Endpoint], *, token_needed: bool) -> dict[str, Any]:
    """
    Return the document that describes *endpoints*.
    """
    schemas: dict[str, Any] = {"Error": dict(_ERROR)}
    paths: dict[str, Any] = {}
    for endpoint in endpoints:
        path = _BRACES.sub(r"{\1}", endpoint.path)
        paths.setdefault(path, {})[endpoint.method.lower()] = _operation(endpoint, schemas)
    made: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "Procession", "version": procession.__version__},
        "paths": paths,
        "components": {"schemas": schemas},
    }
    if token_needed:
        made["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        made["security"] = [{"token": []}]
    return made


def _operation(endpoint: Endpoint, schemas: dict[str, Any]) -> dict[str, Any]:
    words = f"{endpoint.method} {_BRACES.sub(_by, endpoint.path)}".lower()
    made: dict[str, Any] = {"operationId": "_".join(_WORDS.findall(words)), "summary": endpoint.summary}
    parameters = [*_in_path(endpoint), *_in_query(endpoint, schemas)]
    if parameters:
        made["parameters"] = parameters
    if endpoint.body is not None:
        content: dict[str, Any] = {"schema": _schema(endpoint.shown_body or endpoint.body, schemas)}
        if endpoint.example is not None and endpoint.example.body is not None:
            content["example"] = endpoint.example.body
        made["requestBody"] = {"required": True, "content": {"application/json": content}}
    answer = {"schema": _schema(endpoint.answer, schemas)} if endpoint.answer is not None else {}
    answers: dict[str, Any] = {endpoint.media: answer}
    if endpoint.event is not None:
        answers["text/event-stream"] = {"schema": _schema(endpoint.event, schemas)}
    failure = _schema(endpoint.failure, schemas) if endpoint.failure else {"$ref": "#/components/schemas/Error"}
    made["responses"] = {
        str(endpoint.status): {"description": "Done.", "content": answers},
        "default": {
            "description": "Refused, or failed: the code says why.",
            "content": {"application/json": {"schema": failure}},
        },
    }
    if endpoint.open:
        made["security"] = []
    return made


def _in_path(endpoint: Endpoint) -> list[dict[str, Any]]:
    examples: Mapping[str, str] = endpoint.example.path if endpoint.example is not None else {}
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        | ({"example": examples[name]} if name in examples else {})
        for name in _BRACES.findall(endpoint.path)
    ]


def _in_query(endpoint: Endpoint, schemas: dict[str, Any]) -> list[dict[str, Any]]:
    if endpoint.query is None:
        return []
    schema = _schema(endpoint.query, schemas, inline=True)
    needed = schema.get("required", ())
    return [
        {"name": name, "in": "query", "required": name in needed, "schema": one}
        for name, one in schema.get("properties", {}).items()
    ]


def _schema(type: Any, schemas: dict[str, Any], *, inline: bool = False) -> dict[str, Any]:
    """
    Return the schema of *type*; what it names is added to *schemas*, itself too where it is a class of fields.
    """
    made = schema_of(type)
    if made is None:
        return {}
    schema = dict(made.json_schema(ref_template="#/components/schemas/{model}"))
    for name, one in schema.pop("$defs", {}).items():
        schemas.setdefault(name, one)
    title = schema.get("title")
    if inline or "properties" not in schema or not isinstance(title, str):
        return schema
    schemas.setdefault(title, schema)
    return {"$ref": f"#/components/schemas/{title}"}


def _by(found: re.Match[str]) -> str:
    return f"by {found[1]}"
