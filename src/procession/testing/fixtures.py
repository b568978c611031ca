"""
Fixtures for pytest: ``pytest_plugins = ["procession.testing.fixtures"]`` in a ``conftest.py`` makes them known.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from itertools import count
from typing import Any

import anyio
import pytest

from procession.ids import replace_ids
from procession.testing.fake_model import FakeModel, ScriptEntry
from procession.testing.hooks import HookRun
from procession.testing.hooks import run_hook as run_hook_async

__all__ = ["fake_model", "run_hook", "stable_ids"]


@pytest.fixture
def fake_model() -> Callable[..., FakeModel]:
    """
    A function that makes a model of a script: ``fake_model("Hello.", say("Bye."))``.
    """

    def make(*script: ScriptEntry, **options: Any) -> FakeModel:
        return FakeModel(list(script), **options)

    return make


@pytest.fixture
def run_hook() -> Callable[..., HookRun]:
    """
    ``procession.testing.hooks.run_hook`` for tests that are not asynchronous.
    """

    def run(processor: Any, hook: str, messages: Any = (), **arguments: Any) -> HookRun:
        async def main() -> HookRun:
            return await run_hook_async(processor, hook, messages, **arguments)

        return anyio.run(main)

    return run


@pytest.fixture
def stable_ids() -> Generator[None]:
    """
    Let ids be ``id-1``, ``id-2`` and so on, for tests that compare whole results.
    """
    numbers = count(1)
    with replace_ids(lambda: f"id-{next(numbers)}"):
        yield
