"""
``procession runs``: runs of a store.
"""

from __future__ import annotations

import sys
from datetime import datetime
from typing import Annotated, Any

import anyio
import typer

from procession.cli.command import JsonOption, StoreOption, TargetArgument, plain_errors
from procession.cli.complete import run_ids
from procession.errors import InputError

__all__ = ["runs"]

runs = typer.Typer(help="Look at the runs of a store, and go on with them.", no_args_is_help=True)

RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="The id of the run.", autocompletion=run_ids)]
TargetOption = Annotated[
    str | None, typer.Option("--target", metavar="TARGET", help="The workflow or agent that the run is one of.")
]


@runs.command("list")
def runs_list(
    workflow: Annotated[
        str | None, typer.Option("--workflow", metavar="ID", help="Those of this workflow or agent.")
    ] = None,
    status: Annotated[
        list[str] | None, typer.Option("--status", metavar="STATUS", help="Those that stand so; may be repeated.")
    ] = None,
    resource: Annotated[str | None, typer.Option("--resource", metavar="ID", help="Those of this resource.")] = None,
    after: Annotated[str | None, typer.Option("--after", metavar="RUN", help="Those before this run.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, metavar="N", help="How many.")] = 20,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """
    List runs, the newest first.
    """
    from procession.cli.runs import list_runs

    with plain_errors():

        async def read() -> Any:
            return await list_runs(
                store, workflow=workflow, statuses=status or (), resource=resource, after=after, limit=limit
            )

        page = anyio.run(read)
        if as_json:
            typer.echo(page.as_json)
        else:
            widest = max((len(row.run_id) for row in page.rows), default=0)
            for row in page.rows:
                when = datetime.fromtimestamp(row.created_at).strftime("%Y-%m-%d %H:%M:%S")
                typer.echo(f"{row.run_id:<{widest}}  {when}  {row.status:<9}  {row.owner}")
            if page.after is not None:
                typer.echo(f"there may be more: --after {page.after}", err=True)
        sys.stdout.flush()


@runs.command("show")
def runs_show(
    run: RunArgument, target: TargetOption = None, store: StoreOption = None, as_json: JsonOption = False
) -> None:
    """
    Say how a run stands: its steps, its output, what it waits for.
    """
    from procession.cli.runs import show_run

    with plain_errors():
        told = anyio.run(show_run, store, run, target)
        _say(told, as_json, steps=True)


@runs.command("resume")
def runs_resume(
    target: TargetArgument,
    run: RunArgument,
    answer: Annotated[
        str | None, typer.Option("--answer", metavar="JSON", help="The answer; @FILE, or - to read it.")
    ] = None,
    text: Annotated[str | None, typer.Option("--text", metavar="TEXT", help="The answer, where it is a text.")] = None,
    approve: Annotated[
        bool | None, typer.Option("--approve/--decline", help="The answer, where it is yes or no.")
    ] = None,
    step: Annotated[
        str | None, typer.Option("--step", metavar="PATH", help="Which question, where there are several.")
    ] = None,
    label: Annotated[str | None, typer.Option("--label", metavar="LABEL", help="The same, by its label.")] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """
    Answer a run that waits; exit status as that of run.
    """
    from procession.cli.questions import Question
    from procession.cli.runs import resume_run

    with plain_errors():
        question = Question(answer=answer, text=text, approve=approve, step=step, label=label)
        told = anyio.run(resume_run, store, target, run, question)
        _say(told, as_json)
    _exit(told)


@runs.command("cancel")
def runs_cancel(
    run: RunArgument, target: TargetOption = None, store: StoreOption = None, as_json: JsonOption = False
) -> None:
    """
    Cancel a run, wherever it goes on or waits.
    """
    from procession.cli.runs import cancel_run

    with plain_errors():
        told = anyio.run(cancel_run, store, run, target)
        _say(told, as_json)


@runs.command("fork")
def runs_fork(
    target: TargetArgument,
    run: RunArgument,
    at: Annotated[
        str | None, typer.Option("--at", metavar="PATH", help="The step; by default where it stopped.")
    ] = None,
    output: Annotated[
        list[str] | None,
        typer.Option("--output", metavar="PATH=JSON", help="Another output of a step before; may be repeated."),
    ] = None,
    new_run: Annotated[str | None, typer.Option("--run-id", metavar="ID", help="The id of the new run.")] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """
    Run again from a step, as a new run; the old one stays as it is.  Exit status as that of run.
    """
    from procession.cli.once import parse_json
    from procession.cli.runs import fork_run

    with plain_errors():
        outputs: dict[str, Any] = {}
        for each in output or ():
            path, equals, value = each.partition("=")
            if not equals:
                raise InputError(f"--output {each} has no value", hint="--output shout='\"HELLO\"'")
            outputs[path] = parse_json(value, f"the output of {path}")

        async def fork() -> Any:
            return await fork_run(store, target, run, at=at, outputs=outputs, new_run_id=new_run)

        told = anyio.run(fork)
        _say(told, as_json)
    _exit(told)


def _say(told: Any, as_json: bool, *, steps: bool = False) -> None:
    from procession.cli.told import show

    show(told, as_json=as_json, steps=steps)


def _exit(told: Any) -> None:
    from procession.cli.told import exit_status

    raise typer.Exit(exit_status(told.status))
