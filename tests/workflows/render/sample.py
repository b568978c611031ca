"""Workflows that the tests of drawings share."""

from typing import Any

from procession.processors.contexts import InputContext
from procession.processors.processor import Processor
from procession.steps.retry import RetryPolicy
from procession.steps.step import Step, StepContext, step
from procession.workflows.nodes import pick
from procession.workflows.workflow import Workflow, create_workflow


class Redactor(Processor):
    """Changes messages."""

    id = "redactor"
    mutates = True

    def process_input(self, ctx: InputContext) -> None:
        return None

    def process_output_result(self, ctx: Any) -> None:
        return None


class Blocker(Processor):
    """Stops some messages."""

    id = "blocker"

    async def process_input(self, ctx: InputContext) -> None:
        if "stop" in ctx.view[-1].text:
            ctx.abort("told to stop")


@step
async def shout(ctx: StepContext[str]) -> str:
    """Say it loud."""
    return ctx.input.upper()


@step(retry=RetryPolicy(3), timeout=2.5)
def whisper(ctx: StepContext[str]) -> str:
    return ctx.input.lower()


@step
def join(ctx: StepContext[dict[str, str]]) -> str:
    return " ".join(ctx.input.values())


def guards() -> Workflow[Any, Any]:
    """Make a processor workflow with two guards side by side."""
    return create_workflow("guards", kind="processor").parallel([Redactor(), Blocker()], id="checks").commit()


def everything() -> Workflow[Any, Any]:
    """Make a workflow with every kind of node."""
    inner = create_workflow("inner", str).parallel([shout, whisper]).map(pick("shout"), id="the-loud-one").commit()
    made: Workflow[Any, Any] = create_workflow("outer", str)
    return (
        made.then(inner)
        .branch(
            [(lambda text: len(text) > 3 and "<x>" not in text, shout), (str.isdigit, whisper)],
            default=shout.renamed("other"),
            mode="first",
            id="route",
        )
        .map(lambda outputs: str(next(iter(outputs.values()))), id="only")
        .do_until(shout.renamed("again"), lambda text: len(text) > 10, max_iterations=3)
        .sleep(0.5)
        .then(Step[str, str](id="nothing-here", kind="hook"))
        .map(str.split, id="words")
        .foreach(whisper.renamed("each"), concurrency=3)
        .commit()
    )


def explicit() -> Workflow[Any, Any]:
    """Make a workflow with named dependencies, one of which skips a level."""
    made = create_workflow("explicit", str)
    made.add(shout)
    made.add(whisper)
    made.add(join.renamed("both"), after=["shout", "whisper"])
    return made.add(join.renamed("last"), after=["both", "shout"]).commit()
