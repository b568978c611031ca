"""The answer of a run, built part by part."""

from __future__ import annotations

import pytest

from procession.errors import MessageError
from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.messages.parts import Approval, StepStartPart, TextPart, ToolCallPart

CALL = ToolCallPart(
    "c1", "weather", {"city": "A"}, title="Weather", provider_metadata={"p": {"a": 1, "b": 1}, "q": {"c": 1}}
)


def test_an_answer_grows_by_steps() -> None:
    """The first parts make the message, later steps begin with a border, parts of the same step do not."""
    messages = MessageList("q", thread_id="t")
    messages.append_response((), message_id="a")
    assert len(messages) == 1
    messages.append_response([TextPart("one")], message_id="a", new_step=True)
    messages.append_response([TextPart("more")], message_id="a")
    messages.append_response((), message_id="a")
    messages.append_response([TextPart("two")], message_id="a", new_step=True)
    answer = messages.view()[-1]
    assert answer.parts == [TextPart("one"), TextPart("more"), StepStartPart(), TextPart("two")]
    assert (answer.role, answer.thread_id, messages.source_of("a")) == ("assistant", "t", "response")
    assert answer.created_at > messages.view()[0].created_at


def test_an_answer_has_its_own_message() -> None:
    """The id decides: behind another assistant's message an answer is a message of its own."""
    messages = MessageList([Message.assistant("prefill")])
    messages.append_response([TextPart("answer")], message_id="a")
    assert [message.text for message in messages] == ["prefill", "answer"]
    with pytest.raises(MessageError, match="'u'"):
        MessageList(Message.user("x", id="u")).append_response([TextPart("y")], message_id="u")


def test_a_tool_call_is_found_newest_first() -> None:
    """Of two calls with one id the newer one is updated, in whatever step of whatever message it stands."""
    messages = MessageList(Message("assistant", [CALL], id="old"), source="memory")
    messages.append_response([CALL, TextPart("x")], message_id="a")
    messages.append_response([TextPart("y")], message_id="a", new_step=True)
    assert messages.update_tool_call(CALL.replace(state="result", result=1))
    assert messages.view()[0].parts == [CALL]
    assert messages.view()[1].parts[0] == CALL.replace(state="result", result=1)
    assert messages.tool_call("c1") == messages.view()[1].parts[0]
    assert messages.tool_call("zz") is None


def test_a_call_keeps_what_is_its_own() -> None:
    """Arguments, title, who runs it and approval stay; the provider's notes are merged key by key."""
    asked = CALL.replace(provider_executed=True, raw_input="{}", approval=Approval("ap"))
    messages = MessageList(Message("assistant", [asked], id="a"), source="memory")
    news = ToolCallPart("c1", "weather", {"city": "B"}, "result", 21, provider_metadata={"p": {"b": 2}, "r": {"d": 1}})
    assert messages.update_tool_call(news)
    assert messages.tool_call("c1") == ToolCallPart(
        "c1", "weather", {"city": "A"}, "result", 21, raw_input="{}", approval=Approval("ap"), provider_executed=True,
        title="Weather", provider_metadata={"p": {"a": 1, "b": 2}, "q": {"c": 1}, "r": {"d": 1}},
    )  # fmt: skip
    assert messages.source_of("a") == "response"
    assert [message.id for message in messages.unsaved()] == ["a"]


def test_unknown_calls_are_told() -> None:
    """A call that is not there is not updated, and nothing changes."""
    messages = MessageList(Message("assistant", [CALL], id="a"))
    before = messages.version
    assert not messages.update_tool_call(CALL.replace(tool_call_id="zz"))
    assert messages.version == before


def test_a_provider_may_answer_under_another_id() -> None:
    """A pending call that the provider runs is found by its tool's name, and takes the new id."""
    messages = MessageList(Message("assistant", [TextPart("x"), CALL.replace(provider_executed=True)], id="a"))
    assert messages.update_tool_call(CALL.replace(tool_call_id="other", state="result", result=1))
    assert messages.tool_call("c1") is None
    found = messages.tool_call("other")
    assert found is not None
    assert (found.result, found.provider_executed) == (1, True)


def test_an_attempt_is_rolled_back() -> None:
    """An answer becomes what it was before an attempt, or goes if there was none."""
    messages = MessageList("q")
    messages.append_response([TextPart("one")], message_id="a")
    before = messages.get_by_id("a")
    messages.append_response([TextPart("two")], message_id="a", new_step=True)
    messages.restore_response("a", before)
    messages.restore_response("a", before)
    assert messages.get_by_id("a") is before
    messages.restore_response("a", None)
    messages.restore_response("a", None)
    assert [message.text for message in messages] == ["q"]
    messages.restore_response("a", before)
    assert messages.get_by_id("a") is before
    messages.append_response([TextPart("three")], message_id="a")
    assert messages.view()[-1].text == "onethree"
