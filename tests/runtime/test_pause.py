"""Pauses: how long, and until when."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from tests.runtime.kit import run

from procession.errors import DefinitionError, RunError
from procession.workflows.workflow import create_workflow

PAST = datetime(2020, 1, 1, tzinfo=UTC)


async def soon(value: Any) -> datetime:
    """Give a moment that is a little ahead, in some other time zone."""
    return datetime.now(timezone(timedelta(hours=9))) + timedelta(milliseconds=5)


async def test_sleep_until_lets_the_value_pass() -> None:
    """A pause until a moment, given or worked out, changes nothing; a moment that is past is not waited for."""
    workflow = create_workflow("w").sleep_until(PAST).sleep_until(soon).sleep_until(lambda value: PAST).commit()
    result = await run(workflow, 7)
    assert result.output == 7
    assert result.steps["sleep-2"].seconds > 0.001
    assert [node.id for node in workflow.nodes] == ["sleep-1", "sleep-2", "sleep-3"]


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), "2", None, True])
async def test_what_is_no_time_to_wait_is_refused(seconds: Any) -> None:
    """A number that is none to wait for is refused where it is written, or where its function gives it."""
    with pytest.raises(DefinitionError, match="sleep 'nap'"):
        create_workflow("w").sleep(seconds, id="nap")
    result = await run(create_workflow("w").sleep(lambda value: seconds, id="nap").commit())
    assert isinstance(result.error, RunError)
    assert "sleep 'nap'" in str(result.error)
    assert result.error.path == "nap"


@pytest.mark.parametrize("moment", [datetime(2020, 1, 1), "2020-01-01", 3.0, None])
async def test_what_is_no_moment_is_refused(moment: Any) -> None:
    """A datetime without a time zone says no moment, nor does anything else that is none."""
    with pytest.raises(DefinitionError, match="'nap'"):
        create_workflow("w").sleep_until(moment, id="nap")
    result = await run(create_workflow("w").sleep_until(lambda value: moment, id="nap").commit())
    assert isinstance(result.error, RunError)
    assert "'nap'" in str(result.error)
