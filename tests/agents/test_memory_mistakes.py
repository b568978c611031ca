"""What a user gets wrong with a memory is told where it is given: what it was, where, and what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from tests.agents.kit import WAYS, ask

from procession.agents.agent import Agent
from procession.errors import DefinitionError, InputError, ProcessorError, SchemaError
from procession.processors.memory.memory import Memory
from procession.storage.cipher import KEY_VARIABLE
from procession.storage.memory import InMemoryStore
from procession.storage.open_store import open_store
from procession.storage.sqlite.store import SQLiteStore
from procession.testing.fake_model import FakeModel
from procession.testing.hash_embedder import HashEmbedder

both_ways = pytest.mark.parametrize("way", WAYS)
IDS: dict[str, Any] = {"thread": "t", "resource": "ada"}


class Person(BaseModel):
    """What is remembered of a user."""

    age: int | None = None


def parrot(memory: Memory) -> Agent:
    """Return an agent with this memory."""
    return Agent("parrot", model=FakeModel("Hello.", repeat_last=True), memory=memory)


@both_ways
async def test_a_file_that_cannot_be_made_is_named(tmp_path: Path, way: str) -> None:
    """The error of the call says which file it is, and what the system says of it."""
    file = str(tmp_path / "no-such-folder" / "chats.db")
    seen = await ask(parrot(Memory(file)), way, **IDS)
    assert isinstance(seen.error, ProcessorError)
    assert f"the store {file!r} cannot be made: No such file or directory" in str(seen.error)


async def test_a_missing_key_is_told_to_whoever_calls_the_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread that is encrypted, and no key: the error of the call names the variable, for messages and for notes."""
    pytest.importorskip("cryptography")
    from procession.storage.cipher import new_key

    file = str(tmp_path / "chats.db")
    monkeypatch.setenv(KEY_VARIABLE, new_key())
    async with Memory(file, working_memory=True) as memory:
        await memory.set_working_memory("# Ada", resource="ada")
        await parrot(memory).generate("Hello", **IDS)
    monkeypatch.delenv(KEY_VARIABLE)
    async with Memory(file) as memory:
        with pytest.raises(
            ProcessorError, match="SQLiteStore could not give back the thread.*set PROCESSION_STORE_KEY"
        ):
            await parrot(memory).generate("Hello", **IDS)
    async with Memory(file, working_memory=True) as memory:
        with pytest.raises(ProcessorError, match="could not give back the working memory.*set PROCESSION_STORE_KEY"):
            await parrot(memory).generate("Hello", **IDS)


def test_an_empty_key_is_no_wish_for_plain_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``export PROCESSION_STORE_KEY="$(...)"`` whose command failed has no store write what was to be encrypted."""
    for empty in ("", "  "):
        monkeypatch.setenv(KEY_VARIABLE, empty)
        with pytest.raises(DefinitionError, match="PROCESSION_STORE_KEY is set and empty.*procession db key.*unset"):
            SQLiteStore(tmp_path / "chats.db")


@pytest.mark.parametrize("option", ["read_only", "dedupe_resent", "save_per_step"])
@pytest.mark.parametrize("value", ["no", 1, None])
def test_a_switch_is_true_or_false(option: str, value: Any) -> None:
    """The text "no" would switch it on: it is refused, by name."""
    with pytest.raises(DefinitionError, match=f"{option}={value!r}.*True or False"):
        Memory(InMemoryStore(), **{option: value})


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"embedder": HashEmbedder()}, "embedder=.*semantic_recall=True"),
        ({"vector": InMemoryStore()}, "vector=.*semantic_recall=True"),
        ({"token_counter": len}, "token_counter=.*max_tokens"),
    ],
)
def test_what_no_feature_uses_is_refused(given: dict[str, Any], says: str) -> None:
    """Whoever gives an embedder takes semantic recall to be on: it is said that it is not."""
    with pytest.raises(DefinitionError, match=says):
        Memory(InMemoryStore(), **given)


def test_none_switches_a_feature_off() -> None:
    """``None`` is nothing, for each feature alike: no model is asked for observations that nobody wanted."""
    nothing: Any = None
    made = Memory(
        InMemoryStore(), semantic_recall=nothing, observational=nothing, working_memory=nothing, generate_title=nothing
    )
    assert [one.id for one in made.input_processors()] == ["memory-input-filter", "message-history"]
    assert [one.id for one in made.output_processors()] == ["message-history"]


@both_ways
async def test_metadata_that_no_store_can_keep_is_refused_before_the_model_is_asked(way: str) -> None:
    """It would cost the answer, and in memory it would pass: both are told at once."""
    model = FakeModel("Hello.", repeat_last=True)
    agent = Agent("parrot", model=model, memory=Memory(InMemoryStore()))
    seen = await ask(agent, way, thread={"id": "t", "metadata": {"shop": object()}}, resource="ada")
    assert isinstance(seen.error, InputError)
    assert "the metadata of thread 't': value['shop'] is of type object" in str(seen.error)
    assert model.requests == []


@both_ways
async def test_options_of_a_call_without_a_thread_are_checked_too(way: str) -> None:
    """A wrong name is told with the first call, and not only with the first one that names a thread."""
    seen = await ask(parrot(Memory(InMemoryStore())), way, memory_options={"lastMessages": 3})
    assert isinstance(seen.error, InputError)
    assert "unknown memory option 'lastMessages'" in str(seen.error) and "last_messages" in str(seen.error)


async def test_titles_metadata_and_counts_for_people_are_checked() -> None:
    """``update_thread`` and ``recall`` take what a store can keep or count, and name what it cannot."""
    memory = Memory(InMemoryStore())
    await parrot(memory).generate("Hello", **IDS)
    wrong: Any
    for wrong, says in ((3, "title 3"), (["a"], "title")):
        with pytest.raises(InputError, match=says):
            await memory.update_thread("t", "ada", title=wrong)
    for wrong, says in ((3, "metadata 3.*mapping"), ({"x": object()}, r"value\['x'\]")):
        with pytest.raises(InputError, match=says):
            await memory.update_thread("t", "ada", metadata=wrong)
    for wrong in ("3", -1, True, 2.5):
        with pytest.raises(InputError, match="last is"):
            await memory.recall("t", "ada", last=wrong)
    thread = await memory.thread("t", "ada")
    assert thread is not None and (thread.title, thread.metadata) == (None, None)


async def test_a_working_memory_that_does_not_fit_says_what_is_wrong() -> None:
    """An application that writes one is told the field, and what it should be; what it gave is not quoted."""
    store, wrong = InMemoryStore(), {"age": "as old as the secret"}
    with pytest.raises(SchemaError, match=r"working memory does not fit: memory.age: .*integer") as told:
        await Memory(store, working_memory={"schema": Person}).set_working_memory(wrong, resource="ada")
    assert "secret" not in str(told.value)
    with pytest.raises(SchemaError, match="does not fit: memory: should be a text, not dict"):
        await Memory(store, working_memory=True).set_working_memory(wrong, resource="ada")


@pytest.mark.parametrize("url", ["", " ", "sqlite:/// "])
def test_a_blank_path_is_no_store(url: str) -> None:
    """A variable that was left empty makes no file of that name."""
    with pytest.raises(InputError, match="names no file.*postgresql://"):
        open_store(url)
