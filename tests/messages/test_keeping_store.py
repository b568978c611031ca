"""What a run keeps of a message list: changes that lead from one state to the next."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import example, given
from tests.messages.strategies import START, change, changes, numbered

from procession.errors import MergeConflict, MessageError
from procession.messages.changes import Changes
from procession.messages.message import Message, Moment
from procession.messages.message_list import MessageList
from procession.messages.parts import TextPart
from procession.messages.serial import from_json, to_data, to_json

Doings = list[tuple[str, str, Any]]


def base_of_all() -> MessageList:
    """Return the list that the tests change."""
    base = numbered(4)
    base.add_system("be kind")
    return base


def known(message_list: MessageList) -> dict[str, Any]:
    """Return all that a fork's later life depends on: what it holds, in order, and what it says it changed."""
    patch: dict[str, Any] = to_data(message_list.diff())
    patch["changes"] = sorted(map(repr, patch["changes"]))
    return message_list.state() | {"patch": patch, "hidden": sorted(message_list.hidden_texts())}


def merged(base: MessageList, patches: dict[str, Any], policy: str) -> Any:
    """Return what a merge of branches gives, or in what it fails."""
    fork = base.fork()
    try:
        fork.merge(patches, policy)
    except MergeConflict as error:
        return str(error), error.branches
    return known(fork)


@given(changes, changes, changes)
@example([], [("text", "m1", "call call"), ("text", "m0", "call")], [("text", "m0", ""), ("text", "m1", "me")])
def test_what_was_kept_of_each_step_gives_the_same_again(first: Doings, second: Doings, sibling: Doings) -> None:
    """Two steps of a branch done again from what was kept give its lists, its patch, and the same merge with a sibling."""
    base = base_of_all()
    branch, again, other = base.fork(), base.fork(), base.fork()
    change(other, sibling)
    for doings in (first, second):
        before = branch.fork()
        change(branch, doings)
        kept = to_json(branch.changes_since(before))
        assert again.redo(from_json(kept)) is again
        assert known(again) == known(branch)
        assert [one.created_at.__class__ for one in again] == [one.created_at.__class__ for one in branch]
    for policy in ("strictest", "priority"):
        for mine in ("first", "last"):
            order = {"a": 0, "b": 1} if mine == "first" else {"b": 1, "a": 0}
            patches = [[branch.diff(), other.diff()], [again.diff(), other.diff()]]
            one, two = ({name: pair[at] for name, at in order.items()} for pair in patches)
            assert merged(base, one, policy) == merged(base, two, policy)
    picked = base.fork()
    change(picked, sibling)
    assert base.dropped_redactions({"a": branch.diff()}, picked) == base.dropped_redactions({"a": again.diff()}, picked)


@given(changes, changes)
def test_what_a_join_made_is_kept_as_well(first: Doings, second: Doings) -> None:
    """The outcome of a merge is one more state that changes lead to."""
    base = base_of_all()
    outer, again = base.fork(), base.fork()
    before = outer.fork()
    one, two = outer.fork(), outer.fork()
    change(one, first)
    change(two, second)
    try:
        outer.merge({"one": one.diff(), "two": two.diff()}, "priority")
    except MergeConflict:
        return
    again.redo(from_json(to_json(outer.changes_since(before))))
    assert known(again) == known(outer)


def test_what_was_hidden_or_removed_is_not_kept() -> None:
    """Neither the text that a guard hid nor the message that it took out is in what is kept."""
    base = numbered(3, "my secret is hunter2, number")
    messages, before, again = base.fork(), base.fork(), base.fork()
    first = messages.view()[0]
    at = first.text.index("hunter2")
    messages.replace(
        first.with_text(first.text.replace("hunter2", "[HIDDEN]")), redacted={0: [(at, at + 7, "[HIDDEN]")]}
    )
    messages.remove(["m1"], redacted=True)
    kept = to_json(messages.changes_since(before))
    assert "hunter2" not in kept
    assert "m2" not in kept
    again.redo(from_json(kept))
    assert known(again) == known(messages)
    assert again.diff().redacts
    assert [one.text for one in again.diff().redactions] == ["hunter2"]


def test_a_long_history_is_not_kept_again() -> None:
    """What is kept grows with what changed, and not with the list or the message."""
    messages = numbered(2000)
    before = messages.fork()
    messages.add(Message("assistant", [TextPart("x" * 50_000)], id="long"), "response")
    assert len(to_json(messages.changes_since(before))) > 50_000
    before = messages.fork()
    messages.append_response([TextPart("and on")], message_id="long")
    assert len(to_json(messages.changes_since(before))) < 1000
    assert before.redo(from_json(to_json(messages.changes_since(before)))).state() == messages.state()


def test_nothing_changed_keeps_nothing() -> None:
    """A step that changed nothing leaves no message in what is kept, and the list its version."""
    messages = numbered(3)
    before = messages.fork()
    kept = messages.changes_since(before)
    assert to_data(kept) == {"$type": "Changes"}
    version = before.version
    assert before.redo(kept).version == version


def test_changes_of_another_state_are_refused_whole() -> None:
    """Changes that were made of other messages are not done, not even in part."""
    messages = numbered(3)
    before = messages.fork()
    messages.replace(messages.view()[0].with_text("short"))
    messages.remove(["m1"])
    messages.add("later")
    kept = messages.changes_since(before)
    other_text = messages.view()[0].with_text("another text")
    spoils: list[Callable[[MessageList], object]] = [
        lambda one: one.remove(["m0"]),
        lambda one: one.remove(["m1"]),
        lambda one: one.replace(other_text),
        lambda one: one.remove(["m2"]),
    ]
    for spoil in spoils:
        other = numbered(3).fork()
        spoil(other)
        was = other.state()
        with pytest.raises(MessageError):
            other.redo(kept)
        assert other.state() == was
    before = messages.fork()
    messages.replace(messages.view()[0].replace(created_at=START + timedelta(days=1)))
    with pytest.raises(MessageError, match="other messages"):
        numbered(4).redo(Changes(order=messages.changes_since(before).order or ()))


def test_a_time_that_nobody_gave_stays_one() -> None:
    """A message that yields to the order in which it is added still does so after it was kept."""
    message = Message("user", "hi")
    assert message.created_at.__class__ is Moment
    assert from_json(to_json(message)).created_at.__class__ is Moment
    plain = message.replace(created_at=message.created_at + timedelta(0))
    assert from_json(to_json(plain)).created_at == plain.created_at
    assert isinstance(from_json(to_json(Changes(removed=("a",)))), Changes)
