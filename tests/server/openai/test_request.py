"""The body of a Chat Completions request as what an agent is called with."""

from typing import Any

import pytest

from procession.errors import RequestRefused
from procession.server.openai.request import ChatRequest, read_chat_request

HI = [{"role": "user", "content": "Hi"}]
DOOR = {"type": "function", "function": {"name": "door", "description": "Opens.", "parameters": {"type": "object"}}}


def read(**fields: Any) -> ChatRequest:
    """Return a request with *fields* besides what each one has."""
    return read_chat_request({"model": "support", "messages": HI, **fields})


def test_settings_are_the_models() -> None:
    """Settings are given on by our names; of the two limits of tokens the newer one counts."""
    made = read(
        temperature=0.5, top_p=1, presence_penalty=-1, frequency_penalty=0, max_tokens=5, max_completion_tokens=9,
        seed=-3, stop="END",
    )  # fmt: skip
    assert made.settings == {
        "temperature": 0.5, "top_p": 1, "presence_penalty": -1, "frequency_penalty": 0, "max_tokens": 9, "seed": -3,
        "stop": ["END"],
    }  # fmt: skip


def test_null_is_as_good_as_nothing() -> None:
    """Clients that write every field write null for what was not said."""
    names = (
        "tools", "tool_choice", "response_format", "max_tokens", "max_completion_tokens", "temperature", "top_p", "stop",
        "seed", "n", "stream", "stream_options", "user", "metadata", "logprobs", "logit_bias", "functions", "procession",
    )  # fmt: skip
    made, plain = read(**dict.fromkeys(names)), read()
    assert {name: getattr(made, name) for name in made.__fields__ if name != "messages"} == {
        name: getattr(plain, name) for name in plain.__fields__ if name != "messages"
    }


def test_what_is_not_known_is_passed_over() -> None:
    """Clients send fields of other servers: they do no harm."""
    assert read(store=True, service_tier="auto", reasoning_effort="low", top_k=4, chat_id="x").model == "support"


def test_tools_and_their_choice() -> None:
    """The client's tools are run by the client, and it may choose one of them."""
    made = read(tools=[DOOR], tool_choice={"type": "function", "function": {"name": "door"}})
    (tool,) = made.tools
    assert (tool.name, tool.description, tool.client_side) == ("door", "Opens.", True)
    assert made.tool_choice == {"type": "tool", "tool_name": "door"}
    assert read(tool_choice="none").tool_choice == "none"


def test_whose_request_it_is() -> None:
    """``user``, or ``metadata.resource``, is whose it is; ``metadata.thread`` which conversation."""
    assert (read(user="ann").resource, read(metadata={"resource": "ann"}).resource) == ("ann", "ann")
    made = read(user="ann", metadata={"thread": "t1", "resource": "ann", "else": "x"})
    assert (made.resource, made.thread) == ("ann", "t1")


def test_a_schema_of_the_answer() -> None:
    """A JSON schema is asked for by its name; any object, and text, are kinds of answers, too."""
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    made = read(response_format={"type": "json_schema", "json_schema": {"name": "Place", "schema": schema}})
    assert made.structured_output is not None and made.structured_output.schema.name == "Place"
    assert read(response_format={"type": "json_object"}).structured_output is not None
    assert read(response_format={"type": "text"}).structured_output is None


WRONG: list[tuple[Any, str]] = [
    ({"model": None}, "model"),
    ({"n": 2}, "n"),
    ({"logprobs": True}, "logprobs"),
    ({"functions": [{}]}, "functions"),
    ({"modalities": ["text", "audio"]}, "modalities"),
    ({"temperature": 3}, "temperature"),
    ({"temperature": True}, "temperature"),
    ({"temperature": float("nan")}, "temperature"),
    ({"max_tokens": 0}, "max_tokens"),
    ({"max_completion_tokens": 1.5}, "max_completion_tokens"),
    ({"seed": "x"}, "seed"),
    ({"stop": []}, "stop"),
    ({"stop": ["a", "b", "c", "d", "e"]}, "stop"),
    ({"stream": "yes"}, "stream"),
    ({"stream_options": {"include_usage": 1}}, "stream_options.include_usage"),
    ({"tools": {}}, "tools"),
    ({"tools": [{"type": "custom", "custom": {}}]}, "tools[0].type"),
    ({"tools": [{"type": "function", "function": {"name": "no spaces"}}]}, "tools[0].function.name"),
    ({"tools": [DOOR, DOOR]}, "tools[1].function.name"),
    ({"tools": [{"type": "function", "function": {"name": "a", "parameters": []}}]}, "tools[0].function.parameters"),
    ({"tool_choice": "some"}, "tool_choice"),
    ({"tool_choice": ["auto"]}, "tool_choice"),
    ({"tool_choice": {"type": "function", "function": {"name": "pay"}}}, "tool_choice.function.name"),
    ({"tool_choice": {"type": "function", "function": {"name": ["pay"]}}}, "tool_choice.function.name"),
    ({"user": 5}, "user"),
    ({"user": ""}, "user"),
    ({"user": "ann", "metadata": {"resource": "bob"}}, "metadata.resource"),
    ({"metadata": {"thread": "t"}}, "metadata.thread"),
    ({"metadata": []}, "metadata"),
    ({"response_format": {"type": "grammar"}}, "response_format.type"),
    ({"response_format": {"type": "json_schema"}}, "response_format.json_schema.schema"),
    (
        {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "array"}}}},
        "response_format.json_schema.schema",
    ),
    ({"procession": {"show": True}}, "procession.show"),
    ({"procession": {"run_id": "r"}}, "procession"),
    ({"procession": {"answers": {}}}, "procession"),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "param"), WRONG)
def test_what_cannot_be_is_named(fields: Any, param: str) -> None:
    """What would change the answer and cannot be done is refused with 400, naming the field."""
    with pytest.raises(RequestRefused) as refusal:
        read(**fields)
    assert (refusal.value.status, refusal.value.param) == (400, param)
