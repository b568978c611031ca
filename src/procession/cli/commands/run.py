"""
``procession run`` and its options.
"""

from __future__ import annotations

import sys
from typing import Annotated

import anyio
import typer

from procession.cli.command import TargetArgument, console_on, plain_errors

__all__ = ["run"]


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
    with plain_errors():
        outcome, loaded = anyio.run(run_job, job, console_on(stderr=True))
        if not quiet:
            console = console_on(stderr=output == "-")
            others = anyio.run(score_corpora, job, loaded, console_on(stderr=True))
            report(console, outcome, others)
        sys.stdout.flush()
    raise typer.Exit(exit_code(outcome))
