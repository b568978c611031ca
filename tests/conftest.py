"""What every test shares: two event loops, how hard hypothesis looks, and that nothing outlives a test."""

import os
from collections.abc import AsyncIterator, Iterator
from inspect import iscoroutinefunction

import pytest
import structlog
from hypothesis import HealthCheck, settings
from tests.leaks import Watch

# A slow machine is not a bug: no deadline per example (pytest's timeout holds for the whole).
settings.register_profile("local", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=100)
# The same examples in every run, more of them, and how to repeat the one that failed.
settings.register_profile(
    "ci", parent=settings.get_profile("local"), max_examples=200, derandomize=True, print_blob=True
)
# The first of them, for a second Python.
settings.register_profile("brief", parent=settings.get_profile("ci"), max_examples=25)
# What a test remembers without saying where goes nowhere, and certainly into no file of the checkout.
os.environ["PROCESSION_STORE"] = "memory:"

settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "local"))


@pytest.fixture(scope="module", params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Run every async test on both event loops."""
    backend: str = request.param
    return backend


@pytest.fixture(autouse=True)
def _structlog_as_it_was() -> Iterator[None]:
    """Leave no structlog configured behind: its ``capture_logs()`` does, and later runs would print."""
    yield
    if structlog.is_configured():
        structlog.reset_defaults()


@pytest.fixture
async def _leak_check() -> AsyncIterator[None]:
    """Fail a test that leaves a task running, or an async generator of ours open."""
    watch = Watch()
    yield
    leaks = await watch.leaks()
    if leaks:
        pytest.fail(f"left behind: {', '.join(leaks)}")


@pytest.fixture(autouse=True)
def _nothing_outlives_a_test(request: pytest.FixtureRequest) -> None:
    """Have every async test checked for what it leaves; a plain one has no event loop."""
    if "anyio_backend" in request.fixturenames and iscoroutinefunction(request.function):
        request.getfixturevalue("_leak_check")
