"""
Schemas: annotations of which pydantic cannot make a schema, so that a run would fail before its first step.
"""

from __future__ import annotations

from functools import lru_cache
from inspect import isclass
from typing import Any, get_args

from procession.errors import Fix
from procession.steps.schema import schema_of
from procession.workflows.checks.finder import Finder
from procession.workflows.nodes import Node
from procession.workflows.structures import origin_of

__all__ = ["check_schema"]


def check_schema(finder: Finder, annotation: Any, what: str, node: Node | None) -> None:
    """
    Find whether values of *annotation* can be checked at run time.
    """
    if annotation is None or _is_simple(annotation):
        return
    try:
        reason, fix = _fault(annotation)
    except TypeError:  # it cannot be hashed
        return
    if reason:
        whose = repr(node.id) if node is not None else f"workflow {finder.workflow.id!r}"
        finder.say(
            "unsupported-annotation",
            f"no schema can be made of the {what} of {whose}: {reason}",
            node,
            "change the annotation to one that pydantic takes",
            fix=Fix("annotate", step=node.id if node is not None else None, code=fix) if fix else None,
        )


def _is_simple(annotation: Any) -> bool:
    if isclass(annotation) and not get_args(annotation):
        return not any(
            hasattr(annotation, each) for each in ("__pydantic_fields__", "__required_keys__", "__dataclass_fields__")
        )
    return origin_of(annotation) in (list, tuple, set, frozenset, dict) and all(map(_is_simple, get_args(annotation)))


@lru_cache(maxsize=512)
def _fault(annotation: Any) -> tuple[str, str]:
    """
    Return why no schema can be made, and what would mend it; both empty where one can be.
    """
    try:
        schema_of(annotation)
    except Exception as error:  # pydantic's own, of several kinds
        reason = str(error).strip().partition("\n")[0]
        return reason, "from typing_extensions import TypedDict" if "typing_extensions.TypedDict" in reason else ""
    return "", ""
