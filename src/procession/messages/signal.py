"""
SentSignal: a note to the model in the midst of a conversation, sent by a processor and said by nobody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias, cast, get_args

from procession.errors import MessageError
from procession.ids import new_id
from procession.messages.message import Message
from procession.messages.part_reading import read_parts
from procession.messages.shapes import is_form
from procession.messages.value import Value

__all__ = ["SentSignal", "SignalType", "is_transient", "read_signal", "signal_note"]

SignalType: TypeAlias = Literal["user", "state", "reactive", "notification"]

_TYPES: frozenset[str] = frozenset(get_args(SignalType))
_OLD_TYPES = {"user-message": "user", "system-reminder": "reactive"}
_KEYS = {
    "type": "type",
    "contents": "contents",
    "tag_name": "tag_name",
    "tagName": "tag_name",
    "attributes": "attributes",
    "metadata": "metadata",
    "provider_options": "provider_options",
    "providerOptions": "provider_options",
    "id": "id",
    "transient": "transient",
}
"""What a signal may say, in our spelling and in the documents'."""
_EXAMPLE = 'send_signal({"type": "reactive", "contents": "Answer now."})'


class SentSignal(Value, kw_only=True):
    """
    A signal as it was sent.
    """

    id: str
    type: SignalType
    contents: str | Sequence[Any]
    """The text, or parts."""
    created_at: str
    """ISO 8601, as ``accepted_at``."""
    accepted_at: str
    tag_name: str | None = None
    """The name of the tags round it in the prompt; none round what a user said."""
    attributes: Mapping[str, Any] | None = None
    """Attributes of the opening tag."""
    metadata: Mapping[str, Any] | None = None
    """Kept with it, and not shown to the model."""
    provider_options: Mapping[str, Any] | None = None
    transient: bool = False
    """Whether it is shown in this call only, and not stored."""

    def as_data(self) -> dict[str, Any]:
        """
        Return the signal as the documents write it; what it does not have is left out.
        """
        form: dict[str, Any] = {"id": self.id, "type": self.type}
        if self.tag_name is not None:
            form["tagName"] = self.tag_name
        form |= {"contents": self.contents, "createdAt": self.created_at, "acceptedAt": self.accepted_at}
        for name, value in (
            ("attributes", self.attributes), ("metadata", self.metadata), ("providerOptions", self.provider_options)
        ):  # fmt: skip
            if value:
                form[name] = value
        if self.transient:
            form["transient"] = True
        return form

    def as_message(self) -> Message:
        """
        Return the message of role ``signal`` that stands for it: its contents as parts, the rest as a note.
        """
        note = self.as_data()
        del note["contents"]
        return Message(
            "signal",
            read_parts(self.contents, "a signal's contents"),
            id=self.id,
            metadata={"signal": note},
            provider_metadata=self.provider_options or None,
        )


def read_signal(form: Any) -> SentSignal:
    """
    Return the signal that *form* describes, sent now.

    >>> read_signal({"type": "reactive", "contents": "Answer now."}).tag_name
    'system-reminder'

    Raises ``MessageError`` for what is no signal, naming the field.
    """
    if not is_form(form):
        raise MessageError(f"a signal is a mapping, not {type(form).__name__}", hint=_EXAMPLE)
    given: dict[str, Any] = {}
    for key, value in form.items():
        if key not in _KEYS:
            raise MessageError(
                f"a signal has no {key!r}", hint=f"it may have {', '.join(dict.fromkeys(_KEYS.values()))}"
            )
        if value is not None:
            given[_KEYS[key]] = value
    kind = given.get("type")
    kind = _OLD_TYPES.get(kind, kind) if isinstance(kind, str) else kind
    if not isinstance(kind, str) or kind not in _TYPES:
        raise MessageError(
            f"a signal of the type {kind!r}", hint=f"a signal's type is one of {', '.join(sorted(_TYPES))}"
        )
    if "contents" not in given:
        raise MessageError(f"a {kind} signal has no contents", hint=_EXAMPLE)
    read_parts(given["contents"], "a signal's contents")
    _check(given, ("id", "tag_name"), str, "a text that is not empty")
    _check(given, ("attributes", "metadata", "provider_options"), Mapping, "a mapping")
    _check(given, ("transient",), bool, "True or False")
    if kind == "state" and given.get("transient"):
        raise MessageError("state signals cannot be transient", hint="what was stored of them is what is known later")
    if kind == "reactive":
        given.setdefault("tag_name", "system-reminder")
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    given |= {"id": given.get("id", new_id()), "type": cast("SignalType", kind), "created_at": now, "accepted_at": now}
    return SentSignal(**given)


def signal_note(message: Message) -> Mapping[str, Any]:
    """
    Return what a message of role ``signal`` says of its signal, in the documents' spelling.
    """
    note: Mapping[str, Any] = (message.metadata or {}).get("signal") or {}
    return note


def is_transient(message: Message) -> bool:
    """
    Whether *message* is a signal for one call only, which is not stored.
    """
    return message.role == "signal" and bool(signal_note(message).get("transient"))


def _check(given: Mapping[str, Any], names: Sequence[str], wanted: type[Any], described: str) -> None:
    for name in names:
        if name in given and (not isinstance(given[name], wanted) or given[name] == ""):
            raise MessageError(f"a signal's {name} is {given[name]!r}", hint=f"{name} is {described}")
