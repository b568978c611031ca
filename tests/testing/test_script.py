"""Words for scripts."""

from __future__ import annotations

import pytest

from procession.errors import ModelError
from procession.messages.usage import Usage
from procession.testing.fake_model import Reply, ScriptedCall
from procession.testing.script import call_tool, fail, say


def test_say() -> None:
    """Saying something is a reply of these pieces."""
    assert say("a", "b", reasoning="hm", finish="length", usage=Usage(1, 2)) == Reply(
        ("a", "b"), reasoning="hm", finish="length", usage=Usage(1, 2)
    )


def test_call_tool() -> None:
    """Calling a tool is a reply of one call."""
    assert call_tool("f", {"a": 1}, id="c", stream_input=['{"a":1}']).tool_calls == (
        ScriptedCall("f", {"a": 1}, "c", None, ['{"a":1}']),
    )


@pytest.mark.parametrize(
    ("status", "kind"), [(400, "rejected"), (429, "rate_limited"), (500, "unavailable"), (None, "other")]
)
def test_fail(status: int | None, kind: str) -> None:
    """Failing is the error that a provider's status stands for, with its message untouched."""
    error = fail("so sorry", status=status)
    assert isinstance(error, ModelError)
    assert (error.kind, error.status_code, error.retryable, str(error)) == (kind, status, False, "so sorry")


def test_fail_plainly() -> None:
    """A plain failure is no ``ModelError``."""
    assert not isinstance(fail("weird", plain=True), ModelError)
