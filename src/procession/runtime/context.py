"""
Context: what the engine hands to a step.
"""

from __future__ import annotations

from typing import Any, Literal, NoReturn

from procession.errors import MergeConflict
from procession.messages.chunks import Chunk
from procession.runtime.records import Record
from procession.runtime.state import RunState, signal_of
from procession.steps.request_context import RequestContext
from procession.steps.result import Bailed, Cancelled, Failed, Stop, Suspended
from procession.steps.scope import RequestScope
from procession.steps.signals import Bail, CancelRun, Suspend
from procession.steps.step import SupportsStep

__all__ = ["Context"]


class Context:
    """
    The concrete ``StepContext``; see there.
    """

    __slots__ = ("_called", "_run", "input", "record")

    def __init__(self, run: RunState, record: Record, input: Any) -> None:
        self._run = run
        self.record = record
        self.input = input
        self._called: dict[str, int] | None = None

    @property
    def init_data(self) -> Any:
        """
        The value that the run was started with.
        """
        return self._run.init_data

    @property
    def request_context(self) -> RequestContext:
        """
        The values of this request.
        """
        return self._run.request_context

    @property
    def scope(self) -> RequestScope:
        """
        What the request carries beside its payload.
        """
        return self._run.scope

    @property
    def run_id(self) -> str:
        """
        The id of the run.
        """
        return self._run.run_id

    @property
    def path(self) -> str:
        """
        Where in the workflow the step stands.
        """
        return self.record.path

    @property
    def attempt(self) -> int:
        """
        Which attempt this is, from 1.
        """
        return self.record.attempt

    @property
    def state(self) -> dict[str, Any]:
        """
        The run's shared state, a copy.
        """
        return dict(self._run.state)

    def set_state(self, **values: Any) -> None:
        """
        Write to the run's shared state; visible at once.

        Raises ``MergeConflict`` where a branch beside this one has written another value and the workflow has no
        reducer for the key.
        """
        run, path = self._run, self.record.path
        for key, value in values.items():
            if key in run.state:
                reduce = run.reducers.get(key)
                if reduce is not None:
                    value = reduce(run.state[key], value)
                else:
                    _refuse_race(run, key, value, path)
            run.state[key] = value
            run.writers[key] = path

    def result_of(self, step_id: str) -> Any:
        """
        Return the output of a step that has completed: of this workflow, or of one around it.
        """
        records = self._run.records
        prefix = self.record.path
        while prefix:
            prefix = prefix[: prefix.rstrip("/").rfind("/") + 1]
            found = records.get(prefix + step_id)
            if found is not None and found.status == "success":
                return found.output
        done = [path for path, record in records.items() if record.status == "success"]
        raise KeyError(f"step {step_id!r} has no result here; completed: {', '.join(done) or 'none'}")

    async def call(self, step: SupportsStep[Any, Any], value: Any) -> Any:
        """
        Run another definition inside this step and return its output.
        """
        id = step.as_step().id
        called = self._called
        if called is None:
            called = self._called = {}
        number = called[id] = called.get(id, 0) + 1
        path = f"{self.record.path}/{id}" if number == 1 else f"{self.record.path}/{id}[{number - 1}]"
        output = await self._run.caller(self._run, step, value, path, None, True)
        if isinstance(output, Stop):
            if not isinstance(output, Failed):  # a verdict stands even where the step's code swallows the signal
                self.record.stop = output
            raise signal_of(output)
        return output

    async def emit(self, chunk: Chunk) -> None:
        """
        Send a chunk to whoever reads the run's stream.
        """
        await self._run.emit(self.record, chunk)

    def bail(self, value: Any = None, *, scope: Literal["workflow", "branch", "run"] = "workflow") -> NoReturn:
        """
        End the workflow that contains this step with *value* as its result.
        """
        self.record.stop = Bailed(self.record.path, value, scope)
        raise Bail(value, scope=scope)

    def cancel_run(self) -> NoReturn:
        """
        Cancel the run.
        """
        self.record.stop = Cancelled(self.record.path, "the step asked for it")
        raise CancelRun

    async def suspend(self, payload: Any = None, *, label: str | None = None) -> NoReturn:
        """
        Wait for an answer from outside: the run ends as suspended.
        """
        self.record.stop = Suspended(self.record.path, payload, label)
        raise Suspend(payload, label=label)


def _refuse_race(run: RunState, key: str, value: Any, path: str) -> None:
    before = run.writers.get(key)
    if before is None or run.state[key] == value:
        return
    for prefix, keys in run.forks:
        mine, other = _arm(path, prefix, keys), _arm(before, prefix, keys)
        if mine is not None and other is not None and mine != other:
            raise MergeConflict(
                f"state {key!r} was set to different values by {before!r} and {path!r}, which run at the same time",
                branches=(before, path),
                path=path,
                hint=f"give the workflow a reducer: create_workflow(..., reducers={{{key!r}: function}})",
            )


def _arm(path: str, prefix: str, keys: frozenset[str]) -> str | None:
    """
    Return the part of *path* that names a branch of the fork at *prefix*, or ``None`` where it is in no branch of it.
    """
    if not path.startswith(prefix):
        return None
    head = path[len(prefix) :].partition("/")[0]
    return head if head in keys or head.partition("[")[0] in keys else None
