"""
Payload changes: what one processor made of a payload, to be done again where a run goes on, and a payload as a whole.

Everything here is plain data and values of messages: what else a processor may set, such as a tool or a model made in
code, is refused by the codec, which names it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from procession.messages.message_list import MessageList
from procession.messages.shapes import is_form, is_sequence
from procession.processors.request_change import GivenResponse
from procession.processors.result_notes import ResultNotes
from procession.steps.sameness import difference

__all__ = ["changes_of", "from_whole", "redo_changes", "whole_of"]

_OWN_WAYS = frozenset(("message_list", "notes", "seen", "_version"))
"""Fields that are objects of a run: they are kept as what is in them, or found again."""


def changes_of(payload: Any, base: Any) -> dict[str, Any]:
    """
    Return what leads from *base*, a fork of the payload before the processor ran, to *payload*.
    """
    made: dict[str, Any] = {"message_list": payload.message_list.changes_since(base.message_list)}
    for field in payload.changeable:
        before, after = getattr(base, field), getattr(payload, field)
        if after is not before:
            made[field] = _change(before, after, field in payload.by_key)
    if "redactions" in payload.fields and payload.redactions != base.redactions:
        made["redactions"] = payload.redactions - base.redactions
    if getattr(payload, "notes", None) is not None and payload.notes.value is None:
        made["notes"] = "dropped"
    if "seen" in payload.fields and payload.seen is not base.seen:
        made["seen"] = "again"
    return made


def redo_changes(payload: Any, changes: Mapping[str, Any]) -> Any:
    """
    Change *payload* as *changes* say, and return it.

    Raises ``MessageError`` where it is not the payload that they were made of; then nothing is changed.
    """
    fields = {name: _changed(getattr(payload, name), changes[name]) for name in payload.changeable if name in changes}
    payload.message_list.redo(changes["message_list"])
    for name, value in fields.items():
        setattr(payload, name, value)
    if "redactions" in changes:
        payload.redactions += changes["redactions"]
    if "notes" in changes and payload.notes is not None:
        payload.notes.drop()
    if "seen" in changes:
        payload.seen = payload.message_list.tool_call(payload.tool_call_id)
    return payload


def _change(before: Any, after: Any, by_key: bool) -> dict[str, Any]:
    """
    Return one field's change: by key, by entries that stayed, or as the value that is there now.
    """
    if by_key and is_form(after) and (before is None or is_form(before)):
        known: Mapping[Any, Any] = before or {}
        return {
            "order": list(after),
            "set": {key: one for key, one in after.items() if key not in known or known[key] is not one},
        }
    if isinstance(after, GivenResponse):
        return {"response": {name: _plain(getattr(after, name)) for name in GivenResponse.__fields__}}
    if is_sequence(after) and is_sequence(before):
        return {"entries": _entries(before, after), "tuple": isinstance(after, tuple)}
    return {"value": _plain(after)}


def _entries(before: Sequence[Any], after: Sequence[Any]) -> list[Any]:
    """
    Return each entry as the place at which it stood before, ``[3]``, or as itself.
    """
    places = {id(one): at for at, one in enumerate(before)}
    shift = len(before) - len(after)
    made: list[Any] = []
    for at, one in enumerate(after):
        place = places.get(id(one), -1)
        for there in (at, at + shift) if place < 0 else ():
            if 0 <= there < len(before) and difference(before[there], one) is None:
                place = there
                break
        made.append({"at": place} if place >= 0 else {"is": one})
    return made


def _changed(before: Any, change: Mapping[str, Any]) -> Any:
    if "set" in change:
        known: Mapping[Any, Any] = before or {}
        given = change["set"]
        return {key: given[key] if key in given else known[key] for key in change["order"]}
    if "response" in change:
        return GivenResponse(**change["response"])
    if "entries" in change:
        entries = [before[one["at"]] if "at" in one else one["is"] for one in change["entries"]]
        return tuple(entries) if change["tuple"] else entries
    return change["value"]


def _plain(value: Any) -> Any:
    """
    Return a view of a sequence as a tuple: it is the same to whoever reads it.
    """
    return value if not is_sequence(value) or isinstance(value, (list, tuple)) else tuple(value)


def whole_of(payload: Any) -> dict[str, Any]:
    """
    Return all fields of *payload*, such as a run begins with.
    """
    made: dict[str, Any] = {name: _plain(getattr(payload, name)) for name in payload.fields if name not in _OWN_WAYS}
    made["message_list"] = payload.message_list
    if isinstance(made.get("response"), GivenResponse):
        made["response"] = _change(None, made["response"], False)
    if "notes" in payload.fields:
        made["notes"] = payload.notes.value if payload.notes is not None else "none"
    if "_version" in payload.fields:
        made["_version"] = payload._version == payload.message_list.version
    return made


def from_whole(kind: Any, fields: Mapping[str, Any]) -> Any:
    """
    Return the payload of *kind* whose ``whole_of`` this is.

    Raises ``KeyError`` where a field is missing.
    """
    made: Any = kind.__new__(kind)
    messages: MessageList = fields["message_list"]
    for name in kind.fields:
        if name not in _OWN_WAYS:
            setattr(made, name, fields[name])
    made.message_list = messages
    if is_form(fields.get("response")):
        made.response = _changed(None, fields["response"])
    if "notes" in kind.fields:
        made.notes = None if fields["notes"] == "none" else ResultNotes(cast("Mapping[str, Any]", fields["notes"]))
    if "seen" in kind.fields:
        made.seen = messages.tool_call(made.tool_call_id)
    if "_version" in kind.fields:
        made._version = messages.version if fields["_version"] else -1
    return made
