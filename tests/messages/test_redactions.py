"""Whether what branches hid is still hidden in what a map picked."""

from __future__ import annotations

from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.messages.parts import ToolCallPart
from procession.messages.redactions import dropped_redactions

TEXT = "mail bob@x.io or 7"


def branches() -> tuple[MessageList, MessageList, MessageList]:
    """Return a list, a fork that hid two texts of it, and a fork that did nothing."""
    base = MessageList(Message("user", TEXT, id="m"))
    hiding = base.fork()
    hiding.replace(base.view()[0].with_text("mail [E] or #"), redacted={0: [(5, 13, "[E]"), (17, 18, "#")]})
    return base, hiding, base.fork()


def test_picking_a_sibling_drops_what_was_hidden() -> None:
    """A sibling that did not hide a text shows it, whatever else it did with the message."""
    base, hiding, other = branches()
    patches = {"hide": hiding.diff(), "other": other.diff()}
    found = dropped_redactions(base, patches, other)
    assert [(one.branch, one.redaction.text) for one in found] == [("hide", "bob@x.io"), ("hide", "7")]
    assert base.dropped_redactions(patches, other) == ["hide"]
    other.replace(other.view()[0].with_metadata(a=1))
    assert base.dropped_redactions(patches, other) == ["hide"]
    other.replace(other.view()[0].with_text("so: " + TEXT))
    assert base.dropped_redactions(patches, other) == ["hide"]


def test_what_hides_as_well_drops_nothing() -> None:
    """The branch itself, a list without the message, and one in which the text is gone keep the redaction."""
    base, hiding, other = branches()
    patches = {"hide": hiding.diff()}
    assert base.dropped_redactions(patches, hiding) == []
    hiding.replace(hiding.view()[0].with_metadata(a=1))
    assert base.dropped_redactions(patches, hiding) == []
    other.replace(other.view()[0].with_text("nothing"))
    assert base.dropped_redactions(patches, other) == []
    other.remove(["m"])
    assert base.dropped_redactions(patches, other) == []
    assert base.dropped_redactions({"other": other.diff()}, base) == []


def test_a_note_that_quotes_the_secret_shows_it() -> None:
    """A text that was moved into the metadata of its message is not hidden."""
    base, hiding, other = branches()
    other.replace(other.view()[0].with_text("x").with_metadata(original=TEXT))
    assert base.dropped_redactions({"hide": hiding.diff()}, other) == ["hide"]


def test_whole_values_and_parts() -> None:
    """A result that was replaced or taken out whole is hidden text by text."""
    call = ToolCallPart("c", "find", {}, "result", {"mail": "bob@x.io", "n": 1})
    base = MessageList(Message("assistant", [call], id="a"))
    whole, part = base.fork(), base.fork()
    whole.update_tool_call(call.replace(result="[HIDDEN]"), redacted=True)
    part.replace(base.view()[0].with_parts([]), redacted=True)
    for hiding in (whole, part):
        assert [one.text for one in hiding.diff().redactions][-1] == "bob@x.io"
        assert base.dropped_redactions({"hide": hiding.diff()}, base.fork()) == ["hide"]
