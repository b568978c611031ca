"""
ChatRequest: the body of a Chat Completions request, as what an agent is called with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from procession.errors import DefinitionError, MessageError
from procession.messages.message import Message
from procession.messages.shapes import is_form, is_items
from procession.messages.value import Value
from procession.models.model import ToolChoice
from procession.models.structured_output import StructuredOutput
from procession.server.client_schema import client_output
from procession.server.openai.messages import chat_messages
from procession.server.openai.refused import refused
from procession.server.openai.tools import client_tools, tool_choice
from procession.tools.tool import Tool

__all__ = ["ChatRequest", "read_chat_request"]

_NUMBERS: Final = (
    ("temperature", 0, 2),
    ("top_p", 0, 1),
    ("presence_penalty", -2, 2),
    ("frequency_penalty", -2, 2),
)
_REFUSED: Final = {
    "functions": "give tools",
    "function_call": "give tool_choice",
    "audio": "answers are texts",
    "logit_bias": "the model is the agent's own",
    "logprobs": "the model is the agent's own",
    "top_logprobs": "the model is the agent's own",
    "web_search_options": "the agent's tools are its own",
}
"""What would change the answer and cannot be done: to ignore it would be a lie."""
_OWN: Final = ("answers", "run_id", "show_tools")


class ChatRequest(Value, kw_only=True):
    """
    What a client asks of an agent.
    """

    model: str
    """The agent's id."""
    messages: Sequence[Message]
    tools: Sequence[Tool[Any]] = ()
    """The client's own tools."""
    tool_choice: ToolChoice | None = None
    settings: Mapping[str, Any] = {}
    """The settings of the model calls."""
    structured_output: StructuredOutput[Any] | None = None
    stream: bool = False
    include_usage: bool = False
    resource: str | None = None
    thread: str | None = None
    show_tools: bool = False
    """Whether the client is told what the agent's own tools do."""
    resumed: str | None = None
    """The id of a suspended run that goes on, with the *answers*, in place of a new one."""
    answers: Mapping[str, Any] = {}


def read_chat_request(body: Mapping[str, Any]) -> ChatRequest:
    """
    Return what a request's *body* asks for; fields that are not known are passed over.

    Raises ``RequestRefused`` naming the field that cannot be as it is.

    >>> read_chat_request({"model": "support", "messages": [{"role": "user", "content": "Hi"}]}).model
    'support'
    """
    for name, hint in _REFUSED.items():
        if body.get(name):
            raise refused(name, f"is not done here: {hint}", code="unsupported_parameter")
    if body.get("n") not in (None, 1):
        raise refused("n", "should be 1: an agent runs once for each request", code="unsupported_value")
    if body.get("modalities") not in (None, ["text"]):
        raise refused("modalities", 'should be ["text"]', code="unsupported_value")
    model = body.get("model")
    if not isinstance(model, str) or not model:
        raise refused("model", "should be the id of an agent")
    tools = client_tools(body["tools"]) if body.get("tools") is not None else []
    choice = body.get("tool_choice")
    resource, thread = _owner(body)
    own = _form(body, "procession")
    strange = [str(name) for name in own if name not in _OWN]
    if strange:
        raise refused(f"procession.{strange[0][:60]}", f"is not known: there are {', '.join(_OWN)}")
    resumed = _text(own, "run_id", "procession.")
    if (resumed is None) is not ("answers" not in own):
        raise refused("procession", "run_id and answers go together: they go on with a suspended run")
    return ChatRequest(
        model=model,
        messages=_messages(body),
        tools=tools,
        tool_choice=tool_choice(choice, [tool.name for tool in tools]) if choice is not None else None,
        settings=_settings(body),
        structured_output=_structured(_form(body, "response_format")),
        stream=_flag(body, "stream"),
        include_usage=_flag(_form(body, "stream_options"), "include_usage", "stream_options."),
        resource=resource,
        thread=thread,
        show_tools=_flag(own, "show_tools", "procession."),
        resumed=resumed,
        answers=_form(own, "answers", "procession."),
    )


def _messages(body: Mapping[str, Any]) -> list[Message]:
    try:
        return chat_messages(body.get("messages"))
    except MessageError as error:
        raise refused("messages", error.message) from error


def _owner(body: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """
    Return whose request it is, and of which conversation: ``user`` and ``metadata``.
    """
    notes = _form(body, "metadata")
    user, resource = _text(body, "user"), _text(notes, "resource", "metadata.")
    thread = _text(notes, "thread", "metadata.")
    if user is not None and resource is not None and user != resource:
        raise refused("metadata.resource", "differs from user: give one of them")
    resource = resource if resource is not None else user
    if thread is not None and resource is None:
        raise refused("metadata.thread", "needs a user: whose thread it is")
    return resource, thread


def _settings(body: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, low, high in _NUMBERS:
        value = body.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
            raise refused(name, f"should be a number from {low} to {high}")
        made[name] = value
    for name in ("max_tokens", "max_completion_tokens"):  # the second is the newer name, and counts
        if (value := body.get(name)) is not None:
            made["max_tokens"] = _whole(name, value, 1)
    if (seed := body.get("seed")) is not None:
        made["seed"] = _whole("seed", seed, None)
    if (stop := body.get("stop")) is not None:
        ends: list[Any] = [stop] if isinstance(stop, str) else list(stop) if is_items(stop) else []
        if not 1 <= len(ends) <= 4 or not all(isinstance(end, str) and end for end in ends):
            raise refused("stop", "should be a text, or up to four of them")
        made["stop"] = ends
    return made


def _whole(name: str, value: Any, least: int | None) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or (least is not None and value < least):
        raise refused(name, "should be a whole number" + (f", {least} or more" if least is not None else ""))
    return value


def _structured(wanted: Mapping[str, Any]) -> StructuredOutput[Any] | None:
    kind = wanted.get("type", "text")
    if kind == "text":
        return None
    if kind == "json_object":
        return StructuredOutput[Any]({"type": "object"})
    if kind != "json_schema":
        raise refused("response_format.type", "should be text, json_object or json_schema", code="unsupported_value")
    where = "response_format.json_schema"
    named = _form(wanted, "json_schema", "response_format.")
    schema = _form(named, "schema", f"{where}.")
    name = _text(named, "name", f"{where}.")
    try:
        made = client_output({**schema, "title": name or "answer"})
    except (DefinitionError, TypeError, AttributeError) as error:
        raise refused(f"{where}.schema", "should be a JSON schema") from error
    if made.schema.wrapped:
        raise refused(f"{where}.schema", "should describe an object")
    return made


def _form(body: Mapping[str, Any], name: str, within: str = "") -> Mapping[str, Any]:
    value = body.get(name)
    if value is None:
        return {}
    if not is_form(value):
        raise refused(f"{within}{name}", "should be an object")
    return cast("Mapping[str, Any]", value)


def _flag(body: Mapping[str, Any], name: str, within: str = "") -> bool:
    value = body.get(name)
    if value is None or isinstance(value, bool):
        return bool(value)
    raise refused(f"{within}{name}", "should be true or false")


def _text(body: Mapping[str, Any], name: str, within: str = "") -> str | None:
    value = body.get(name)
    if value is None or (isinstance(value, str) and value):
        return value
    raise refused(f"{within}{name}", "should be a text with something in it")
