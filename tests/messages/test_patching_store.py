"""Forks, patches and merges of a message list."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.messages.strategies import START, change, changes, edited, numbered, redacted, said, texts

from procession.errors import MessageError
from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.messages.parts import TextPart, ToolCallPart
from procession.messages.patch import EMPTY_PATCH, Patch
from procession.messages.serial import from_json, to_json


def state(message_list: MessageList) -> dict[str, Any]:
    """Return what a list holds, but for the order of messages of one time."""
    found = message_list.state()
    rows = zip(found["messages"], found["sources"], strict=True)
    return found | {"messages": sorted(rows, key=lambda row: (row[0].created_at, row[0].id)), "sources": None}


@given(changes)
def test_a_patch_makes_the_base_what_the_fork_is(doings: list[tuple[str, str, Any]]) -> None:
    """A patch applied to the list that was forked gives the fork, and so it does out of storage."""
    base = numbered(4)
    base.add_system("be kind")
    before = base.state()
    branch = base.fork()
    change(branch, doings)
    patch = branch.diff()
    assert base.state() == before
    stored = base.fork()
    base.apply(patch)
    assert state(base) == state(branch)
    restored: Patch = from_json(to_json(patch))
    assert to_json(restored) == to_json(patch)
    stored.apply(restored)
    assert state(stored) == state(branch)


@given(changes, changes)
def test_a_fork_of_a_fork_adds_up(first: list[tuple[str, str, Any]], second: list[tuple[str, str, Any]]) -> None:
    """Adopting or applying what a second fork did makes the first fork's patch hold both."""
    base = numbered(4)
    for adopt in (True, False):
        outer = base.fork()
        change(outer, first)
        inner = outer.fork()
        change(inner, second)
        if adopt:
            outer.adopt_state(inner)
        else:
            outer.apply(inner.diff())
        again = base.fork()
        again.apply(outer.diff())
        assert state(again) == state(inner)


@given(changes, changes)
def test_forks_do_not_see_each_other(first: list[tuple[str, str, Any]], second: list[tuple[str, str, Any]]) -> None:
    """What one of two forks does changes neither the other one, nor the base, nor a view taken before."""
    base = numbered(4)
    alone = numbered(4).fork()
    change(alone, second)
    view = base.view()
    one, other = base.fork(), base.fork()
    change(one, first)
    change(other, second)
    base.add(Message("user", "later", id="n2", created_at=START + timedelta(seconds=9)))
    assert state(other) == state(alone)
    assert [message.text for message in view] == [f"message number {at}" for at in range(4)]
    assert len(base) == 5


def test_nothing_changed_is_one_object() -> None:
    """A fork that changed nothing has the empty patch, and the version of its base."""
    base = numbered(3)
    branch = base.fork()
    assert branch.diff() is EMPTY_PATCH
    assert branch.version == base.version
    branch.replace(branch.view()[0])
    assert not branch.diff()


def test_only_a_fork_has_a_patch() -> None:
    """A list that is no fork cannot say what changed, and says so."""
    with pytest.raises(MessageError, match="no fork"):
        numbered(1).diff()


@given(
    st.lists(st.tuples(st.integers(0, 3), texts), max_size=4), st.lists(st.tuples(st.integers(4, 7), texts), max_size=4)
)
def test_disjoint_changes_merge_like_a_sequence(first: list[tuple[int, str]], second: list[tuple[int, str]]) -> None:
    """Branches that changed different messages merge to what one after the other would have given."""
    base, sequence = numbered(8), numbered(8)
    one, other = base.fork(), base.fork()
    for branch, edits in ((one, first), (other, second)):
        for at, text in edits:
            for target in (branch, sequence):
                target.replace(target.view()[at].with_text(text))
    base.merge({"one": one.diff(), "other": other.diff()})
    assert base.state() == sequence.state()


SECRET = "mail bob@example.com or call 5551234 or visit Elm Street 5"
secret_spans = st.lists(
    st.tuples(st.integers(0, len(SECRET) - 1), st.integers(1, 20)).map(
        lambda one: (one[0], min(one[0] + one[1], len(SECRET)))
    ),
    min_size=1,
    max_size=3,
)


@given(st.lists(secret_spans, min_size=1, max_size=3), st.randoms(use_true_random=False))
def test_redactions_of_all_branches_hold(branches: list[list[tuple[int, int]]], random: Any) -> None:
    """Whatever order the branches come in, what any of them hid is hidden, and nothing else is lost."""
    # Every character is a different one, so that what is shown can be told.
    text = "".join(chr(0x4E00 + at) for at in range(len(SECRET)))
    base = MessageList([Message("user", text, id="m")])
    patches: dict[str, Patch] = {}
    hidden: set[int] = set()
    for number, wanted in enumerate(branches):
        branch = base.fork()
        spans: list[tuple[int, int, str]] = []
        for start, end in sorted(wanted):
            if not spans or start >= spans[-1][1]:
                spans.append((start, end, "#"))
                hidden |= set(range(start, end))
        left = text
        for start, end, stand_in in reversed(spans):
            left = left[:start] + stand_in + left[end:]
        branch.replace(base.view()[0].with_text(left), redacted={0: spans})
        patches[f"branch{number}"] = branch.diff()
    order = list(patches)
    random.shuffle(order)
    base.merge({name: patches[name] for name in order})
    now = said(base)[0]
    assert [letter for letter in now if letter != "#"] == [letter for at, letter in enumerate(text) if at not in hidden]


def test_unknown_policies_are_refused() -> None:
    """A policy that is the workflow's to run is named as such."""
    with pytest.raises(MessageError, match="chain"):
        numbered(1).merge({}, "chain")


def test_a_patch_for_other_messages_is_refused() -> None:
    """A patch that names a place which is not there says which message it does not fit."""
    base = numbered(1)
    patch: Patch = from_json(to_json(edited(base, base.view()[0].with_parts([TextPart("a"), TextPart("b")]))))
    patch = from_json(to_json(patch).replace('"at":1', '"at":1'))
    other = MessageList([Message("user", [ToolCallPart("c", "t", {})], id="m0")])
    with pytest.raises(MessageError, match="'m0'"):
        other.apply(patch)


def test_changes_of_a_message_that_is_gone_are_dropped() -> None:
    """A change of a message that the base lost since is reported, not applied."""
    base = numbered(2)
    patch = edited(base, base.view()[0].with_text("x"))
    base.remove(["m0"])
    report = base.merge({"late": patch})
    assert said(base) == ["message number 1"]
    assert [entry.branch for entry in report.dropped] == ["late"]


def test_patches_name_what_they_hide() -> None:
    """A patch lists the texts that it hides, and where."""
    base = numbered(1)
    patch = redacted(base, "m0", "number", "[N]")
    assert [(one.message_id, one.path, one.start, one.end, one.text) for one in patch.redactions] == [
        ("m0", (0, "text"), 8, 14, "number")
    ]
    stored: Patch = from_json(to_json(patch))
    assert "number" not in to_json(patch)
    assert [one.text for one in stored.redactions] == [""]
    assert stored.redacts
