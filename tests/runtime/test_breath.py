"""When runs that never wait let others have their turn."""

from __future__ import annotations

import pytest

from procession.runtime.breath import BREATH, breath
from procession.runtime.state import RunState
from procession.runtime.walk import call
from procession.steps.scope import RequestScope


async def test_of_several_runs_one_gives_way_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run is not due again before its time where another of the thread has let others go on; one that is cancelled is."""
    now = 100.0
    monkeypatch.setattr(breath, "at", now)
    first, second = [RunState(id, caller=call, scope=RequestScope(run_id=id), clock=lambda: now) for id in ("1", "2")]
    assert not first.is_due()
    now += BREATH * 1.5
    assert first.is_due()
    assert second.is_due()
    await first.breathe()
    assert not first.is_due()
    assert not second.is_due()
    now += BREATH * 1.5
    assert second.is_due()
    await first.breathe()
    second.breathe_at = 0.0
    assert second.is_due()
