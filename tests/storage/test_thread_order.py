"""The order of messages, whatever is saved, saved anew and deleted: a property of every store."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple, cast

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.storage.conversations import NOON, Conversations, made, passages, refs, said, texts
from tests.storage.journals import Clock
from tests.storage.postgres_server import PostgresServer


class Saved(NamedTuple):
    """A message that is to be saved: few ids and few times, so that many are saved anew, and of one time."""

    id: str
    minute: int
    text: str


IDS = "abcdefgh"
SAVED = st.builds(Saved, st.sampled_from(IDS), st.integers(0, 2), st.text("xyz", max_size=3))
STEPS = st.lists(st.one_of(st.lists(SAVED, max_size=5), st.sets(st.sampled_from(IDS), max_size=4)), max_size=8)
"""Lists are saved, sets are deleted."""


class Model:
    """What a thread has to be: messages by id, in the order in which each was first saved."""

    def __init__(self) -> None:
        self.kept: dict[str, Saved] = {}

    def do(self, step: Any) -> None:
        """Save or delete."""
        for one in step:
            if isinstance(one, Saved):
                self.kept[one.id] = one
            else:
                self.kept.pop(one, None)

    def ids(self) -> list[str]:
        """Return the ids in order: ``sorted`` leaves those of one time as they are."""
        return [one.id for one in sorted(self.kept.values(), key=lambda one: one.minute)]


async def check(store: Conversations, model: Model, last: int) -> None:
    """Compare every way of reading."""
    ids = model.ids()
    found = await store.messages("t")
    assert [message.id for message in found] == ids
    assert texts(found) == [model.kept[id].text for id in ids]
    assert [message.created_at - NOON for message in found] == [timedelta(minutes=model.kept[id].minute) for id in ids]
    assert await store.messages("t", last=last) == found[len(found) - min(last, len(found)) :]
    for at, id in enumerate(ids):
        assert await store.messages("t", before=id) == found[:at]
        assert await store.messages("t", before=id, last=last) == found[max(0, at - last) : at]
        near = await store.around(refs("t", id), resource_id="ada", before=last, after=1)
        assert passages(near) == {"t": texts(found[max(0, at - last) : at + 2])}
    waiting = await store.take("i", limit=99, seconds=0)
    assert sorted(item.message.id for item in waiting) == sorted(ids)
    assert [item.revision for item in waiting] == sorted({item.revision for item in waiting})


def no_fixture(name: str) -> Any:
    """Start nothing."""
    raise AssertionError(name)


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@given(steps=STEPS, last=st.integers(0, 4))
def test_messages_stand_as_they_must(kind: str, steps: list[Any], last: int) -> None:
    """After any saves and deletions all ways of reading agree with sorting by time, and by the first save within one."""
    hold_against_the_model(kind, steps, last, no_fixture)


@pytest.mark.service
@pytest.mark.timeout(180)
@settings(max_examples=15, deadline=None)
@given(steps=STEPS, last=st.integers(0, 4))
def test_messages_stand_so_in_postgres(postgres_server: PostgresServer, steps: list[Any], last: int) -> None:
    """In Postgres they stand in the same order."""
    hold_against_the_model("postgres", steps, last, lambda _: postgres_server)


def hold_against_the_model(kind: str, steps: list[Any], last: int, fixture: Callable[[str], Any]) -> None:
    """Do the steps in a new store and in the model, and compare the two."""

    async def main(folder: str) -> None:
        async with made(kind, Path(folder), Clock(), fixture) as store:
            model = Model()
            for step in steps:
                model.do(step)
                if isinstance(step, list):
                    messages = [said(one.text, one.minute, id=one.id) for one in cast("list[Saved]", step)]
                    await store.save("t", "ada", messages, indexes=["i"])
                else:
                    await store.delete_messages("t", "ada", step)
            await check(store, model, last)

    with tempfile.TemporaryDirectory() as folder:
        anyio.run(main, folder)
