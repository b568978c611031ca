"""
``procession graph``: a target's workflow, drawn, or what changed from one to another.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any, Literal

import anyio

from procession.cli.store import open_runtime
from procession.cli.target import Target, agent_in, load_target, workflow_of
from procession.errors import InputError, TargetError
from procession.runtime.durable.reader import RunStateReader
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
    run_id: str | None = None,
    store: str | None = None,
    width: int | None = None,
    plain: bool = False,
    to_file: bool = False,
    **options: Any,
) -> str | bytes:
    """
    Return the drawing of what *target* names: a file or a module, or a file of JSON with a graph in it.

    *width* is in columns, by default those of the terminal, or as many as it takes where the output is none.  With *run_id*
    it says what became of that run, which is in *store*.

    Raises ``InputError`` for ``text``, which is for what changed, ``RunNotFound``, and what drawing raises.
    """
    if format == "text":
        raise InputError("text is for what changed", hint="give --diff, or another format")
    options |= _terminal(format, width, plain, to_file)
    if run_id is None:
        return draw(_spec(target), format, **options)
    if target.endswith(".json"):
        raise InputError(
            f"{target} is a graph, and a run is one of code", hint="name the file or module of the workflow"
        )
    found = load_target(target)
    run, workflow = anyio.run(_run_of, found, run_id, store)
    return draw(workflow, format, run=run, **options)


async def _run_of(target: Target, run_id: str, store: str | None) -> tuple[RunStateReader, Any]:
    """
    Return a run, and the workflow that it is one of.
    """
    workflow = workflow_of(target)
    async with open_runtime(store, agent_in(target)) as runtime:
        row = await runtime.store.row(run_id)
        if row is not None and row.owner != workflow.id:
            raise InputError(
                f"run {run_id} is one of {row.owner!r}, not of {workflow.id!r}",
                hint="name the target that it is one of",
            )
        if row is not None and row.kind == "agent":
            raise InputError(
                f"run {run_id} is one of an agent by itself, of which no steps are written down",
                hint="`procession runs show` says how it stands; the Studio shows runs as they go",
            )
        return await runtime.get(run_id, workflow=workflow), workflow


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


def write_drawing(drawn: str | bytes, output: str | None) -> None:
    """
    Write a drawing to the file *output*, or to standard output.

    Raises ``InputError`` where the file cannot be written, and for dots on a terminal.
    """
    if isinstance(drawn, bytes):
        if output is None and sys.stdout.isatty():
            raise InputError("a png cannot be shown on a terminal", hint="write it to a file: -o graph.png")
        if output is None or output == "-":
            sys.stdout.buffer.write(drawn)
            sys.stdout.flush()
        else:
            _write(drawn, output)
        return
    text = drawn
    if output is None or output == "-":
        try:
            text.encode(sys.stdout.encoding)
        except UnicodeEncodeError:  # a diagram language, which is UTF-8 wherever it is kept
            sys.stdout.buffer.write(text.encode())
        else:
            sys.stdout.write(text)
        sys.stdout.flush()
        return
    _write(text.encode(), output)


def _write(data: bytes, output: str) -> None:
    try:
        Path(output).write_bytes(data)
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
