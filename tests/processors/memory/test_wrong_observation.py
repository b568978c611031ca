"""What cannot be observed is refused where it is given, by an error that names it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.processors.memory.observing_kit import HERE, RESOURCE, THREAD, agent_of, memory_of, observer, stored

from procession.errors import DefinitionError, InputError, ProcessorError
from procession.processors.memory.memory import Memory
from procession.processors.memory.observed.observing import thread_key
from procession.storage.memory_store import InMemoryStore


class OnlyThreads:
    """A store that keeps no notes."""

    def __init__(self) -> None:
        kept = InMemoryStore()
        for name in ("thread", "threads", "update_thread", "messages", "around", "save"):
            setattr(self, name, getattr(kept, name))
        self.delete_messages, self.delete_thread = kept.delete_messages, kept.delete_thread
        self.delete_resource = kept.delete_resource


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"observe_at": 0}, "observe_at=0"),
        ({"observe_at": "many"}, "observe_at='many'"),
        ({"reflect_at": True}, "reflect_at=True"),
        ({"keep": 0}, "keep=0"),
        ({"keep": 1}, "keep=1"),
        ({"buffer_every": 1.5}, "buffer_every=1.5"),
        ({"hard_limit": 0.5}, "hard_limit=0.5"),
        ({"scope": "all"}, "scope='all'"),
        ({"threads": 0}, "threads=0"),
        ({"timeout": 0}, "timeout=0"),
        ({"temperature": -1}, "temperature=-1"),
        ({"instructions": None}, "instructions=None"),
        ({"counter": 3}, "3 does not count tokens"),
        ({"model": 3}, "model=3"),
        ({"observe": 3}, "'observe'"),
        ("yes", "'yes'"),
    ],
)
def test_wrong_settings_are_refused(given: Any, said: str) -> None:
    """Each is named, with what it may be, when the memory is made."""
    with pytest.raises(DefinitionError, match=said):
        Memory(InMemoryStore(), observational=given)


def test_what_cannot_observe_is_refused() -> None:
    """A store without notes, and a memory that saves nothing, cannot observe."""
    with pytest.raises(DefinitionError, match="keeps no notes: OnlyThreads"):
        Memory(OnlyThreads(), observational=True)  # type: ignore[arg-type]
    with pytest.raises(DefinitionError, match="last_messages=False"):
        Memory(InMemoryStore(), last_messages=False, observational=True)


async def test_what_is_asked_of_a_memory_that_does_not_observe() -> None:
    """It says so, and how to have it."""
    memory = Memory(InMemoryStore())
    with pytest.raises(DefinitionError, match="does not observe"):
        await memory.observations(THREAD, RESOURCE)
    with pytest.raises(InputError, match="does not observe"):
        memory.use(THREAD, RESOURCE, {"observational": True})
    with pytest.raises(DefinitionError, match="nobody observes"):
        await Memory(InMemoryStore(), observational=True).observe(THREAD, RESOURCE)


async def test_a_note_that_cannot_be_read_stops_the_run() -> None:
    """SEC-007: nobody goes on as if nothing had been observed, and nothing of the note is quoted."""
    store = await stored(20)
    await store.put_note(thread_key(THREAD, RESOURCE), '{"secret": 1}', version=0)
    with pytest.raises(ProcessorError, match="StoreError") as caught:
        await agent_of(memory_of(store, observer())).generate("Now?", **HERE)
    assert "cannot be read" in str(caught.value.__cause__)
    assert "secret" not in f"{caught.value} {caught.value.__cause__}"
