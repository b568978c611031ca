"""
``procession graph``: a target's workflow, drawn, or what changed from one to another.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any, Literal

from procession.cli.target import load_target, workflow_of
from procession.errors import InputError, TargetError
from procession.workflows.describe import graph_spec
from procession.workflows.difference import differences
from procession.workflows.render.changes import ChangeFormat, draw_changes
from procession.workflows.render.draw import DrawFormat, draw
from procession.workflows.render.options import DrawOptions
from procession.workflows.spec import GraphSpec

__all__ = ["graph", "graph_changes", "write_drawing"]

TERMINAL_FORMATS = ("ascii", "boxes")
"""Drawings that are cut to the width of the terminal."""


def graph(
    target: str,
    format: DrawFormat | Literal["text"] = "ascii",
    *,
    width: int | None = None,
    plain: bool = False,
    to_file: bool = False,
    **options: Any,
) -> str:
    """
    Return the drawing of what *target* names: a file or a module, or a file of JSON with a graph in it.

    *width* is in columns, by default those of the terminal, or as many as it takes where the output is none.

    Raises ``InputError`` for ``text``, which is for what changed, and what drawing raises.
    """
    if format == "text":
        raise InputError("text is for what changed", hint="give --diff, or another format")
    options |= _terminal(format, width, plain, to_file)
    return draw(_spec(target), format, **options)


def graph_changes(
    old: str,
    new: str,
    format: ChangeFormat = "text",
    *,
    width: int | None = None,
    plain: bool = False,
    to_file: bool = False,
    **options: Any,
) -> tuple[str, bool]:
    """
    Return what changed from *old* to *new*, two targets or files of JSON, and whether anything of it breaks.
    """
    before, after = _spec(old), _spec(new)
    options |= _terminal(format, width, plain, to_file)
    drawn = draw_changes(before, after, format, DrawOptions(**options))
    return drawn, any(each.breaking for each in differences(before, after))


def write_drawing(text: str, output: str | None) -> None:
    """
    Write a drawing to the file *output*, or to standard output.

    Raises ``InputError`` where the file cannot be written.
    """
    if output is None or output == "-":
        try:
            text.encode(sys.stdout.encoding)
        except UnicodeEncodeError:  # a diagram language, which is UTF-8 wherever it is kept
            sys.stdout.buffer.write(text.encode())
        else:
            sys.stdout.write(text)
        sys.stdout.flush()
        return
    try:
        Path(output).write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise InputError(f"{output} cannot be written: {error.strerror}") from None


def speaks_unicode(encoding: str | None) -> bool:
    """
    Return whether what is written in *encoding* may contain lines and marks outside ASCII.
    """
    try:
        "├└│✓✗⊘µ…".encode(encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def _terminal(format: str, width: int | None, plain: bool, to_file: bool) -> dict[str, Any]:
    """
    Return what a drawing must know of where it is shown.
    """
    if width is None and format in TERMINAL_FORMATS and not to_file and sys.stdout.isatty():
        width = shutil.get_terminal_size().columns
    return {"width": width, "unicode": not plain and (to_file or speaks_unicode(sys.stdout.encoding))}


def _spec(target: str) -> GraphSpec:
    """
    Return the graph that *target* names.

    Raises ``TargetError`` where there is none.
    """
    if not target.endswith(".json"):
        return graph_spec(workflow_of(load_target(target), inside=True))
    try:
        text = Path(target).read_text(encoding="utf-8")
    except OSError as error:
        raise TargetError(f"{target} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise TargetError(f"{target} is no UTF-8", hint=_WRITTEN) from None
    try:
        return GraphSpec.from_json(text)
    except InputError as error:
        raise TargetError(f"{target}: {error.message}", hint=_WRITTEN) from None


_WRITTEN = "write one with `procession graph TARGET --format json -o graph.json`"
