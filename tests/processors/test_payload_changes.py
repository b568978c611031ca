"""What a run keeps of a payload: as a whole where it begins, and what each processor changed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.messages.strategies import change, changes, numbered
from tests.processors.kit import payload_of

from procession.errors import MergeConflict, SchemaError, UntypedValue
from procession.messages.chunks import TextDelta
from procession.messages.message_list import MessageList
from procession.messages.parts import TextPart, ToolCallPart
from procession.messages.prompt import PromptMessage
from procession.processors.hooks import Hook
from procession.processors.payload import HookPayload
from procession.processors.payloads import (
    APIErrorPayload,
    InputStepPayload,
    LLMRequestPayload,
    OutputStreamPayload,
    ToolResultPayload,
)
from procession.processors.request_change import GivenResponse
from procession.processors.result_notes import ResultNotes
from procession.steps.codec import codec_of
from procession.steps.forkable import Keepable
from procession.steps.patches import decode_patch, encode_patch
from procession.steps.sameness import difference

HOOKS = [hook.value for hook in Hook]
WHERE = "output of step 'guard'"


def in_json(data: Any) -> Any:
    """Return what a journal gives back."""
    return json.loads(json.dumps(data, allow_nan=False, ensure_ascii=False).encode())


def again(payload: Any, base: Any, before: Any) -> Any:
    """Do on *base* what made *payload* of *before*."""
    return decode_patch(base, in_json(encode_patch(payload, before, where=WHERE)), where=WHERE)


def assert_same(one: Any, other: Any) -> None:
    """Two payloads hold the same."""
    for name in one.fields:
        if name not in ("message_list", "notes", "_version"):
            assert difference(getattr(one, name), getattr(other, name)) is None, name
    assert one.message_list.state() == other.message_list.state()


@pytest.mark.parametrize("hook", HOOKS)
def test_a_run_may_begin_with_any_payload(hook: str) -> None:
    """Each of the nine payloads is kept as a whole, unless something in it is no data."""
    if hook == "process_output_stream":
        payload: Any = OutputStreamPayload(numbered(2), chunk=TextDelta("1", "a"))
    else:
        payload = payload_of(hook)
    assert isinstance(payload_of(HOOKS[0]), Keepable)
    if hook == "process_api_error":
        with pytest.raises(UntypedValue, match=r"'guard'\.error "):
            codec_of(None).encode(payload, where=WHERE)
        return
    read = codec_of(None).decode(in_json(codec_of(None).encode(payload, where=WHERE)), where=WHERE)
    assert type(read) is type(payload)
    assert_same(payload, read)
    assert list(read.messages) == list(payload.messages)
    assert not read.fork().message_list.diff()


def test_a_message_list_is_kept_as_a_whole_too() -> None:
    """A run of a plain workflow may begin with messages, or with anything that says itself what it is."""
    messages = numbered(3)
    assert (
        codec_of(None).decode(in_json(codec_of(None).encode(messages, where=WHERE)), where=WHERE).state()
        == messages.state()
    )
    unfit: list[Any] = [
        {"$whole": ["process_nothing", {}]},
        {"$whole": ["process_input", {}]},
        {"$whole": 1},
        {"$whole": []},
    ]
    for data in unfit:
        with pytest.raises(SchemaError, match="output of step 'guard'"):
            codec_of(None).decode(data, where=WHERE)


settings = st.dictionaries(st.sampled_from(["temperature", "top_p", "stop"]), st.none() | st.floats(0, 1), max_size=3)


@given(changes, changes, settings, settings, st.sampled_from(["strictest", "priority"]))
def test_a_step_done_again_merges_as_before(
    mine: list[Any], theirs: list[Any], my_settings: Any, their_settings: Any, policy: Any
) -> None:
    """Done again on a fork of the same payload, a branch is what it was, and so is what it is merged to."""
    base = InputStepPayload(numbered(4), model="a/b", model_settings={"top_p": 0.5, "seed": 1})
    branch, sibling, fork = base.fork(), base.fork(), base.fork()
    for one, doings, given_settings in ((branch, mine, my_settings), (sibling, theirs, their_settings)):
        before = one.fork()
        change(one.message_list, doings)
        if given_settings:
            one.model_settings = {**(one.model_settings or {}), **given_settings}  # type: ignore[attr-defined]
        if one is branch:
            assert again(branch, fork, before) is fork
    assert_same(branch, fork)
    results: list[Any] = []
    for arm in (branch, fork):
        start = base.fork()
        try:
            results.append(start.merge({"mine": arm, "theirs": sibling}, policy))
        except MergeConflict as error:
            results.append((str(error), error.branches))
    if isinstance(results[0], HookPayload):
        assert_same(results[0], results[1])
    else:
        assert results[0] == results[1]


def test_what_did_not_change_stays_the_very_object() -> None:
    """Tools and models are no data, and need not be: what a processor left alone is not kept."""
    tools = {"search": object(), "mail": object()}
    base = InputStepPayload(MessageList("hi"), model=object(), tools=tools)
    before = base.fork()
    payload = base.fork()
    payload.tools = {"mail": tools["mail"]}  # type: ignore[attr-defined]
    payload.model_settings = {"temperature": 0}  # type: ignore[attr-defined]
    made = again(payload, base, before)
    assert made.tools == {"mail": tools["mail"]}
    assert made.model_settings == {"temperature": 0}
    assert made.model is before.model  # type: ignore[attr-defined]


def test_a_tool_that_a_processor_brought_is_refused() -> None:
    """What is no data cannot be kept, and the error says which it is."""
    payload = InputStepPayload(MessageList("hi"))
    before = payload.fork()
    payload.tools = {"search": object()}
    with pytest.raises(UntypedValue, match=r"output of step 'guard'\.tools\.set\.search is of type object") as caught:
        encode_patch(payload, before, where=WHERE, path="w/guard")
    assert caught.value.path == "w/guard"
    assert "messages and plain data can be kept" in str(caught.value)


def test_a_prompt_is_kept_by_what_changed_in_it() -> None:
    """Entries that stayed are kept as places, and what a guard hid is in none of the others."""
    prompt = [PromptMessage("user", (TextPart(f"my secret is hunter{at}"),)) for at in range(4)]
    base = LLMRequestPayload(MessageList("hi"), prompt=prompt)
    before, payload = base.fork(), base.fork()
    payload.prompt = [  # type: ignore[attr-defined]
        *(PromptMessage(one.role, one.content) for one in prompt[:2]),
        PromptMessage("user", (TextPart("[HIDDEN]"),)),
        prompt[3],
    ]
    payload.redactions += 1  # type: ignore[attr-defined]
    data = encode_patch(payload, before, where=WHERE)
    assert "hunter" not in json.dumps(data)
    made = decode_patch(base, in_json(data), where=WHERE)
    assert made.prompt == payload.prompt  # type: ignore[attr-defined]
    assert made.redactions == 1
    shorter = base.fork()
    shorter.prompt = base.prompt[1:]  # type: ignore[attr-defined]
    assert again(shorter, base.fork(), base.fork()).prompt == base.prompt[1:]


def test_a_response_in_place_of_the_models_is_kept() -> None:
    """What stands for a model's answer comes back with its chunks."""
    base = LLMRequestPayload(MessageList("hi"))
    payload = base.fork()
    payload.response = GivenResponse((TextDelta("1", "hello"),), ["cached"], {"id": 1})  # type: ignore[attr-defined]
    assert again(payload, base, base.fork()).response == payload.response  # type: ignore[attr-defined]


def test_a_tools_result_that_a_guard_hid_is_not_kept() -> None:
    """Of a result that a guard replaced only the new one is kept, its notes stay dropped, and the call shows it."""
    messages = MessageList("hi").fork()
    call = ToolCallPart("c1", "lookup", {}, "result", {"mail": "a@b.example"})
    messages.append_response([call], message_id="m1")
    base = ToolResultPayload(messages, tool_name="lookup", tool_call_id="c1", result=call.result)
    base.notes = ResultNotes({"raw": "a@b.example"})
    before, payload = base.fork(), base.fork()
    before.notes, payload.notes = ResultNotes({"raw": 1}), ResultNotes({"raw": 1})  # type: ignore[attr-defined]
    payload.result = {"mail": "[EMAIL]"}  # type: ignore[attr-defined]
    payload.message_list.update_tool_call(call.replace(result={"mail": "[EMAIL]"}), redacted=True)
    payload.seen = payload.message_list.tool_call("c1")  # type: ignore[attr-defined]
    payload.redactions += 1  # type: ignore[attr-defined]
    payload.notes.drop()  # type: ignore[attr-defined]
    data = encode_patch(payload, before, where=WHERE)
    assert "a@b.example" not in json.dumps(data)
    made = decode_patch(base, in_json(data), where=WHERE)
    assert_same(payload, made)
    assert made.seen is made.message_list.tool_call("c1")
    assert made.notes.value is None


def test_what_a_processor_decided_is_kept() -> None:
    """A chunk that was dropped or rewritten, and a retry that was asked for."""
    stream = OutputStreamPayload(MessageList("hi"), chunk=TextDelta("1", "a"))
    payload = stream.fork()
    payload.chunk = None  # type: ignore[attr-defined]
    assert again(payload, stream, stream.fork()).chunk is None
    error = payload_of("process_api_error")
    retry = error.fork()
    assert isinstance(retry, APIErrorPayload)
    retry.retry = True
    assert again(retry, error, error.fork()).retry is True


def test_a_patch_of_another_payload_is_refused() -> None:
    """What was made of other messages, or is no patch, changes nothing."""
    base = InputStepPayload(numbered(3))
    before, payload = base.fork(), base.fork()
    payload.message_list.remove(["m1"])
    payload.model = "other/model"  # type: ignore[attr-defined]
    data = encode_patch(payload, before, where=WHERE)
    other = InputStepPayload(numbered(1))
    unfit: list[Any] = [data, {}, [], None, 1]
    for patch in unfit:
        with pytest.raises(SchemaError, match="output of step 'guard' cannot be done again"):
            decode_patch(other, patch, where=WHERE, path="w/guard")
    assert other.model is None
    assert len(other.message_list) == 1
