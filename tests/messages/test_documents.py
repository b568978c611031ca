"""The documents' spellings on a message list."""

from __future__ import annotations

import pytest

from procession.errors import MessageError
from procession.messages.message_list import MessageList
from procession.messages.parts import ToolCallPart


def test_the_documents_spellings() -> None:
    """``update_tool_invocation`` takes the documents' form of a part, ``remove_by_ids`` takes messages out."""
    messages = MessageList("hi")
    messages.append_response([ToolCallPart("c", "find", {"q": 1})], message_id="a")
    call = {"state": "result", "toolCallId": "c", "toolName": "find", "args": {"q": 1}, "result": {"ssn": "[REDACTED]"}}
    assert messages.update_tool_invocation({"type": "tool-invocation", "toolInvocation": call})
    found = messages.tool_call("c")
    assert found is not None
    assert (found.state, found.result, found.args) == ("result", {"ssn": "[REDACTED]"}, {"q": 1})
    assert not messages.update_tool_invocation(ToolCallPart("x", "other", {}, "result", 1))
    with pytest.raises(MessageError, match="'text'"):
        messages.update_tool_invocation({"type": "text", "text": "x"})
    assert [one.id for one in messages.remove_by_ids(["a", "unknown"])] == ["a"]
    assert [one.text for one in messages] == ["hi"]
