"""Changes that several branches made, as one."""

from __future__ import annotations

from datetime import timedelta
from itertools import permutations

import pytest
from tests.messages.strategies import START, edited, numbered, redacted, said

from procession.errors import MergeConflict
from procession.messages.message import Message, SystemMessage
from procession.messages.message_list import MessageList
from procession.messages.parts import TextPart, ToolCallPart
from procession.messages.serial import to_json


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
