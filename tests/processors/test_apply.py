"""What a hook returns, and what it edits: the same rules for every message hook."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from structlog.testing import capture_logs
from tests.processors.kit import at, conversation, ids, passed, payload_of, texts

from procession.errors import MessageError, ProcessorError
from procession.ids import new_id
from procession.messages.message import Message, SystemMessage
from procession.messages.message_list import MessageList
from procession.messages.parts import TextPart, ToolCallPart

MESSAGE_HOOKS = (
    "process_input",
    "process_input_step",
    "process_output_step",
    "process_tool_result",
    "process_output_result",
)
IN_SCOPE = {
    "process_input": ["m", "u"],
    "process_input_step": ["c", "m", "u", "a"],
    "process_output_step": ["c", "m", "u", "a"],
    "process_tool_result": ["c", "m", "u", "a"],
    "process_output_result": ["a"],
}
EMPTY_IS_NO_CHANGE = [hook for hook in MESSAGE_HOOKS if hook != "process_input"]
SOURCE = {
    "process_input": "input",
    "process_input_step": "input",
    "process_output_step": "response",
    "process_tool_result": "response",
    "process_output_result": "response",
}

every_message_hook = pytest.mark.parametrize("hook", MESSAGE_HOOKS)


async def after(hook: str, act: Callable[[Any], Any]) -> MessageList:
    """Return the message list after *act* at *hook*."""
    payload = await passed(payload_of(hook), at(hook, act))
    messages: MessageList = payload.message_list
    return messages


async def refused(hook: str, act: Callable[[Any], Any]) -> MessageError:
    """Return why what *act* does is refused."""
    with pytest.raises(ProcessorError) as caught:
        await after(hook, act)
    cause = caught.value.__cause__
    assert isinstance(cause, MessageError)
    assert caught.value.hook == hook
    return cause


@every_message_hook
async def test_none_is_no_change(hook: str) -> None:
    """A hook that returns nothing and edits nothing changes nothing."""
    messages = conversation()
    before = messages.version
    await passed(payload_of(hook, messages), at(hook, lambda ctx: None))
    assert messages.version == before


@every_message_hook
async def test_the_same_list_is_what_was_done_to_it(hook: str) -> None:
    """A hook may change ``ctx.message_list`` and return it, or not return it."""

    def add(ctx: Any) -> None:
        ctx.message_list.add({"role": "user", "content": "more", "id": "x"})

    def add_and_return(ctx: Any) -> Any:
        add(ctx)
        return ctx.message_list

    for act in (add, add_and_return):
        assert "x" in ids(await after(hook, act))


@every_message_hook
async def test_another_list_is_refused(hook: str) -> None:
    """A message list that the hook was not given is an error that says what to do instead."""
    error = await refused(hook, lambda ctx: MessageList("other"))
    assert "other than the one it was given" in error.message
    assert "ctx.message_list" in str(error.hint)


@every_message_hook
async def test_the_scope_is_returned_unchanged(hook: str) -> None:
    """Returning what was shown, as it was, changes nothing, whatever the hook was shown."""
    messages = conversation()
    shown: list[str] = []

    def back(ctx: Any) -> Any:
        shown.extend(ids(ctx.messages))
        return ctx.messages

    before = list(messages)
    await passed(payload_of(hook, messages), at(hook, back))
    assert shown == IN_SCOPE[hook]
    assert list(messages) == before


@every_message_hook
async def test_an_edit_in_place_counts(hook: str) -> None:
    """What is edited in ``ctx.messages`` is applied, returned or not, and touches nothing else."""

    def edit(ctx: Any) -> None:
        ctx.messages[-1].text = "edited"
        ctx.messages[-1].metadata["seen"] = True

    def edit_and_return_drafts(ctx: Any) -> Any:
        edit(ctx)
        return ctx.messages

    def edit_and_return_the_list(ctx: Any) -> Any:
        edit(ctx)
        return ctx.message_list

    for act in (edit, edit_and_return_drafts, edit_and_return_the_list):
        messages = await after(hook, act)
        edited = messages.get_by_id(IN_SCOPE[hook][-1])
        assert edited is not None
        assert (edited.text, edited.metadata) == ("edited", {"seen": True})
        assert messages.source_of(edited.id) == conversation().source_of(edited.id)
        assert [message for message in messages if message.id != edited.id] == [
            message.replace(created_at=messages.get_by_id(message.id).created_at)  # type: ignore[union-attr]
            for message in conversation()
            if message.id != edited.id
        ]


async def test_an_edit_keeps_what_is_no_text() -> None:
    """Editing the text of a message leaves its tool calls as they are."""

    def edit(ctx: Any) -> None:
        ctx.messages[-1].text = "edited"

    answer = (await after("process_output_step", edit)).get_by_id("a")
    assert answer is not None
    assert list(answer.parts) == [ToolCallPart("call-1", "lookup", {}), TextPart("edited")]


@pytest.mark.parametrize("hook", [hook for hook in MESSAGE_HOOKS if len(IN_SCOPE[hook]) > 1])
async def test_a_shorter_list_removes(hook: str) -> None:
    """What was shown and does not come back is removed; what was not shown stays."""
    messages = await after(hook, lambda ctx: ctx.messages[1:])
    gone = IN_SCOPE[hook][0]
    assert ids(messages) == [message for message in ["c", "m", "u", "a"] if message != gone]


@every_message_hook
@pytest.mark.parametrize(
    "new", [Message.user("new", id="n"), {"role": "user", "content": "new", "id": "n"}], ids=["value", "mapping"]
)
async def test_a_longer_list_adds(hook: str, new: Any) -> None:
    """A message that was not shown is added where it was returned, as input or as response."""
    messages = await after(hook, lambda ctx: [new, *ctx.messages])
    order = ids(messages)
    assert order.index("n") == order.index(IN_SCOPE[hook][0]) - 1
    assert messages.source_of("n") == SOURCE[hook]


async def test_a_draft_list_may_be_changed_in_place() -> None:
    """Taking out of ``ctx.messages`` and appending to it counts like returning it."""

    def edit(ctx: Any) -> None:
        del ctx.messages[0]
        ctx.messages.append(Message.user("new", id="n"))

    assert ids((await after("process_input", edit)).view("memory", "input")) == ["u", "n"]


async def test_a_returned_order_is_honoured() -> None:
    """Messages stand in the order in which they are returned."""
    messages = await after("process_input", lambda ctx: list(reversed(ctx.messages)))
    assert [id for id in ids(messages) if id in ("m", "u")] == ["u", "m"]
    assert [messages.source_of(id) for id in ("u", "m")] == ["input", "memory"]


@pytest.mark.parametrize("hook", EMPTY_IS_NO_CHANGE)
async def test_an_empty_list_is_no_change(hook: str) -> None:
    """Where the documents' own examples return an empty list it changes nothing, and a warning says so once."""
    guard = at(hook, lambda ctx: [], id=new_id())
    with capture_logs() as logs:
        for _ in range(2):
            assert ids((await passed(payload_of(hook), guard)).message_list) == ["c", "m", "u", "a"]
    warnings = [log["event"] for log in logs if log["log_level"] == "warning"]
    assert warnings == ["an empty list means no change here: return None"]


async def test_an_empty_list_removes_the_input() -> None:
    """From ``process_input`` an empty list removes what the hook was shown."""
    assert ids(await after("process_input", lambda ctx: [])) == ["c", "a"]


@every_message_hook
async def test_messages_and_system_messages(hook: str) -> None:
    """A mapping changes messages and system messages at once; tagged ones stay unless one of their tag is given."""
    change = {"system_messages": ["Be kind."]}
    messages = await after(hook, lambda ctx: {"messages": [*ctx.messages, Message.user("x", id="x")], **change})
    assert "x" in ids(messages)
    assert messages.system_messages == (SystemMessage("Be kind."), SystemMessage("remember", "memory"))
    messages = await after(hook, lambda ctx: {"system_messages": [SystemMessage("forget", "memory")]})
    assert [message.text for message in messages.system_messages] == ["forget"]
    assert ids(messages) == ["c", "m", "u", "a"]


@every_message_hook
async def test_system_messages_are_all_shown(hook: str) -> None:
    """``ctx.system_messages`` has those with a tag, too."""
    shown: list[Any] = []
    await after(hook, lambda ctx: shown.append(ctx.system_messages))
    assert shown == [(SystemMessage("Be brief."), SystemMessage("remember", "memory"))]


@every_message_hook
@pytest.mark.parametrize("returned", ["text", 3, True, object()])
async def test_what_means_nothing_is_refused(hook: str, returned: Any) -> None:
    """A return that is none of the forms is an error that lists them."""
    error = await refused(hook, lambda ctx: returned)
    assert type(returned).__name__ in error.message
    assert "a list of messages" in str(error.hint)


@every_message_hook
async def test_unknown_keys_are_refused(hook: str) -> None:
    """A mapping with a key that means nothing is refused, naming the key."""
    assert "mesages" in (await refused(hook, lambda ctx: {"mesages": []})).message


@every_message_hook
async def test_what_is_no_message_is_refused(hook: str) -> None:
    """A list with something in it that cannot be read as a message is refused."""
    await refused(hook, lambda ctx: [object()])
    await refused(hook, lambda ctx: [{"role": "wizard", "content": "x"}])


@every_message_hook
async def test_messages_are_recomputed_for_each_processor(hook: str) -> None:
    """A processor sees what those before it did, by whatever means, and its scope never widens."""
    shown: list[Any] = []
    source = SOURCE[hook]

    def add(ctx: Any) -> None:
        ctx.message_list.add({"role": "user", "content": "more", "id": "x"}, source)

    look = at(hook, lambda ctx: shown.append((ids(ctx.messages), ids(ctx.view))), id="look")
    await passed(payload_of(hook), at(hook, add, id="add"), look)
    await passed(payload_of(hook), at(hook, lambda ctx: ctx.message_list, id="same"), look)
    with_it = [*IN_SCOPE[hook], "x"]
    assert shown == [(with_it, with_it), (IN_SCOPE[hook], IN_SCOPE[hook])]


@every_message_hook
async def test_the_view_is_read_only_and_shared(hook: str) -> None:
    """``ctx.view`` has the messages themselves, in the same scope, and nothing to change them by."""
    seen: list[Any] = []

    def look(ctx: Any) -> None:
        seen.append((list(ctx.view), hasattr(ctx.view, "append"), ctx.messages[0] is ctx.view[0]))

    messages = conversation()
    await passed(payload_of(hook, messages), at(hook, look))
    view, can_append, is_draft = seen[0]
    assert all(message is messages.get_by_id(message.id) for message in view)
    assert ids(view) == IN_SCOPE[hook]
    assert (can_append, is_draft) == (False, False)


async def test_what_a_hook_did_is_seen_in_its_view_at_once() -> None:
    """``ctx.view`` follows the list, ``ctx.messages`` is what it was when first read, and neither undoes the other."""
    seen: list[Any] = []

    def look(ctx: Any) -> None:
        drafts = ctx.messages
        ctx.message_list.remove(["m"])
        seen.extend([texts(drafts), texts(ctx.view), ctx.messages is drafts])

    messages = await after("process_input", look)
    assert seen == [["before", "Hi"], ["Hi"], True]
    assert "m" not in ids(messages)


async def test_what_was_added_by_hand_outlives_a_returned_list() -> None:
    """A message that a hook adds to the list stays where the hook then returns what it was shown."""

    def add(ctx: Any) -> Any:
        shown = ctx.messages
        ctx.message_list.add(Message.user("more", id="x"))
        return shown

    assert ids(await after("process_input", add)) == ["c", "m", "u", "a", "x"]
