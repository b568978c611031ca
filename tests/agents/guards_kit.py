"""What the tests of concurrent guards share: a model and guards that wait for each other by events, never by time."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Any

import anyio

from procession.agents.agent import Agent
from procession.errors import ModelError
from procession.messages.chunks import Chunk, Finish, TextDelta, TextEnd, TextStart, ToolCall
from procession.messages.usage import Usage
from procession.models.model import ModelRequest
from procession.processors.contexts import InputContext
from procession.processors.processor import Processor

MODEL_DOES = ("answers first", "errors", "still streaming")
GUARD_DOES = ("passes", "blocks", "fails")


class RacedModel:
    """A model that tells how far it is: it has begun, has said a word, is over, was closed."""

    id = "raced"
    provider = "fake"

    def __init__(self, does: str = "answers first", *, tool: str | None = None) -> None:
        self.does = does
        self.tool = tool
        self.begun = anyio.Event()
        self.spoke = anyio.Event()
        self.over = anyio.Event()
        """Set once the answer, or the error, has come in whole, and where it was closed."""
        self.goes_on = anyio.Event()
        """What a model that is still streaming waits for before it says the rest."""
        self.cancelled = False
        self.requests: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """Answer once with two words, and with another text from then on."""
        self.requests.append(request)
        self.begun.set()
        try:
            if len(self.requests) > 1:
                for chunk in (TextStart("b"), TextDelta("done", "b"), TextEnd("b"), Finish("stop", Usage(10, 5))):
                    yield chunk
                return
            yield TextStart("a")
            yield TextDelta("one", "a")
            self.spoke.set()
            if self.does == "errors":
                raise ModelError("overloaded", kind="unavailable", status_code=503)
            if self.does == "still streaming":
                await self.goes_on.wait()
            yield TextDelta(" two", "a")
            yield TextEnd("a")
            if self.tool is not None:
                yield ToolCall("call-1", self.tool, {})
            yield Finish("tool-calls" if self.tool is not None else "stop", Usage(10, 5))
        except anyio.get_cancelled_exc_class():
            self.cancelled = True
            raise
        finally:
            self.over.set()


class RacingGuard(Processor):
    """A guard that only checks: it waits for what *when* says of the model, then does what it *does*."""

    check_only = True

    def __init__(self, does: str, when: Callable[[], Any], *, then: Callable[[], Any] | None = None, id: str = "guard"):
        super().__init__(id=id)
        self.does = does
        self.when = when
        self.then = then
        self.calls = 0
        self.cancelled = False

    async def process_input(self, ctx: InputContext) -> None:
        """Wait, then pass, block or fail."""
        self.calls += 1
        try:
            await self.when()
        except anyio.get_cancelled_exc_class():
            self.cancelled = True
            raise
        if self.then is not None:
            self.then()
        if self.does == "blocks":
            ctx.abort("not this")
        if self.does == "fails":
            raise RuntimeError("no verdict")
        if self.does == "replaces":
            ctx.replace_response("instead")


def raced(guard_does: str, model_does: str, **options: Any) -> tuple[Agent, RacedModel, RacingGuard]:
    """Return an agent, its model and its guard of one cell of the table."""
    model = RacedModel(model_does, tool=options.pop("tool", None))
    when = model.spoke.wait if model_does == "still streaming" else model.over.wait
    guard = RacingGuard(guard_does, when, then=model.goes_on.set if guard_does == "passes" else None)
    options.setdefault("guard_mode", "concurrent")
    listed = [guard, *options.pop("more_guards", [])]
    return Agent("bot", model=model, input_processors=listed, **options), model, guard
