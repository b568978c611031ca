"""Retry policies."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from procession.errors import DefinitionError
from procession.steps.retry import RetryPolicy


def test_delays_grow_up_to_a_limit() -> None:
    """Each delay is the one before times the factor, never more than the largest allowed."""
    policy = RetryPolicy(6, initial=1.0, factor=3.0, max_delay=10.0)
    assert list(policy.delays()) == [1.0, 3.0, 9.0, 10.0, 10.0]
    assert list(RetryPolicy(1, initial=1.0).delays()) == []


@given(st.integers(1, 6), st.floats(0, 5), st.floats(0, 1), st.text(max_size=5))
def test_jitter_is_bounded_and_repeatable(attempts: int, initial: float, jitter: float, seed: str) -> None:
    """Jitter stays within its fraction, and the same seed gives the same delays."""
    policy = RetryPolicy(attempts, initial=initial, jitter=jitter)
    delays = list(policy.delays(seed))
    assert delays == list(policy.delays(seed))
    for delay, plain in zip(delays, policy.replace(jitter=0.0).delays(), strict=True):
        assert plain * (1 - jitter) - 1e-9 <= delay <= plain * (1 + jitter) + 1e-9


@pytest.mark.parametrize(
    "settings",
    [{"max_attempts": 1.5}, {"max_attempts": "2"}, {"max_attempts": True}, {"retry_on": ValueError}, {"retry_on": (3,)},
     {"retry_on": (BaseException,)}],
)  # fmt: skip
def test_what_cannot_be_kept_to_is_refused_at_once(settings: Any) -> None:
    """Not when a step has failed, where it would be another error in its place."""
    with pytest.raises(DefinitionError, match="cannot be kept to"):
        RetryPolicy(**settings)
