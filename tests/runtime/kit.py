"""What the engine's tests share: steps of one line, and a value that can be forked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

from procession.errors import MergeConflict
from procession.messages.chunks import TripwireInfo
from procession.runtime.events import WorkflowEvent
from procession.runtime.run import Run, RunResult
from procession.runtime.runtime import Runtime
from procession.steps.forkable import MergePolicy
from procession.steps.signals import Tripwire
from procession.steps.step import Step
from procession.workflows.workflow import Workflow

Function: TypeAlias = Callable[[Any], Any]
Arms: TypeAlias = list[tuple[Function, Step[Any, Any]]]


def make(id: str, function: Callable[[Any], Any], **options: Any) -> Step[Any, Any]:
    """Return a step whose *function* is given the context."""
    return Step(id=id, execute=function, **options)


def plus(id: str, number: int) -> Step[Any, Any]:
    """Return a step that adds *number*."""

    async def add(ctx: Any) -> Any:
        return ctx.input + number

    return make(id, add)


def blocks(reason: str, *, retry: bool = False) -> Callable[[Any], Any]:
    """Return a step function that stops the run."""

    def block(ctx: Any) -> Any:
        raise Tripwire(TripwireInfo(reason, retry=retry, processor_id=reason))

    return block


def fails(error: Exception) -> Callable[[Any], Any]:
    """Return a step function that raises *error*."""

    def fail(ctx: Any) -> Any:
        raise error

    return fail


async def run(workflow: Any, value: Any = 0, **options: Any) -> RunResult[Any]:
    """Run *workflow* in a runtime of its own."""
    return await Runtime().create_run(workflow, **options).start(value)


async def events_of(run: Run[Any, Any]) -> list[WorkflowEvent]:
    """Return all events of a run that has ended."""
    return [event async for event in run.events()]


async def recorded(workflow: Workflow[Any, Any], value: Any = 0) -> list[str]:
    """Run *workflow* and return its events, each as ``type path``."""
    made = Runtime().create_run(workflow)
    await made.start(value)
    return [f"{event.type} {event.path}".strip() for event in await events_of(made)]


class Doc:
    """A value that can be forked: words, some of them struck out in some branch."""

    def __init__(self, words: tuple[str, ...], struck: frozenset[str] = frozenset()) -> None:
        self.words = words
        self.struck = struck

    @property
    def text(self) -> str:
        """The words that are left."""
        return " ".join(word for word in self.words if word not in self.struck)

    def strike(self, word: str) -> Doc:
        """Strike out *word*, in place."""
        self.struck |= {word}
        return self

    def rewrite(self, word: str, other: str) -> Doc:
        """Put *other* in the place of *word*, in place."""
        self.words = tuple(other if each == word else each for each in self.words)
        return self

    def fork(self) -> Doc:
        """Return a copy."""
        return Doc(self.words, self.struck)

    def merge(self, outputs: Mapping[str, Any], policy: MergePolicy) -> Doc:
        """Strike what any branch has struck; two rewrites are a conflict."""
        if callable(policy):
            made: Doc = policy(self, outputs)
            return made
        rewritten = [name for name, output in outputs.items() if output.words != self.words]
        if policy == "chain":
            last: Doc = list(outputs.values())[-1]
            return last
        if len(rewritten) > 1:
            raise MergeConflict("two rewrites", branches=rewritten)
        words = outputs[rewritten[0]].words if rewritten else self.words
        return Doc(words, self.struck.union(*(output.struck for output in outputs.values())))

    def adopt(self, outputs: Any, picked: Any, *, allow_drop: bool) -> Doc:
        """Take what a map has picked, unless it leaves out what a branch has struck."""
        chosen: Doc = self if picked is None else picked
        others: list[Any] = list(cast("dict[str, Any]", outputs).values()) if isinstance(outputs, dict) else [outputs]
        lost = frozenset[str]().union(*(other.struck for other in others)) - chosen.struck
        if lost and not allow_drop:
            raise MergeConflict(
                f"the map drops {', '.join(sorted(lost))}", branches=list(cast("dict[str, Any]", outputs))
            )
        return chosen
