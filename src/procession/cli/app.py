"""
The commands and their options.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from enum import StrEnum
from typing import Annotated, Any, NoReturn

import anyio
import typer
from rich.console import Console

from procession.errors import InputError, ProcessionError, WorkflowDefinitionError

__all__ = ["run_app"]

app = typer.Typer(
    name="procession",
    help="Run, draw and check pipelines of steps and processors.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


class Format(StrEnum):
    """
    How a graph is drawn; ``text`` is for what changed.
    """

    ascii = "ascii"
    boxes = "boxes"
    mermaid = "mermaid"
    dot = "dot"
    svg = "svg"
    json = "json"
    text = "text"


class Direction(StrEnum):
    """
    Where a drawing leads: down, or to the right.
    """

    TB = "TB"
    LR = "LR"


TargetArgument = Annotated[
    str, typer.Argument(metavar="TARGET", help="A file or a module, with :name where it has several pipelines.")
]


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


@app.command()
def run(
    target: TargetArgument,
    input: Annotated[str, typer.Option("--input", metavar="FILE", help="JSON Lines to read; - for standard input.")],
    output: Annotated[
        str | None,
        typer.Option("--output", metavar="FILE", help="Write the verdicts as JSON Lines; - for standard output."),
    ] = None,
    concurrency: Annotated[int, typer.Option(min=1, metavar="N", help="How many messages are in flight at once.")] = 8,
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="Reply with this model, e.g. openai/gpt-5-mini.")
    ] = None,
    base_url: Annotated[
        str | None, typer.Option("--base-url", metavar="URL", help="Where an OpenAI-compatible server answers.")
    ] = None,
    rows: Annotated[int, typer.Option(min=0, metavar="N", help="How many messages the report lists.")] = 12,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Leave the report out.")] = False,
) -> None:
    """
    Run a pipeline over a file of messages.

    Exit status: 0 all passed, 3 something was blocked, 1 a message failed, 2 bad input; 2 goes before 1, 1 before 3.
    """
    from procession.cli.report import report
    from procession.cli.run import Job, exit_code, score_corpora
    from procession.cli.run import run as run_job

    job = Job(
        target=target, input=input, output=output, concurrency=concurrency, model=model, base_url=base_url, rows=rows
    )
    with _plain_errors():
        outcome, loaded = anyio.run(run_job, job, _console(stderr=True))
        if not quiet:
            console = _console(stderr=output == "-")
            others = anyio.run(score_corpora, job, loaded, _console(stderr=True))
            report(console, outcome, others)
        sys.stdout.flush()
    raise typer.Exit(exit_code(outcome))


@app.command()
def chat(
    target: Annotated[
        str | None,
        typer.Argument(metavar="[TARGET]", help="A file or a module with an agent, with :name where it has several."),
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="Talk to this model, or give it to the agent.")
    ] = None,
    base_url: Annotated[
        str | None, typer.Option("--base-url", metavar="URL", help="Where an OpenAI-compatible server answers.")
    ] = None,
    system: Annotated[str | None, typer.Option(metavar="TEXT", help="Instructions for a plain model.")] = None,
) -> None:
    """
    Talk to an agent, or to a model.

    On a terminal, /help says what there is. Through a pipe each line is a message, and standard output has the answers;
    exit status then: 0 all answered, 3 something was blocked, 1 an answer failed, 2 bad input; 1 goes before 3.
    """
    from procession.cli.chat import chat as talk
    from procession.cli.chat_agent import ChatJob

    job = ChatJob(target=target, model=model, base_url=base_url, system=system)
    with _plain_errors():
        status = talk(job, _console(stderr=False), _console(stderr=True))
        sys.stdout.flush()
    raise typer.Exit(status)


@app.command()
def graph(
    target: Annotated[
        str | None,
        typer.Argument(metavar="TARGET", help="A file or a module, with :name behind it, or a graph as JSON."),
    ] = None,
    format: Annotated[
        Format | None, typer.Option("--format", help="How it is drawn: ascii, or text for what changed.")
    ] = None,
    diff: Annotated[
        tuple[str, str] | None,
        typer.Option("--diff", metavar="OLD NEW", help="Say what changed between two; 1 where that breaks."),
    ] = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Write it to a file; - for standard output.")
    ] = None,
    direction: Annotated[Direction, typer.Option("--direction", help="Down, or to the right.")] = Direction.TB,
    width: Annotated[int | None, typer.Option(min=20, metavar="N", help="Columns of the drawing.")] = None,
    depth: Annotated[int | None, typer.Option(min=0, metavar="N", help="Levels of nested workflows to open.")] = None,
    max_label: Annotated[int, typer.Option(min=4, metavar="N", help="Columns after which a label is cut.")] = 60,
    show_types: Annotated[bool, typer.Option("--types", help="Show the types of what flows.")] = False,
    show_hooks: Annotated[bool, typer.Option("--hooks/--no-hooks", help="Show the hooks of processors.")] = True,
    plain: Annotated[bool, typer.Option("--plain", help="Draw with ASCII characters alone.")] = False,
) -> None:
    """
    Draw a workflow, or what changed from one to another.

    Exit status: 1 where a change breaks those who rely on the old workflow, 2 bad input, else 0.
    """
    from procession.cli.graph import graph as draw
    from procession.cli.graph import graph_changes, write_drawing

    options: dict[str, Any] = {
        "width": width, "plain": plain, "to_file": output not in (None, "-"), "depth": depth, "max_label": max_label,
        "direction": direction.value, "show_types": show_types, "show_hooks": show_hooks,
    }  # fmt: skip
    breaks = False
    with _plain_errors():
        if (target is None) == (diff is None):
            raise InputError("graph needs a target, or --diff with two", hint="procession graph --diff OLD NEW")
        if diff is not None:
            text, breaks = graph_changes(*diff, format.value if format is not None else "text", **options)
        else:
            text = draw(str(target), format.value if format is not None else "ascii", **options)
        write_drawing(text, output)
    raise typer.Exit(1 if breaks else 0)


@app.command()
def explain(target: TargetArgument) -> None:
    """
    Say which processor of an agent runs at which hook, in order, and why one never will.
    """
    from procession.cli.explain import explain as explain_target

    with _plain_errors():
        typer.echo(explain_target(target))
        sys.stdout.flush()


@app.command()
def check(target: TargetArgument) -> None:
    """
    Say what is wrong with a workflow; exit status 1 where anything is.
    """
    from procession.cli.check import check as check_target

    with _plain_errors():
        checked = check_target(target)
        typer.echo(str(checked))
        sys.stdout.flush()
    raise typer.Exit(1 if checked.errors else 0)


db = typer.Typer(help="Look at the tables of a store, upgrade them, and make keys.", no_args_is_help=True)
app.add_typer(db, name="db")

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


@db.command("upgrade")
def db_upgrade(store: StoreOption = None, schema: SchemaOption = None, as_json: JsonOption = False) -> None:
    """
    Make the tables of a store, or make those of an earlier version into those of this one.
    """
    from procession.cli.db import upgrade_tables

    with _plain_errors():
        tables = upgrade_tables(store, schema)
        typer.echo(tables.as_json if as_json else str(tables))
        sys.stdout.flush()


@db.command("status")
def db_status(store: StoreOption = None, schema: SchemaOption = None, as_json: JsonOption = False) -> None:
    """
    Say which version the tables of a store are of; exit status 1 where it is not the one that is needed.
    """
    from procession.cli.db import read_tables

    with _plain_errors():
        tables = read_tables(store, schema)
        typer.echo(tables.as_json if as_json else str(tables))
        sys.stdout.flush()
    raise typer.Exit(0 if tables.is_current else 1)


@db.command("key")
def db_key() -> None:
    """
    Print a new key for PROCESSION_STORE_KEY, with which stores encrypt what was said.
    """
    from procession.storage.cipher import new_key

    with _plain_errors():
        typer.echo(new_key())
        sys.stdout.flush()


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def _console(*, stderr: bool) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else 110
    return _Console(file=stream, width=width)


@contextmanager
def _plain_errors() -> Generator[None]:
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
