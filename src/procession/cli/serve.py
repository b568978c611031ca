"""
``procession serve``: an app, an agent or a workflow over HTTP, with the Studio.
"""

from __future__ import annotations

import errno
import inspect
import os
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typer

from procession.agents.agent import Agent
from procession.cli.target import USUAL_NAMES, Target, called, load_target, workflow_of
from procession.cli.told import one_line
from procession.errors import DefinitionError, InputError, TargetError
from procession.messages.value import Value
from procession.server.app import App

__all__ = ["ServeJob", "app_in", "app_of", "run_server"]


class ServeJob(Value, kw_only=True):
    """
    What is asked of one ``procession serve``.
    """

    target: str
    host: str = "127.0.0.1"
    port: int = 8000
    reload: bool = False
    token_env: str | None = None
    read_only: bool = False
    studio: bool = True
    show_values: bool = False
    as_json: bool = False
    """Whether the addresses are said as a line of JSON, with nothing else on standard output."""
    hosts: Sequence[str] = ()
    origins: Sequence[str] = ()


def run_server(job: ServeJob) -> int:
    """
    Serve until a signal ends it, and return the exit status: 0 after SIGTERM, 130 after an interrupt.

    Raises ``TargetError`` for a target that cannot be served, and ``DefinitionError`` where it would be open to other
    machines without a token.
    """
    _check_installed()
    if job.reload:
        from procession.server.reloading import reload

        fields = {name: getattr(job, name) for name in ServeJob.__fields__}
        _free(job)
        ended_by = reload(partial(_child, fields), host=job.host, port=job.port, folders=[Path.cwd()])
    else:
        ended_by = _serve(job, app_of(job), None)
    return 130 if ended_by == signal.SIGINT else 0 if ended_by is not None else 1


def app_of(job: ServeJob) -> App:
    """
    Return the app that the target is or makes, or one round the agent or workflow that it is, set up as *job* says.
    """
    with (
        redirect_stdout(sys.stderr) if job.as_json else nullcontext()
    ):  # what it prints while it is loaded is for people
        app = app_in(job.target)
    app.configure(
        token=_token(job),
        read_only=True if job.read_only else None,
        studio=None if job.studio else False,
        show_values=job.show_values,
        hosts=job.hosts,
        origins=job.origins,
    )
    return app


def app_in(text: str) -> App:
    """
    Return the app that the target *text* is or makes, or one round the agent or workflow that it is.

    Raises ``TargetError`` for anything else.
    """
    target = load_target(text, usual=("app", *USUAL_NAMES))
    thing = called(target, target.thing, None) if inspect.isroutine(target.thing) else target.thing
    if isinstance(thing, App):
        return thing
    if isinstance(thing, Agent):
        return App(agents=[thing])
    named = Target(text=target.text, name=target.name, thing=thing, module=target.module)
    return App(workflows=[workflow_of(named)])


def _child(fields: dict[str, Any], sockets: list[socket.socket] | None = None) -> None:
    """
    Serve in a process of its own; what cannot be loaded is said, and the next change tried.
    """
    from procession.cli.command import plain_errors

    job = ServeJob(**fields)
    try:
        with plain_errors():
            _serve(job, app_of(job), sockets, drain=1.0)
    except typer.Exit as ended:  # no command is around it here, which would take this for an end
        raise SystemExit(ended.exit_code) from None


def _serve(job: ServeJob, app: App, sockets: list[socket.socket] | None, drain: float | None = None) -> int | None:
    from procession.server.serving import serve

    if sockets is None:
        _free(job)
    said = _said_as_json if job.as_json else _said
    return serve(
        app, host=job.host, port=job.port, sockets=sockets, drain=drain, started=lambda url: typer.echo(said(app, url))
    )


def _said(app: App, url: str) -> str:
    """
    Return what is said at the start.
    """
    from procession.server.studio import STATIC

    lines = [f"serving {', '.join([*app.agents, *app.workflows]) or 'nothing'} at {url}"]
    if app.studio:
        lines.append(
            f"  Studio   {url}/studio/" + ("" if (STATIC / "index.html").is_file() else "   (not built: make studio)")
        )
    lines.append(f"  API      {url}/openapi.json")
    if app.agents:
        lines.append(f"  OpenAI   {url}/v1")
    if find_spec("mcp") is not None and (app.agents or app.workflows):
        lines.append(f"  MCP      {url}/mcp")
    notes = [
        *(["a token is needed"] if app.guard.needs_token else []),
        *(["read-only"] if app.guard.read_only else []),
        *(["values of runs are shown as they are"] if app.redact is None else []),
    ]
    if notes:
        lines.append(f"  ({'; '.join(notes)})")
    return "\n".join(lines)


def _said_as_json(app: App, url: str) -> str:
    """
    Return the same as one line of JSON.
    """
    return one_line(
        {
            "url": url,
            "studio": f"{url}/studio/" if app.studio else None,
            "agents": list(app.agents),
            "workflows": list(app.workflows),
            "token_needed": app.guard.needs_token,
            "read_only": app.guard.read_only,
            "redacted": app.redact is not None,
        }
    )


def _token(job: ServeJob) -> str | None:
    """
    Return the token that the environment has under the name that was given.

    Raises ``InputError`` where it has none: a server that was to be guarded is not begun without.
    """
    if job.token_env is None:
        return None
    token = os.environ.get(job.token_env, "")
    if not token.strip():
        raise InputError(
            f"the variable {job.token_env} has no token", hint=f"export {job.token_env}=a-long-random-text"
        )
    return token


_OTHER_HOST = "--host takes 127.0.0.1, another address of this machine, or 0.0.0.0 for all of them"


def _check_installed() -> None:
    for name in ("starlette", "uvicorn"):
        if find_spec(name) is None:
            raise DefinitionError(f"{name} is not installed", hint="pip install 'procession[server]'")


def _free(job: ServeJob) -> None:
    """
    Raise ``TargetError`` where nothing can listen at the address.
    """
    family = socket.AF_INET6 if ":" in job.host else socket.AF_INET
    try:
        with socket.socket(family) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind((job.host, job.port))
    except (socket.gaierror, UnicodeError):  # the second of a name that none can have: a..b
        raise TargetError(f"there is no address called {job.host!r}", hint=_OTHER_HOST) from None
    except OSError as error:
        raise TargetError(
            f"cannot listen at {job.host}:{job.port}: {os.strerror(error.errno or 0)}",
            hint=_OTHER_HOST if error.errno == errno.EADDRNOTAVAIL else "--port takes another one",
        ) from None
