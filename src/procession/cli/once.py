"""
``procession run`` with one input: the workflow runs once, and its steps are shown as they go.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import anyio
from rich.console import Console
from rich.live import Live
from rich.text import Text

from procession.cli.graph import speaks_unicode
from procession.cli.lines import Line
from procession.cli.logs import log_to_stderr
from procession.cli.model import model_of
from procession.cli.store import open_runtime
from procession.cli.target import load_target, workflow_of
from procession.cli.told import Told, tell_result
from procession.cli.verdict import Judge
from procession.errors import InputError
from procession.messages.value import Value
from procession.runtime.run import Run
from procession.runtime.runtime import Runtime
from procession.workflows.render.draw import draw
from procession.workflows.render.overlay import Mark, mark_text
from procession.workflows.render.text import clean

__all__ = ["OnceJob", "StepShow", "parse_json", "run_once"]

BLINK = 0.1
"""Seconds between two looks of the live tree."""


class OnceJob(Value, kw_only=True):
    """
    What is asked of one run: the *text* or the *value* that it is given.
    """

    target: str
    text: str | None = None
    value: Any = None
    model: str | None = None
    base_url: str | None = None
    run_id: str | None = None
    store: str | None = None
    """Where it is kept; ``None`` for nowhere."""


async def run_once(job: OnceJob, console: Console | None) -> Told:
    """
    Do *job*, show its steps on *console* if one is given, and return how it ended.

    Raises ``TargetError`` and ``InputError`` for what is wrong before the first step.
    """
    workflow = workflow_of(load_target(job.target), model_of(job.model, job.base_url)).commit()
    log_to_stderr()
    value = job.value if job.text is None else Judge(workflow).value(Line(1, job.text, {}))
    if job.store is None:
        async with Runtime() as runtime:
            return await _run(runtime, workflow, value, job.run_id, console)
    async with open_runtime(job.store, make=True) as runtime:
        return await _run(runtime, workflow, value, job.run_id, console)


async def _run(runtime: Runtime, workflow: Any, value: Any, run_id: str | None, console: Console | None) -> Told:
    run = runtime.create_run(workflow, run_id=run_id)
    if await runtime.store.row(run.id) is not None:  # and a store that cannot be used says so before anything runs
        raise InputError(
            f"the store has a run {run.id!r} already",
            hint="give another --run-id; `procession runs show` says how that one stands",
        )
    if console is None:
        return tell_result(await run.start(value), workflow.id)
    # Around the stream: where that is interrupted, the tree shows what was cancelled.
    with StepShow(console, workflow, run) as show:
        async with run.stream(value):
            await show.follow()
            result = await run.result()
    return tell_result(result, workflow.id)


class StepShow:
    """
    The steps of a run: a live tree on a terminal, elsewhere a line for each that has ended.
    """

    def __init__(self, console: Console, workflow: Any, run: Run[Any, Any]) -> None:
        self._console = console
        self._workflow = workflow
        self._run = run
        self._plain = not speaks_unicode(console.encoding)
        self._live: Live | None = None
        if console.is_terminal:
            self._live = Live(console=console, transient=True, auto_refresh=False)

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()
            self._console.print(self._tree(), end="")

    async def follow(self) -> None:
        """
        Show what happens until the run has ended or waits.
        """
        if self._live is None:
            async for event in self._run.events(when_full="drop"):
                status = _ENDS.get(event.type)
                if status is not None:
                    record = self._run.steps.get(event.node_path)
                    self._say(event.node_path, Mark(status, record.seconds if record is not None else None))
            return
        async with anyio.create_task_group() as group:
            group.start_soon(self._redraw)
            await self._run.result()
            group.cancel_scope.cancel()

    async def _redraw(self) -> None:
        assert self._live is not None
        while True:
            self._live.update(self._tree(), refresh=True)
            await anyio.sleep(BLINK)

    def _tree(self) -> Text:
        width = self._console.width
        return Text(draw(self._workflow, run=self._run, width=width, unicode=not self._plain), no_wrap=True)

    def _say(self, path: str, mark: Mark) -> None:
        self._console.print(
            f"{mark_text(mark, plain=self._plain)}  {clean(path)}", markup=False, highlight=False, soft_wrap=True
        )


_ENDS = {
    "node.completed": "success", "node.failed": "failed", "node.blocked": "blocked", "node.cancelled": "cancelled",
    "node.suspended": "suspended", "node.skipped": "skipped",
}  # fmt: skip


def parse_json(text: str, what: str) -> Any:
    """
    Return the value that *text* is as JSON; ``@FILE`` is what the file contains, ``-`` what comes from standard input.

    Raises ``InputError``, which says where in the text the fault is.
    """
    given = text
    try:
        if text == "-":
            given = sys.stdin.read()
        elif text.startswith("@"):
            given = Path(text[1:]).read_text("utf-8")
        return json.loads(given)
    except OSError as error:
        raise InputError(f"{text[1:]} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{what} is no UTF-8") from None
    except json.JSONDecodeError as error:
        raise InputError(
            f"{what} is no JSON: {error.msg} at line {error.lineno}, column {error.colno}",
            hint="""quote it for the shell: '{"city": "Bergen"}', or '"a text"'""",
        ) from None
