"""Forks, patches and merges of a message list."""

from __future__ import annotations

from datetime import timedelta
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from procession.errors import MergeConflict, MessageError
from procession.messages.message import Message, SystemMessage
from procession.messages.message_list import MessageList
from procession.messages.parts import TextPart, ToolCallPart
from procession.messages.patch import EMPTY_PATCH, Patch
from procession.messages.serial import from_json, to_json

from tests.messages.strategies import START, messages, numbered, said, texts

ids = st.sampled_from(["m0", "m1", "m2", "m3", "m9"])
changes = st.lists(
    st.one_of(
        st.tuples(st.just("text"), ids, texts),
        st.tuples(st.just("note"), ids, texts),
        st.tuples(st.just("redact"), ids, texts),
        st.tuples(st.just("remove"), ids, st.none()),
        st.tuples(st.just("add"), st.sampled_from(["n1", "n2", "n3"]), texts),
        st.tuples(st.just("source"), ids, st.sampled_from(["memory", "response", "context"])),
        st.tuples(st.just("system"), st.sampled_from(["a", "b"]), texts),
        st.tuples(st.just("whole"), ids, messages),
    ),
    max_size=6,
)


def change(message_list: MessageList, doings: list[tuple[str, str, Any]]) -> None:
    """Carry out changes, as a branch would; those of a message that is not there are passed over."""
    for doing, target, detail in doings:
        message = message_list.get_by_id(target)
        if doing == "add":
            message_list.add(Message("user", detail, id=target, created_at=START + timedelta(seconds=1)))
        elif doing == "system":
            message_list.add_system(detail, target)
        elif message is None:
            continue
        elif doing == "text":
            message_list.replace(message.with_text(detail))
        elif doing == "note":
            message_list.replace(message.with_metadata(note=detail))
        elif doing == "redact":
            message_list.replace(message.with_text(detail), redacted=True)
        elif doing == "remove":
            message_list.remove([target])
        elif doing == "source":
            message_list.replace(message, detail)
        else:
            message_list.replace(detail.replace(id=target))


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


@given(st.lists(st.tuples(st.integers(0, 3), texts), max_size=4), st.lists(st.tuples(st.integers(4, 7), texts), max_size=4))
def test_disjoint_changes_merge_like_a_sequence(
    first: list[tuple[int, str]], second: list[tuple[int, str]]
) -> None:
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
    assert [letter for letter in now if letter != "#"] == [
        letter for at, letter in enumerate(text) if at not in hidden
    ]


def redacted(base: MessageList, message_id: str, secret: str, stand_in: str) -> Patch:
    """Return the patch of a branch that hides a text of one message."""
    branch = base.fork()
    message = base.get_by_id(message_id)
    assert message is not None
    start = message.text.index(secret)
    branch.replace(
        message.with_text(message.text.replace(secret, stand_in)),
        redacted={0: [(start, start + len(secret), stand_in)]},
    )
    return branch.diff()


def edited(base: MessageList, message: Message) -> Patch:
    """Return the patch of a branch that replaced one message."""
    branch = base.fork()
    branch.replace(message)
    return branch.diff()


@pytest.mark.parametrize("policy", ["strictest", "priority"])
def test_no_order_brings_a_secret_back(policy: str) -> None:
    """A secret stays hidden although others rewrote the text, quoted it in a note, or repeated it elsewhere."""
    for order in permutations(range(5)):
        base = MessageList([Message("user", "mail bob@example.com now", id="m"), Message("user", "thanks", id="o")])
        message, other = base.view()
        added = base.fork()
        added.add("as bob@example.com said")
        patches = [
            redacted(base, "m", "bob@example.com", "[EMAIL]"),
            edited(base, message.with_metadata(original="mail bob@example.com now")),
            edited(base, message.with_parts([*message.parts, TextPart("write to bob@example.com")])),
            edited(base, other.with_text("thanks, bob@example.com")),
            added.diff(),
        ]
        base.merge({f"b{at}": patches[at] for at in order}, policy)
        assert "bob" not in to_json(base)
        assert "[EMAIL]" in said(base)[0]


def test_remove_goes_before_redact_before_rewrite() -> None:
    """The strictest change of a message holds, and the report tells what was dropped."""
    base = numbered(2)
    branch = base.fork()
    branch.remove(["m0"])
    report = base.merge({"hide": redacted(base, "m0", "number", "[N]"), "drop": branch.diff()})
    assert said(base) == ["message number 1"]
    assert [(entry.branch, entry.message_id) for entry in report.dropped] == [("hide", "m0")]
    rewrite = edited(base, base.view()[0].with_text("message numeral 1"))
    report = base.merge({"rewrite": rewrite, "hide": redacted(base, "m1", "number", "[N]")})
    assert said(base) == ["message [N] 1"]
    assert [entry.branch for entry in report.dropped] == ["rewrite"]


def test_two_rewrites_of_one_span_are_a_conflict() -> None:
    """The conflict names the branches and the message, and leaves the list as it was; priority decides it."""
    base = numbered(2)
    patches = {
        "one": edited(base, base.view()[0].with_text("message ONE 0")),
        "two": edited(base, base.view()[0].with_text("message TWO 0")),
    }
    before = base.state()
    with pytest.raises(MergeConflict, match="'m0'") as caught:
        base.merge(patches)
    assert caught.value.branches == ("one", "two")
    assert base.state() == before
    base.merge(patches, "priority")
    assert said(base)[0] == "message ONE 0"


def test_a_conflict_elsewhere_changes_nothing() -> None:
    """A merge that fails at the last message has not touched the first."""
    base = numbered(3)
    one, two = base.fork(), base.fork()
    for branch, text in ((one, "x"), (two, "y")):
        branch.add_system(text)
        branch.replace(branch.view()[2].with_text(text))
    one.remove(["m0"])
    before = base.version
    with pytest.raises(MergeConflict):
        base.merge({"one": one.diff(), "two": two.diff()})
    assert base.version == before
    assert len(base) == 3


def test_equal_changes_are_no_conflict() -> None:
    """Branches that did the same are one."""
    base = numbered(2)
    message = base.view()[1].with_text("the same")
    base.merge({"one": edited(base, message), "two": edited(base, message)})
    assert said(base)[1] == "the same"


def test_additions_keep_the_order_of_declaration() -> None:
    """What branches add at one place follows the order of the branches, whenever each of them was done."""
    base = numbered(2)
    late, early = base.fork(), base.fork()
    early.add({"role": "user", "content": "second"})
    late.add({"role": "user", "content": "first"})
    base.merge({"a": late.diff(), "b": early.diff()})
    assert said(base)[2:] == ["first", "second"]
    base.add("third")
    assert said(base)[2:] == ["first", "second", "third"]


def test_additions_in_front_and_between() -> None:
    """New messages stand behind the message that they stood behind in their fork."""
    base = numbered(3)
    one, two = base.fork(), base.fork()
    one.add(Message("user", "front", created_at=START - timedelta(seconds=1)))
    one.add(Message("user", "between", created_at=START + timedelta(seconds=1, milliseconds=1)))
    two.add(Message("user", "too", created_at=START + timedelta(seconds=1, milliseconds=2)))
    two.remove(["m1"])
    base.merge({"one": one.diff(), "two": two.diff()})
    assert said(base) == ["front", "message number 0", "between", "too", "message number 2"]


def test_the_same_message_added_twice_is_one() -> None:
    """Branches that recalled the same message agree; different ones with one id do not."""
    base = numbered(1)
    recalled = Message("user", "old", id="r", created_at=START - timedelta(days=1))
    one, two, three = base.fork(), base.fork(), base.fork()
    one.add(recalled, "memory")
    two.add(recalled, "memory")
    three.add(recalled.with_text("other"), "memory")
    with pytest.raises(MergeConflict, match="'r'"):
        base.merge({"one": one.diff(), "three": three.diff()})
    base.merge({"one": one.diff(), "two": two.diff()})
    assert said(base) == ["old", "message number 0"]
    assert base.source_of("r") == "memory"


def test_system_messages_merge_by_tag() -> None:
    """Additions follow each other, different tags do not meet, two different replacements are a conflict."""
    base = numbered(1)
    base.add_system(["be kind", SystemMessage("remember", "memory")])
    one, two, three = base.fork(), base.fork(), base.fork()
    one.add_system("one")
    two.add_system("two")
    three.replace_system([SystemMessage("forget", "memory"), "be kind"])
    base.merge({"one": one.diff(), "two": two.diff(), "three": three.diff()})
    assert [one.text for one in base.system_messages] == ["be kind", "one", "two", "forget"]
    left, right = base.fork(), base.fork()
    left.replace_system(["left"])
    right.replace_system(["right"])
    with pytest.raises(MergeConflict) as caught:
        base.merge({"left": left.diff(), "right": right.diff()})
    assert caught.value.branches == ("left", "right")
    base.merge({"left": left.diff(), "right": right.diff()}, "priority")
    assert base.system()[0].text == "left"


def test_two_guards_on_one_tool_result() -> None:
    """Redactions of different values inside one result both hold."""
    call = ToolCallPart("c", "find", {}, "result", {"mail": "bob@example.com", "phone": "5551234"})
    base = MessageList([Message("assistant", [call], id="a")], source="response")
    one, two = base.fork(), base.fork()
    one.update_tool_call(call.replace(result={"mail": "[MAIL]", "phone": "5551234"}), redacted=True)
    two.update_tool_call(call.replace(result={"mail": "bob@example.com", "phone": "[P]"}), redacted=True)
    base.merge({"one": one.diff(), "two": two.diff()})
    now = base.tool_call("c")
    assert now is not None
    assert now.result == {"mail": "[MAIL]", "phone": "[P]"}


def test_a_redaction_inside_holds_against_a_rewrite_of_the_whole() -> None:
    """A branch that replaced a whole result does not undo a redaction inside it."""
    call = ToolCallPart("c", "find", {}, "result", {"mail": "bob@example.com"})
    for reverse in (False, True):
        base = MessageList([Message("assistant", [call], id="a")], source="response")
        one, two = base.fork(), base.fork()
        one.update_tool_call(call.replace(result={"mail": "[MAIL]"}), redacted=True)
        two.update_tool_call(call.replace(result="found bob@example.com"))
        patches = {"one": one.diff(), "two": two.diff()}
        base.merge(dict(reversed(patches.items())) if reverse else patches)
        assert "bob" not in to_json(base)


def test_a_redaction_after_a_rewrite_in_one_branch() -> None:
    """A branch that first rewrote and then hid keeps its secret against a sibling."""
    base = MessageList([Message("user", "Mail  bob@example.com  now", id="m")])
    one = base.fork()
    one.replace(one.view()[0].with_text("Mail bob@example.com now"))
    one.replace(one.view()[0].with_text("Mail [E] now"), redacted={0: [(5, 20, "[E]")]})
    two = edited(base, base.view()[0].with_text("Mail  bob@example.com  please"))
    base.merge({"one": one.diff(), "two": two})
    assert "bob" not in said(base)[0]


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
