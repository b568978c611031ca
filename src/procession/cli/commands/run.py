"""
``procession run`` and its options.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import anyio
import typer

from procession.cli.command import TargetArgument, console_on, plain_errors
from procession.errors import InputError

if TYPE_CHECKING:
    from procession.cli.once import OnceJob
    from procession.cli.run import Job

__all__ = ["run"]


def run(
    target: TargetArgument,
    input: Annotated[
        str | None, typer.Option("--input", metavar="FILE", help="JSON Lines to read; - for standard input.")
    ] = None,
    text: Annotated[str | None, typer.Option("--text", metavar="TEXT", help="Run once, on this text.")] = None,
    value: Annotated[
        str | None,
        typer.Option("--json-input", metavar="JSON", help="Run once, on this value; @FILE, or - for standard input."),
    ] = None,
    run_id: Annotated[str | None, typer.Option("--run-id", metavar="ID", help="Of one run: its id.")] = None,
    store: Annotated[
        str | None,
        typer.Option("--store", metavar="URL", help="Of one run: keep it there, a file or postgresql://..."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Say how it ended as a line of JSON.")] = False,
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
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Leave progress and report out.")] = False,
) -> None:
    """
    Run a workflow once, or a pipeline over a file of messages.

    Exit status of one run: 0 it went well, 3 it was blocked, 4 it waits for an answer, 1 it failed or was cancelled.  Over a
    file: 0 all passed, 3 something was blocked, 1 a message failed, 2 bad input; 2 goes before 1, 1 before 3.
    """
    from procession.cli.once import OnceJob, parse_json
    from procession.cli.run import Job

    with plain_errors():
        if sum(each is not None for each in (input, text, value)) != 1:
            raise InputError(
                "run needs one input",
                hint="--text TEXT or --json-input JSON to run once, --input FILE for many messages",
            )
        if input is None:
            if output is not None:
                raise InputError("--output is for many messages", hint="one run writes its output to standard output")
            status = _once(
                OnceJob(
                    target=target,
                    text=text,
                    value=parse_json(value, "--json-input") if value is not None else None,
                    model=model,
                    base_url=base_url,
                    run_id=run_id,
                    store=store,
                ),
                quiet=quiet,
                as_json=as_json,
            )
        else:
            if run_id is not None or store is not None:
                raise InputError("--run-id and --store are for one run", hint="give --text or --json-input")
            job = Job(
                target=target,
                input=input,
                output=output,
                concurrency=concurrency,
                model=model,
                base_url=base_url,
                rows=rows,
            )
            status = _many(job, quiet=quiet, as_json=as_json)
    raise typer.Exit(status)


def _once(job: OnceJob, *, quiet: bool, as_json: bool) -> int:
    from procession.cli.once import run_once
    from procession.cli.told import exit_status, show

    told = anyio.run(run_once, job, None if quiet else console_on(stderr=True))
    show(told, as_json=as_json)
    if told.status == "suspended" and job.store is None and not quiet:
        typer.echo("  nothing of it is kept: with --store it can be resumed", err=True)
    return exit_status(told.status)


def _many(job: Job, *, quiet: bool, as_json: bool) -> int:
    from procession.cli.report import report
    from procession.cli.run import exit_code, score_corpora
    from procession.cli.run import run as run_job

    if as_json and job.output == "-":
        raise InputError("standard output has the verdicts", hint="write them to a file, or leave --json out")
    outcome, loaded = anyio.run(run_job, job, console_on(stderr=True))
    if as_json:
        typer.echo(outcome.as_json)
    elif not quiet:
        others = anyio.run(score_corpora, job, loaded, console_on(stderr=True))
        report(console_on(stderr=job.output == "-"), outcome, others)
    sys.stdout.flush()
    return exit_code(outcome)
