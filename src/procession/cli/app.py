"""
The program: its commands put together.
"""

from __future__ import annotations

from typing import Annotated, NoReturn

import typer

from procession.cli.commands.agent import chat, explain
from procession.cli.commands.db import db
from procession.cli.commands.graph import check, graph
from procession.cli.commands.mcp import mcp
from procession.cli.commands.run import run
from procession.cli.commands.runs import runs
from procession.cli.commands.serve import serve

__all__ = ["run_app"]

app = typer.Typer(
    name="procession",
    help="Run, draw and check pipelines of steps and processors.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for command in (run, serve, mcp, chat, graph, explain, check):
    app.command()(command)
app.add_typer(runs, name="runs")
app.add_typer(db, name="db")


def run_app(arguments: list[str]) -> NoReturn:
    """
    Run the command line on *arguments* and exit.
    """
    app(arguments, prog_name="procession")
    raise SystemExit(0)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"procession {version('procession')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass
