"""Message lists as prompts, made step by step."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.messages.strategies import messages, parts, texts

from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.messages.parts import Part, StepStartPart, TextPart, ToolCallPart
from procession.messages.to_prompt import PromptBuilder


def shown(message_list: MessageList) -> list[str]:
    """Return the prompt of a list, an entry per line."""
    return [
        f"{entry.role}: {', '.join(getattr(part, 'text', None) or part.type for part in entry.content)}"
        for entry in PromptBuilder().build(message_list)
    ]


changes: st.SearchStrategy[list[tuple[Any, ...]]] = st.lists(
    st.one_of(
        st.tuples(st.just("add"), messages.map(lambda message: message.replace(thread_id=None))),
        st.tuples(st.just("append"), st.lists(parts, max_size=3), st.booleans()),
        st.tuples(st.just("update"), st.sampled_from(["c1", "c2"])),
        st.tuples(st.just("replace"), st.integers(0, 5), texts),
        st.tuples(st.just("remove"), st.integers(0, 5)),
        st.tuples(st.just("system"), texts, st.sampled_from([None, "memory"])),
        st.tuples(st.just("clear"), st.none()),
        st.tuples(st.just("roll back"), st.none()),
    ),
    max_size=12,
)


@given(changes)
def test_step_by_step_is_as_from_scratch(doings: list[tuple[Any, ...]]) -> None:
    """After any changes the builder that saw them all makes the prompt that a new one makes; old prompts stay."""
    message_list = MessageList()
    builder = PromptBuilder()
    made: list[tuple[Any, list[Any]]] = []
    before: Message | None = None
    for doing, *details in doings:
        first: Any = details[0]
        number: int = first if doing in ("replace", "remove") else 0
        at = number % len(message_list) if len(message_list) else None
        if doing == "add":
            message_list.add(first, "response" if first.role == "assistant" else "input")
        elif doing == "append":
            before = message_list.get_by_id("answer")
            message_list.append_response(first, message_id="answer", new_step=details[1])
        elif doing == "update":
            message_list.update_tool_call(ToolCallPart(first, "weather", {}, "result", 1))
        elif doing == "replace" and at is not None:
            message_list.replace(message_list.view()[at].with_text(details[1]))
        elif doing == "remove" and at is not None:
            message_list.remove([message_list.view()[at].id])
        elif doing == "system":
            message_list.add_system(first, details[1])
        elif doing == "clear":
            message_list.clear_system()
        elif doing == "roll back":
            message_list.restore_response("answer", before)
        prompt = builder.build(message_list)
        assert prompt == PromptBuilder().build(message_list)
        assert builder.build(message_list) is prompt
        made.append((prompt, list(prompt)))
    for prompt, then in made:
        assert list(prompt) == then


def test_steps_are_entries() -> None:
    """A step is an assistant's entry, followed by one with the results of its tools."""
    messages = MessageList("q")
    messages.add_system(["base", "more"])
    messages.add_system("tagged", "memory")
    call, other = ToolCallPart("c1", "weather", {"city": "A"}), ToolCallPart("c2", "clock", {})
    messages.append_response([TextPart("let me see"), call, other], message_id="a")
    assert shown(messages)[3:] == ["user: q", "assistant: let me see"]
    messages.update_tool_call(call.replace(state="result", result={"temp": 21}))
    messages.update_tool_call(other.replace(state="output-error", error_text="kaput"))
    messages.append_response([TextPart("it is 21")], message_id="a", new_step=True)
    assert shown(messages) == [
        "system: base",
        "system: more",
        "system: tagged",
        "user: q",
        "assistant: let me see, tool-call, tool-call",
        "tool: tool-result, tool-result",
        "assistant: it is 21",
    ]


def test_a_prompt_does_not_begin_with_an_answer() -> None:
    """A short user's turn stands in front of an assistant's that would come first."""
    messages = MessageList([Message.assistant("two"), Message.user("three")])
    assert shown(messages) == ["user: .", "assistant: two", "user: three"]
    assert shown(MessageList()) == []


def test_only_what_is_new_is_converted() -> None:
    """From step to step the entries of earlier steps are the very same objects."""
    messages = MessageList("q")
    messages.add_system("base")
    builder = PromptBuilder()
    earlier: list[Any] = []
    for step in range(20):
        call = ToolCallPart(f"c{step}", "weather", {})
        said: list[Part] = [TextPart(f"step {step}"), call]
        messages.append_response(said, message_id="a", new_step=True)
        if step == 10:
            messages.append_response([StepStartPart()], message_id="a")
            messages.add_system("feedback", "retry")
            builder.build(messages)
        messages.update_tool_call(call.replace(state="result", result=step))
        prompt = [entry for entry in builder.build(messages) if entry.role != "system"]
        assert all(now is then for now, then in zip(prompt, earlier, strict=False))
        assert len(prompt) > len(earlier)
        earlier = prompt


def test_forks_share_a_builder() -> None:
    """A builder that is shown one list and then another makes the prompt of each."""
    base = MessageList(["one", "two"])
    fork = base.fork()
    builder = PromptBuilder()
    first = builder.build(base)
    assert builder.build(fork) is first
    fork.replace(fork.view()[0].with_text("uno"))
    assert [entry.text for entry in builder.build(fork)] == ["uno", "two"]
    assert [entry.text for entry in builder.build(base)] == ["one", "two"]
