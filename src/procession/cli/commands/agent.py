"""
``procession chat`` and ``procession explain``: agents.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from procession.cli.command import JsonOption, TargetArgument, console_on, plain_errors
from procession.cli.complete import targets

__all__ = ["chat", "explain"]


def chat(
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="[TARGET]",
            help="A file or a module with an agent, with :name where it has several.",
            autocompletion=targets,
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="Talk to this model, or give it to the agent.")
    ] = None,
    base_url: Annotated[
        str | None, typer.Option("--base-url", metavar="URL", help="Where an OpenAI-compatible server answers.")
    ] = None,
    system: Annotated[str | None, typer.Option(metavar="TEXT", help="Instructions for a plain model.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Answer each line with a line of JSON.")] = False,
) -> None:
    """
    Talk to an agent, or to a model.

    On a terminal, /help says what there is. Through a pipe each line is a message, and standard output has the answers;
    exit status then: 0 all answered, 3 something was blocked, 1 an answer failed, 2 bad input; 1 goes before 3.
    """
    from procession.cli.chat import chat as talk
    from procession.cli.chat_agent import ChatJob

    job = ChatJob(target=target, model=model, base_url=base_url, system=system)
    with plain_errors():
        status = talk(job, console_on(stderr=False), console_on(stderr=True), as_json=as_json)
        sys.stdout.flush()
    raise typer.Exit(status)


def explain(target: TargetArgument, as_json: JsonOption = False) -> None:
    """
    Say which processor of an agent runs at which hook, in order, and why one never will.
    """
    from procession.cli.explain import explain as explain_target

    with plain_errors():
        typer.echo(explain_target(target, as_json=as_json))
        sys.stdout.flush()
