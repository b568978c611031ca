"""The memory of a message list: views, forks, who shares what."""

from __future__ import annotations

from copy import copy, deepcopy

import pytest
from tests.messages.strategies import numbered, said

from procession.errors import MessageError
from procession.messages.message import Message
from procession.messages.message_list import MessageList


def test_views_by_source() -> None:
    """A view holds the messages of its sources in list order, wherever they stand."""
    messages = MessageList(thread_id="t", resource_id="r")
    for text, source in (("old", "memory"), ("hint", "context"), ("new", "input"), ("older", "memory")):
        messages.add(text, source)
    messages.add(Message.assistant("answer"), "response")
    assert [one.text for one in messages.view("memory")] == ["old", "older"]
    assert [one.text for one in messages.view("memory", "input")] == ["old", "new", "older"]
    assert [one.text for one in messages.view("input", "response", "context")] == ["hint", "new", "answer"]
    assert [one.text for one in messages.view("response")] == ["answer"]
    assert len(messages.view()) == len(messages.view("all")) == len(messages) == 5
    assert messages.view("memory") is messages.view("memory")
    assert (messages.thread_id, messages.resource_id) == ("t", "r")
    with pytest.raises(MessageError, match="'inbox'"):
        messages.view("inbox")


def test_a_view_is_a_snapshot() -> None:
    """No change of the list shows in a view that was taken before."""
    messages = numbered(3)
    views = [messages.view(), messages.view("input")]
    messages.add("more")
    messages.replace(messages.view()[0].with_text("other"))
    messages.remove(["m1"])
    for view in views:
        assert [one.id for one in view] == ["m0", "m1", "m2"]
        assert view[0].text == "message number 0"


def test_a_copy_is_the_callers_own() -> None:
    """It has the messages of its sources, in a fork those of the fork, and nothing done to it or to the list shows."""
    messages = numbered(3)
    messages.add(Message.assistant("answer"), "response")
    fork = messages.fork()
    messages.add("more")
    everything, answers = messages.copied(), messages.copied("response")
    assert [one.text for one in answers] == ["answer"] and len(everything) == len(messages.copied("all")) == 5
    assert fork.copied() == list(fork.view()) == everything[:4] and fork.copied("input") == list(fork.view("input"))
    everything.clear()
    messages.remove(["m1"])
    assert len(messages.copied()) == 4 and [one.text for one in answers] == ["answer"]


def test_every_change_has_a_version() -> None:
    """The version changes with each change and with nothing else."""
    messages = numbered(2)
    seen = {messages.version}
    messages.view()
    messages.replace(messages.view()[0])
    messages.add_system("a")
    seen.add(messages.version)
    messages.add_system("a")
    assert len(seen) == 2
    assert messages.version in seen
    for doing in (
        lambda: messages.add("x"),
        lambda: messages.remove(["m0"]),
        lambda: messages.replace(messages.view()[0].with_text("y")),
        lambda: messages.clear_system(),
        lambda: messages.drain_unsaved(),
    ):
        doing()
        assert messages.version not in seen
        seen.add(messages.version)


def test_siblings_may_add_the_same_id() -> None:
    """Two forks and their base each add messages, of one id even, and each finds its own."""
    base = numbered(3)
    one, other = base.fork(), base.fork()
    base.add("base")
    for branch, text in ((one, "one"), (other, "other")):
        branch.add(Message.user("first " + text, id=text))
        branch.add(Message.user(text, id="same"))
    base.add(Message.user("of the base", id="same"))
    for branch, text in ((one, "one"), (other, "other"), (base, "of the base")):
        found = branch.get_by_id("same")
        assert found is not None
        assert found.text == text
    assert one.get_by_id("other") is None
    assert said(one)[3:] == ["first one", "one"]
    assert said(base)[3:] == ["base", "of the base"]


def test_a_list_goes_on_after_it_was_forked() -> None:
    """A base that is changed in every way leaves its forks as they were."""
    base = numbered(4)
    fork = base.fork()
    expected = said(fork)
    base.remove(["m3"])
    base.add("again")
    base.replace(base.view()[0].with_text("changed"))
    base.drain_unsaved()
    assert said(fork) == expected
    assert len(fork.unsaved()) == 4
    assert len(base.unsaved()) == 0


def test_adopting_takes_over_and_lets_go() -> None:
    """A list that adopted a fork is what the fork was; afterwards each goes its own way."""
    base = numbered(2)
    fork = base.fork()
    fork.add(Message.user("new", id="n"))
    fork.add_system("kind")
    base.adopt_state(fork)
    assert base.version == fork.version
    assert said(base) == said(fork)
    base.add("base")
    fork.add("fork")
    fork.replace(fork.view()[0].with_text("changed"))
    assert said(base)[0] == "message number 0"
    assert said(base)[2:] == ["new", "base"]
    assert said(fork)[2:] == ["new", "fork"]
    back = base.fork()
    base.add("gone")
    base.adopt_state(back)
    base.adopt_state(base)
    assert said(base)[2:] == ["new", "base"]
    base.add("on")
    assert said(base)[2:] == ["new", "base", "on"]


def test_adopting_a_stranger_is_refused() -> None:
    """A list of another thread cannot be adopted."""
    with pytest.raises(MessageError, match="'b'"):
        MessageList(thread_id="a").adopt_state(MessageList(thread_id="b"))


def test_copies_are_forks() -> None:
    """Copying a list, deeply or not, gives one that changes on its own."""
    base = numbered(1)
    for made in (copy(base), deepcopy(base)):
        made.add("x")
        assert len(made) == 2
    assert len(base) == 1


def test_draining_hands_out_once() -> None:
    """What has been drained is not drained again until it changes, and keeps its source."""
    messages = MessageList("hi")
    messages.add("old", "memory")
    messages.append_response(MessageList("x").view()[0].parts, message_id="a")
    assert [one.text for one in messages.drain_unsaved()] == ["hi", "x"]
    assert messages.drain_unsaved() == []
    assert [one.text for one in messages.view("response")] == ["x"]
    messages.append_response(MessageList("y").view()[0].parts, message_id="a")
    assert [one.text for one in messages.unsaved()] == ["xy"]
    assert [one.text for one in messages.unsaved("input")] == []
    fork = messages.fork()
    assert [one.text for one in fork.drain_unsaved()] == ["xy"]
    messages.apply(fork.diff())
    assert messages.drain_unsaved() == []
