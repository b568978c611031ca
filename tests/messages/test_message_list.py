"""What may be done to a message list."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.messages.strategies import START, messages, numbered, said

from procession.errors import MessageError
from procession.messages.message import Message, SystemMessage
from procession.messages.message_list import MessageList
from procession.messages.parts import DataPart, StepStartPart, TextPart, ToolCallPart

CALL = ToolCallPart("c1", "weather", {"city": "A"})
TRACES = Path(__file__).parents[1] / "conformance" / "golden" / "message_list"


def at(seconds: float) -> datetime:
    """Return a time some seconds after the start."""
    return START + timedelta(seconds=seconds)


def test_what_can_be_added() -> None:
    """A text, a message, a mapping, a draft and any nesting of them are messages."""
    found = MessageList(["one", [Message.user("two"), ({"role": "user", "content": "three"},)]])
    assert said(found) == ["one", "two", "three"]
    assert [found.source_of(message.id) for message in found] == ["input"] * 3


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"role": "wizard", "content": "x"}, "wizard"),
        ({"role": "user"}, "neither content nor parts"),
        ({"content": "x"}, "unknown role"),
        (7, "int"),
        (b"x", "bytes"),
        ({"role": "user", "content": [{"type": "sound"}]}, "sound"),
        ({"role": "user", "content": "x", "createdAt": "yesterday"}, "yesterday"),
    ],
)
def test_what_cannot_be_read_is_refused(given: Any, told: str) -> None:
    """Whatever is no message is refused, naming what is wrong with it."""
    with pytest.raises(MessageError, match=told):
        MessageList(given)


def test_unknown_sources_are_refused() -> None:
    """A source that does not exist is named with those that do."""
    with pytest.raises(MessageError, match="memory, input, response, context"):
        MessageList("x", source="inbox")


def test_a_refused_message_leaves_the_others_in_order() -> None:
    """What cannot be read adds nothing; a message of another thread ends the adding, and the list stays in order."""
    found = MessageList(thread_id="t")
    with pytest.raises(MessageError):
        found.add(["x", 7])
    assert len(found) == 0
    with pytest.raises(MessageError):
        found.add(
            [
                Message("user", "b", created_at=at(1)),
                Message("user", "a", created_at=at(0)),
                Message("user", "c", thread_id="u"),
            ]
        )
    assert said(found) == ["a", "b"]


def test_an_empty_text_is_a_message() -> None:
    """An empty text is allowed."""
    assert said(MessageList("")) == [""]


def test_order_is_time() -> None:
    """Messages stand in the order of their times; those of one time in the order in which they came."""
    found = MessageList([Message("user", text, created_at=at(time)) for text, time in (("b", 1), ("a", 0), ("c", 1))])
    assert said(found) == ["a", "b", "c"]


def test_what_has_no_time_comes_last() -> None:
    """A message without a time is later than all others, even if they are of tomorrow."""
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    found = MessageList([Message("user", "future", created_at=tomorrow)], source="memory")
    found.add(["one", {"role": "user", "content": "two"}])
    found.add({"id": "u", "role": "user", "parts": [{"type": "text", "text": "three"}], "createdAt": 0})
    assert said(found) == ["future", "one", "two", "three"]
    times = [message.created_at for message in found]
    assert times == sorted(set(times))


@given(st.lists(st.sampled_from(["text", "form", "message", "timed"]), max_size=8))
def test_a_conversation_is_continued_in_the_order_in_which_it_is_given(kinds: list[str]) -> None:
    """What has no time stands between its neighbours, though those with a time were said long ago."""
    made: dict[str, Callable[[int], Any]] = {
        "text": str,
        "form": lambda number: {"role": "user", "content": str(number)},
        "message": lambda number: Message("user", str(number)),
        "timed": lambda number: Message("user", str(number), created_at=at(number)),
    }
    found = MessageList([made[kind](number) for number, kind in enumerate(kinds)])
    assert said(found) == [str(number) for number in range(len(kinds))]
    times = [message.created_at for message in found]
    assert times == sorted(set(times))


def test_a_clients_answer_meets_its_call_from_memory() -> None:
    """A tool's result that was added before memory brought the call goes to the call, which is to be saved again."""
    found = MessageList(
        {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c1", "toolName": "w", "result": 21}]}
    )
    found.add(["and this", {"role": "user", "content": "too"}])
    call = Message("assistant", [ToolCallPart("c1", "w", {"a": 1})], id="old", created_at=at(0))
    found.add([call], "memory")
    assert [message.role for message in found] == ["assistant", "user", "user"]
    assert found.tool_call("c1") == ToolCallPart("c1", "w", {"a": 1}, "result", 21)
    assert "old" in [message.id for message in found.unsaved()]


def test_a_time_that_nobody_gave_yields() -> None:
    """Messages made without a time keep the order in which they are added, also when they are known."""
    first, second = Message.user("a"), Message.user("b")
    found = MessageList(["before", second, first])
    assert said(found) == ["before", "b", "a"]
    found.add(Message.user("B", id=second.id))
    found.add({"id": first.id, "role": "user", "parts": [{"type": "text", "text": "A"}], "createdAt": 0})
    assert said(found) == ["before", "B", "A"]


def test_times_without_a_zone_are_utc() -> None:
    """A message whose time has no zone can stand beside one whose time has."""
    found = MessageList([Message("user", "b", created_at=at(1)), Message("user", "a", created_at=datetime(2025, 1, 1))])
    assert said(found) == ["a", "b"]


@given(st.lists(messages.map(lambda message: message.replace(thread_id=None)), max_size=8), st.booleans())
def test_the_order_is_always_right(given: list[Message], merge: bool) -> None:
    """After any additions the list is sorted, ids are unique and every message is found by its id."""
    for source in ("input", "memory", "response"):
        found = MessageList()
        found.add(given[:3], source, merge=merge)
        found.add(given[3:], "input", merge=merge)
        times = [message.created_at for message in found]
        assert times == sorted(times)
        assert len({message.id for message in found}) == len(found)
        assert all(found.get_by_id(message.id) is message for message in found)


def test_threads_do_not_mix() -> None:
    """A message of another thread or resource is refused; one without takes the list's; memory is trusted."""
    found = MessageList("hi", thread_id="t", resource_id="r")
    assert [(message.thread_id, message.resource_id) for message in found] == [("t", "r")]
    for field in ("thread_id", "resource_id"):
        with pytest.raises(MessageError, match=field):
            found.add(Message("user", "x", **{field: "other"}))  # type: ignore[arg-type]
    found.add(Message("user", "x", resource_id="other"), "memory")
    assert len(found) == 2


def test_a_known_id_is_replaced() -> None:
    """A user's message with a known id takes the place of the known one."""
    found = numbered(2)
    found.add(Message("user", "new", id="m0", created_at=at(0)))
    assert said(found) == ["new", "message number 1"]
    found.add(Message("user", "late", id="m0", created_at=at(9)))
    assert said(found) == ["message number 1", "late"]


def test_an_assistant_goes_on_in_its_message() -> None:
    """An assistant's message right behind another one is merged into it, and into a remembered one as well."""
    found = MessageList(Message("assistant", "one", id="a1", created_at=at(1)), source="memory")
    found.add(Message("assistant", "two", id="a2", created_at=at(2)), "response")
    assert [(message.id, message.text) for message in found] == [("a1", "onetwo")]
    assert found.source_of("a1") == "response"
    found.add(Message("assistant", "three", id="a3", created_at=at(3)), "response", merge=False)
    assert [message.id for message in found] == ["a1", "a3"]


@pytest.mark.parametrize(
    "latest",
    [
        Message("assistant", "x", id="a", created_at=START, metadata={"mastra": {"sealed": True}}),
        Message("assistant", "x", id="a", created_at=START, metadata={"mastra": {"responseBoundary": True}}),
        Message("assistant", "x", id="a", created_at=START, metadata={"completionResult": {"ok": True}}),
        Message("assistant", [DataPart("data-a", 1)], id="a", created_at=START),
        Message("assistant", "x", id="a", created_at=START, thread_id="other"),
        Message("user", "x", id="a", created_at=START),
    ],
)
def test_what_an_assistant_does_not_go_on_in(latest: Message) -> None:
    """Closed messages, those of data alone, another thread's and a user's are not gone on in."""
    found = MessageList(latest)
    found.add(Message("assistant", "y", created_at=at(1)), "response")
    assert len(found) == 2


def test_a_tool_message_answers_its_call() -> None:
    """The result in a message of role tool goes to the call, and what is said next starts a step."""
    found = MessageList(
        [
            {"role": "user", "content": "q"},
            {
                "role": "assistant",
                "content": [{"type": "tool-call", "toolCallId": "c1", "toolName": "w", "args": {"a": 1}}],
            },
            {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c1", "toolName": "w", "result": 21}]},
            {"role": "assistant", "content": "it is 21"},
        ]
    )
    answer = found.view()[-1]
    assert len(found) == 2
    assert answer.parts == [
        ToolCallPart("c1", "w", {"a": 1}, "result", 21),
        StepStartPart(),
        TextPart("it is 21"),
    ]


def test_memory_and_live_copies() -> None:
    """
    A client's echo of a stored message contributes outcomes only; a remembered message is not added twice.
    """
    stored = Message("assistant", [TextPart("stored"), CALL], id="a", created_at=at(0))
    echo = Message("assistant", [TextPart("forged"), CALL.replace(state="result", result=1)], id="a", created_at=at(5))
    found = MessageList(echo)
    found.add(stored, "memory")
    assert found.view()[0].parts == [TextPart("stored"), CALL.replace(state="result", result=1)]
    assert found.view()[0].created_at == at(0)
    assert [one.id for one in found.view("memory")] == [one.id for one in found.view("input")] == ["a"]
    found.add(stored.with_text("other"), "memory")
    assert said(found) == ["stored"]
    found.add(Message.user("ctx", id="c"), "context")
    found.add(Message("user", "remembered", id="c", created_at=at(1)), "memory")
    assert found.source_of("c") == "memory"


def test_a_stored_response_is_gone_on_with() -> None:
    """A response that memory knows an earlier half of is the stored half and the rest."""
    found = MessageList(
        Message("assistant", [TextPart("a"), TextPart("b")], id="a", created_at=at(0)), source="response"
    )
    found.add(Message("assistant", [TextPart("a")], id="a", created_at=at(0)), "memory")
    assert said(found) == ["ab"]


def test_an_echo_does_not_take_an_outcome_back() -> None:
    """A tool call that has a result keeps it against a copy that still waits."""
    done = CALL.replace(state="result", result=1)
    found = MessageList(Message("assistant", [CALL], id="a", created_at=at(0)))
    found.add(Message("assistant", [done], id="a", created_at=at(0)), "memory")
    found.add(Message("assistant", [CALL], id="a", created_at=at(0)))
    assert found.tool_call("c1") == done


def test_a_sealed_message_stays() -> None:
    """What is added to a sealed message gets an id of its own, and nothing of the sealed part changes."""
    sealed = Message("assistant", "one", id="a", metadata={"mastra": {"sealed": True}})
    found = MessageList(sealed)
    found.add(sealed.with_parts([TextPart("changed"), TextPart("two")]), "response")
    found.add(sealed.with_parts([TextPart("changed")]), "response")
    assert said(found) == ["one", "two"]
    assert found.view()[0] is sealed


def test_removing() -> None:
    """Removing returns what was there and passes over what was not."""
    found = numbered(3)
    assert [message.id for message in found.remove(["m1", "zzz", "m1"])] == ["m1"]
    assert [message.id for message in found] == ["m0", "m2"]
    assert found.remove("zzz") == []
    assert found.get_by_id("m1") is None
    found.add("on")
    assert said(found)[-1] == "on"


def test_replacing_keeps_place_and_source() -> None:
    """A replaced message keeps its place and source unless it says otherwise."""
    found = numbered(3)
    found.replace(found.view()[1].with_text("x"))
    assert said(found)[1] == "x"
    assert found.source_of("m1") == "input"
    found.replace(found.view()[1], "context")
    assert found.source_of("m1") == "context"
    found.replace(found.view()[0].replace(created_at=at(8)))
    assert [message.id for message in found] == ["m1", "m2", "m0"]
    found.replace_all([found.view()[2].replace(created_at=at(0)), found.view()[0].with_text("y")])
    assert said(found) == ["message number 0", "y", "message number 2"]
    stranger = Message.user("x", id="zzz")
    with pytest.raises(MessageError, match="'zzz'"):
        found.replace(stranger)
    with pytest.raises(MessageError, match="'zzz'"):
        found.replace_all([stranger])


def test_system_messages() -> None:
    """Untagged ones stand first, each bucket has every text once, and tags are kept apart."""
    found = MessageList()
    found.add_system("tagged", "memory")
    found.add_system(["base", "base", SystemMessage("x"), {"role": "system", "content": "y"}])
    found.add_system(SystemMessage("own", "mine"), "memory")
    found.add({"role": "system", "content": "added"})
    found.add(Message("system", "remembered"), "memory")
    assert [one.text for one in found.system()] == ["base", "x", "y", "added"]
    assert [one.text for one in found.system("memory")] == ["tagged"]
    assert [one.text for one in found.system_messages] == ["base", "x", "y", "added", "tagged", "own"]
    assert len(found) == 0
    with pytest.raises(MessageError):
        found.add_system([[]])  # type: ignore[list-item]


def test_system_messages_replaced_by_tag() -> None:
    """A list replaces the untagged ones, and tagged ones where it has their tag."""
    found = MessageList()
    found.add_system(["a", SystemMessage("m", "memory"), SystemMessage("u", "user")])
    start = found.system_messages
    found.replace_system(["b", SystemMessage("n", "memory")])
    assert [one.text for one in found.system_messages] == ["b", "n", "u"]
    found.reset_untagged_system(start)
    assert [one.text for one in found.system_messages] == ["a", "n", "u"]
    found.clear_system("memory")
    found.clear_system()
    assert [one.text for one in found.system_messages] == ["u"]


def test_the_latest_user_text() -> None:
    """The newest user message counts, whoever spoke after it."""
    found = MessageList(["one", "two"])
    found.add(Message.assistant("three"), "response")
    assert found.latest_user_text() == "two"
    assert MessageList().latest_user_text() is None


def test_a_list_shows_its_end() -> None:
    """The readable form is short, however long the list."""
    assert repr(numbered(5)).startswith("<MessageList of 5: 2 more, user: 'message number 2'")


def shown(message: Message) -> str:
    """Write a message as the traces do."""
    found: list[str] = []
    for part in message.parts:
        if isinstance(part, TextPart):
            found.append(f"text({json.dumps(part.text)})")
        elif isinstance(part, ToolCallPart):
            args, result = (json.dumps(value, separators=(",", ":")) for value in (part.args, part.result))
            outcome = f" => {result}" if part.state == "result" else ""
            found.append(f"tool-invocation({part.state} {part.tool_name}#{part.tool_call_id} {args}{outcome})")
        else:
            found.append(part.type)
    return f"{message.role}: {', '.join(found)}"


@pytest.mark.skipif(not TRACES.is_dir(), reason="the recorded traces are not here")
@pytest.mark.parametrize("trace", sorted(TRACES.glob("*.json")), ids=lambda path: path.stem)
def test_recorded_traces(trace: Path) -> None:
    """The stored messages of every recorded trace come out as they were recorded."""
    recorded = json.loads(trace.read_text())
    found = MessageList()
    if trace.stem == "invalid_role":  # the one that is refused here
        with pytest.raises(MessageError):
            found.add(recorded["setup"]["ops"][0]["add"])
        return
    expected = [entry for entry in recorded["expected"]["output"] if str(entry.get("view", "")).endswith(".db")]
    for operation in recorded["setup"]["ops"]:
        if "add" in operation:
            rows: list[Any] = operation["add"] if isinstance(operation["add"], list) else [operation["add"]]
            for row in rows:
                if not isinstance(row, str) and "created_offset" in row:
                    row["createdAt"] = at(row.pop("created_offset"))
            found.add(rows, operation.get("source", "input"))
        elif "remove_ids" in operation:
            found.remove(operation["remove_ids"])
        elif "update_tool" in operation:
            call = operation["update_tool"]
            found.update_tool_call(
                ToolCallPart(call["toolCallId"], call["toolName"], call["args"], call["state"], call["result"])
            )
        elif str(operation.get("view", "")).endswith(".db"):
            scope = getattr(found.get, operation["view"].removesuffix(".db"))
            assert [shown(message) for message in scope.db()] == expected.pop(0)["messages"]
    assert not expected
