"""A limit on the processor time of a test, which a busy machine does not use up."""

from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

import pytest


@contextmanager
def cpu_limit(seconds: float) -> Generator[None]:
    """Fail where the block computes for longer than *seconds*; patterns look for signals while they match."""
    if not hasattr(signal, "setitimer"):
        pytest.skip("processor time cannot be limited here")

    def stop(number: int, frame: FrameType | None) -> None:
        pytest.fail(f"computed for more than {seconds} s")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
