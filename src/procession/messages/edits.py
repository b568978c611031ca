"""
Edits: how one version of a message differs from another, part by part and down to spans of text.

A place in a message is a path: ``(0, "text")`` is the text of its first part, ``(2, "result", "email")`` a value
inside a tool's result, ``("metadata", "language")`` a note on the message.  Parts are numbered as in the old version.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, TypeAlias

from procession.errors import MessageError
from procession.messages.parts import DataPart, Part, Parts, ToolCallPart
from procession.messages.shapes import is_dict, is_items
from procession.messages.splices import EditKind, Splice, apply_splices, diff_text
from procession.messages.value import Value

if TYPE_CHECKING:
    from procession.messages.message import Message

__all__ = ["Edit", "Insert", "Path", "Put", "RedactedSpans", "Take", "TextEdit", "apply_edits", "diff_message"]

Path: TypeAlias = tuple[int | str, ...]
Spans: TypeAlias = Sequence[tuple[int, int, str]]
RedactedSpans: TypeAlias = Mapping[int, Spans] | Mapping[Path, Spans] | bool
"""
What a guard hid: for each place the spans of the old text and what stands there now, ``{0: [(5, 8, "[PHONE]")]}``.
A number alone is the text of that part.  ``True``: whatever is different was hidden.
"""


class TextEdit(Value):
    """
    Splices of the text at *path*.
    """

    path: Path
    splices: tuple[Splice, ...]


class Put(Value):
    """
    *value* at *path*, whatever stood there.
    """

    path: Path
    value: Any
    kind: EditKind = "rewrite"


class Take(Value):
    """
    Nothing at *path* any more: a part that is gone, or a key of a mapping.
    """

    path: Path
    kind: EditKind = "rewrite"


class Insert(Value):
    """
    *parts* before the old part number *at*, or behind the last one.
    """

    at: int
    parts: tuple[Part, ...]
    kind: EditKind = "rewrite"


Edit: TypeAlias = TextEdit | Put | Take | Insert
_FIELDS = ("role", "created_at", "thread_id", "resource_id", "type")
_NOTES = ("metadata", "provider_metadata")


# --- finding -------------------------------------------------------------------


def diff_message(old: Message, new: Message, redacted: RedactedSpans | None = None) -> tuple[Edit, ...]:
    """
    Return the edits that turn *old* into *new*; what *redacted* names, or overlaps, is of kind ``redact``.
    """
    edits: list[Edit] = []
    declared = _declared(redacted) if isinstance(redacted, Mapping) else {}
    kind: EditKind = "redact" if redacted is True else "rewrite"
    for part, others, at in _aligned(old.parts, new.parts):
        if part is None:
            edits.append(Insert(at, others, kind))
        elif not others:
            edits.append(Take((at,), kind))
        elif part is not others[0]:
            if isinstance(part, ToolCallPart) and isinstance(others[0], ToolCallPart):
                part = _diff_id((at,), part, others[0], kind, edits)
            _diff_value((at,), part, others[0], kind, declared, edits)
    for field in _FIELDS:
        if getattr(old, field) != getattr(new, field):
            edits.append(Put((field,), getattr(new, field)))
    for field in _NOTES:
        before, after = getattr(old, field), getattr(new, field)
        # Two branches may each write a first note, so that "none" must count as an empty mapping.
        _diff_value((field,), {} if before is None and after else before, after, "annotate", {}, edits)
    return tuple(edits)


def _declared(redacted: Mapping[Any, Spans]) -> dict[Path, list[Splice]]:
    found: dict[Path, list[Splice]] = {}
    for place, spans in redacted.items():
        path = (place, "text") if isinstance(place, int) else tuple(place)
        found[path] = [Splice(start, end, text, "redact") for start, end, text in spans]
    return found


def _aligned(old: Parts, new: Parts) -> list[tuple[Part | None, tuple[Part, ...], int]]:
    """
    Pair old parts with new ones: (old or None, new ones or none, number of the old part).
    """
    before, after = old.flat, new.flat
    if len(before) == len(after) and all(a is b or _name(a) == _name(b) for a, b in zip(before, after, strict=True)):
        return [(a, (b,), at) for at, (a, b) in enumerate(zip(before, after, strict=True)) if a is not b]
    found: list[tuple[Part | None, tuple[Part, ...], int]] = []
    matcher = SequenceMatcher(None, [_name(part) for part in before], [_name(part) for part in after], autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        same = i2 - i1 if tag == "equal" else _renamed(before[i1:i2], after[j1:j2])
        found += [(before[i1 + n], (after[j1 + n],), i1 + n) for n in range(same)]
        if tag != "equal":
            i1, j1 = i1 + same, j1 + same
            found += [(before[i], (), i) for i in range(i1, i2)]
            if j1 < j2:
                found.append((None, after[j1:j2], i1))
    return found


def _name(part: Part) -> tuple[Any, ...]:
    """
    What makes a changed part the same part: its type, and the call's id of a tool call.
    """
    if isinstance(part, ToolCallPart):
        return (ToolCallPart, part.tool_call_id)
    if isinstance(part, DataPart):
        return (DataPart, part.type, part.id)
    return (type(part),)


def _renamed(old: Sequence[Part], new: Sequence[Part]) -> int:
    """
    Count the tool calls at the beginning of both that are the same but for their ids.
    """
    count = 0
    for a, b in zip(old, new, strict=False):
        if not (isinstance(a, ToolCallPart) and isinstance(b, ToolCallPart)):
            break
        if (a.tool_name, a.args) != (b.tool_name, b.args):
            break
        count += 1
    return count


def _diff_id(path: Path, old: ToolCallPart, new: ToolCallPart, kind: EditKind, edits: list[Edit]) -> ToolCallPart:
    """
    Return *old* under the id of *new*: an id is put whole, for a part of another one would name nothing.
    """
    if old.tool_call_id == new.tool_call_id:
        return old
    edits.append(Put((*path, "tool_call_id"), new.tool_call_id, kind))
    return old.replace(tool_call_id=new.tool_call_id)


def _diff_value(
    path: Path, old: Any, new: Any, kind: EditKind, declared: Mapping[Path, list[Splice]], edits: list[Edit]
) -> None:
    if old is new:
        return
    if type(old) is not type(new):
        edits.append(Put(path, new, _kind_at(path, kind, declared)))
    elif isinstance(old, str):
        splices = _text_splices(path, old, new, kind, declared)
        if splices:
            edits.append(TextEdit(path, tuple(splices)))
    elif is_dict(old) and all(isinstance(key, str) for key in (*old, *new)):
        for key in old:
            if key in new:
                _diff_value((*path, key), old[key], new[key], kind, declared, edits)
            else:
                edits.append(Take((*path, key), _kind_at((*path, key), kind, declared)))
        edits += [Put((*path, key), new[key], kind) for key in new if key not in old]
    elif is_items(old) and len(old) == len(new):
        for at, (a, b) in enumerate(zip(old, new, strict=True)):
            _diff_value((*path, at), a, b, kind, declared, edits)
    elif isinstance(old, Value):
        for field in type(old).__fields__:
            note = field == "provider_metadata"
            _diff_value(
                (*path, field), getattr(old, field), getattr(new, field), "annotate" if note else kind, declared, edits
            )
    elif old != new:
        edits.append(Put(path, new, _kind_at(path, kind, declared)))


def _kind_at(path: Path, kind: EditKind, declared: Mapping[Path, list[Splice]]) -> EditKind:
    return "redact" if any(place[: len(path)] == path for place in declared) else kind


def _text_splices(
    path: Path, old: str, new: str, kind: EditKind, declared: Mapping[Path, list[Splice]]
) -> list[Splice]:
    hidden = declared.get(path)
    if not hidden:
        return diff_text(old, new, kind)
    if apply_splices(old, hidden) == new:
        return sorted(hidden, key=lambda one: (one.start, one.end))
    return [
        splice.replace(kind="redact")
        if any(splice.start < one.end and one.start < splice.end for one in hidden)
        else splice
        for splice in diff_text(old, new, kind)
    ]


# --- applying ------------------------------------------------------------------


def apply_edits(message: Message, edits: Iterable[Edit]) -> Message:
    """
    Return *message* with *edits* applied.

    Raises ``MessageError`` where an edit names a place that the message does not have.
    """
    parts = message.parts
    taken: list[int] = []
    inserts: list[Insert] = []
    fields: dict[str, Any] = {}
    try:
        for edit in edits:
            if isinstance(edit, Insert):
                inserts.append(edit)
                continue
            top = edit.path[0]
            if isinstance(top, str):
                fields[top] = _changed(fields.get(top, getattr(message, top)), edit.path[1:], edit)
            elif len(edit.path) == 1 and isinstance(edit, Take):
                taken.append(top)
            else:
                parts = parts.replaced(top, _changed(parts[top], edit.path[1:], edit))
    except (IndexError, KeyError, AttributeError, TypeError) as error:
        raise MessageError(
            f"a patch does not fit message {message.id!r}: {error}", hint="apply it to the list it was made from"
        ) from error
    if taken or inserts:
        flat: list[Part | None] = [None if at in taken else part for at, part in enumerate(parts)]
        for insert in sorted(inserts, key=lambda one: one.at)[::-1]:
            flat[insert.at : insert.at] = insert.parts
        parts = Parts(part for part in flat if part is not None)
    if parts is not message.parts:
        fields["parts"] = parts
    return message.replace(**fields) if fields else message


def _changed(value: Any, path: Path, edit: TextEdit | Put | Take) -> Any:
    if not path:
        if isinstance(edit, TextEdit):
            return apply_splices(value, edit.splices)
        if isinstance(edit, Put):
            return edit.value
        raise KeyError(edit.path)
    key, rest = path[0], path[1:]
    if value is None:
        value = {}
    if isinstance(value, Value):
        return value.replace(**{str(key): _changed(getattr(value, str(key)), rest, edit)})
    if is_dict(value):
        made: dict[Any, Any] = dict(value)
        if not rest and isinstance(edit, Take):
            del made[key]
        else:
            made[key] = _changed(made.get(key), rest, edit)
        return made
    if is_items(value) and isinstance(key, int):
        items: list[Any] = [*value]
        items[key] = _changed(items[key], rest, edit)
        return items if isinstance(value, list) else tuple(items)
    raise KeyError(key)
