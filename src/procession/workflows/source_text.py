"""
How a function is named to people: the text of a lambda, the name of anything else.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable
from functools import lru_cache
from types import CodeType
from typing import Any

__all__ = ["source_text"]


def source_text(function: Callable[..., Any]) -> str:
    """
    Return the body of a lambda as it was written, on one line, or the name of any other function.

    >>> def is_empty(text: str) -> bool:
    ...     return not text
    >>> source_text(is_empty)
    'is_empty'
    """
    code = getattr(function, "__code__", None)
    if isinstance(code, CodeType) and code.co_name == "<lambda>":
        return _lambda_text(code) or "lambda"
    name = getattr(function, "__qualname__", None) or getattr(type(function), "__qualname__", "function")
    return str(name).rpartition("<locals>.")[2]


def _lambda_text(code: CodeType) -> str | None:
    lines = linecache.getlines(code.co_filename)
    if not lines:
        return None
    text = "".join(lines)
    places = [place for place in code.co_positions() if None not in place and place[3] != 0]
    if not places:
        return None
    start = min((place[0], place[2]) for place in places)
    inside = [
        node.body
        for node in _lambdas(text)
        if (node.body.lineno, node.body.col_offset) <= start <= (node.body.end_lineno, node.body.end_col_offset)
        and node.lineno == code.co_firstlineno
    ]
    if not inside:
        return None
    # Of lambdas that contain each other the code is the innermost one that still holds all of it.
    body = min(inside, key=lambda node: len(ast.get_source_segment(text, node) or ""))
    return " ".join((ast.get_source_segment(text, body) or "").split()) or None


@lru_cache(maxsize=8)
def _lambdas(text: str) -> tuple[ast.Lambda, ...]:
    try:
        tree = ast.parse(text)
    except SyntaxError:  # the file has changed since it was imported
        return ()
    return tuple(node for node in ast.walk(tree) if isinstance(node, ast.Lambda))
