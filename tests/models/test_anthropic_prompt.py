"""A prompt as Anthropic's Messages."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from procession.messages.parts import FilePart, ReasoningPart, TextPart
from procession.messages.prompt import PromptMessage, PromptPart, PromptToolCall, PromptToolResult
from procession.messages.prompt_memo import PromptMemo
from procession.models.formats.anthropic.prompt import joined, messages_piece
from procession.models.pieces import changes_of, pieces_of

MARK = {"type": "ephemeral", "ttl": "1h"}
OURS: dict[str, Any] = {"anthropic": {}}


def system(text: str, **options: Any) -> PromptMessage:
    return PromptMessage("system", (TextPart(text, **options),))


def user(*parts: PromptPart | str) -> PromptMessage:
    return PromptMessage("user", tuple(TextPart(part) if isinstance(part, str) else part for part in parts))


def assistant(*parts: PromptPart | str) -> PromptMessage:
    return PromptMessage("assistant", tuple(TextPart(part) if isinstance(part, str) else part for part in parts))


def results(*parts: PromptToolResult) -> PromptMessage:
    return PromptMessage("tool", parts)


def result(tool_call_id: str, value: Any = "ok", kind: str = "text") -> PromptToolResult:
    return PromptToolResult(tool_call_id, "f", {"type": kind, "value": value})


def messages_of(*messages: PromptMessage) -> list[dict[str, Any]]:
    """Return the messages of a prompt."""
    return joined([messages_piece(message) for message in messages])[1]


def blocks_of(*parts: PromptPart | str) -> list[dict[str, Any]]:
    """Return the blocks of an assistant's turn that a user's follows."""
    made = messages_of(user("q"), assistant(*parts), user("go on"))
    return [block for message in made if message["role"] == "assistant" for block in message["content"]]


def changes_in(*messages: PromptMessage) -> list[str]:
    """Return what is told of changes."""
    pieces = [messages_piece(message) for message in messages]
    return [str(change["message"]) for change in (*changes_of(pieces), *joined(pieces)[2])]


# --- roles ---------------------------------------------------------------------------


def test_system_messages_stand_apart() -> None:
    """System messages are blocks of their own, in their order."""
    made, messages, changes = joined([messages_piece(one) for one in (system("a"), system("b"), user("q"))])
    assert made == [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert messages == [{"role": "user", "content": [{"type": "text", "text": "q"}]}]
    assert changes == []
    assert joined([messages_piece(system("a"))]) == ([{"type": "text", "text": "a"}], [], [])


def test_system_message_in_the_middle() -> None:
    """A system message between others goes before them, and that is told."""
    prompt = (system("a"), user("q"), system("b"))
    assert [block["text"] for block in joined([messages_piece(one) for one in prompt])[0]] == ["a", "b"]
    assert changes_in(*prompt) == ["system messages between others are sent before them all"]


def test_roles_alternate() -> None:
    """What one role says in a row is one message."""
    made = messages_of(user("a"), user("b"), assistant("c"), assistant("d"), user("e"))
    assert [(one["role"], [block["text"] for block in one["content"]]) for one in made] == [
        ("user", ["a", "b"]),
        ("assistant", ["c", "d"]),
        ("user", ["e"]),
    ]


def test_results_come_first_in_their_turn() -> None:
    """The results of tools stand before what the user says in the same turn, wherever they were."""
    call = PromptToolCall("c", "f", {})
    made = messages_of(user("q"), assistant(call), user("and?"), results(result("c")), user("so?"))
    assert [block["type"] for block in made[-1]["content"]] == ["tool_result", "text", "text"]


def test_joining_changes_nothing_that_is_kept() -> None:
    """Entries are kept from call to call, so what is joined is new each time."""
    memo = PromptMemo()
    prompt = [user("a"), user("b"), assistant("c ")]
    first = joined(pieces_of(prompt, messages_piece, memo=memo, key="t"))
    prompt = [*prompt, assistant("d"), user("e")]
    again = joined(pieces_of(prompt, messages_piece, memo=memo, key="t"))
    assert again == joined([messages_piece(one) for one in prompt])
    assert joined(pieces_of(prompt[:3], messages_piece, memo=memo, key="t")) == first


# --- texts ---------------------------------------------------------------------------


def test_empty_texts_are_left_out() -> None:
    """Texts of nothing but blanks are left out, and so is a message of nothing else."""
    made = messages_of(user("", "q", " \n"), assistant("  "), user("r"))
    assert [block["text"] for block in made[0]["content"]] == ["q", "r"]
    assert len(made) == 1


def test_last_turn_ends_without_blanks() -> None:
    """Blanks at the end of an assistant's last turn are cut off, since Anthropic refuses them; others stay."""
    made = messages_of(user("q "), assistant("one "), user("r"), assistant("two", "half \n"))
    assert [block["text"] for one in made for block in one["content"]] == ["q ", "one ", "r", "two", "half"]


# --- reasoning -----------------------------------------------------------------------


def test_reasoning_goes_back_as_it_came() -> None:
    """Thoughts, their signature and redacted thoughts are sent byte for byte (ANT-004)."""
    made = blocks_of(
        ReasoningPart("a é 😀  \n", "SIG+/==", provider_metadata=OURS),
        ReasoningPart("", "S2"),  # Anthropic may keep the words to itself
        ReasoningPart("", None, "ENC=="),
        PromptToolCall("t", "f", {}),
    )
    assert made == [
        {"type": "thinking", "thinking": "a é 😀  \n", "signature": "SIG+/=="},
        {"type": "thinking", "thinking": "", "signature": "S2"},
        {"type": "redacted_thinking", "data": "ENC=="},
        {"type": "tool_use", "id": "t", "name": "f", "input": {}},
    ]


def test_reasoning_in_the_documents_words() -> None:
    """Signatures that another library has kept in ``provider_metadata`` are read as well."""
    made = blocks_of(
        ReasoningPart("hm", provider_metadata={"anthropic": {"signature": "S"}}),
        ReasoningPart("", provider_metadata={"anthropic": {"redactedData": "E"}}),
        "so",
    )
    assert made[:2] == [
        {"type": "thinking", "thinking": "hm", "signature": "S"},
        {"type": "redacted_thinking", "data": "E"},
    ]


@pytest.mark.parametrize(
    "thought",
    [
        ReasoningPart("unsigned"),
        ReasoningPart("unsigned", provider_metadata=OURS),
        ReasoningPart("x", "S", provider_metadata={"openai": {"itemId": "rs_1"}}),
        ReasoningPart("", None, "E", provider_metadata={"google": {}}),
    ],
)
def test_foreign_reasoning_is_left_out(thought: ReasoningPart) -> None:
    """Reasoning that is another provider's, or that nobody signed, is left out, and that is told."""
    assert [block["type"] for block in blocks_of(thought, "so")] == ["text"]
    assert changes_in(assistant(thought, "so")) == ["reasoning that is not Anthropic's, or not signed, is not sent"]


def test_turn_does_not_end_with_reasoning() -> None:
    """Reasoning that nothing follows is left out, and so is a turn of nothing else."""
    thought = ReasoningPart("hm", "S")
    prompt = (user("q"), assistant("so", thought), user("r"), assistant(thought), user("s"))
    made = messages_of(*prompt)
    assert [[block["type"] for block in one["content"]] for one in made] == [["text"], ["text"], ["text", "text"]]
    assert [block["text"] for block in made[-1]["content"]] == ["r", "s"]
    assert changes_in(*prompt) == ["reasoning at the end of an assistant's turn is not sent"]
    assert len(messages_of(user("q"), assistant(thought), assistant("so"))[1]["content"]) == 2


# --- tools ---------------------------------------------------------------------------


def test_calls_and_results() -> None:
    """A call and its result are blocks of the two turns."""
    call = PromptToolCall("c", "f", {"a": [1]})
    made = messages_of(user("q"), assistant("I look.", call), results(result("c")))
    assert made[1]["content"][1] == {"type": "tool_use", "id": "c", "name": "f", "input": {"a": [1]}}
    assert made[2] == {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "ok"}]}


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ({"type": "text", "value": "é"}, {"content": "é"}),
        ({"type": "json", "value": {"a": "é"}}, {"content": '{"a": "é"}'}),
        ({"type": "json", "value": "é"}, {"content": '"é"'}),
        ({"type": "text", "value": 3}, {"content": "3"}),
        ({"type": "error-text", "value": "no"}, {"content": "no", "is_error": True}),
        ({"type": "error-text", "value": ""}, {"content": "The tool failed.", "is_error": True}),
        ({"type": "error-json", "value": [1]}, {"content": "[1]", "is_error": True}),
        (
            {"type": "content", "value": [{"type": "text", "text": "t"}, {"type": "text", "text": ""}, "u"]},
            {"content": [{"type": "text", "text": "t"}, {"type": "text", "text": "u"}]},
        ),
        (
            {"type": "content", "value": [{"type": "media", "data": "aGk=", "mediaType": "image/png"}]},
            {"content": [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}]},
        ),
        (
            {"type": "content", "value": [{"type": "image-url", "url": "https://a.test/x.png"}]},
            {"content": [{"type": "image", "source": {"type": "url", "url": "https://a.test/x.png"}}]},
        ),
        (
            {"type": "content", "value": [{"type": "odd", "data": 1}]},
            {"content": [{"type": "text", "text": '{"type": "odd", "data": 1}'}]},
        ),
    ],
)
def test_what_tools_answered(output: dict[str, Any], expected: dict[str, Any]) -> None:
    """Results are text, JSON as text, or texts, images and documents; an error is marked and says something."""
    (made,) = messages_of(results(PromptToolResult("c", "f", output)))[0]["content"]
    assert made == {"type": "tool_result", "tool_use_id": "c", **expected}


@pytest.mark.parametrize(("args", "sent"), [(None, {}), ('{"a', {"arguments": '{"a'}), ([1], {"arguments": [1]})])
def test_arguments_that_are_no_object(args: Any, sent: Any) -> None:
    """Arguments that are no JSON object are told as what they were, since Anthropic takes objects alone."""
    assert blocks_of(PromptToolCall("c", "f", args))[0]["input"] == sent


@pytest.mark.parametrize("tool_call_id", ["call.1", "call|fc_1", "é", "", "functions.f:0"])
def test_illegal_ids_are_renamed(tool_call_id: str) -> None:
    """An id that Anthropic refuses gets another one, the same at the call and at its result."""
    made = messages_of(user("q"), assistant(PromptToolCall(tool_call_id, "f", {})), results(result(tool_call_id)))
    sent = made[1]["content"][0]["id"]
    assert sent != tool_call_id
    assert made[2]["content"][0]["tool_use_id"] == sent
    assert all(character.isascii() and (character.isalnum() or character in "_-") for character in sent)


@given(st.lists(st.text(max_size=6), unique=True, max_size=20))
def test_ids_stay_apart(ids: list[str]) -> None:
    """Different ids stay different, whatever is replaced in them."""
    made = blocks_of(*(PromptToolCall(tool_call_id, "f", {}) for tool_call_id in ids))
    assert len({block["id"] for block in made}) == len(ids)


def test_ids_that_come_again_are_numbered() -> None:
    """Calls of several steps that have one id are told apart, each with its result; what is kept stays as it was."""
    step = (
        assistant(PromptToolCall("call_0", "f", {}), PromptToolCall("call_1", "f", {})),
        results(result("call_0"), result("call_1")),
    )
    pieces = [messages_piece(one) for one in (user("q"), *step, *step, *step)]
    for _ in range(2):
        blocks = [block for message in joined(pieces)[1] for block in message["content"]]
        ids = [block["id"] for block in blocks if block["type"] == "tool_use"]
        assert ids == ["call_0", "call_1", "call_0-2", "call_1-2", "call_0-3", "call_1-3"]
        assert [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"] == ids


def test_ids_of_one_answer_that_come_again_are_numbered() -> None:
    """Of calls that an answer made under one id each has its own result, in their order."""
    step = assistant(*[PromptToolCall("same", "f", {}) for _ in range(3)]), results(*[result("same")] * 3)
    blocks = [block for message in messages_of(user("q"), *step) for block in message["content"]]
    ids = [block["id"] for block in blocks if block["type"] == "tool_use"]
    assert ids == ["same", "same-2", "same-3"]
    assert [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"] == ids


def test_files_in_results() -> None:
    """A file that Anthropic does not take is named in the result, since the call has to be answered, and that is told."""
    sound = {"type": "media", "data": "aGk=", "mediaType": "audio/wav"}
    prompt = results(PromptToolResult("c", "f", {"type": "content", "value": [sound]}))
    assert messages_of(prompt)[0]["content"][0]["content"] == [{"type": "text", "text": "[audio/wav]"}]
    assert changes_in(prompt) == ["files in a tool's result that Anthropic does not take are only named"]


def test_tools_of_anthropic_go_back_in_place() -> None:
    """What Anthropic ran itself goes back where it was said, with the very result."""
    found = [{"type": "web_search_result", "url": "u", "title": "t", "encrypted_content": "E=="}]
    notes = {"anthropic": {"type": "server_tool_use", "result": "web_search_tool_result"}}
    mcp = {"anthropic": {"type": "mcp_tool_use", "serverName": "s", "result": "mcp_tool_result"}}
    made = blocks_of(
        PromptToolCall("srvtoolu_1", "web_search", {"query": "x"}, True, notes),
        PromptToolResult("srvtoolu_1", "web_search", {"type": "json", "value": found}),
        "It rains.",
        PromptToolCall("srvtoolu_2", "tool_search_tool_bm25", {}, True),  # of a history that does not say whose it is
        PromptToolResult("srvtoolu_2", "tool_search_tool_bm25", {"type": "json", "value": {"type": "x"}}),
        PromptToolCall("m", "look", {}, True, mcp),
        PromptToolResult("m", "look", {"type": "error-json", "value": []}),
    )
    assert made == [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": found},
        {"type": "text", "text": "It rains."},
        {"type": "server_tool_use", "id": "srvtoolu_2", "name": "tool_search_tool_bm25", "input": {}},
        {"type": "tool_search_tool_result", "tool_use_id": "srvtoolu_2", "content": {"type": "x"}},
        {"type": "mcp_tool_use", "id": "m", "name": "look", "input": {}, "server_name": "s"},
        {"type": "mcp_tool_result", "tool_use_id": "m", "content": [], "is_error": True},
    ]


@pytest.mark.parametrize(
    ("call", "value"),
    [
        (PromptToolCall("c", "web_search", {}, True, {"openai": {}}), []),
        (PromptToolCall("c", "file_search", {}, True), []),
        (PromptToolCall("c", "web_search", {}, True, {"anthropic": {"result": "x"}}), "[hidden by a guard]"),
        (
            PromptToolCall("c", "web_search", {}, True, OURS),
            [{"title": "[hidden by a guard]", "encrypted_content": "E"}],
        ),
    ],
)
def test_foreign_tools_are_left_out(call: PromptToolCall, value: Any) -> None:
    """What another provider ran, or what a guard wrote in place of a result, is left out on both sides, and told."""
    parts = (call, result("c", value, "json"), TextPart("so"))
    assert [block["type"] for block in blocks_of(*parts)] == ["text"]
    assert changes_in(assistant(*parts)) == ["what tools of other providers did is not sent"]


def test_caller_goes_back() -> None:
    """A call that code on Anthropic's side made says so again."""
    caller = {"type": "code_execution_20260120", "tool_id": "srvtoolu_1"}
    (made,) = blocks_of(PromptToolCall("c", "f", {}, provider_metadata={"anthropic": {"caller": caller}}))
    assert made["caller"] == caller


# --- the cache -----------------------------------------------------------------------


@pytest.mark.parametrize("key", ["cache_control", "cacheControl"])
def test_marks_for_the_cache(key: str) -> None:
    """``provider_metadata`` of a part marks its block for the cache."""
    notes = {"anthropic": {key: MARK}}
    call = PromptToolCall("c", "f", {}, provider_metadata=notes)
    answer = PromptToolResult("c", "f", {"type": "text", "value": "ok"}, notes)
    made, messages, _ = joined(
        [
            messages_piece(one)
            for one in (
                system("s", provider_metadata=notes),
                user(TextPart("q", notes), FilePart(b"x", "image/png", provider_metadata=notes)),
                assistant(call),
                results(answer),
            )
        ]
    )
    blocks = [*made, *(block for message in messages for block in message["content"])]
    assert [block["cache_control"] for block in blocks] == [MARK] * 5


@pytest.mark.parametrize("notes", [{"anthropic": {"cacheControl": True}}, {"anthropic": 3}, {"openai": {}}, {}])
def test_what_is_no_mark(notes: dict[str, Any]) -> None:
    """Anything else in ``provider_metadata`` marks nothing."""
    assert messages_of(user(TextPart("q", notes)))[0]["content"] == [{"type": "text", "text": "q"}]
