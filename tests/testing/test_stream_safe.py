"""The public check of what a processor does to streamed text."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from procession.errors import InputError, ProcessorDefinitionError, ProcessorError
from procession.messages.chunks import TextDelta
from procession.messages.text.patterns import Rule
from procession.processors.processor import Processor, processor
from procession.processors.text_guard import TextGuard
from procession.testing.stream_safe import assert_stream_safe, stream_kind
from procession.workflows.workflow import create_workflow

TEXTS = [
    "the secret is out",
    "secret",
    "no more",
    "",
    "secretsecret",
    "s",
    "a longer text in which there is a secret somewhere",
]


class Words(TextGuard):
    """A guard of one word."""

    id = "words"
    rules = (Rule("word", "secret"),)


def per_chunk(change: Callable[[Any], Any], **options: Any) -> Processor:
    """Return a processor that changes the text of single chunks."""

    @processor(hook="process_output_stream", id="per-chunk")
    def act(ctx: Any) -> Any:
        return change(ctx) if isinstance(ctx.chunk, TextDelta) else ctx.chunk

    for name, value in options.items():
        setattr(act, name, value)
    return act


def hide(ctx: Any) -> Any:
    """Hide a word where it stands in one chunk."""
    return TextDelta(ctx.chunk.text.replace("secret", "***"))


def block(ctx: Any) -> Any:
    """Stop the run where a word stands in one chunk."""
    if "secret" in ctx.chunk.text:
        ctx.abort("no")
    return ctx.chunk


@pytest.mark.parametrize("strategy", ["redact", "block", "filter", "warn"])
def test_a_text_guard_is_safe(strategy: str) -> None:
    """A text guard does the same however the text is cut, with every strategy."""
    forbidden = ["secret"] if strategy != "warn" else []
    assert_stream_safe(Words(strategy=strategy), TEXTS, forbidden=forbidden)
    assert stream_kind(Words(strategy=strategy), TEXTS) == "text guard"


@pytest.mark.parametrize("change", [hide, block])
def test_a_processor_that_looks_at_chunks_is_found_out(change: Any) -> None:
    """A processor that finds only what stands in one chunk is per chunk."""
    assert stream_kind(per_chunk(change), TEXTS) == "per chunk"
    with pytest.raises(AssertionError, match="processor 'per-chunk' is not safe in a stream"):
        assert_stream_safe(per_chunk(change), TEXTS)


def test_a_processor_that_looks_at_no_text_is_safe() -> None:
    """What does the same to every character does the same to every cut."""
    assert_stream_safe(per_chunk(lambda ctx: TextDelta(ctx.chunk.text.upper())), TEXTS)
    assert_stream_safe(per_chunk(lambda ctx: ctx.chunk), TEXTS)
    assert_stream_safe(per_chunk(lambda ctx: None), TEXTS)


def test_the_report_shows_the_simplest_cut() -> None:
    """The error has the text, a cut in two, and what comes out of it and of the whole."""
    with pytest.raises(AssertionError) as caught:
        assert_stream_safe(per_chunk(hide), ["the secret is out"])
    report = str(caught.value)
    assert "text:  'the secret is out'" in report
    assert report.count("', '") == 1
    assert "gives: 'the secret is out'" in report
    assert "whole: 'the *** is out'" in report
    assert "TextGuard" in report


@pytest.mark.parametrize("forbidden", ["secret", re.compile("se.ret")])
def test_what_is_forbidden_never_comes_out(forbidden: Any) -> None:
    """Text that must not come out is looked for in what every cut gives."""
    with pytest.raises(AssertionError, match="comes out"):
        assert_stream_safe(per_chunk(lambda ctx: ctx.chunk), ["a secret"], forbidden=[forbidden])
    assert_stream_safe(per_chunk(lambda ctx: ctx.chunk), ["nothing"], forbidden=[forbidden])


def test_a_guard_that_blocks_too_late_is_found_out() -> None:
    """A guard that lets part of a match out before it stops the run is not safe."""

    class Late(Words):
        id = "late"

        def process_output_stream(self, ctx: Any) -> Any:
            if isinstance(ctx.chunk, TextDelta):
                said = ctx.state["said"] = ctx.state.get("said", "") + ctx.chunk.text
                if "secret" in said:
                    ctx.abort("no")
            return ctx.chunk

    with pytest.raises(AssertionError, match="part of what is blocked comes out"):
        assert_stream_safe(Late(), ["the secret"])


def test_a_processor_that_holds_everything_back_is_safe() -> None:
    """A processor of any kind may hold a block to its end and look at the whole."""

    class Whole(Processor):
        id = "whole"

        def process_output_stream(self, ctx: Any) -> Any:
            if not isinstance(ctx.chunk, TextDelta):
                return ctx.chunk
            ctx.state["held"] = ctx.state.get("held", "") + ctx.chunk.text
            return None

        def flush_output_stream(self, ctx: Any) -> Any:
            return TextDelta(ctx.state.pop("held", "").replace("secret", "***"))

    assert_stream_safe(Whole(), TEXTS, forbidden=["secret"])


def test_lists_and_workflows() -> None:
    """A list of processors, and a workflow of them, are checked as a whole."""

    class Parrots(Words):
        id = "parrots"
        rules = (Rule("parrot", "parrot"),)

    texts = ["secret parrot", "a secret", "a parrot"]
    assert_stream_safe([Words(strategy="redact"), Parrots(strategy="redact")], texts, forbidden=["secret", "parrot"])
    workflow = create_workflow("w", kind="processor").parallel([Words(strategy="redact"), Parrots(strategy="redact")])
    assert_stream_safe(workflow, texts, forbidden=["secret", "parrot"])
    with pytest.raises(AssertionError, match="the list is not safe"):
        assert_stream_safe([Words(strategy="redact"), per_chunk(lambda ctx: TextDelta(ctx.chunk.text + "!"))], texts)


def test_cuts_are_the_same_every_time() -> None:
    """The same seed gives the same cuts."""
    seen: list[list[str]] = [[], []]
    for into in seen:

        def note(ctx: Any, into: list[str] = into) -> Any:
            into.append(ctx.chunk.text)
            return ctx.chunk

        assert_stream_safe(per_chunk(note), ["a text that is long enough"], samples=20)
    assert seen[0] == seen[1]
    assert len(set(seen[0])) > 50


async def test_it_can_be_called_from_async_tests() -> None:
    """It works where an event loop is running already, and for processors that wait."""

    @processor(hook="process_output_stream", id="slow")
    async def slow(ctx: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        return ctx.chunk

    assert_stream_safe(slow, ["short"])
    assert_stream_safe(Words(strategy="redact"), ["a secret"])


def test_what_cannot_be_checked() -> None:
    """A processor without the hook, and what is no processor, are refused."""
    with pytest.raises(InputError, match="has no process_output_stream"):
        assert_stream_safe(processor(hook="process_input")(print), ["x"])
    with pytest.raises(ProcessorDefinitionError):
        assert_stream_safe(print, ["x"])


def test_a_processor_that_fails_is_an_error_of_its_own() -> None:
    """An exception of the processor is not taken for a fault of the cut."""

    def broken(ctx: Any) -> Any:
        raise ValueError

    with pytest.raises(ProcessorError):
        assert_stream_safe(per_chunk(broken), ["x"])
