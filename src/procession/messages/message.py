"""
Message: one turn of a conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Literal, get_args

from procession.errors import MessageError
from procession.ids import new_id
from procession.messages.parts import Part, Parts, TextPart
from procession.messages.spread import shares_of
from procession.messages.value import Value

__all__ = ["ROLES", "Message", "Moment", "Role", "SystemMessage"]

Role = Literal["user", "assistant", "system", "tool", "signal"]
ROLES: frozenset[str] = frozenset(get_args(Role))


class Moment(datetime):
    """
    The time at which a message was made, where nobody gave one: it yields to the order in which messages are added.
    """

    __slots__ = ()


class SystemMessage(Value):
    """
    An instruction to the model.  ``tag`` says who owns it: ``None`` is the agent's, ``memory`` is memory's.
    """

    text: str
    tag: str | None = None


class Message(Value):
    """
    One turn of a conversation: who said it and the parts it is made of.

    A message is a value.  ``with_text``, ``with_parts`` and ``with_metadata`` return changed copies with the same id.

    >>> message = Message.user("Where is my parcel?")
    >>> message.with_text("Where is it?").text
    'Where is it?'
    """

    role: Role
    parts: Parts
    id: str
    created_at: datetime
    thread_id: str | None = None
    resource_id: str | None = None
    type: str | None = None
    metadata: Mapping[str, Any] | None = None
    provider_metadata: Mapping[str, Any] | None = None

    def __init__(
        self,
        role: Role,
        parts: Iterable[Part] | str = (),
        *,
        id: str | None = None,
        created_at: datetime | None = None,
        thread_id: str | None = None,
        resource_id: str | None = None,
        type: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        provider_metadata: Mapping[str, Any] | None = None,
    ) -> None:
        if role not in ROLES:
            raise MessageError(f"unknown role {role!r}", hint=f"a message's role is one of {', '.join(sorted(ROLES))}")
        _set_role(self, role)
        if parts.__class__ is not Parts:
            parts = Parts((TextPart(parts),) if isinstance(parts, str) else parts)
        _set_parts(self, parts)
        _set_id(self, id if id is not None else new_id())
        _set_created_at(self, created_at if created_at is not None else Moment.now(UTC))
        _set_thread_id(self, thread_id)
        _set_resource_id(self, resource_id)
        _set_type(self, type)
        _set_metadata(self, metadata)
        _set_provider_metadata(self, provider_metadata)

    @classmethod
    def user(cls, text: str, *, id: str | None = None) -> Message:
        """
        A user's message of one text part.
        """
        return cls("user", (TextPart(text),), id=id)

    @classmethod
    def assistant(cls, text: str, *, id: str | None = None) -> Message:
        """
        A model's message of one text part.
        """
        return cls("assistant", (TextPart(text),), id=id)

    @property
    def text(self) -> str:
        """
        The text parts, joined without anything between them.
        """
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))

    def with_parts(self, parts: Iterable[Part]) -> Message:
        """
        Return this message with other *parts*.
        """
        return self.replace(parts=parts if isinstance(parts, Parts) else Parts(parts))

    def with_text(self, text: str) -> Message:
        """
        Return this message with *text* as the text of its text parts; every other part stays as it is (D19).

        Of several text parts each keeps its own share of the new text, and one that is left without any is taken out.
        Where there is no text part, one is put at the end.

        >>> from procession.messages.parts import ReasoningPart
        >>> step = Message("assistant", [TextPart("One bad. "), ReasoningPart("Hm."), TextPart("Two bad.")])
        >>> [part.text for part in step.with_text(step.text.replace("bad", "[X]")).parts if isinstance(part, TextPart)]
        ['One [X]. ', 'Two [X].']
        """
        said = [part for part in self.parts if isinstance(part, TextPart)]
        if not said:
            return self.with_parts([*self.parts, TextPart(text)])
        shares = iter(shares_of([part.text for part in said], text))
        kept: list[Part] = []
        for part in self.parts:
            if not isinstance(part, TextPart):
                kept.append(part)
            elif (share := next(shares)) is not None:
                kept.append(part if share == part.text else part.replace(text=share))
        return self.with_parts(kept)

    def with_metadata(self, **values: Any) -> Message:
        """
        Return this message with *values* merged into its metadata.
        """
        return self.replace(metadata={**(self.metadata or {}), **values})


def _setter(field: str) -> Callable[[Message, Any], None]:
    """
    Return the slot's own way to set a field, which passes by the value's refusal to change.
    """
    descriptor: Any = vars(Message)[field]
    setter: Callable[[Message, Any], None] = descriptor.__set__
    return setter


_set_role = _setter("role")
_set_parts = _setter("parts")
_set_id = _setter("id")
_set_created_at = _setter("created_at")
_set_thread_id = _setter("thread_id")
_set_resource_id = _setter("resource_id")
_set_type = _setter("type")
_set_metadata = _setter("metadata")
_set_provider_metadata = _setter("provider_metadata")
