"""
MessageDraft: a message as a processor edits it, in place and as freely as it likes.

Messages are values, so an edit happens in a draft: a fresh copy whose changes become a new value when the hook
returns.  Reading copies nothing; what is changeable inside (parts, metadata, a tool's arguments) is copied when it
is first asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any, cast

from procession.errors import MessageError
from procession.messages.attachments import read_attachments, views_of, with_attachments
from procession.messages.part_reading import read_part
from procession.messages.parts import Part, Parts, TextPart
from procession.messages.shapes import is_form
from procession.messages.spread import shares_of
from procession.messages.value import Value

if TYPE_CHECKING:
    from datetime import datetime

    from procession.messages.message import Message, Role

__all__ = ["DraftContent", "MessageDraft", "PartDraft", "drafts_of"]


class _Draft:
    """
    An editable stand-in for a value: the value's fields as attributes, copied when first read.
    """

    __slots__ = ("__dict__", "_original")
    _original: Any

    def __init__(self, original: Value) -> None:
        _set_original(self, original)

    def __getattr__(self, name: str) -> Any:
        # Reached only for what has not been read or set before.
        value = getattr(object.__getattribute__(self, "_original"), name)
        if isinstance(value, (dict, list)):
            value = self.__dict__[name] = deepcopy(cast("Any", value))
        elif callable(value):
            # A method of the value: it must see what was edited so far.
            return getattr(self.freeze(), name)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        original: Value = self._original
        kind = type(original)
        if name not in kind.__fields__:
            fields = ", ".join(kind.__fields__)
            raise AttributeError(f"a draft of {kind.__name__} has no field {name!r}: it has {fields}")
        self.__dict__[name] = value

    def __eq__(self, other: object) -> bool:
        if isinstance(other, _Draft):
            other = other.freeze()
        return bool(self.freeze() == other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<draft of {self.freeze()!r}>"

    def freeze(self) -> Any:
        """
        Return the value; the very original where nothing is different.
        """
        original = self._original
        changes = {name: value for name, value in self.__dict__.items() if getattr(original, name) != value}
        if not changes:
            return original
        # What is still in the draft's hands may be changed again; the value must not follow.
        return original.replace(**{name: deepcopy(value) for name, value in changes.items()})


_set_original: Any = _Draft.__dict__["_original"].__set__


class PartDraft(_Draft):
    """
    A part as a processor edits it: the fields of the part, as attributes that can be set.  An open tool call that is
    given a result is answered.

    >>> draft = PartDraft(TextPart("call 555"))
    >>> draft.text = "call [PHONE]"
    >>> draft.type, draft.freeze()
    ('text', TextPart(text='call [PHONE]'))
    """

    __slots__ = ()

    if TYPE_CHECKING:
        type: str
        text: str
        state: str

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name == "result" and value is not None and self.state == "call":  # else nobody would look at it
            self.state = "result"


class MessageDraft(_Draft):
    """
    A message as a processor edits it.

    ``parts`` is a plain list of drafts: edit them, take some out, add parts or part objects.  ``text`` reads and
    writes the text parts alone; ``metadata`` is a dictionary.

    >>> from procession.messages.message import Message
    >>> draft = MessageDraft(Message.user("call 555"))
    >>> draft.parts[0].text = "call [PHONE]"
    >>> draft.freeze().text
    'call [PHONE]'
    """

    __slots__ = ()

    if TYPE_CHECKING:
        id: str
        role: Role
        created_at: datetime
        thread_id: str | None
        resource_id: str | None
        type: str | None
        provider_metadata: Mapping[str, Any] | None

    @property
    def original(self) -> Message:
        """
        The message as it was when the draft was made.
        """
        return cast("Message", self._original)

    @property
    def parts(self) -> list[Any]:
        """
        The parts, as drafts.
        """
        made: list[Any] | None = self.__dict__.get("parts")
        if made is None:
            made = self.__dict__["parts"] = [PartDraft(part) for part in self._original.parts]
        return made

    @parts.setter
    def parts(self, parts: Iterable[Any]) -> None:
        self.__dict__["parts"] = list(parts)

    @property
    def metadata(self) -> dict[str, Any]:
        """
        Notes on the message.
        """
        made: dict[str, Any] | None = self.__dict__.get("metadata")
        if made is None:
            made = self.__dict__["metadata"] = deepcopy(dict(self._original.metadata or {}))
        return made

    @metadata.setter
    def metadata(self, metadata: Mapping[str, Any] | None) -> None:
        self.__dict__["metadata"] = dict(metadata or {})

    @property
    def text(self) -> str:
        """
        The text parts, joined.  Setting it changes text parts alone, each in its place: what a ``replace`` or an
        ``upper`` of the whole makes of a part stays there.  Where a new text has no such order, it stands where the
        change begins.
        """
        if "parts" not in self.__dict__:
            return cast("str", self._original.text)
        return "".join(_field(part, "text") for part in self.parts if _field(part, "type") == "text")

    @text.setter
    def text(self, text: str) -> None:
        if text == self.text:
            return
        said = [_field(part, "text") for part in self.parts if _field(part, "type") == "text"]
        shares = iter(shares_of(said, text) if said else ())
        kept: list[Any] = []
        for part in self.parts:
            if _field(part, "type") != "text":
                kept.append(part)
            elif (share := next(shares)) is not None:
                kept.append(PartDraft(_part(part, self._original.id)))
                kept[-1].text = share
        if not said:
            kept.append(TextPart(text))
        self.__dict__["parts"] = kept

    @property
    def content(self) -> DraftContent:
        """
        The documents' spelling: ``message.content.parts``, ``message.content.metadata``.
        """
        return DraftContent(self)

    @content.setter
    def content(self, content: Any) -> None:
        if isinstance(content, str):
            self.text = content
        elif is_form(content):
            if "parts" in content:
                self.parts = content["parts"]
            if "experimental_attachments" in content:
                given = read_attachments(self.values(), content["experimental_attachments"], f"message {self.id!r}")
                self.parts = [PartDraft(part) for part in given]
            if "metadata" in content:
                self.metadata = content["metadata"]
        elif isinstance(content, DraftContent):
            self.parts, self.metadata = content.parts, content.metadata
        else:
            self.parts = content

    def values(self) -> list[Part]:
        """
        Return the parts as they stand now, as values.
        """
        return [_part(part, self._original.id) for part in self.parts]

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _PROPERTIES:
            object.__setattr__(self, name, value)
        else:
            super().__setattr__(name, value)

    def freeze(self, original: Message | None = None) -> Message:
        """
        Return the message; the very *original* (the one the draft was made of) where nothing is different.

        Raises ``MessageError`` for a part that is none.
        """
        original = original if original is not None else self.original
        changes: dict[str, Any] = {}
        for name, value in self.__dict__.items():
            if name == "parts":
                parts = self._frozen_parts(original)
                if parts is not original.parts:
                    changes["parts"] = parts
            elif name == "metadata":
                if value != (original.metadata or {}):
                    changes["metadata"] = deepcopy(value) or None
            elif value != getattr(original, name):
                changes[name] = deepcopy(value)
        return original.replace(**changes) if changes else original

    def _frozen_parts(self, original: Message) -> Parts:
        parts = self.values()
        old = original.parts
        if len(parts) != len(old):
            return Parts(parts)
        made = old
        for at, (before, after) in enumerate(zip(old, parts, strict=True)):
            if before is not after and before != after:
                made = made.replaced(at, after)
        return made


_PROPERTIES = frozenset({"content", "metadata", "parts", "text"})


class DraftContent:
    """
    The content of a draft as the documents write it.
    """

    __slots__ = ("_draft",)

    def __init__(self, draft: MessageDraft) -> None:
        self._draft = draft

    @property
    def parts(self) -> list[Any]:
        """
        The parts, as drafts.
        """
        return self._draft.parts

    @parts.setter
    def parts(self, parts: Iterable[Any]) -> None:
        self._draft.parts = list(parts)

    @property
    def metadata(self) -> dict[str, Any]:
        """
        Notes on the message.
        """
        return self._draft.metadata

    @metadata.setter
    def metadata(self, metadata: Mapping[str, Any] | None) -> None:
        self._draft.metadata = dict(metadata or {})

    @property
    def experimental_attachments(self) -> tuple[Mapping[str, Any], ...]:
        """
        The files, each as its ``url`` and ``contentType``; to change one, set them all.
        """
        return views_of(self._draft.values())

    @experimental_attachments.setter
    def experimental_attachments(self, attachments: Iterable[Mapping[str, Any]] | None) -> None:
        made = with_attachments(self._draft.values(), attachments, f"message {self._draft.id!r}")
        self._draft.parts = [PartDraft(part) for part in made]

    @property
    def content(self) -> str:
        """
        The text parts, joined.
        """
        return self._draft.text

    @content.setter
    def content(self, text: str) -> None:
        self._draft.text = text


def drafts_of(messages: Iterable[Message]) -> list[MessageDraft]:
    """
    Return a fresh draft of each message.
    """
    return [MessageDraft(message) for message in messages]


def _field(part: Any, name: str) -> Any:
    return part.get(name) if is_form(part) else getattr(part, name)


def _part(part: Any, message_id: str) -> Part:
    if isinstance(part, PartDraft):
        return cast("Part", part.freeze())
    if isinstance(part, (Value, Mapping)):
        return read_part(part, f"a part of message {message_id!r}")
    raise MessageError(f"message {message_id!r} has {type(part).__name__} among its parts", hint="add a TextPart(...)")
