"""What the tests of the stream chain share: chunks sent through a list of processors, as the agent loop sends them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import anyio
from tests.processors.kit import at

from procession.messages.chunks import Chunk, TextDelta
from procession.messages.message_list import MessageList
from procession.processors.chain import chain, processor_steps
from procession.processors.processor import Processor
from procession.processors.stream import StreamChain
from procession.processors.stream_plan import stream_plan
from procession.steps.scope import RequestScope
from procession.workflows.workflow import Workflow, create_workflow


def made(*things: Any, scope: RequestScope | None = None) -> StreamChain:
    """Return the stream chain of a list of processors, at the beginning of a step."""
    plan = stream_plan(chain(processor_steps(things, where="list"), "list"))
    assert plan is not None
    found = StreamChain(plan, scope or RequestScope(), MessageList("Hi"))
    found.begin(step_number=0, steps=(), retry_count=0)
    return found


async def push(stream: StreamChain, chunk: Chunk, sender: str | None = None) -> list[Chunk]:
    """Send one chunk and return what comes out."""
    out = stream.fast(chunk) if stream.fast is not None and sender is None else await stream.push(chunk, sender)
    return [] if out is None else out if isinstance(out, list) else [out]


async def streamed(chunks: Iterable[Chunk], *things: Any, scope: RequestScope | None = None) -> list[Chunk]:
    """Send *chunks* through a list of processors, let go of what is held, and return what came out."""
    stream = made(*things, scope=scope)
    out: list[Chunk] = []
    for chunk in chunks:
        out += await push(stream, chunk)
    return out + await stream.flush()


def deltas(*texts: str) -> list[Chunk]:
    """Return text deltas."""
    return [TextDelta(text) for text in texts]


def texts(chunks: Sequence[Chunk]) -> list[str]:
    """Return the texts of the text deltas among *chunks*."""
    return [chunk.text for chunk in chunks if isinstance(chunk, TextDelta)]


def on_text(
    change: Callable[[str], str | None], *, id: str = "guard", later: bool = False, **options: Any
) -> Processor:
    """Return a processor that changes, or drops, text; *later* makes it asynchronous."""

    def act(ctx: Any) -> Any:
        chunk = ctx.chunk
        if not isinstance(chunk, TextDelta):
            return chunk
        text = change(chunk.text)
        return chunk if text == chunk.text else None if text is None else TextDelta(text, chunk.id)

    async def act_later(ctx: Any) -> Any:
        return act(ctx)

    return at("process_output_stream", act_later if later else act, id=id, **options)


class Holder(Processor):
    """A processor that holds every block back to its end and lets it go in one piece, in brackets."""

    def process_output_stream(self, ctx: Any) -> Any:
        """Keep text."""
        if not isinstance(ctx.chunk, TextDelta):
            return ctx.chunk
        ctx.state.setdefault("held", []).append(ctx.chunk.text)
        return None

    def flush_output_stream(self, ctx: Any) -> Any:
        """Let go."""
        held = ctx.state.pop("held", [])
        return [TextDelta(f"[{''.join(held)}]")] if held else []

    def reset_output_stream(self, ctx: Any) -> None:
        """Drop what is kept."""
        ctx.state.pop("held", None)


ARMS = ("plain", "async", "nested", "waiting")


def arm_of(kind: str, change: Callable[[str], str | None], id: str, **options: Any) -> Any:
    """Return an arm that changes text: a plain or async processor, a workflow, or one that waits for something."""
    if kind == "plain":
        return on_text(change, id=id, **options)
    if kind == "async":
        return on_text(change, id=id, later=True, **options)
    if kind == "nested":
        inner = on_text(change, id=id, **options)
        passing = on_text(lambda text: text, id=f"{id}-pass")
        return create_workflow(f"workflow-{id}", kind="processor").then(inner).then(passing).commit()

    async def wait(ctx: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        if not isinstance(ctx.chunk, TextDelta):
            return ctx.chunk
        text = change(ctx.chunk.text)
        return ctx.chunk if text == ctx.chunk.text else None if text is None else TextDelta(text)

    return at("process_output_stream", wait, id=id, **options)


def same(text: str) -> str:
    """Leave text as it is."""
    return text


def side_by_side(*arms: Any, **options: Any) -> Workflow[Any, Any]:
    """Return a workflow of arms side by side."""
    return create_workflow("w", kind="processor").parallel(list(arms), **options)
