"""
What the commands have in common: options, where they print, and how a mistake is told.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Annotated, NoReturn

import typer
from rich.console import Console

from procession.cli.complete import targets
from procession.errors import ProcessionError, WorkflowDefinitionError

__all__ = ["JsonOption", "SchemaOption", "StoreOption", "TargetArgument", "console_on", "plain_errors"]

TargetArgument = Annotated[
    str,
    typer.Argument(
        metavar="TARGET", help="A file or a module, with :name where it has several pipelines.", autocompletion=targets
    ),
]
StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store", metavar="URL", help="postgresql://..., or a file; PROCESSION_STORE, else procession.db, by default."
    ),
]
SchemaOption = Annotated[
    str | None, typer.Option("--schema", metavar="NAME", help="The schema in Postgres that the tables are in.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Say it as a line of JSON.")]


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def console_on(*, stderr: bool) -> Console:
    """
    Return a console of standard output, or of standard error; 110 columns wide where that is no terminal.
    """
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else 110
    return _Console(file=stream, width=width)


@contextmanager
def plain_errors() -> Generator[None]:
    """
    Say what went wrong in a sentence, without a traceback, and exit.
    """
    try:
        yield
    except WorkflowDefinitionError as error:
        _fail(error.message, None)
    except ProcessionError as error:
        _fail(error.message, error.hint)
    except BrokenPipeError:
        # Whoever read the output has gone.  What is still in the buffer must not be written when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(141) from None
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        raise typer.Exit(130) from None


def _fail(message: str, hint: str | None) -> NoReturn:
    typer.echo(f"procession: {message}", err=True)
    if hint:
        typer.echo(f"  hint: {hint}", err=True)
    raise typer.Exit(2)
