"""
The bodies of Chat Completions as types, for the OpenAPI document: what is read of a request, and what is answered.

They describe and check nothing: requests are read by :mod:`procession.server.openai.request`, which passes over fields that
it does not know, and refuses in the words of that API.
"""

from __future__ import annotations

from typing import Any, Literal, Required, TypeAlias

from typing_extensions import TypedDict

__all__ = ["ChatAnswer", "ChatBody", "ChatFailure", "ChatModel", "ChatModels", "ChatPiece"]

Json: TypeAlias = dict[str, Any]


class ChatFunction(TypedDict, total=False):
    """
    A function of the client's.
    """

    name: Required[str]
    description: str
    parameters: Json
    """The JSON schema of its arguments."""


class ChatTool(TypedDict):
    """
    A tool that the client runs.
    """

    type: Literal["function"]
    function: ChatFunction


class ChatCalled(TypedDict):
    """
    The function that is called.
    """

    name: str
    arguments: str
    """JSON as a text."""


class ChatCall(TypedDict):
    """
    A call of one of the client's tools.
    """

    id: str
    type: Literal["function"]
    function: ChatCalled


class ChatMessage(TypedDict, total=False):
    """
    A message of the conversation.
    """

    role: Required[Literal["system", "developer", "user", "assistant", "tool"]]
    content: str | list[Json] | None
    """A text, or parts: ``text``, ``image_url``, ``input_audio``, ``file``."""
    tool_calls: list[ChatCall] | None
    tool_call_id: str
    """Of the role ``tool``: which call it answers."""


class ChatFormat(TypedDict, total=False):
    """
    What the answer is.
    """

    type: Required[Literal["text", "json_object", "json_schema"]]
    json_schema: Json


class StreamOptions(TypedDict, total=False):
    """
    What a stream has besides.
    """

    include_usage: bool | None


class ChatOwner(TypedDict, total=False):
    """
    Of which conversation of an agent with a memory the request is.
    """

    thread: str
    resource: str
    """The same as ``user``."""


class ChatOwn(TypedDict, total=False):
    """
    What Chat Completions have no words for.
    """

    run_id: str
    """The run that goes on with the ``answers``."""
    answers: Json
    """By the ``question_id`` of each call that waits."""
    show_tools: bool
    """Whether the answer tells what the agent's own tools did."""


class ChatBody(TypedDict, total=False):
    """
    A request; fields that are not named are passed over.
    """

    model: Required[str]
    """The id of an agent."""
    messages: Required[list[ChatMessage]]
    stream: bool | None
    stream_options: StreamOptions | None
    tools: list[ChatTool] | None
    """The client's own tools."""
    tool_choice: Literal["auto", "none", "required"] | Json | None
    response_format: ChatFormat | None
    temperature: float | None
    top_p: float | None
    presence_penalty: float | None
    frequency_penalty: float | None
    max_tokens: int | None
    max_completion_tokens: int | None
    seed: int | None
    stop: str | list[str] | None
    n: Literal[1] | None
    user: str
    """Whose conversation it is."""
    metadata: ChatOwner | None
    procession: ChatOwn | None


class ChatUsage(TypedDict):
    """
    The tokens of all model calls of the run.
    """

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: dict[str, int]
    completion_tokens_details: dict[str, int]


class ChatSaid(TypedDict, total=False):
    """
    What the agent said.
    """

    role: Required[Literal["assistant"]]
    content: Required[str | None]
    refusal: Required[str | None]
    tool_calls: list[ChatCall]
    images: list[Json]


class ChatChoice(TypedDict):
    """
    The answer, of which there is one.
    """

    index: int
    message: ChatSaid
    logprobs: None
    finish_reason: Literal["stop", "length", "tool_calls", "content_filter"]


class ChatMore(TypedDict, total=False):
    """
    What Chat Completions have no words for.
    """

    run_id: Required[str]
    status: Required[str]
    tripwire: Json
    suspended: list[Json]
    tools: list[Json]


class ChatAnswer(TypedDict):
    """
    The answer in one piece.
    """

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[ChatChoice]
    usage: ChatUsage
    procession: ChatMore


class ChatDelta(TypedDict, total=False):
    """
    What a piece adds to the answer.
    """

    role: Literal["assistant"]
    content: str | None
    refusal: str | None
    tool_calls: list[Json]
    images: list[Json]


class ChatPart(TypedDict):
    """
    The choice as a piece has it.
    """

    index: int
    delta: ChatDelta
    logprobs: None
    finish_reason: Literal["stop", "length", "tool_calls", "content_filter"] | None


class ChatPiece(TypedDict, total=False):
    """
    One piece of a stream: what stands behind ``data:``; after the last stands ``[DONE]``.
    """

    id: Required[str]
    object: Required[Literal["chat.completion.chunk"]]
    created: Required[int]
    model: Required[str]
    choices: Required[list[ChatPart]]
    usage: ChatUsage | None
    procession: Json


class ChatFault(TypedDict):
    """
    What went wrong.
    """

    message: str
    type: str
    param: str | None
    code: str
    request_id: str


class ChatFailure(TypedDict):
    """
    Refused, or failed, in the form of that API.
    """

    error: ChatFault


class ChatModel(TypedDict):
    """
    An agent as a model.
    """

    id: str
    object: Literal["model"]
    created: int
    owned_by: str


class ChatModels(TypedDict):
    """
    The agents as models.
    """

    object: Literal["list"]
    data: list[ChatModel]
