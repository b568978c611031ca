"""What is observed and what is shown as it is always make up the whole thread, whatever happens."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import anyio
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs
from tests.processors.memory.observing_kit import (
    COUNTER,
    EPOCH,
    RESOURCE,
    THREAD,
    Clock,
    call,
    counted,
    observer,
    observing,
    settings,
)

from procession.errors import ModelError
from procession.messages.message import Message
from procession.messages.parts import Part, TextPart
from procession.processors.memory.observed.observations import (
    Batch,
    Claim,
    Observation,
    Observations,
    place_of,
    read_observations,
)
from procession.processors.memory.observed.observing import thread_key
from procession.processors.memory.observed.unobserved import Costs, fitting_newest, kept_from, within_budget
from procession.storage.memory_store import InMemoryStore

KEY = thread_key(THREAD, RESOURCE)
sizes = st.integers(0, 400)
answers = st.tuples(sizes, st.sampled_from(["text", "called", "waits"]))
turns = st.tuples(sizes, st.lists(answers, max_size=2))
"""How long what a user said is, and each message of the answer, with what else is in it."""
steps = st.lists(st.tuples(turns, st.sampled_from(["nothing", "observes", "fails", "forced", "deletes"])), max_size=25)


def message(number: int, role: Any, words: int, parts: tuple[Part, ...] = ()) -> Message:
    """Return a message of so many words."""
    text = TextPart(f"m{number} " + "word " * words)
    return Message(role, [text, *parts], id=f"m{number}", created_at=EPOCH + timedelta(minutes=number))


def turn_of(number: int, turn: Any) -> list[Message]:
    """Return a turn whose first message has a *number*."""
    words, answered = turn
    made = [message(number, "user", words)]
    for size, kind in answered:
        parts: tuple[Part, ...] = {"called": (call(result="ok"),), "waits": (call(),)}.get(kind, ())
        made.append(message(number + len(made), "assistant", size, parts))
    return made


async def check(store: InMemoryStore, known: list[str]) -> None:
    """Check that batches follow each other from the first message on, and that raw messages are all behind them."""
    one = observing(store)
    noted, _ = await one.read()
    at = 0
    for batch in noted.batches:
        first, last = known.index(batch.first.message_id), known.index(batch.last.message_id)
        assert (first, last) == (at, at + batch.messages - 1)
        at = last + 1
    raw, whole = await one.raw(noted)
    behind = sum(batch.messages for batch in noted.shown)
    if whole:
        assert [each.id for each in raw] == known[behind:]
    else:
        assert [each.id for each in raw] == known[len(known) - len(raw) :]
        assert one.costs.total(raw) > one.settings.most
        assert len(raw) < len(known) - behind


@given(steps)
def test_observed_and_raw_make_up_the_thread(steps: Any) -> None:
    """In whatever order turns are saved, observed, in vain or by force, every message is on one side, and in its order."""

    async def run() -> None:
        store, clock = InMemoryStore(), Clock()
        known: list[str] = []
        number = 0
        for turn, then in steps:
            made = turn_of(number, turn)
            number += len(made)
            await store.save(THREAD, RESOURCE, made)
            known += [each.id for each in made]
            clock.now += 10_000
            script: Any = ModelError("no", kind="other") if then == "fails" else counted
            if then == "deletes":
                await store.delete_thread(THREAD, RESOURCE)
                known = []
            elif then != "nothing":
                with capture_logs():
                    await observing(store, clock).catch_up(observer(script), None, force=then == "forced")
            await check(store, known)

    anyio.run(run)


@given(st.lists(turns, max_size=12), st.integers(1, 2000), st.integers(1, 2000))
def test_where_a_thread_is_cut(given: Any, most: int, largest: int) -> None:
    """Every cut is within the messages, keeps to its budget, and parts no result from its call."""
    messages: list[Message] = []
    for turn in given:
        messages += turn_of(len(messages), turn)
    costs = Costs(COUNTER)
    start = fitting_newest(messages, costs, most)
    assert costs.total(messages[start:]) <= most
    end = within_budget(messages, costs, most)
    assert 0 < end <= len(messages) or not messages
    assert costs.total(messages[:end]) <= most or end == 1
    kept = kept_from(messages, costs, most, largest)
    assert costs.total(messages[kept:]) <= max(most, largest)
    for at in (start, end, kept):
        assert at >= len(messages) or messages[at].role != "tool"


@given(
    st.text(), st.sampled_from(["high", "medium", "low"]), st.none() | st.text(), st.integers(0, 9), st.floats(0, 1e9)
)
def test_notes_are_read_as_they_were_written(
    text: str, priority: Any, when: str | None, count: int, until: float
) -> None:
    """A note says what it was made of, whatever stands in the observations."""
    place = place_of(message(count, "user", 1))
    batch = Batch(first=place, last=place, messages=count, observations=(Observation(text, priority, when),))
    noted = Observations(batches=(batch,), active=1, claim=Claim("t", until), failures=count, not_before=until)
    if "\ud800" <= max(text + (when or ""), default="") <= "\udfff":
        return
    expected = noted if count else noted.replace(not_before=0.0)
    assert read_observations(noted.as_text()) == expected


def test_a_result_is_not_parted_from_its_call() -> None:
    """A message of role ``tool`` that a client stored stays with the call before it."""
    messages = [
        message(0, "user", 1),
        message(1, "assistant", 1, (call(),)),
        message(2, "tool", 1),
        message(3, "user", 1),
    ]
    costs = Costs(COUNTER)
    for most in range(1, 40):
        for at in (fitting_newest(messages, costs, most), kept_from(messages, costs, most, most)):
            assert at != 2
        assert within_budget(messages, costs, most) != 2


def test_settings_say_how_much() -> None:
    """Shares are of ``observe_at``."""
    made = settings(observe_at=2000, keep=0.5, buffer_every=1)
    assert (made.kept, made.buffered, made.most) == (1000, 1000, 2400)
