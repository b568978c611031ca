"""The reader of a run: what it shows is values, and not what they are kept in."""

from __future__ import annotations

from datetime import date

import pytest

from procession.errors import SchemaError
from procession.runtime.runtime import Runtime
from procession.steps.step import StepContext, step
from procession.storage.memory import InMemoryJournal
from procession.workflows.workflow import create_workflow


def day(number: int) -> date:
    """Return a day of January."""
    return date(2026, 1, number)


@step
async def later(ctx: StepContext[date]) -> date:
    """Return a day of the next year."""
    return ctx.input.replace(year=2027)


@step(id="later")
async def counts(ctx: StepContext[date]) -> int:
    """Return a number, where another workflow under the same id has a date."""
    return ctx.input.year


@step(resume_type=int)
async def asks(ctx: StepContext[date]) -> int:
    """Ask."""
    return int(await ctx.suspend("?"))


WORKFLOW = create_workflow("w", int).map(day, id="day").then(later).then(asks).commit()


async def test_records_have_outputs() -> None:
    """Records that are read have their outputs: by type where the workflow is known, else as JSON; what waits has none."""
    store = InMemoryJournal()
    await Runtime(store).run(WORKFLOW, 1, run_id="r")
    known = await Runtime(store).get("r", workflow=WORKFLOW)
    assert {path: record.output for path, record in known.steps.items()} == {
        "day": date(2026, 1, 1), "later": date(2027, 1, 1), "asks": None,
    }  # fmt: skip
    assert known.output_of("day") == date(2026, 1, 1)
    assert known.steps["later"].seconds >= 0
    unknown = await Runtime(store).get("r")
    assert [record.output for record in unknown.steps.values()] == ["2026-01-01", "2027-01-01", None]
    assert unknown.output_of("later") == "2027-01-01"
    with pytest.raises(KeyError, match="has no output: it is suspended"):
        known.output_of("asks")


async def test_outputs_that_no_longer_fit_are_shown_as_they_are_kept() -> None:
    """A workflow that has changed since does not keep a run from being looked at."""
    store = InMemoryJournal()
    await Runtime(store).run(WORKFLOW, 1, run_id="r")
    changed = create_workflow("w", int).map(day, id="day").then(counts).commit()
    reader = await Runtime(store).get("r", workflow=changed)
    assert reader.steps["later"].output == "2027-01-01"
    with pytest.raises(SchemaError, match="kept output of 'later'"):
        reader.output_of("later")
