"""
Runtime: the one object that runs things, and two doors for those who need none of their own.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from procession.errors import DefinitionError, RunError
from procession.ids import new_id
from procession.messages.shapes import is_form
from procession.runtime.background import BackgroundGroup
from procession.runtime.durable.keeper import Keeper
from procession.runtime.durable.kept_runs import KeptRuns
from procession.runtime.durable.ledger import KEPT_IN
from procession.runtime.engine import Engine, LocalEngine
from procession.runtime.observer import RunObserver, observe
from procession.runtime.registry import Registry
from procession.runtime.run import Run, RunResult, RunStream
from procession.runtime.shared_state import SharedState
from procession.runtime.state import RunState
from procession.runtime.walk import call, plan_of
from procession.steps.event_loop import run_to_end
from procession.steps.owner import THREAD
from procession.steps.request_context import RequestContext
from procession.steps.scope import GRACE, RequestScope
from procession.steps.state_type import ANYTHING
from procession.steps.step import SupportsStep
from procession.storage.base import JournalStore, RunRow
from procession.storage.memory_journal import InMemoryJournal

if TYPE_CHECKING:
    from procession.runtime.durable.journal import Journal
    from procession.runtime.durable.rows import History

__all__ = ["Runtime", "run", "run_sync"]

In = TypeVar("In")
Out = TypeVar("Out")


class Runtime(KeptRuns):
    """
    Runs workflows.  With a *store* every run is written down as it goes, and can be taken up after a crash.

    *grace* is how many seconds what was cancelled is waited for; *engine* is what drives the runs.  *development* warns
    of what is right only by chance: hooks that block the event loop, and hooks that write to their processor.

    ``async with Runtime() as runtime`` opens its background: what processors, tools and callbacks leave there holds up
    no answer, at most *background_limit* pieces at once.  Leaving the block waits *drain* seconds for it, then cancels
    what is left.

    >>> import anyio
    >>> from procession.runtime.runtime import Runtime
    >>> async def main() -> list[str]:
    ...     done: list[str] = []
    ...     async with Runtime() as runtime:
    ...         runtime.background(done.append, "written")
    ...     return done
    >>> anyio.run(main)
    ['written']
    """

    __slots__ = ("_background", "background_limit", "development", "drain", "engine", "grace", "observers", "store")

    def __init__(
        self,
        store: JournalStore | None = None,
        *,
        eager: bool = True,
        engine: Engine | None = None,
        grace: float = GRACE,
        background_limit: int = 100,
        drain: float = 30.0,
        development: bool = False,
        observers: Iterable[RunObserver] = (),
    ) -> None:
        """
        Make a runtime; *store* is where runs are kept.  By default only suspended ones are, in memory; with
        ``eager=False`` only suspended ones are kept in *store*, from then on.  *observers* are shown every run, and those
        inside it, while it goes on.

        Raises ``DefinitionError`` for times and limits that cannot be, and for the name of a file instead of a store.
        """
        for name, value, least in (("grace", grace, 0), ("background_limit", background_limit, 1), ("drain", drain, 0)):
            if value < least:
                raise DefinitionError(f"Runtime has {name}={value!r}", hint=f"it is {least} or more")
        if isinstance(store, str | PathLike):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise DefinitionError(
                f"Runtime is given {str(store)!r} as its store",
                hint=f"Runtime(SQLiteJournal({str(store)!r})), from procession.storage.sqlite.journal",
            )
        self.store: JournalStore = store if store is not None else InMemoryJournal()
        """Where runs are kept."""
        self._keeper = Keeper(self.store, eager=store is not None and eager, given=store is not None)
        self._used: dict[str, Any] = {}
        self.engine: Engine = engine if engine is not None else LocalEngine()
        self.grace = grace
        self.background_limit = background_limit
        self.drain = drain
        self.development = development
        self._background: BackgroundGroup | None = None
        self.observers: tuple[RunObserver, ...] = tuple(observers)
        """Who is shown the runs that are made from now on; to add one, exchange the tuple."""
        self.registry = Registry()

    async def __aenter__(self) -> Self:
        if self._background is not None:
            self._refuse_closed()
            raise RunError("the runtime is open already", hint="enter its block once, round everything that uses it")
        self._background = BackgroundGroup(self.background_limit)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._background is not None:
            self._keeper.closing = True
            await self._background.close(self.drain, self.grace)

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[None]:
        """
        Open the background while a block runs, where it is not open; unlike the runtime's own block, this may be entered
        again once it is left.
        """
        if self._background is not None:
            self._refuse_closed()
            yield
            return
        async with self:
            yield
        self._background, self._keeper.closing = None, False

    def give_back(self) -> None:
        """
        Have the runs that are broken off from now on given back to the store, for another process to take them up, as the
        end of the runtime's block does; without a store they are cancelled.
        """
        self._keeper.closing = True

    def _refuse_closed(self) -> None:
        if self._background is not None and self._background.closed:
            raise RunError("the runtime is closed", hint="make a new Runtime()")

    def background(self, function: Callable[..., Any], *args: Any) -> None:
        """
        Do ``function(*args)``, plain or async, in the background; that it fails is logged, without its words.

        Hooks and tools have ``ctx.background``, which works without an open runtime as well.  Raises ``RunError`` where
        the runtime is not open, is open in another event loop, or has as much to do as it may.
        """
        self._refuse_closed()
        if self._background is None:
            raise RunError("the runtime is not open", hint="async with Runtime() as runtime: ...")
        if not self._background.start(function, *args):
            raise RunError(
                f"no room in the background: {self.background_limit} pieces at once, from the event loop of the runtime",
                hint="raise background_limit=, or do it in place",
            )

    def create_run(
        self,
        workflow: SupportsStep[In, Out],
        *,
        run_id: str | None = None,
        request_context: RequestContext | None = None,
        scope: RequestScope | None = None,
        detail: bool = True,
        replay: bool = True,
        sparse: bool = False,
        cancellable: bool = True,
        durable: bool | None = None,
        resource_id: str | None = None,
        state: Mapping[str, Any] | None = None,
    ) -> Run[In, Out]:
        """
        Return a run of *workflow* that has not started.

        *scope* is handed in by whoever owns the request; else one is made.  With ``detail=False`` what steps run inside
        themselves is recorded only where it fails or blocks; with ``replay=False`` outputs are not kept for readers
        that join late.  *sparse* is for whoever shows the run to nobody: unless somebody listens when it starts, such
        as the log of steps, only what fails, blocks or suspends is recorded anywhere in it.  With ``cancellable=False``
        the run ends early only with the task that it runs in: it has no cancel scope of its own, and no ``cancel()``.  With
        ``durable=False``, as with *sparse*, nothing of it is kept, whatever the store, and it cannot be resumed.
        *resource_id* says whose run it is, for lists and for deletion.  *state* is what the shared state begins with.

        Raises ``DefinitionError`` where the workflow is not committed, ``RunError`` where the runtime is closed, and
        ``SchemaError`` where *state* is not of the workflow's ``state_type``.
        """
        if self._background is not None:
            self._refuse_closed()
        plan = plan_of(workflow, None)
        if state is not None and not is_form(state):
            raise DefinitionError(
                f"the state of a run begins with {state!r}", hint='give values by key: state={"key": value}'
            )
        if scope is None:
            scope = RequestScope(run_id=run_id or new_id(), request_context=request_context)
        elif not scope.run_id:
            scope.run_id = run_id or new_id()
        if resource_id is not None:  # what is kept apart by resource in the run is kept apart by this one (D35)
            scope.resources.setdefault("resource", resource_id)
        outer = scope.outer
        if outer is None:
            scope.grace, scope.background = self.grace, self._background
        else:  # the outer run waits no longer than its own runtime does, and is not held up by what is left for later
            scope.grace = min(self.grace, outer.grace)
            scope.background = self._background if self._background is not None else outer.background
        shared: SharedState | None = None
        if state or plan.state is not ANYTHING:
            shared = SharedState(state, reducers=plan.reducers, type=plan.state)
        inside = RunState(
            run_id or scope.run_id,
            caller=call,
            scope=scope,
            detail=detail,
            replay=replay,
            sparse=sparse,
            grace=self.grace,
            reducers=plan.reducers,
            shared=shared,
        )
        keeper = None
        if durable if durable is not None else not sparse:
            keeper = self._keeper
            if self._used.get(plan.id) is not workflow:
                self._use(plan.id, workflow)
            scope.resources[KEPT_IN] = keeper.given
        run: Run[In, Out] = Run(
            plan,
            inside,
            self.engine,
            definition=workflow,
            cancellable=cancellable,
            keeper=keeper,
            resource_id=resource_id,
        )
        observers = self.observers
        if outer is not None and outer.observers:  # whoever sees the outer run sees what is in it
            observers = tuple(dict.fromkeys((*outer.observers, *observers)))
        if observers:
            scope.observers = observers
            observe(run, observers)
        return run

    def _make(
        self,
        definition: Any,
        row: RunRow,
        history: History,
        journal: Journal,
        request_context: RequestContext | None,
        init_data: Any,
        scope: RequestScope | None,
    ) -> Run[Any, Any]:
        run = self.create_run(
            definition, run_id=row.run_id, request_context=request_context, scope=scope, resource_id=row.resource_id
        )
        if row.thread_id is not None:
            run.state.scope.resources.setdefault(THREAD, row.thread_id)
        from procession.runtime.durable.holding import attach

        attach(run.state, journal, history)
        run.state.init_data = init_data
        return run

    def start(
        self,
        workflow: SupportsStep[In, Out],
        value: In,
        *,
        run_id: str | None = None,
        request_context: RequestContext | None = None,
        resource_id: str | None = None,
    ) -> Run[In, Out]:
        """
        Begin a run of *workflow* in the background of the open runtime and return it: ``await run.result()`` waits for it.

        Where the runtime closes before the run has ended, the run is left for another process to restart, if there is a
        store, else it is cancelled.

        Raises ``RunError`` where the runtime is not open or has no room.
        """
        run = self.create_run(workflow, run_id=run_id, request_context=request_context, resource_id=resource_id)
        self.background(run.start, value)
        return run

    async def run(
        self,
        workflow: SupportsStep[In, Out],
        value: In,
        *,
        run_id: str | None = None,
        request_context: RequestContext | None = None,
    ) -> RunResult[Out]:
        """
        Run *workflow* on *value* in this task and return how it ended.
        """
        return await self.create_run(workflow, run_id=run_id, request_context=request_context).start(value)

    def stream(
        self,
        workflow: SupportsStep[In, Out],
        value: In,
        *,
        run_id: str | None = None,
        request_context: RequestContext | None = None,
        replay: bool = True,
    ) -> RunStream[In, Out]:
        """
        Run in the background while a block runs: ``async with runtime.stream(workflow, value) as run``.
        """
        made = self.create_run(workflow, run_id=run_id, request_context=request_context, replay=replay)
        return made.stream(value)


async def run(
    workflow: SupportsStep[In, Out], value: In, *, request_context: RequestContext | None = None
) -> RunResult[Out]:
    """
    Run *workflow* on *value* and return how it ended.

    Nothing of it is kept: a run that is to be resumed needs a ``Runtime``.
    """
    return await _default().create_run(workflow, request_context=request_context, durable=False).start(value)


def run_sync(
    workflow: SupportsStep[In, Out],
    value: In,
    *,
    request_context: RequestContext | None = None,
    backend: str = "asyncio",
) -> RunResult[Out]:
    """
    Run *workflow* on *value* from code that is not async, and return how it ended.

    Raises ``RunError`` where an event loop is running in this thread already.

    >>> from procession.runtime.runtime import run_sync
    >>> from procession.steps.step import StepContext, step
    >>> from procession.workflows.workflow import create_workflow
    >>> @step
    ... def shout(ctx: StepContext[str]) -> str:
    ...     return ctx.input.upper()
    >>> run_sync(create_workflow("loud", str).then(shout).commit(), "hello").unwrap()
    'HELLO'
    """

    async def main() -> RunResult[Out]:
        return await run(workflow, value, request_context=request_context)

    return run_to_end(main, name="run_sync", instead="await run() instead", backend=backend)


_runtime: Runtime | None = None


def _default() -> Runtime:
    global _runtime
    if _runtime is None:
        _runtime = Runtime()
    return _runtime
