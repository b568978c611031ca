"""
``procession graph`` and ``procession check``: a workflow without a run.
"""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from procession.cli.command import JsonOption, StoreOption, TargetArgument, plain_errors
from procession.cli.complete import run_ids, targets
from procession.errors import InputError

__all__ = ["check", "graph"]


class Format(StrEnum):
    """
    How a graph is drawn; ``text`` is for what changed.
    """

    ascii = "ascii"
    boxes = "boxes"
    mermaid = "mermaid"
    dot = "dot"
    svg = "svg"
    png = "png"
    html = "html"
    json = "json"
    text = "text"


class Theme(StrEnum):
    """
    The colours of a picture.
    """

    auto = "auto"
    light = "light"
    dark = "dark"


class Direction(StrEnum):
    """
    Where a drawing leads: down, or to the right.
    """

    TB = "TB"
    LR = "LR"


def graph(
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="TARGET",
            help="A file or a module, with :name behind it, or a graph as JSON.",
            autocompletion=targets,
        ),
    ] = None,
    format: Annotated[
        Format | None,
        typer.Option(
            "--format",
            help="How it is drawn; as the name of the file says by default, else ascii, or text for what changed.",
        ),
    ] = None,
    diff: Annotated[
        tuple[str, str] | None,
        typer.Option("--diff", metavar="OLD NEW", help="Say what changed between two; 1 where that breaks."),
    ] = None,
    run: Annotated[
        str | None,
        typer.Option(
            "--run", metavar="ID", help="Say what became of this run, which is in the store.", autocompletion=run_ids
        ),
    ] = None,
    store: StoreOption = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Write it to a file; - for standard output.")
    ] = None,
    theme: Annotated[Theme, typer.Option("--theme", help="Light, dark, or what the viewer prefers.")] = Theme.auto,
    scale: Annotated[float, typer.Option("--scale", metavar="N", help="Dots of a png for each pixel.")] = 2.0,
    direction: Annotated[Direction, typer.Option("--direction", help="Down, or to the right.")] = Direction.TB,
    width: Annotated[int | None, typer.Option(min=20, metavar="N", help="Columns of the drawing.")] = None,
    depth: Annotated[int | None, typer.Option(min=0, metavar="N", help="Levels of nested workflows to open.")] = None,
    max_label: Annotated[int, typer.Option(min=4, metavar="N", help="Columns after which a label is cut.")] = 60,
    show_types: Annotated[bool, typer.Option("--types", help="Show the types of what flows.")] = False,
    show_hooks: Annotated[bool, typer.Option("--hooks/--no-hooks", help="Show the hooks of processors.")] = True,
    plain: Annotated[bool, typer.Option("--plain", help="Draw with ASCII characters alone.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """
    Draw a workflow, or what changed from one to another.

    Exit status: 1 where a change breaks those who rely on the old workflow, 2 bad input, else 0.
    """
    from procession.cli.graph import graph as draw
    from procession.cli.graph import graph_changes, write_drawing

    options: dict[str, Any] = {
        "width": width, "plain": plain, "to_file": output not in (None, "-"), "depth": depth, "max_label": max_label,
        "direction": direction.value, "theme": theme.value, "scale": scale, "show_types": show_types, "show_hooks": show_hooks,
    }  # fmt: skip
    breaks = False
    with plain_errors():
        if (target is None) == (diff is None):
            raise InputError("graph needs a target, or --diff with two", hint="procession graph --diff OLD NEW")
        drawn: str | bytes
        named: Any = "json" if as_json else format.value if format is not None else _format_of(output, diff is not None)
        if diff is not None:
            if run is not None:
                raise InputError("--run is for one graph, not for two", hint="leave --diff out")
            drawn, breaks = graph_changes(*diff, named, **options)
        else:
            drawn = draw(str(target), named, run_id=run, store=store, **options)
        write_drawing(drawn, output)
    raise typer.Exit(1 if breaks else 0)


def _format_of(output: str | None, is_diff: bool) -> Any:
    """
    Return the format that the name of a file asks for, else that of a terminal.

    Raises ``InputError`` where the name ends in something else: a tree in ``graph.jpg`` would be no picture.
    """
    from procession.workflows.render.drawing import SUFFIXES

    suffix = Path(output or "").suffix.lower()
    known = {end: format for end, format in SUFFIXES.items() if not (is_diff and format == "png")}
    if suffix and suffix not in known:
        raise InputError(
            f"{output} does not say how to draw: it ends in {suffix!r}",
            hint=f"end it in {', '.join(known)}, or give --format",
        )
    return "text" if is_diff and suffix in ("", ".txt") else known.get(suffix, "ascii")


def check(target: TargetArgument, as_json: JsonOption = False) -> None:
    """
    Say what is wrong with a workflow; exit status 1 where anything is.
    """
    from procession.cli.check import check as check_target

    with plain_errors():
        checked = check_target(target)
        typer.echo(checked.as_json if as_json else str(checked))
        sys.stdout.flush()
    raise typer.Exit(1 if checked.errors else 0)
