"""
Reasoning that has to go back to the server as it came: OpenRouter's ``reasoning_details``, LiteLLM's ``thinking_blocks``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from procession.models.loose import as_list, as_mapping, as_text

__all__ = ["SignedReasoning"]

_LISTS = ("reasoning_details", "thinking_blocks")
_STREAMED = ("text", "thinking", "summary")
"""What comes in pieces; all else of an entry comes whole, early or late."""


class _Entry:
    __slots__ = ("fields", "pieces")

    def __init__(self) -> None:
        self.fields: dict[str, Any] = {}
        self.pieces: dict[str, list[str]] = {}

    def add(self, fields: Mapping[str, Any]) -> None:
        for key, value in fields.items():
            if key in _STREAMED and isinstance(value, str):
                self.pieces.setdefault(key, []).append(value)
                self.fields.setdefault(key, "")
            elif value is not None or key not in self.fields:
                self.fields[key] = value

    def goes_on_with(self, fields: Mapping[str, Any]) -> bool:
        """
        Tell whether *fields* are more of this entry: of its kind and place, and a signature is the end of one.
        """
        if any(fields.get(key) != self.fields.get(key) for key in ("type", "index")):
            return False
        if fields.get("id") and self.fields.get("id") and fields["id"] != self.fields["id"]:
            return False
        ended = self.fields.get("signature") or self.fields.get("data")
        return not ended or (isinstance(self.fields.get("index"), int) and not fields.get("data"))

    def whole(self) -> dict[str, Any]:
        return {**self.fields, **{key: "".join(pieces) for key, pieces in self.pieces.items()}}


class SignedReasoning:
    """
    Puts together the entries that come in pieces: a signature is good for the whole text alone.

    >>> signed = SignedReasoning()
    >>> signed.add({"reasoning_details": [{"type": "reasoning.text", "text": "Let me ", "index": 0}]})
    'Let me '
    >>> signed.add({"reasoning_details": [{"type": "reasoning.text", "text": "see.", "signature": "s", "index": 0}]})
    'see.'
    >>> signed.whole()
    {'reasoning_details': [{'type': 'reasoning.text', 'text': 'Let me see.', 'index': 0, 'signature': 's'}]}
    """

    def __init__(self) -> None:
        self._entries: dict[str, list[_Entry]] = {}

    def add(self, delta: Mapping[str, Any]) -> str:
        """
        Take what a delta has of it, and return the text in that.
        """
        said: list[str] = []
        for name in _LISTS:
            for entry in as_list(delta.get(name)):
                fields = as_mapping(entry)
                if not fields:
                    continue
                said += [as_text(fields.get(key)) for key in _STREAMED]
                entries = self._entries.setdefault(name, [])
                if not entries or not entries[-1].goes_on_with(fields):
                    entries.append(_Entry())
                entries[-1].add(fields)
        return "".join(said)

    def whole(self) -> dict[str, Any]:
        """
        Return the lists as they have to go back.
        """
        return {name: [entry.whole() for entry in entries] for name, entries in self._entries.items()}
