"""What the tests of the agents room share: one outcome for both ways to call, and processors made of a function."""

from __future__ import annotations

from collections.abc import Callable
from inspect import iscoroutinefunction
from typing import Any

from procession.agents.agent import Agent
from procession.agents.output import AgentResult
from procession.errors import ProcessionError
from procession.messages.chunks import Chunk, TripwireInfo
from procession.processors.hooks import INPUT_HOOKS, Hook
from procession.processors.processor import Processor, processor
from procession.testing.fake_model import Reply
from procession.testing.recorder import Recording, record
from procession.testing.script import call_tool, fail, say
from procession.tools.tool import Tool

WAYS = ("generate", "stream")
HOOKS = tuple(hook.value for hook in Hook)
COST = 15
"""Tokens that one call of a fake model costs."""


class Seen:
    """What a caller saw of one call: the chunks, and the result or what was raised."""

    def __init__(self) -> None:
        self.chunks: Recording[Chunk] = Recording()
        self.error: ProcessionError | None = None
        self._result: AgentResult | None = None

    @property
    def result(self) -> AgentResult:
        """Return the result; raises what the call raised."""
        if self.error is not None:
            raise self.error
        assert self._result is not None
        return self._result

    @property
    def tripwire(self) -> TripwireInfo:
        """Return the tripwire of a blocked run."""
        assert self.result.tripwire is not None
        return self.result.tripwire

    def keep(self, result: AgentResult) -> None:
        """Note the result."""
        self._result = result

    async def through(self, agent: Agent, way: str, messages: Any, options: dict[str, Any]) -> Seen:
        """Call *agent* one way or the other and note what comes."""
        try:
            if way == "generate":
                self._result = await agent.generate(messages, on_chunk=self.chunks.append, **options)
            else:
                async with agent.stream(messages, **options) as stream:
                    self.chunks = await record(stream.full_stream)
                    self._result = await stream.result()
        except ProcessionError as error:
            self.error = error
        return self


async def ask(agent: Agent, way: str = "generate", messages: Any = "Hi", **options: Any) -> Seen:
    """Call *agent* by ``generate`` or ``stream`` and return what a caller sees."""
    return await Seen().through(agent, way, messages, options)


def at(hook: str, act: Callable[[Any], Any], *, id: str = "guard", **options: Any) -> Processor:
    """Return a processor that does *act* at *hook*; *options* are attributes such as ``timeout``."""
    made = processor(hook=hook, id=id)(act)
    for name, value in options.items():
        setattr(made, name, value)
    return made


def text_only(act: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return *act*, kept to text where it is given chunks: it would stop at the very first one."""

    def only(ctx: Any) -> Any:
        if _other_chunk(ctx):
            return ctx.chunk
        return _chunk_or(ctx, act(ctx))

    async def only_later(ctx: Any) -> Any:
        if _other_chunk(ctx):
            return ctx.chunk
        return _chunk_or(ctx, await act(ctx))

    return only_later if iscoroutinefunction(act) else only


def _other_chunk(ctx: Any) -> bool:
    return ctx.hook is Hook.OUTPUT_STREAM and ctx.chunk.type != "text-delta"


def _chunk_or(ctx: Any, out: Any) -> Any:
    return ctx.chunk if ctx.hook is Hook.OUTPUT_STREAM and out is None else out


def list_of(hook: str) -> str:
    """Return the name of the list in which a processor with *hook* belongs."""
    if hook == Hook.API_ERROR:
        return "error_processors"
    return "input_processors" if Hook(hook) in INPUT_HOOKS else "output_processors"


def spy(calls: list[str], id: str = "spy") -> Processor:
    """Return a processor that takes part in all nine hooks and notes which was called."""

    class Spy(Processor):
        pass

    def note(self: Any, ctx: Any) -> Any:
        calls.append(f"{self.id}.{ctx.hook.value}")
        return ctx.chunk if ctx.hook is Hook.OUTPUT_STREAM else None

    for hook in HOOKS:
        setattr(Spy, hook, note)
    return Spy(id=id)


def counted_tool(name: str = "lookup", answer: Any = "found") -> tuple[Tool[Any], list[Any]]:
    """Return a tool that takes anything, and the list of what it was called with."""
    calls: list[Any] = []

    def execute(args: Any, ctx: Any) -> Any:
        calls.append(args)
        return answer

    return Tool(name=name, parameters={"type": "object"}, execute=execute), calls


def turn(hook: str, *, text: str = "secret") -> list[Reply | Exception]:
    """Return the script of a turn in which *hook* takes place: a tool is called, then there is an answer."""
    first: Reply | Exception = say(text, " text") + call_tool("lookup")
    if hook == Hook.API_ERROR:
        first = fail("overloaded", status=503)
    return [first, say("done")]
