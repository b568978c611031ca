"""How one version of a message differs from another."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.messages.strategies import messages, parts

from procession.errors import MessageError
from procession.messages.edits import Insert, Put, Take, TextEdit, apply_edits, diff_message
from procession.messages.message import Message
from procession.messages.parts import Part, TextPart, ToolCallPart
from procession.messages.splices import Splice


@given(messages, messages, st.none() | st.just(True))
def test_edits_turn_one_version_into_the_other(old: Message, new: Message, redacted: bool | None) -> None:
    """The edits found between two versions of a message lead from the first to the second."""
    new = new.replace(id=old.id)
    assert apply_edits(old, diff_message(old, new, redacted)) == new


@given(messages, st.lists(parts, max_size=3), st.integers(0, 5), st.integers(0, 5))
def test_parts_put_in_and_taken_out(old: Message, news: list[Part], at: int, gone: int) -> None:
    """So do the edits of a message that lost and gained parts."""
    kept = [part for index, part in enumerate(old.parts) if index != gone]
    new = old.with_parts([*kept[:at], *news, *kept[at:]])
    assert apply_edits(old, diff_message(old, new)) == new


def test_a_change_is_as_small_as_it_is() -> None:
    """One word of one part is one splice of that part's text."""
    old = Message("user", [TextPart("hello"), TextPart("call me now")], id="m")
    new = old.with_parts([TextPart("hello"), TextPart("call us now")])
    assert diff_message(old, new) == (TextEdit((1, "text"), (Splice(5, 7, "us"),)),)


def test_values_inside_a_result_have_their_own_place() -> None:
    """Two keys of one tool result are two places, so that two guards may each change one."""
    call = ToolCallPart("c1", "find", {}, "result", {"mail": "a@b.c", "phones": ["1", "2"], "old": 1})
    old = Message("assistant", [call], id="m")
    new = old.with_parts([call.replace(result={"mail": "[MAIL]", "phones": ["1", "[P]"], "new": 2})])
    edits = diff_message(old, new)
    assert {edit.path for edit in edits if not isinstance(edit, Insert)} == {
        (0, "result", "mail"),
        (0, "result", "phones", 1),
        (0, "result", "old"),
        (0, "result", "new"),
    }
    assert apply_edits(old, edits) == new


def test_a_tool_call_under_another_id_is_the_same_call() -> None:
    """Its id is put whole and its result stays in place, also where something follows; another call is another part."""
    calls = [ToolCallPart(id, "find", {"q": id}, "result", id) for id in ("a.1", "b.1")]
    old = Message("assistant", calls, id="m")
    renamed = [call.replace(tool_call_id=id) for call, id in zip(calls, ("a_1", "b_1-2"), strict=True)]
    new = old.with_parts([*renamed, TextPart("So.")])
    assert diff_message(old, new) == (
        Put((0, "tool_call_id"), "a_1"),
        Put((1, "tool_call_id"), "b_1-2"),
        Insert(2, (TextPart("So."),)),
    )
    assert apply_edits(old, diff_message(old, new)) == new
    other = old.with_parts([calls[0].replace(tool_call_id="c", args={"q": "c"}), calls[1]])
    assert [type(edit) for edit in diff_message(old, other)] == [Take, Insert]


def test_declared_spans_are_redactions() -> None:
    """What a guard declares is taken as it says; what it left out is found beside it."""
    old = Message.user("call 555 now", id="m")
    exact = diff_message(old, old.with_text("call [P] now"), {0: [(5, 8, "[P]")]})
    assert exact == (TextEdit((0, "text"), (Splice(5, 8, "[P]", "redact"),)),)
    more = diff_message(old, old.with_text("Call [P] now"), {0: [(5, 8, "[P]")]})
    assert isinstance(more[0], TextEdit)
    assert [(one.text, one.kind) for one in more[0].splices] == [("Call", "rewrite"), ("[P]", "redact")]


def test_notes_are_annotations() -> None:
    """A change of the metadata is of kind annotate, and a first note leaves room for another branch's."""
    old = Message.user("hi", id="m")
    assert diff_message(old, old.with_metadata(lang="en")) == (Put(("metadata", "lang"), "en", "annotate"),)
    both = apply_edits(old, (Put(("metadata", "a"), 1, "annotate"), Put(("metadata", "b"), 2, "annotate")))
    assert both.metadata == {"a": 1, "b": 2}


@pytest.mark.parametrize("edit", [TextEdit((7, "text"), ()), Put((0, "colour"), 1), Take((0, "args", "x"))])
def test_edits_that_do_not_fit_are_refused(edit: TextEdit | Put | Take) -> None:
    """An edit of a place that the message does not have names the message."""
    with pytest.raises(MessageError, match="'m'"):
        apply_edits(Message("assistant", [ToolCallPart("c", "t", {})], id="m"), (edit,))
