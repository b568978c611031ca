"""
The format of the op language: what hooks and steps may be told to do, and under which conditions.
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.conformance.shapes import ANYTHING, Each, Form, Items, Kinds, OneOf, Shape

__all__ = ["CHOICE", "CHUNK", "OBJECT", "OP", "SOURCE", "TEXTS", "op_form"]

TEXTS = Items(str)
OBJECT = Each(ANYTHING)
CHUNK = Form("a written chunk", {"type": str}, {"data": ANYTHING, "id": str, "transient": bool})
CONDITIONS = Form(
    "a condition",
    optional={
        "step": int,
        "step_gt": int,
        "retry_lt": int,
        "retry_eq": int,
        "part_type": str,
        "part_contains": str,
        "text_contains": str,
        "any_message_contains": str,
        "invocation": int,
        "tool": str,
        "error_contains": str,
        "state_gte": Items(ANYTHING),
    },
    called="condition",
)
MAP_TEXT: Shape = (
    OneOf(("upper",)),
    Form("map_text", optional={"append": str, "prefix": str, "replace": TEXTS}, called="map_text"),
)
TRANSFORM = Form(
    "a transform",
    optional={
        "role": str,
        "map_text": MAP_TEXT,
        "drop_index": int,
        "keep_last": int,
        "reverse": bool,
        "empty": bool,
        "prepend_user": str,
        "add_user": str,
        "add_assistant": str,
        "add_system_role": str,
        "set_metadata": OBJECT,
    },
    called="transform",
)
SIGNAL = Form(
    "a signal",
    {"type": str},
    {
        "contents": ANYTHING,
        "tagName": str,
        "attributes": OBJECT,
        "metadata": OBJECT,
        "providerOptions": OBJECT,
        "id": str,
        "transient": bool,
    },
)
SCRIPTED = Form("a chunk", {"type": str}, {"payload": OBJECT, "data": ANYTHING, "id": str, "transient": bool})
SOURCE = OneOf(("input", "user", "memory", "response", "context"))
CHOICE: Shape = (OneOf(("auto", "none", "required")), Form("a tool choice", {"type": str}, {"toolName": str}))


def op_form(name: str, needed: Mapping[str, Shape] | None = None, optional: Mapping[str, Shape] | None = None) -> Form:
    """
    Return the form of an op, beside ``op`` and ``when``.
    """
    return Form(f"op {name}", needed or {}, optional or {})


OPS: Mapping[str, Form] = {
    form.what.removeprefix("op "): form
    for form in (
        op_form(
            "abort",
            optional={
                "reason": (str, type(None)),
                "options": Form("abort", optional={"retry": bool, "metadata": ANYTHING}, called="abort option"),
            },
        ),
        op_form("throw", {"message": str}),
        op_form("state_incr", {"key": str}, {"by": int}),
        op_form("state_set", {"key": str}, {"value": ANYTHING}),
        op_form("state_append_text", {"key": str}),
        op_form("emit", {"chunk": CHUNK}),
        op_form("signal", {"signal": SIGNAL}),
        op_form("return_messages", {"transform": TRANSFORM}),
        op_form("edit_in_place", {"map_text": MAP_TEXT}, {"role": str}),
        op_form("list_add", {"role": str, "text": str}, {"source": SOURCE}),
        op_form("list_remove", {"index": int}),
        op_form("list_add_system", {"text": str}, {"tag": str}),
        op_form("return_list"),
        op_form("return_foreign_list"),
        op_form("return_messages_and_list"),
        op_form("return_with_system", {"system": (str, TEXTS)}, {"append": bool, "transform": TRANSFORM}),
        op_form(
            "return_override",
            optional={
                "model": str,
                "toolChoice": CHOICE,
                "activeTools": TEXTS,
                "tools": Form("tools", optional={"set": TEXTS, "keep_existing": bool, "add": TEXTS}),
                "system": (str, TEXTS),
                "append_system": bool,
                "providerOptions": OBJECT,
                "modelSettings": OBJECT,
                "transform": TRANSFORM,
            },
        ),
        op_form("return_prompt", optional={"replace_text": TEXTS, "append_user": str}),
        op_form("return_response", {"chunks": Items(SCRIPTED)}, {"warnings": Items(ANYTHING)}),
        op_form("return_part_text", {"map_text": MAP_TEXT}),
        op_form("return_part_data", {"data": ANYTHING}),
        op_form("return", {"value": ANYTHING}),
        op_form("return_retry", {"value": ANYTHING}),
        op_form("update_tool_result", {"result": ANYTHING}),
        op_form("sleep", {"ms": float}),
    )
}
"""What an op may say beside ``op`` and ``when``."""

OP = Kinds("op", OPS, {"when": CONDITIONS})
