"""Histories as each client writes them: what a server said, read by the client's own reader, and run by an agent."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from hypothesis import strategies as st
from tests.models import anthropic_kit, google_kit, responses_events

from procession.agents.agent import Agent
from procession.messages.chunks import (
    Chunk,
    FileChunk,
    Finish,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    TextDelta,
    ToolCall,
    ToolResult,
)
from procession.messages.message import Message
from procession.messages.parts import FilePart, TextPart
from procession.messages.value import Value
from procession.models.formats.openai.chat_answer import ChatAnswer
from procession.models.model import ModelRequest
from procession.testing.fake_model import FakeModel
from procession.tools.tool import Tool

__all__ = [
    "FORMATS", "PICTURE", "WRITERS", "Call", "Hidden", "Picture", "Run", "Said", "Text", "Thought", "Turn", "mark_of",
    "replayed", "thought_of", "turns",
]  # fmt: skip

PICTURE = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(8)).decode("ascii")
FORMATS = ("chat", "anthropic", "openai", "google")
"""The formats of this library's clients; Chat Completions as OpenRouter has them, with reasoning that is signed."""
WRITERS = (*FORMATS, "other")
"""Who may have written a history: a client of one of the formats, or one of another library."""


# -- what a server says


class Thought(Value):
    """Reasoning with a text, which the server signs or encrypts."""

    number: int
    text: str


class Hidden(Value):
    """Reasoning that only the server can read."""

    number: int


class Text(Value):
    """Text for the user."""

    number: int
    text: str
    signed: bool = False
    """Whether Google signs it."""


class Run(Value):
    """A tool that the provider ran."""

    number: int


class Picture(Value):
    """A file that the model made."""

    number: int


class Call(Value):
    """A call of a tool of ours: ``how`` says what the tool answers."""

    number: int
    id: str
    how: str


Said: TypeAlias = Thought | Hidden | Text | Run | Picture | Call


class Turn(Value):
    """What a user asks, and the answers of one model to it, step by step."""

    writer: str
    question: tuple[TextPart | FilePart, ...]
    answers: tuple[tuple[Said, ...], ...]


def mark_of(said: Said) -> str:
    """Return the signature, the encrypted content or the id of something that a server said."""
    return base64.b64encode(f"\xff>{said.number}?mark of {type(said).__name__}".encode()).decode("ascii")


def thought_of(said: Thought) -> str:
    """Return the words of a thought."""
    return f"thought {said.number}: {said.text}"


# -- how each server says it


def _chat(answer: Sequence[Said]) -> list[Chunk]:
    reader = ChatAnswer("openrouter/m", provider="openrouter")
    calls = 0
    deltas: list[dict[str, Any]] = []
    for index, said in enumerate(answer):
        if isinstance(said, Thought):
            entry = {"type": "reasoning.text", "text": thought_of(said), "signature": mark_of(said), "index": index}
            deltas.append({"reasoning": thought_of(said), "reasoning_details": [entry]})
        elif isinstance(said, Hidden):
            entry = {"type": "reasoning.encrypted", "data": mark_of(said), "index": index}
            deltas.append({"reasoning_details": [entry]})
        elif isinstance(said, Text):
            deltas.append({"content": said.text})
        elif isinstance(said, Call):
            function = {"name": "lookup", "arguments": _arguments(said)}
            deltas.append({"tool_calls": [{"index": calls, "id": said.id, "type": "function", "function": function}]})
            calls += 1
    events: list[Any] = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls" if calls else "stop"}]})
    return _read(reader, events)


def _anthropic(answer: Sequence[Said]) -> list[Chunk]:
    events: list[dict[str, Any]] = [anthropic_kit.start()]
    for index, said in enumerate(answer):
        at = 2 * index
        if isinstance(said, Thought):
            events += anthropic_kit.thought(at, thought_of(said), mark_of(said))
        elif isinstance(said, Hidden):
            events += anthropic_kit.block(at, {"type": "redacted_thinking", "data": mark_of(said)})
        elif isinstance(said, Text):
            events += anthropic_kit.text(at, said.text)
        elif isinstance(said, Run):
            id = f"srvtoolu_{said.number}"
            found = {"type": "web_search_result", "url": "https://a.test", "title": "A", "page_age": None}
            content = [{**found, "encrypted_content": mark_of(said)}]
            events += anthropic_kit.call(at, "web_search", '{"query": "x"}', type="server_tool_use", id=id)
            result = {"type": "web_search_tool_result", "tool_use_id": id, "content": content}
            events += anthropic_kit.block(at + 1, result)
        elif isinstance(said, Call):
            events += anthropic_kit.call(at, "lookup", _arguments(said), id=said.id)
    calls = any(isinstance(said, Call) for said in answer)
    events += [anthropic_kit.end("tool_use" if calls else "end_turn"), anthropic_kit.STOP]
    return anthropic_kit.chunks_of(*events)


def _openai(answer: Sequence[Said]) -> list[Chunk]:
    items: list[dict[str, Any]] = []
    for said in answer:
        number = said.number
        if isinstance(said, Thought):
            items.append(responses_events.reasoning(thought_of(said), item_id=f"rs_{number}", encrypted=mark_of(said)))
        elif isinstance(said, Hidden):
            items.append(responses_events.reasoning(item_id=f"rs_{number}", encrypted=mark_of(said)))
        elif isinstance(said, Text):
            items.append(responses_events.message(said.text, item_id=f"msg_{number}"))
        elif isinstance(said, Run):
            action = {"type": "search", "query": "x", "queries": ["x"]}
            items.append(
                {"type": "web_search_call", "id": f"ws_{mark_of(said)}", "status": "completed", "action": action}
            )
        elif isinstance(said, Picture):
            made = {"id": f"ig_{mark_of(said)}", "status": "completed", "result": PICTURE, "output_format": "png"}
            items.append({"type": "image_generation_call", **made})
        else:
            items.append(
                responses_events.function_call(_arguments(said), name="lookup", call_id=said.id, item_id=f"fc_{number}")
            )
    return responses_events.chunks_of(*responses_events.streamed(items))


def _google(answer: Sequence[Said]) -> list[Chunk]:
    parts: list[dict[str, Any]] = []
    first_call = True
    for said in answer:
        signature = {"thoughtSignature": mark_of(said)}
        if isinstance(said, Thought):
            parts.append({"text": thought_of(said), "thought": True, **signature})
        elif isinstance(said, Hidden):
            parts.append({"text": "", **signature})
        elif isinstance(said, Text):
            parts.append({"text": said.text, **(signature if said.signed else {})})
        elif isinstance(said, Run):
            parts.append({"executableCode": {"language": "PYTHON", "code": "1"}, **signature})
            parts.append({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}})
        elif isinstance(said, Picture):
            parts.append({"inlineData": {"mimeType": "image/png", "data": PICTURE}, **signature})
        else:
            call = google_kit.call("lookup", json.loads(_arguments(said)), id=said.id)
            parts.append({**call, **(signature if first_call else {})})  # Gemini signs the first of several
            first_call = False
    return google_kit.read(*map(google_kit.candidate, parts), google_kit.candidate(finish="STOP"))


def _other(answer: Sequence[Said]) -> list[Chunk]:
    """A client that notes signatures in fields of their own, and the provider's name beside them."""
    chunks: list[Chunk] = []
    noted: Mapping[str, Any] = {"other": {}}
    for said in answer:
        number = said.number
        if isinstance(said, Thought):
            chunks += [ReasoningStart(f"r{number}", noted), ReasoningDelta(thought_of(said), f"r{number}")]
            chunks.append(ReasoningEnd(f"r{number}", mark_of(said), noted))
        elif isinstance(said, Hidden):
            chunks.append(ReasoningDelta("", f"r{number}", redacted=mark_of(said), provider_metadata=noted))
        elif isinstance(said, Text):
            chunks.append(TextDelta(said.text, f"t{number}"))
        elif isinstance(said, Run):
            ran = (f"run_{mark_of(said)}", "web_search", {"query": "x"})
            chunks.append(ToolCall(*ran, provider_executed=True, provider_metadata=noted))
            chunks.append(ToolResult(*ran, {"found": mark_of(said)}, provider_executed=True))
        elif isinstance(said, Picture):
            chunks.append(FileChunk(PICTURE, "image/png", provider_metadata=noted))
        else:
            chunks.append(ToolCall(said.id, "lookup", json.loads(_arguments(said))))
    return [*chunks, Finish("tool-calls" if any(isinstance(said, Call) for said in answer) else "stop")]


_WRITERS: Mapping[str, Callable[[Sequence[Said]], list[Chunk]]] = {
    "chat": _chat,
    "anthropic": _anthropic,
    "openai": _openai,
    "google": _google,
    "other": _other,
}
_SAYS: Mapping[str, tuple[type[Said], ...]] = {
    "chat": (Thought, Hidden, Text, Call),
    "anthropic": (Thought, Hidden, Text, Run, Call),
    "openai": (Thought, Hidden, Text, Run, Picture, Call),
    "google": (Thought, Hidden, Text, Run, Picture, Call),
    "other": (Thought, Hidden, Text, Run, Picture, Call),
}


def _arguments(call: Call) -> str:
    return json.dumps({"n": call.number, "how": call.how})


def _read(reader: Any, events: Iterable[Any]) -> list[Chunk]:
    chunks = [chunk for event in events for chunk in reader.read(json.dumps(event))]
    return [*chunks, *reader.finish()]


# -- what an agent makes of it


class _Server:
    """A model that answers as its server did."""

    def __init__(self, turn: Turn) -> None:
        self.id = f"{turn.writer}/m"
        self.provider = turn.writer
        self._answers = [_WRITERS[turn.writer](answer) for answer in turn.answers]

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """Give the next answer."""
        for chunk in self._answers.pop(0):
            yield chunk


def _lookup(args: Mapping[str, Any], ctx: Any) -> Any:
    how = args["how"]
    if how == "error":
        raise ValueError(f"nothing at {args['n']}")
    return {"text": "found", "empty": "", "json": {"at": [args["n"], None]}, "file": "file"}[how]


def _told(result: Any) -> Any:
    if result != "file":
        return result
    return {
        "type": "content",
        "value": [{"type": "text", "text": "here"}, {"type": "image-data", "data": PICTURE, "mediaType": "image/png"}],
    }


_SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}, "how": {"type": "string"}}}
_TOOL: Tool[Any] = Tool(name="lookup", parameters=_SCHEMA, execute=_lookup, to_model_output=_told)


async def replayed(history: Sequence[Turn]) -> ModelRequest:
    """Let an agent have the conversation, each turn with its model, and return what the next model would be asked."""
    messages: list[Message] = []
    for turn in history:
        messages.append(Message("user", turn.question))
        agent = Agent("a", model=_Server(turn), tools=[_TOOL], max_steps=len(turn.answers))
        messages.extend((await agent.generate(messages)).messages)
    last = FakeModel("ok")
    await Agent("a", model=last, tools=[_TOOL], instructions="Be brief.").generate([*messages, Message.user("Go on.")])
    return last.requests[0]


# -- all the conversations there could be

_TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=12).map(
    lambda text: f"\n {text} é\n"
)
_IDS = st.sampled_from(
    ["call_{1}", "call_{0}", "functions.lookup:{0}", "a b/{1}", "é{0}", "toolu_{0}", "x" * 70 + "{0}"]
)
"""Ids, of which some come again in another answer: some servers number the calls of each anew."""
_HOW = st.sampled_from(["text", "empty", "json", "file", "error"])
_QUESTIONS: st.SearchStrategy[tuple[TextPart | FilePart, ...]] = st.sampled_from([
    (TextPart("What is this?"),),
    (TextPart("And this?"), FilePart(base64.b64decode(PICTURE), "image/png")),
    (FilePart("https://a.test/a.png", "image/png"), TextPart("?")),
    (TextPart("Read."), FilePart(b"%PDF-1.4", "application/pdf", "a.pdf")),
])  # fmt: skip


@st.composite
def _answers(draw: st.DrawFn, writer: str, numbers: Iterable[int], *, calls: bool) -> tuple[Said, ...]:
    kinds = [kind for kind in _SAYS[writer] if kind is not Call]
    said: list[Said] = []
    for kind in draw(st.lists(st.sampled_from(kinds), max_size=4)):
        said.append(draw(_one(kind, next(iter(numbers)))))
    if calls:
        for place in range(draw(st.integers(1, 3))):
            number = next(iter(numbers))
            said.append(Call(number, draw(_IDS).format(number, place), draw(_HOW)))
    elif not said:
        said.append(draw(_one(Text, next(iter(numbers)))))
    return tuple(said)


def _one(kind: type[Said], number: int) -> st.SearchStrategy[Said]:
    if kind is Thought:
        return _TEXTS.map(lambda text: Thought(number, text))
    if kind is Text:
        return st.builds(Text, st.just(number), _TEXTS, st.booleans())
    return st.just(kind(number))  # type: ignore[call-arg]


@st.composite
def turns(draw: st.DrawFn) -> list[Turn]:
    """Conversations of several turns, each under a provider of its own."""
    numbers = iter(range(1, 1000))
    made: list[Turn] = []
    for writer in draw(st.lists(st.sampled_from(WRITERS), min_size=1, max_size=3)):
        steps = draw(st.integers(0, 2))
        answers = [draw(_answers(writer, numbers, calls=True)) for _ in range(steps)]
        made.append(Turn(writer, draw(_QUESTIONS), (*answers, draw(_answers(writer, numbers, calls=False)))))
    return made
