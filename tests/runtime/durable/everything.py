"""
A workflow of every construct, what it does outside, and stores whose process dies: for the tests of crashes.

Each step says that it runs before it does anything.  Some charge a service, which takes idempotency keys.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from procession.runtime.runtime import Runtime
from procession.steps.retry import RetryPolicy
from procession.steps.step import Step, StepContext, step
from procession.storage.base import FINAL, JournalStore
from procession.workflows.workflow import Workflow, create_workflow

Did = Callable[[str], None]
"""Notes a line of what was done."""
Charge = Callable[[str], None]
"""Does something outside under a key, once for each."""

ANSWER = 100
RUN = "r"


def everything(did: Did, charge: Charge) -> Workflow[int, list[int]]:
    """Return the workflow."""

    def adding(name: str, more: int = 1) -> Step[int, int]:
        @step(id=name)
        async def add(ctx: StepContext[int]) -> int:
            did(ctx.path)
            charge(ctx.idempotency_key)
            ctx.set_state(added=1)
            return ctx.input + more

        return add

    @step
    async def remember(ctx: StepContext[int]) -> int:
        did(ctx.path)
        ctx.set_state(seen=ctx.input)
        return ctx.input

    @step
    async def recall(ctx: StepContext[int]) -> list[int]:
        did(ctx.path)
        return [ctx.input, ctx.state["seen"], ctx.state["added"]]

    @step
    async def look_up(ctx: StepContext[int]) -> int:
        did(ctx.path)

        async def ask_outside() -> int:
            did(f"{ctx.path} memo")
            return ctx.input * 2

        twice: int = await ctx.memoize("twice", ask_outside)
        return twice

    @step(resume_type=int)
    async def approve(ctx: StepContext[int]) -> int:
        did(ctx.path)
        answer: int = await ctx.suspend({"amount": ctx.input}, label=f"approve {ctx.path}")
        charge(ctx.idempotency_key)
        return ctx.input + answer

    @step(retry=RetryPolicy(3))
    async def flaky(ctx: StepContext[int]) -> int:
        did(f"{ctx.path} {ctx.attempt}")
        if ctx.attempt < 3:
            raise ConnectionError("not yet")
        return ctx.input + 1

    @step
    async def calls(ctx: StepContext[int]) -> int:
        did(ctx.path)
        once = await ctx.call(adding("called"), ctx.input)
        return int(await ctx.call(adding("called"), once))

    @step
    async def joined(ctx: StepContext[dict[str, int]]) -> int:
        did(ctx.path)
        return sum(ctx.input.values())

    @step
    async def leave_early(ctx: StepContext[int]) -> int:
        did(ctx.path)
        ctx.bail(ctx.input + 1)
        return 0

    def total(outputs: Mapping[str, int]) -> int:
        return sum(outputs.values())

    def add_up(old: int, new: int) -> int:
        return old + new

    def some(value: int) -> list[int]:
        return [value, value + 1, value + 2]

    def whole(values: list[int]) -> int:
        return sum(values)

    inner = create_workflow("inner", int).then(look_up).then(approve).commit()
    outer = create_workflow("outer", int).then(inner).then(adding("after")).commit()
    short = create_workflow("short", int).then(leave_early).then(adding("never")).commit()
    graph = (
        create_workflow("graph", int)
        .add(adding("top"))
        .add(adding("mid-a"), after=["top"])
        .add(adding("mid-b"), after=["top"])
        .add(joined, after=["mid-a", "mid-b"])
        .commit()
    )
    return (
        create_workflow("everything", int, reducers={"added": add_up})
        .then(remember)
        .parallel([adding("left"), flaky])
        .map(total)
        .branch([(lambda n: n > 3, adding("high")), (lambda n: n > 4, adding("higher", 2))], default=adding("low"))
        .map(total, id="total-2")
        .map(some)
        .foreach(adding("item"), concurrency=2)
        .map(whole)
        .do_while(adding("round", 10), lambda n: n < 80)
        .sleep(0, id="pause")
        .then(outer)
        .then(short)
        .parallel([approve, adding("beside")])
        .map(total, id="total-3")
        .then(calls)
        .then(graph)
        .then(adding("last"))
        .then(recall)
        .commit()
    )


async def drive(runtime: Runtime, workflow: Workflow[int, list[int]]) -> Any:
    """Bring the run to its end from wherever it stands, answering what it asks, and return how it stands then."""
    store = runtime.store
    while True:
        row = await store.row(RUN)
        if row is None:
            await runtime.run(workflow, 1, run_id=RUN)
        elif row.status in FINAL:
            return await runtime.get(RUN, workflow=workflow)
        elif row.status == "suspended":
            await runtime.resume(RUN, ANSWER, workflow=workflow)
        else:
            await runtime.restart(RUN, workflow=workflow)


class Death(BaseException):
    """What a process dies of."""


class Mortal:
    """
    A store whose process dies with a write: before it is done, or after, when nobody is told any more.

    *die* is what that is: by default an exception, and a store that answers nobody from then on.
    """

    def __init__(
        self, store: JournalStore, at: int | None = None, *, written: bool = True, die: Callable[[], None] | None = None
    ) -> None:
        self._store = store
        self._at = at
        self._written = written
        self._die = die
        self._dead = False
        self.writes = 0

    def __getattr__(self, name: str) -> Any:
        """Return a method of the port."""

        async def method(*args: Any, **kwargs: Any) -> Any:
            if self._dead:
                raise Death
            mine = False
            if name in ("write", "add"):
                self.writes += 1
                mine = self.writes == self._at
            if mine and not self._written:
                self._end()
            result = await getattr(self._store, name)(*args, **kwargs)
            if mine or self._dead:
                self._end()
            return result

        return method

    def _end(self) -> None:
        self._dead = True
        if self._die is not None:
            self._die()
        raise Death


def mortal(store: JournalStore, at: int | None = None, **options: Any) -> Any:
    """Return *store* as one whose process dies with the write number *at*."""
    return Mortal(store, at, **options)
