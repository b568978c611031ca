"""Text guards at every place where text passes: input, answer, results of tools."""

from __future__ import annotations

from typing import Any

import pytest
from tests.processors.kit import passed, through
from tests.processors.streams import context, stream, texts

from procession.errors import ProcessorDefinitionError
from procession.messages.chunks import Chunk, DataChunk, Finish, TextDelta, TextEnd, TextStart
from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.messages.parts import FilePart, TextPart, ToolCallPart
from procession.messages.text.patterns import Rule
from procession.messages.text.spans import Span
from procession.processors.guardrails.pii import PIIDetector
from procession.processors.guardrails.regex_filter import RegexFilter
from procession.processors.payloads import InputPayload, OutputResultPayload, ToolResultPayload
from procession.processors.text_guard import TextGuard
from procession.processors.violation import Violation
from procession.steps.scope import RequestScope
from procession.workflows.workflow import create_workflow


class Codes(TextGuard):
    """Finds codes."""

    id = "codes"
    rules = (Rule("code", "[A-Z]{2}-[0-9]{3}"),)


def said(text: str) -> MessageList:
    """Return a history with a code and a new message with *text*."""
    messages = MessageList([Message.user("before: AB-000", id="old")], source="memory")
    messages.add([Message.user(text, id="new")], "input")
    return messages


# --- input ---------------------------------------------------------------------------


async def test_redact_hides_new_input_and_leaves_history_alone() -> None:
    """Only what came with the call is looked at; what was said before is not rewritten."""
    out = await passed(InputPayload(said("see AB-123 and AB-124")), Codes(strategy="redact"))
    assert [message.text for message in out.message_list] == ["before: AB-000", "see [CODE] and [CODE]"]


async def test_block_says_what_and_where_and_never_shows_it() -> None:
    """The tripwire names guard, types and rule; what was found is in none of its words."""
    run = await through(InputPayload(said("see AB-123")), Codes())
    assert run.status == "blocked"
    assert run.tripwire is not None
    assert run.tripwire.processor_id == "codes"
    assert run.tripwire.metadata == {"processorId": "codes", "types": ["code"]}
    assert "AB-123" not in repr(run.tripwire)


async def test_filter_takes_the_message_out() -> None:
    """A message with a finding is gone, another one stays."""
    messages = said("see AB-123")
    messages.add([Message.user("hello", id="newer")], "input")
    out = await passed(InputPayload(messages), Codes(strategy="filter"))
    assert [message.id for message in out.message_list] == ["old", "newer"]


async def test_warn_reports_and_changes_nothing() -> None:
    """A warning is noted with its place; the text stays."""
    scope = RequestScope()
    out = await passed(InputPayload(said("see AB-123")), Codes(strategy="warn"), scope=scope)
    assert out.message_list.view()[-1].text == "see AB-123"
    [violation] = scope.violations
    assert (violation.outcome, violation.processor_id) == ("warned", "codes")
    assert violation.detail["findings"] == [{"rule": "code", "index": 4, "length": 6}]


@pytest.mark.parametrize("strategy", ["block", "redact", "filter"])
async def test_a_monitor_only_says_what_it_would_do(strategy: str) -> None:
    """In monitor mode nothing changes, whatever the strategy; the finding is noted as ``would_block``."""
    scope = RequestScope()
    out = await passed(InputPayload(said("see AB-123")), Codes(strategy=strategy, mode="monitor"), scope=scope)
    assert out.message_list.view()[-1].text == "see AB-123"
    assert [violation.outcome for violation in scope.violations] == ["would_block"]
    assert stream(Codes(strategy=strategy, mode="monitor"), ["AB-", "123"]).pieces == ["AB-", "123"]


async def test_other_parts_stay_byte_for_byte() -> None:
    """Only text parts change: files and their names, and the message's metadata, are the same objects (D19)."""
    file = FilePart(b"\x89PNG", "image/png", "AB-123.png")
    message = Message("user", [TextPart("a AB-123"), file, TextPart("b AB-124", {"k": 1})], metadata={"m": "AB-125"})
    messages = MessageList([message], source="input")
    out = await passed(InputPayload(messages), Codes(strategy="redact"))
    [changed] = out.message_list
    assert [part.text for part in changed.parts if isinstance(part, TextPart)] == ["a [CODE]", "b [CODE]"]
    assert changed.parts[1] is file
    assert changed.metadata == {"m": "AB-125"}
    assert changed.parts[2] == TextPart("b [CODE]", {"k": 1})


async def test_parallel_guards_hide_what_either_found() -> None:
    """Two redactors side by side: the merge knows their exact spans and unites them."""
    both = create_workflow("both", kind="processor").parallel(
        [PIIDetector(redaction="placeholder", detection_types=["email"]), Codes(strategy="redact")]
    )
    out = await passed(InputPayload(said("mail eva@example.net about AB-123")), both.commit())
    assert out.message_list.view()[-1].text == "mail [EMAIL] about [CODE]"


async def test_a_callback_is_told_once_per_hook_call() -> None:
    """Two findings in one hook call are one call of ``on_violation``, and two entries in the list."""
    told: list[Violation] = []
    scope = RequestScope()
    messages = said("AB-123")
    messages.add([Message.user("AB-124", id="newer")], "input")
    await passed(InputPayload(messages), Codes(strategy="redact", on_violation=told.append), scope=scope)
    assert len(told) == 1
    assert len(scope.violations) == 2


# --- the answer ----------------------------------------------------------------------


def answered(*parts: Any) -> MessageList:
    """Return a question and an answer of *parts*."""
    messages = said("hi")
    messages.append_response(parts, message_id="answer")
    return messages


async def test_the_finished_answer_is_looked_at() -> None:
    """What no stream has shown is guarded in the result; tool calls and their results stay."""
    call = ToolCallPart("1", "lookup", {"q": "AB-123"}, "result", "AB-123")
    out = await passed(OutputResultPayload(answered(TextPart("it is AB-123"), call)), Codes(strategy="redact"))
    [answer] = out.message_list.view("response")
    assert answer.text == "it is [CODE]"
    assert answer.parts[1] == call
    out = await passed(OutputResultPayload(answered(TextPart("it is AB-123"), call)), Codes(strategy="filter"))
    assert list(out.message_list.view("response")[0].parts) == [call]
    out = await passed(OutputResultPayload(answered(TextPart("it is AB-123"))), Codes(strategy="filter"))
    assert list(out.message_list.view("response")) == []


async def test_what_passed_in_the_stream_is_not_found_again() -> None:
    """Text that went through the stream is not looked at a second time, so that nothing is reported twice."""
    scope = RequestScope()
    guard = Codes(strategy="warn")
    ctx = context(guard, scope)
    ctx.note(TextDelta("it is AB-123"))
    guard.process_output_stream(ctx)
    ctx.chunk = TextEnd()
    guard.flush_output_stream(ctx)
    assert len(scope.violations) == 1
    await passed(OutputResultPayload(answered(TextPart("it is AB-123"))), guard, scope=scope)
    assert len(scope.violations) == 1
    await passed(OutputResultPayload(answered(TextPart("it is AB-124"))), guard, scope=scope)
    assert len(scope.violations) == 2


def pushed(guard: TextGuard, chunks: list[Chunk]) -> list[Chunk]:
    """Return what comes of *chunks*, with held text in front of every chunk that is no text, as the runner does."""
    ctx = context(guard)
    out: list[Chunk] = []
    for chunk in chunks:
        ctx.chunk = chunk
        if not isinstance(chunk, TextDelta):
            out += guard.flush_output_stream(ctx)
        one = guard.process_output_stream(ctx)
        if one is not None:
            out.append(one)
    return out


def test_held_text_comes_before_what_ends_its_block() -> None:
    """The end of a block, or anything that is no text, is preceded by what was held back."""
    out = pushed(Codes(strategy="redact"), [TextStart(), TextDelta("go AB-1"), TextDelta("2"), Finish("stop")])
    assert [chunk.type for chunk in out] == ["text-start", "text-delta", "text-delta", "finish"]
    assert "".join(texts(out)) == "go AB-12"


def test_data_between_two_pieces_does_not_let_a_match_through() -> None:
    """Data of the application in the middle of a block does not end it."""
    out = pushed(Codes(strategy="redact"), [TextDelta("go AB-"), DataChunk("data-x", 1), TextDelta("123."), TextEnd()])
    assert "".join(texts(out)) == "go [CODE]."


def test_blocks_do_not_mix() -> None:
    """Two blocks whose pieces alternate are each guarded by themselves."""
    a, b = "first AB-", "second AB-"
    out = pushed(
        Codes(strategy="redact"),
        [TextDelta(a, "a"), TextDelta(b, "b"), TextDelta("12", "a"), TextDelta("345", "b"), TextEnd("a"), TextEnd("b")],
    )
    of = {id: "".join(chunk.text for chunk in out if isinstance(chunk, TextDelta) and chunk.id == id) for id in "ab"}
    assert of == {"a": "first AB-12", "b": "second [CODE]"}


def test_a_rejected_attempt_leaves_nothing_behind() -> None:
    """What was held back belongs to the attempt: a new one starts afresh."""
    guard = Codes(strategy="redact")
    ctx = context(guard)
    ctx.chunk = TextDelta("AB-")
    guard.process_output_stream(ctx)
    guard.reset_output_stream(ctx)
    ctx.chunk = TextDelta("123 x")
    first = guard.process_output_stream(ctx)
    ctx.chunk = TextEnd()
    assert "".join(texts([first, *guard.flush_output_stream(ctx)])) == "123 x"


def test_one_guard_may_stand_twice_in_a_list() -> None:
    """The state of a stream belongs to the place in the list, not to the guard alone."""
    guard = Codes(strategy="redact")
    scope = RequestScope()
    first, second = context(guard, scope), context(guard, scope)
    out: list[Chunk] = []
    for chunk in (TextDelta("AB-1"), TextDelta("23 AB-9"), TextEnd()):
        first.chunk = chunk
        held: list[Chunk] = guard.flush_output_stream(first) if isinstance(chunk, TextEnd) else []
        one = guard.process_output_stream(first)
        for passed_on in (*held, *([one] if one is not None else [])):
            second.chunk = passed_on
            out += guard.flush_output_stream(second) if isinstance(passed_on, TextEnd) else []
            two = guard.process_output_stream(second)
            out += [two] if two is not None else []
    assert "".join(texts(out)) == "[CODE] AB-9"


# --- results of tools ------------------------------------------------------------------


def returned(result: Any, **options: Any) -> ToolResultPayload:
    """Return the payload of a tool that answered *result*."""
    return ToolResultPayload(said("hi"), tool_name="lookup", tool_call_id="1", result=result, **options)


async def test_strings_inside_results_are_hidden() -> None:
    """Every string is looked at, however deep, keys as well; what has none stays as it is."""
    value = {"items": [{"title": "AB-123", "n": 3}, ("AB-124", None)], "AB-125": {"x"}, "same": [1, 2]}
    out = await passed(returned(value), Codes(strategy="redact"))
    assert out.result == {"items": [{"title": "[CODE]", "n": 3}, ["[CODE]", None]], "[CODE]": ["x"], "same": [1, 2]}
    clean = {"a": [1, "b"]}
    assert (await passed(returned(clean), Codes(strategy="redact"))).result is clean


async def test_errors_of_tools_are_looked_at() -> None:
    """The text of an error reaches the model too (D20)."""
    out = await passed(returned("no such code AB-123", is_error=True), Codes(strategy="redact"))
    assert out.result == "no such code [CODE]"


async def test_a_filtered_string_leaves_a_notice() -> None:
    """With filter the string goes and its place stays, so that the call keeps its result."""
    out = await passed(returned({"a": "about AB-123", "b": "fine"}), Codes(strategy="filter"))
    assert out.result == {"a": "[removed]", "b": "fine"}


async def test_a_block_names_the_path() -> None:
    """A report about a tool's result says at which place in it."""
    scope = RequestScope()
    await passed(returned({"items": [{"meta": {"html": "AB-123"}}]}), Codes(strategy="warn"), scope=scope)
    assert scope.violations[0].detail["path"] == "items[0].meta.html"


# --- failures and options ----------------------------------------------------------------


class Broken(TextGuard):
    """Cannot find anything."""

    id = "broken"

    def find(self, text: str) -> list[Span]:
        """Fail."""
        raise RuntimeError("no dictionary")


async def test_a_guard_that_fails_closes() -> None:
    """Blocked and could-not-check are told apart; a guard that only warns is left out."""
    run = await through(InputPayload(said("hi")), Broken())
    assert run.tripwire is not None
    assert run.tripwire.metadata == {"kind": "guard_failed"}
    scope = RequestScope()
    await passed(InputPayload(said("hi")), Broken(strategy="warn"), scope=scope)
    assert [violation.outcome for violation in scope.violations] == ["error"]


async def test_a_search_that_takes_too_long_is_stopped() -> None:
    """A pattern of exponential time is stopped under its budget, and the guard says so."""
    pytest.importorskip("regex")
    slow = [{"name": "slow", "pattern": r"(a|aa)+$"}]
    run = await through(InputPayload(said("a" * 60 + "b")), RegexFilter(rules=slow))
    assert run.tripwire is not None
    assert run.tripwire.metadata == {"kind": "guard_timeout"}
    scope = RequestScope()
    await passed(InputPayload(said("a" * 60 + "b")), RegexFilter(strategy="warn", rules=slow), scope=scope)
    assert [violation.outcome for violation in scope.violations] == ["timeout"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"strategy": "hide"}, "'block', 'redact', 'filter', 'warn'"),
        ({"mode": "watch"}, "'enforce', 'monitor'"),
        ({"phase": "both"}, "'input', 'output', 'all'"),
        ({"threshold": 2}, "between 0 and 1"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], words: str) -> None:
    """A wrong option is named, with what would be right."""
    with pytest.raises(ProcessorDefinitionError) as caught:
        Codes(**options)
    assert words in str(caught.value)


def test_a_phase_leaves_the_other_hooks_out() -> None:
    """A guard of one phase takes no part in the other one, and costs nothing there."""
    assert Codes(phase="input").as_step().hooks == {"process_input"}
    assert Codes(phase="output").as_step().hooks == {
        "process_output_stream", "process_output_result", "process_tool_result",
    }  # fmt: skip


def test_what_a_guard_says_of_itself() -> None:
    """A redactor is marked as one, a monitor changes nothing, and those that only warn are skipped when they fail."""
    redact, warn, monitor = Codes(strategy="redact"), Codes(strategy="warn"), Codes(strategy="redact", mode="monitor")
    assert (redact.redacts, redact.mutates, redact.on_error) == (True, True, "stop")
    assert (warn.redacts, warn.mutates, warn.on_error) == (False, False, "skip")
    assert (monitor.redacts, monitor.mutates, monitor.on_error) == (False, False, "skip")
    assert Codes(strategy="warn", on_error="stop").on_error == "stop"


def test_explain_tells_of_everything_that_was_looked_at() -> None:
    """Also of what is below the threshold, and of candidates that a check turned down, with the reason."""
    spans = PIIDetector().explain("my card is 1242-2341-3673-9999 and 4242 4242 4242 4242")
    cards = [(span.start, span.rejected) for span in spans if span.rule == "credit-card"]
    assert cards == [(11, "luhn"), (35, "")]
