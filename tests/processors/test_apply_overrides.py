"""What single hooks may return besides messages: settings of a step, a prompt, a response, a tool's result, a retry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.processors.kit import at, conversation, ids, passed, payload_of

from procession.errors import MessageError, ProcessorError
from procession.messages.chunks import Finish, TextDelta
from procession.messages.message_list import MessageList
from procession.messages.parts import TextPart
from procession.messages.prompt import PromptMessage
from procession.processors.payloads import InputStepPayload, LLMRequestPayload
from procession.processors.request_change import GivenResponse
from procession.testing.fake_model import FakeModel
from procession.tools.tool import client_tool


async def refused(hook: str, act: Callable[[Any], Any]) -> MessageError:
    """Return why what *act* returns is refused."""
    with pytest.raises(ProcessorError) as caught:
        await passed(payload_of(hook), at(hook, act))
    assert isinstance(caught.value.__cause__, MessageError)
    return caught.value.__cause__


async def step_after(*acts: Callable[[Any], Any], **settings: Any) -> Any:
    """Return the payload of ``process_input_step`` after *acts*."""
    payload = InputStepPayload(conversation(), **settings)
    return await passed(payload, *(at("process_input_step", act, id=str(n)) for n, act in enumerate(acts)))


async def test_settings_are_merged_key_by_key() -> None:
    """``model_settings`` and ``provider_options`` are merged key by key; ``None`` deletes a key."""
    payload = await step_after(
        lambda ctx: {
            "model_settings": {"temperature": 1, "seed": None},
            "provider_options": {"openai": {"store": True}},
        },
        lambda ctx: {"model_settings": {"top_p": 0}},
        model_settings={"temperature": 0, "seed": 7, "stop": ["."]},
    )
    assert payload.model_settings == {"temperature": 1, "stop": ["."], "top_p": 0}
    assert payload.provider_options == {"openai": {"store": True}}


async def test_other_settings_are_replaced() -> None:
    """Model, tools, tool choice, active tools and output schema are replaced, and later processors see them."""
    tool, other = client_tool("a"), client_tool("b")
    model = FakeModel("x")
    seen: list[Any] = []
    change = {
        "model": model,
        "tools": [other],
        "tool_choice": "required",
        "active_tools": ["b"],
        "structured_output": int,
    }
    payload = await step_after(
        lambda ctx: change,
        lambda ctx: seen.extend([ctx.model, ctx.tools, ctx.tool_choice, ctx.active_tools, ctx.structured_output]),
        tools={"a": tool},
    )
    assert seen == [model, {"b": other}, "required", ["b"], int]
    assert (payload.model, payload.tools, payload.tool_choice) == (model, {"b": other}, "required")


async def test_what_is_not_named_stays() -> None:
    """A key that is not returned stays; ``active_tools`` and ``tools`` may be set to nothing."""
    payload = await step_after(lambda ctx: {"tool_choice": "none"}, active_tools=["a"], tools={"a": 1})
    assert (payload.active_tools, payload.tools) == (["a"], {"a": 1})
    payload = await step_after(lambda ctx: {"active_tools": None, "tools": None}, active_tools=["a"], tools={"a": 1})
    assert (payload.active_tools, payload.tools) == (None, {})


async def test_a_step_may_change_messages_too() -> None:
    """Overrides may come with messages, or with the list, and with system messages."""
    payload = await step_after(
        lambda ctx: {"messages": ctx.messages[1:], "system_messages": ["x"], "tool_choice": "none"}
    )
    assert ids(payload.message_list) == ["m", "u", "a"]
    assert payload.message_list.system_messages[0].text == "x"
    payload = await step_after(lambda ctx: {"message_list": ctx.message_list})
    assert ids(payload.message_list) == ["c", "m", "u", "a"]


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        ({"temperature": 1}, "returned dict of temperature, which it cannot change"),
        ({"messages": [], "message_list": MessageList()}, "both messages and message_list"),
        ({"message_list": MessageList()}, "other than the one it was given"),
        ({"model": 5}, "process_input_step returned model=int"),
        ({"model_settings": 5}, "process_input_step returned model_settings=int"),
        ({"provider_options": [1]}, "process_input_step returned provider_options=list"),
        ({"tools": "search"}, "process_input_step returned tools=str"),
        ({"tools": [len]}, "process_input_step returned tools=list"),
    ],
)
async def test_overrides_that_mean_nothing(returned: Any, said: str) -> None:
    """Keys that cannot be changed, both forms at once and a foreign list are refused."""
    assert said in (await refused("process_input_step", lambda ctx: returned)).message


async def test_a_prompt_may_be_changed() -> None:
    """``process_llm_request`` may return another prompt, and later processors see it; an empty one counts."""
    seen: list[Any] = []
    prompt = [PromptMessage("user", (TextPart("other"),))]
    payload = await passed(
        LLMRequestPayload(conversation(), prompt=[]),
        at("process_llm_request", lambda ctx: {"prompt": prompt}, id="a"),
        at("process_llm_request", lambda ctx: seen.append(ctx.prompt), id="b"),
    )
    assert (payload.prompt, seen) == (prompt, [prompt])
    emptied = await passed(
        LLMRequestPayload(conversation(), prompt=prompt), at("process_llm_request", lambda ctx: {"prompt": []})
    )
    assert emptied.prompt == []


async def test_the_first_response_wins() -> None:
    """A response in place of the call is the first processor's; later ones may still change the prompt."""
    first, second = ({"chunks": [TextDelta(text), Finish("stop")]} for text in ("1", "2"))
    prompt = [PromptMessage("user", (TextPart("other"),))]
    payload = await passed(
        LLMRequestPayload(conversation()),
        at("process_llm_request", lambda ctx: {"response": first}, id="a"),
        at("process_llm_request", lambda ctx: {"response": second, "prompt": prompt}, id="b"),
    )
    assert (payload.response, payload.prompt) == (GivenResponse(tuple(first["chunks"])), prompt)


@pytest.mark.parametrize("returned", [[], "x", {"prompts": []}, {"prompt": 5}, {"response": 5}])
async def test_a_request_may_not_return_anything_else(returned: Any) -> None:
    """Whatever is neither a prompt nor a response is refused with the form that is expected."""
    error = await refused("process_llm_request", lambda ctx: returned)
    assert '"prompt"' in str(error.hint)


async def test_llm_response_returns_nothing() -> None:
    """``process_llm_response`` looks, and may edit messages; what it returns would mean nothing, and is refused."""
    fault = await refused("process_llm_response", lambda ctx: "x")
    assert fault.message == "process_llm_response returned str, which means nothing there"


@pytest.mark.parametrize("value", ["hidden", None, {"a": 1}])
async def test_a_tools_result_may_be_replaced(value: Any) -> None:
    """``{"result": ...}`` takes the place of what the tool returned, ``None`` as well."""
    replace = at("process_tool_result", lambda ctx: {"result": value})
    assert (await passed(payload_of("process_tool_result"), replace)).result == value


async def test_a_retry_is_asked_for_by_name() -> None:
    """``process_api_error`` asks with ``{"retry": True}``, and whoever comes after is not asked."""
    seen: list[str] = []
    payload = await passed(
        payload_of("process_api_error"),
        at("process_api_error", lambda ctx: {"retry": True}, id="a"),
        at("process_api_error", lambda ctx: seen.append("b"), id="b"),
    )
    assert (payload.retry, seen) == (True, [])
