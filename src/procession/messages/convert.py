"""
Convert: messages in the documents' UI, core and DB forms, in and out.

The form is recognised by what it has: a content with ``parts`` is the DB form, ``parts`` beside the role the UI
form, anything else with a role the core form, which models take.  Names may be in camel or snake case.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeAlias, cast

from procession.errors import MessageError
from procession.ids import new_id
from procession.messages.attachments import attachments_of, read_attachments
from procession.messages.message import ROLES, Message, Moment, SystemMessage
from procession.messages.part_reading import read_parts, take
from procession.messages.part_writing import core_part, core_result, db_part, ui_part
from procession.messages.parts import Parts, TextPart, ToolCallPart
from procession.messages.shapes import is_form
from procession.messages.value import Value

__all__ = ["Incoming", "read_message", "read_messages", "to_core", "to_db", "to_ui"]

Form: TypeAlias = Mapping[str, Any]
_UNTIMED = datetime(1970, 1, 1, tzinfo=UTC)


class Incoming(NamedTuple):
    """
    A message that was read, and what its time is worth.
    """

    message: Message
    timed: bool = True
    """Whether it came with a time."""
    fluid: bool = False
    """Whether that time gives way to the order in which messages were given."""


def read_messages(messages: Any) -> Iterator[Incoming | SystemMessage]:
    """
    Yield the messages that *messages* holds: a text, a message or draft, a mapping, or any nesting of iterables of them.

    Role ``system`` becomes a ``SystemMessage``.  Raises ``MessageError`` for what cannot be read.
    """
    if isinstance(messages, Message):
        if messages.role == "system":
            yield SystemMessage(messages.text)
        else:
            yield Incoming(messages, fluid=messages.created_at.__class__ is Moment)
    elif isinstance(messages, str):
        yield Incoming(Message("user", (TextPart(messages),), created_at=_UNTIMED), timed=False)
    elif isinstance(messages, SystemMessage):
        yield messages
    elif is_form(messages):
        yield _read_form(messages)
    elif callable(freeze := getattr(messages, "freeze", None)):
        yield from read_messages(freeze())
    elif isinstance(messages, Iterable) and not isinstance(messages, (bytes, bytearray, Value)):
        for one in messages:  # pyright: ignore[reportUnknownVariableType]
            yield from read_messages(one)
    else:
        raise MessageError(
            f"{type(messages).__name__} is no message",
            hint='give a text, a Message, a mapping such as {"role": "user", "content": "hi"}, or a list of these',
        )


def read_message(form: Any) -> Message:
    """
    Return the one message that *form* describes, in any of the documents' forms.

    >>> read_message({"role": "user", "content": [{"type": "text", "text": "hi"}]}).text
    'hi'

    Raises ``MessageError`` for what is no message, is several, or has the role ``system``.
    """
    found = list(read_messages(form))
    if len(found) != 1 or isinstance(found[0], SystemMessage):
        raise MessageError("expected one message that is not a system message")
    message, timed, _ = found[0]
    return message if timed else message.replace(created_at=datetime.now(UTC))


def _read_form(form: Form) -> Incoming | SystemMessage:
    role = form.get("role")
    if role is None and "contents" in form and "type" in form:
        return _read_signal(form)
    where = f"message {form['id']!r}" if form.get("id") else f"{role or 'a'} message"
    if not isinstance(role, str) or role not in ROLES:
        raise MessageError(
            f"{where} has the unknown role {role!r}", hint=f"a message's role is one of {', '.join(sorted(ROLES))}"
        )
    for name in ("tool_calls", "tool_call_id"):
        if form.get(name):  # it would be lost without a word, and no guard would see it
            raise MessageError(
                f"{where} has {name!r}, which is Chat Completions' form of a message",
                hint="a call is a part of the content: {'type': 'tool-call', 'toolCallId': ..., 'toolName': ..., 'args': ...}; "
                "its answer is a 'tool-result' in a message of the role 'tool'",
            )
    content, parts = form.get("content"), form.get("parts")
    if content is None and parts is None:
        raise MessageError(f"{where} has neither content nor parts", hint="an empty text is allowed")
    fluid = True
    metadata, notes = form.get("metadata"), take(form, "providerMetadata", "provider_metadata", "providerOptions")
    attachments = take(form, "experimental_attachments", default=())
    if is_form(content):
        fluid = False
        metadata = content.get("metadata", metadata)
        notes = take(content, "providerMetadata", "provider_metadata", default=notes)
        attachments = take(content, "experimental_attachments", default=attachments)
        parts = content.get("parts") or content.get("content")
        if parts is None and "parts" not in content and "content" not in content:
            raise MessageError(f"the content of {where} has neither parts nor content", hint="an empty text is allowed")
        parts = parts if parts is not None else ()
    elif parts is None or (not parts and content):
        parts = content
    made = [*read_parts(parts, where)]
    if attachments:
        made = read_attachments(made, attachments, where)
    if role == "system":
        return SystemMessage("\n".join(part.text for part in made if isinstance(part, TextPart)))
    given = take(form, "createdAt", "created_at")
    message = Message(
        cast("Any", role),
        Parts(made),
        id=str(form["id"]) if form.get("id") else new_id(),
        created_at=_read_time(given, where) if given is not None else _UNTIMED,
        thread_id=take(form, "threadId", "thread_id"),
        resource_id=take(form, "resourceId", "resource_id"),
        type=form.get("type"),
        metadata=cast("Form | None", metadata) or None,
        provider_metadata=notes or None,
    )
    return Incoming(message, timed=given is not None, fluid=fluid)


def _read_signal(form: Form) -> Incoming:
    """
    Read a signal: its contents are the text, the rest of it is a note.
    """
    note = {key: value for key, value in form.items() if key not in ("contents", "role")}
    given = take(form, "createdAt", "created_at")
    parts = read_parts(form["contents"], f"signal {form.get('id', '')!r}")
    message = Message(
        "signal",
        Parts(parts),
        id=str(form["id"]) if form.get("id") else new_id(),
        created_at=_read_time(given, "a signal") if given is not None else _UNTIMED,
        metadata={"signal": note},
    )
    return Incoming(message, timed=given is not None, fluid=True)


def _read_time(given: Any, where: str) -> datetime:
    if isinstance(given, datetime):
        return given if given.tzinfo is not None else given.replace(tzinfo=UTC)
    try:
        if isinstance(given, (int, float)):
            return datetime.fromtimestamp(given / 1000, UTC)
        time = datetime.fromisoformat(given)
    except (TypeError, ValueError, OverflowError, OSError):
        raise MessageError(
            f"{where} has the creation time {given!r}", hint="give a datetime, an ISO 8601 text or epoch milliseconds"
        ) from None
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)


# --- out -------------------------------------------------------------------------


def to_db(message: Message) -> dict[str, Any]:
    """
    Return *message* as documents store it: ``content`` with format 2, its parts and the flat text beside them.

    >>> to_db(Message.user("hi"))["content"]["parts"]
    [{'type': 'text', 'text': 'hi'}]
    """
    content: dict[str, Any] = {"format": 2, "parts": [db_part(part) for part in message.parts]}
    texts = [part.text for part in message.parts if isinstance(part, TextPart)]
    if texts:
        content["content"] = texts[-1]
    if attachments := attachments_of(message.parts):
        content["experimental_attachments"] = attachments
    if message.metadata:
        content["metadata"] = dict(message.metadata)
    if message.provider_metadata:
        content["providerMetadata"] = dict(message.provider_metadata)
    form: dict[str, Any] = {"id": message.id, "role": message.role, "createdAt": message.created_at, "content": content}
    for name, value in (
        ("threadId", message.thread_id), ("resourceId", message.resource_id), ("type", message.type)
    ):  # fmt: skip
        if value is not None:
            form[name] = value
    return form


def to_ui(message: Message) -> dict[str, Any]:
    """
    Return *message* as a user interface takes it: ``parts`` beside the role, the text as ``content``.
    """
    stamp = _milliseconds(message)
    parts: list[dict[str, Any]] = []
    for part in message.parts:
        shown = ui_part(part)
        if isinstance(part, TextPart):
            shown["createdAt"] = stamp
        parts.append(shown)
    form: dict[str, Any] = {"id": message.id, "role": message.role, "content": message.text, "parts": parts}
    form["createdAt"] = message.created_at
    if message.metadata:
        form["metadata"] = dict(message.metadata)
    return form


def to_core(message: Message) -> list[dict[str, Any]]:
    """
    Return *message* as models take it: results of tools are messages of role ``tool``, a step begins a new one.
    """
    role = "user" if message.role == "signal" else message.role
    made: list[dict[str, Any]] = []
    content: list[dict[str, Any]] = []
    results: list[dict[str, Any]] = []

    def close() -> None:
        if content:
            made.append({"role": role, "content": list(content)})
        if results:
            made.append({"role": "tool", "content": list(results)})
        content.clear()
        results.clear()

    for part in message.parts:
        if part.type == "step-start":
            close()
            continue
        form = core_part(part)
        if form is None:
            continue
        if isinstance(part, TextPart) and role == "assistant":
            form["createdAt"] = _milliseconds(message)
        content.append(form)
        if isinstance(part, ToolCallPart) and (result := core_result(part)) is not None:
            results.append(result)
    close()
    return made


def _milliseconds(message: Message) -> int:
    return int(message.created_at.timestamp() * 1000)
