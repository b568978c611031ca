"""What a hook returned becomes the message list's."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.messages.strategies import START, numbered, said

from procession.errors import MessageError
from procession.messages.draft import drafts_of
from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.messages.parts import TextPart, ToolCallPart
from procession.messages.reconcile import commit_drafts, reconcile


def shown(messages: MessageList) -> list[str]:
    """Return the ids of all messages."""
    return [message.id for message in messages]


def test_what_was_read_only_changes_nothing() -> None:
    """Returning drafts, messages or a view as they were shown leaves the list and its version alone."""
    messages = numbered(3)
    before = messages.version
    for returned in (drafts_of(messages), list(messages), messages.view(), tuple(messages)):
        assert not reconcile(messages, shown(messages), returned, "input")
        assert messages.version == before
    assert not commit_drafts(messages, drafts_of(messages))


def test_missing_messages_go_and_unseen_ones_stay() -> None:
    """What was shown and not returned is gone; what was never shown is not touched."""
    messages = numbered(4)
    assert reconcile(messages, ["m0", "m1", "m2"], [messages.view()[1]], "input")
    assert shown(messages) == ["m1", "m3"]
    reconcile(messages, ["m1"], [], "input")
    assert shown(messages) == ["m3"]


def test_changed_messages_keep_place_and_source() -> None:
    """A changed message stays where it is and what it is, a new one has the hook's source."""
    messages = numbered(2)
    messages.add("old", "memory")
    drafts = drafts_of(messages)
    drafts[0].text = "changed"
    reconcile(messages, shown(messages), [*drafts, "new", {"role": "assistant", "content": "newer"}], "response")
    assert said(messages) == ["changed", "message number 1", "old", "new", "newer"]
    assert [messages.source_of(one) for one in shown(messages)] == ["input", "input", "memory", "response", "response"]


def test_new_messages_stand_where_they_were_returned() -> None:
    """A new message stands between its neighbours, whatever its time says."""
    messages = numbered(3)
    one, two, three = messages
    late = Message("user", "late", created_at=START + timedelta(days=1))
    early = Message("user", "early", created_at=START - timedelta(days=1))
    reconcile(messages, shown(messages), [late, one, "now", two, three, early], "input")
    assert said(messages) == ["late", one.text, "now", two.text, three.text, "early"]
    messages.add("last")
    assert said(messages)[-1] == "last"
    assert messages.view()[1] is one


def test_a_message_made_in_the_hook_stands_where_it_was_returned() -> None:
    """A new message without a time of its own does not yield its place to what was there before."""
    messages = numbered(2)
    one, two = messages
    reconcile(messages, shown(messages), [Message.user("first"), one, Message.user("between"), two], "input")
    assert said(messages) == ["first", one.text, "between", two.text]


def test_the_returned_order_holds() -> None:
    """Messages returned in another order stand in it, while those that were not shown stay where they are."""
    messages = numbered(5)
    zero, one, two, three, four = messages
    reconcile(messages, ["m1", "m2", "m3"], [three, one, two], "input")
    assert shown(messages) == ["m0", "m3", "m1", "m2", "m4"]
    assert messages.get_by_id("m0") is zero
    assert messages.get_by_id("m4") is four


@given(st.permutations(range(6)), st.sets(st.integers(0, 5)), st.sets(st.integers(0, 5)), st.booleans())
def test_any_order_holds(order: list[int], new: set[int], ties: set[int], forked: bool) -> None:
    """Any permutation of old and new messages is the order afterwards, also for messages of one time, and in a patch."""
    base = MessageList(
        [
            Message("user", str(at), id=f"m{at}", created_at=START + timedelta(seconds=at - (at in ties)))
            for at in range(6)
            if at not in new
        ]
    )
    messages = base.fork() if forked else base
    known = {message.id: message for message in messages}
    returned = [known.get(f"m{at}", Message("user", str(at), id=f"m{at}", created_at=START)) for at in order]
    reconcile(messages, list(known), returned, "input")
    assert shown(messages) == [f"m{at}" for at in order]
    if forked:
        base.apply(messages.diff())
        assert shown(base) == [f"m{at}" for at in order]


def test_system_messages_are_added() -> None:
    """A returned message of role system is a system message, and no message."""
    messages = numbered(1)
    reconcile(messages, ["m0"], [*messages, {"role": "system", "content": "kind"}, Message("system", "calm")], "input")
    assert [one.text for one in messages.system()] == ["kind", "calm"]
    assert shown(messages) == ["m0"]


def test_a_changed_value_with_a_known_id() -> None:
    """A new value with a known id takes its place, also where it has no time."""
    messages = numbered(3)
    reconcile(messages, shown(messages), [messages.view()[0], Message.user("x", id="m1"), messages.view()[2]], "input")
    assert said(messages) == ["message number 0", "x", "message number 2"]
    row = {"id": "m0", "role": "user", "content": {"format": 2, "parts": [{"type": "text", "text": "y"}]}}
    reconcile(messages, ["m0"], row, "input")
    assert said(messages) == ["y", "x", "message number 2"]


def test_edits_in_place() -> None:
    """Drafts that were edited are taken over, and those of messages that are gone by now are not."""
    messages = numbered(3)
    drafts = drafts_of(messages)
    drafts[0].text = "changed"
    drafts[1].text = "too late"
    messages.remove(["m1"])
    assert commit_drafts(messages, drafts)
    assert said(messages) == ["changed", "message number 2"]


@pytest.mark.parametrize("returned", [False, True])
def test_an_edit_and_a_replacement_both_hold(returned: bool) -> None:
    """Where a hook changed a message in the list and in its draft, both changes are there."""
    call = ToolCallPart("c", "find", {}, "result", "secret")
    messages = MessageList(Message("assistant", [TextPart("one"), call], id="a"), source="response")
    drafts = drafts_of(messages)
    messages.update_tool_call(call.replace(result="[HIDDEN]"))
    drafts[0].parts[0].text = "two"

    def commit(drafts: Any) -> None:
        if returned:
            reconcile(messages, ["a"], drafts, "response")
        else:
            commit_drafts(messages, drafts)

    commit(drafts)
    assert messages.view()[0].parts == [TextPart("two"), call.replace(result="[HIDDEN]")]
    unread = drafts_of(messages)
    messages.update_tool_call(call.replace(result="[GONE]"))
    commit(unread)
    assert messages.view()[0].parts[1] == call.replace(result="[GONE]")


def test_what_is_no_message_is_refused() -> None:
    """Something else in the list is an error."""
    with pytest.raises(MessageError, match="int"):
        reconcile(numbered(1), ["m0"], [7], "input")
