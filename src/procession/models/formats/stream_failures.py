"""
What goes wrong while an answer is read: errors in it, events that are none, and its end before its end.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from procession.errors import ModelError
from procession.messages.value import Value
from procession.models.failures import failure_of, scrub
from procession.models.loose import as_list, as_mapping

__all__ = ["StreamFailures"]


class StreamFailures(Value):
    """
    Makes the errors of one answer, which name its model and keep its secrets.

    >>> StreamFailures("openai/gpt-5-mini").unfinished(True).provider_code
    'incomplete_stream'
    """

    model: str
    headers: Mapping[str, str] | None = None
    secrets: tuple[str, ...] = ()

    def json_object(self, data: str) -> Mapping[str, Any]:
        """
        Return the JSON object that an event has.

        Raises ``ModelError`` of kind ``stream``, with the event's beginning, where it has none.
        """
        try:
            payload: Any = json.loads(data)
        except (ValueError, RecursionError):
            payload = None
        if not isinstance(payload, dict):
            if any(as_mapping(entry).get("error") for entry in as_list(payload)):  # Google's, at its OpenAI door
                raise self.told(payload)
            raise self.no_object(data)
        return as_mapping(payload)

    def no_object(self, data: str) -> ModelError:
        """
        Return the error of an event that is no JSON object, with its beginning.
        """
        shown = scrub(data[:4_000], secrets=self.secrets)[:200]  # a key that was cut would no longer be known for one
        return self.told(f"the stream has an event that is no JSON object: {shown}")

    def told(self, body: Any, *, status: int | None = None) -> ModelError:
        """
        Return the error that a server told in place of an answer.
        """
        return failure_of(
            body, model=self.model, status=status, kind="stream", headers=self.headers, secrets=self.secrets
        )

    def unfinished(self, said_something: bool) -> ModelError:
        """
        Return the error of an answer that is not complete, or that never began.
        """
        return ModelError(
            f"{self.model}: the answer ended before it was complete"
            if said_something
            else f"{self.model}: the stream ended without an answer",
            kind="stream",
            retryable=True,
            provider_code="incomplete_stream" if said_something else "empty_stream",
            headers=self.headers,
        )
