"""
Words for scripts: ``say()``, ``call_tool()`` and ``fail()`` make the entries that a ``FakeModel`` plays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from procession.errors import ModelError
from procession.messages.usage import FinishReason, Usage
from procession.models.failures import kind_of
from procession.testing.fake_model import Reply, ScriptedCall

__all__ = ["call_tool", "fail", "say"]


def say(
    *pieces: str,
    reasoning: str | Iterable[str] = (),
    finish: FinishReason | None = None,
    usage: Usage | None = None,
) -> Reply:
    """
    Answer with text, one chunk for each of *pieces*.

    >>> say("Hel", "lo").text
    ('Hel', 'lo')
    """
    return Reply(pieces, reasoning=reasoning, finish=finish, usage=usage)


def call_tool(
    name: str,
    args: Mapping[str, Any] | None = None,
    *,
    id: str | None = None,
    raw: str | None = None,
    stream_input: Sequence[str] = (),
    finish: FinishReason | None = None,
    usage: Usage | None = None,
) -> Reply:
    """
    Answer with a tool call; add replies up for text before it or for parallel calls.

    >>> reply = say("Both then.") + call_tool("weather", {"city": "Paris"}) + call_tool("weather", {"city": "Rome"})
    >>> [call.args["city"] for call in reply.tool_calls]
    ['Paris', 'Rome']
    """
    return Reply(tool_calls=(ScriptedCall(name, args, id, raw, stream_input),), finish=finish, usage=usage)


def fail(message: str, *, status: int | None = None, retryable: bool = False, plain: bool = False) -> Exception:
    """
    Fail as a provider fails, with an HTTP *status* if it has one; *plain* gives an error that is no ``ModelError``.

    >>> fail("overloaded", status=503, retryable=True).kind
    'unavailable'
    """
    if plain:
        return RuntimeError(message)
    return ModelError(message, kind=kind_of(status), status_code=status, retryable=retryable)
