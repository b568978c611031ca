"""Runs over values that steps change in place: message lists, and the payloads of processors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.processors.kit import at

from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.processors.payloads import InputPayload
from procession.runtime.runtime import Runtime
from procession.steps.codec import codec_of
from procession.steps.step import StepContext, step
from procession.storage.memory import InMemoryJournal
from procession.storage.sqlite.journal import SQLiteJournal
from procession.workflows.workflow import Workflow, create_workflow

SECRET = "hunter2-is-the-word"


def conversation() -> InputPayload:
    """Return what the runs begin with."""
    messages = [Message("user", f"my secret is {SECRET}", id="m0"), Message("user", "hello", id="m1")]
    return InputPayload(MessageList(messages))


@step
async def hide(ctx: StepContext[Any]) -> Any:
    """Hide the secret, as a guard does."""
    messages: MessageList = ctx.input.message_list
    message = messages.view()[0]
    at = message.text.index(SECRET)
    text = message.text.replace(SECRET, "[SECRET]")
    messages.replace(message.with_text(text), redacted={0: [(at, at + len(SECRET), "[SECRET]")]})
    return ctx.input


@step
async def quote(ctx: StepContext[Any]) -> Any:
    """Say again what the user said, in a fork of the step's own."""
    payload = ctx.input.fork()
    said = payload.message_list.view()[0].text
    payload.message_list.add({"role": "user", "content": f"you said: {said}", "id": "q"})
    return payload


def messages_of(value: Any) -> MessageList:
    """Return the messages of a payload, or the list itself."""
    found: MessageList = getattr(value, "message_list", value)
    return found


@step(resume_type=str)
async def ask(ctx: StepContext[Any]) -> Any:
    """Wait for somebody, and add what they said."""
    answer: str = await ctx.suspend("well?")
    messages_of(ctx.input).add({"role": "user", "content": answer})
    return ctx.input


@step
async def begin(ctx: StepContext[Any]) -> Any:
    """Add a system message."""
    messages_of(ctx.input).add_system("be kind")
    return ctx.input


def guarded() -> Workflow[Any, Any]:
    """Return a workflow in which a guard stands beside a step that waits, and one that quotes."""
    return create_workflow("guarded").then(begin).parallel([hide, quote]).then(ask).commit()


async def test_messages_that_wait_are_what_they_were(tmp_path: Path) -> None:
    """A resumed run merges its branches as it did, and a text that a guard hid does not come back from the journal."""
    async with SQLiteJournal(tmp_path / "runs.db") as store:
        first = await Runtime(store).run(guarded(), conversation(), run_id="r")
        assert first.status == "suspended"
        written = [row.data or "" for row in await store.entries("r") if row.path.endswith("hide")]
        assert len(written) == 1
        assert "SECRET" in written[0]
        assert SECRET not in written[0]
    async with SQLiteJournal(tmp_path / "runs.db") as store:
        workflow = guarded()
        runtime = Runtime(store)
        result = await runtime.resume("r", "fine", workflow=workflow)
        messages = messages_of(result.unwrap())
        texts = [one.text for one in messages]
        assert texts == ["my secret is [SECRET]", "hello", "you said: my secret is [SECRET]", "fine"]
        assert [one.text for one in messages.system_messages] == ["be kind"]
        kept = (await runtime.get("r", workflow=workflow)).output
        assert messages_of(codec_of(None).decode(kept, where="output")).state() == messages.state()


async def test_without_a_store_branches_of_a_payload_cannot_wait() -> None:
    """What forks were changed from is known only where it was written down; elsewhere the run says so, and fails."""
    result = await Runtime().run(guarded(), conversation())
    assert result.status == "failed"
    assert "kept from its beginning" in str(result.error)
    kept = await Runtime(InMemoryJournal()).run(guarded(), conversation())
    assert kept.status == "suspended"


async def test_a_run_may_wait_twice(tmp_path: Path) -> None:
    """What the run began with stays what it was, however much its steps have changed it since."""
    again = ask.replace(id="again")
    workflow = create_workflow("twice").then(begin).then(ask).then(again).commit()
    async with SQLiteJournal(tmp_path / "runs.db") as store:
        assert (await Runtime(store).run(workflow, MessageList("hi"), run_id="r")).status == "suspended"
        assert (await Runtime(store).resume("r", "one", workflow=workflow)).status == "suspended"
        messages = (await Runtime(store).resume("r", "two", workflow=workflow)).unwrap()
    assert [one.text for one in messages] == ["hi", "one", "two"]
    assert len(messages.system_messages) == 1


async def test_payloads_of_processors_are_kept(tmp_path: Path) -> None:
    """A workflow of processors goes on with the payload as it was when it stopped."""

    def shout(ctx: Any) -> None:
        ctx.messages[-1].text = ctx.messages[-1].text.upper()

    def add(ctx: Any) -> None:
        ctx.message_list.add({"role": "user", "content": "more", "id": "more"})

    @step(resume_type=str)
    async def wait(ctx: StepContext[Any]) -> Any:
        await ctx.suspend("well?")
        return ctx.input

    first = at("process_input", shout, id="shout")
    second = at("process_input", add, id="add")
    workflow = create_workflow("both").parallel([first, second]).then(wait).commit()
    async with SQLiteJournal(tmp_path / "runs.db") as store:
        started = await Runtime(store).run(workflow, InputPayload(MessageList("hi")), run_id="r")
        assert started.status == "suspended", started.error
    async with SQLiteJournal(tmp_path / "runs.db") as store:
        payload = (await Runtime(store).resume("r", "yes", workflow=workflow)).unwrap()
        assert type(payload) is InputPayload
        assert [one.text for one in payload.message_list] == ["HI", "more"]
