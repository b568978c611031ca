"""
``procession serve``: over HTTP.
"""

from __future__ import annotations

from typing import Annotated

import typer

from procession.cli.command import plain_errors
from procession.cli.complete import targets

__all__ = ["serve"]


def serve(
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET",
            help="A file or a module with an App, an agent or a workflow, with :name where it has several.",
            autocompletion=targets,
        ),
    ],
    host: Annotated[
        str, typer.Option(metavar="HOST", help="Where to listen; beyond 127.0.0.1 needs a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="0 takes a free one.")] = 8000,
    reload: Annotated[bool, typer.Option("--reload", help="Begin anew whenever a Python file here changes.")] = False,
    token_env: Annotated[
        str | None,
        typer.Option("--token-env", metavar="NAME", help="The variable with the token that callers must send."),
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Refuse every change: show runs, begin none.")] = False,
    no_studio: Annotated[bool, typer.Option("--no-studio", help="Leave the Studio out.")] = False,
    show_values: Annotated[
        bool, typer.Option("--show-values", help="Show what runs hold as it is, secrets and personal data included.")
    ] = False,
    allow_host: Annotated[
        list[str] | None, typer.Option("--allow-host", metavar="NAME", help="A further name the server is reached by.")
    ] = None,
    allow_origin: Annotated[
        list[str] | None, typer.Option("--allow-origin", metavar="URL", help="A further origin whose pages may ask.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Say where it serves as a line of JSON.")] = False,
) -> None:
    """
    Serve an app, an agent or a workflow over HTTP, with the Studio.

    Ends by Ctrl-C or SIGTERM once calls that go on had their time. Exit status: 0 told to end, 130 interrupted, 2 bad input.
    """
    from procession.cli.serve import ServeJob, run_server

    job = ServeJob(
        target=target,
        host=host,
        port=port,
        reload=reload,
        token_env=token_env,
        read_only=read_only,
        studio=not no_studio,
        show_values=show_values,
        as_json=as_json,
        hosts=tuple(allow_host or ()),
        origins=tuple(allow_origin or ()),
    )
    with plain_errors():
        status = run_server(job)
    raise typer.Exit(status)
