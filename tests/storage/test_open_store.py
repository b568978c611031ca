"""The store that a url, a path or the environment names."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from tests.storage.conversations import said, texts

from procession.errors import DefinitionError, InputError
from procession.storage.cipher import new_key
from procession.storage.index_queue import IndexQueue
from procession.storage.memory import InMemoryStore
from procession.storage.notes import NoteStore
from procession.storage.open_store import open_store
from procession.storage.records import Records
from procession.storage.sqlite.store import SQLiteStore
from procession.storage.threads import ThreadStore
from procession.storage.vectors import VectorStore


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty working directory, with nothing in the environment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PROCESSION_STORE", raising=False)
    return tmp_path


async def test_memory_is_a_store_in_memory(folder: Path) -> None:
    """``memory:`` is a store of its own each time, and makes no file."""
    async with InMemoryStore() as one:
        assert type(open_store("memory:")) is type(one)
    first, second = open_store("memory:"), open_store("memory:")
    await first.save("t", "ada", [said("Hi")])
    assert await second.messages("t") == []
    await first.aclose()
    assert texts(await first.messages("t")) == ["Hi"]
    assert os.listdir(folder) == []


@pytest.mark.parametrize("form", ["memory.db", "sqlite:///memory.db", "{}/memory.db", "sqlite:///{}/memory.db"])
async def test_a_path_is_a_file(folder: Path, form: str) -> None:
    """A path, also as a url, relative or not, is a SQLite file, which is made at the first use."""
    store = open_store(form.format(folder))
    assert isinstance(store, SQLiteStore)
    assert os.listdir(folder) == []
    await store.save("t", "ada", [said("Hi")])
    await store.aclose()
    assert os.listdir(folder) == ["memory.db"]
    again = open_store(folder / "memory.db")
    assert texts(await again.messages("t")) == ["Hi"]
    await again.aclose()


async def test_without_a_name_it_is_a_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing says which store, conversations survive in ``procession.db``; an empty variable says nothing."""
    monkeypatch.setenv("PROCESSION_STORE", "")
    store = open_store()
    await store.save("t", "ada", [said("Hi")])
    await store.aclose()
    assert os.listdir(folder) == ["procession.db"]


async def test_the_environment_names_the_store(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``PROCESSION_STORE`` says which store it is, unless somebody says it in so many words."""
    monkeypatch.setenv("PROCESSION_STORE", "memory:")
    assert isinstance(open_store(), InMemoryStore)
    assert isinstance(open_store("other.db"), SQLiteStore)
    monkeypatch.setenv("PROCESSION_STORE", "sqlite:///own.db")
    store = open_store()
    await store.save("t", "ada", [said("Hi")])
    await store.aclose()
    assert os.listdir(folder) == ["own.db"]


@pytest.mark.parametrize(
    "url",
    [
        "", "memory", "sqlite", "postgresql", "sqlite:", "sqlite:memory.db", "sqlite://", "sqlite:///", "sqlite://host/x.db",
        "sqlite:///x.db?mode=ro", "SQLITE:///x.db", "memory:x", "memory://", "mysql://ada:s3cret@host/db", "redis://host",
        "x\0.db",
    ],
)  # fmt: skip
def test_what_names_no_store(folder: Path, url: str) -> None:
    """Whatever stands for no store is refused, with the forms that do, and without a password in it."""
    with pytest.raises(InputError, match=r"the store is .*sqlite:///path.*postgresql://") as caught:
        open_store(url)
    assert "s3cret" not in str(caught.value)


def test_what_the_environment_names_is_refused_by_its_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the environment says something that is no store, its variable is named."""
    monkeypatch.setenv("PROCESSION_STORE", "mongodb://host")
    with pytest.raises(InputError, match="PROCESSION_STORE is of the unknown kind 'mongodb:'"):
        open_store()


def test_postgres_needs_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the packages of Postgres the error names what installs them, and no password."""
    monkeypatch.setitem(sys.modules, "procession.storage.postgres.store", None)
    for url in ("postgresql://ada:s3cret@host/db", "postgres://host/db", "postgresql+psycopg://host/db"):
        with pytest.raises(DefinitionError, match=r"pip install 'procession\[postgres\]'") as caught:
            open_store(url)
        assert "s3cret" not in str(caught.value)


async def test_texts_stand_as_records_say(folder: Path) -> None:
    """``records`` are those of the store: with a key nothing that was said stands in the file."""
    store = open_store("own.db", records=Records(key=new_key()))
    await store.save("t", "ada", [said("SECRET", id="m")])
    assert texts(await store.messages("t")) == ["SECRET"]
    await store.aclose()
    assert b"SECRET" not in (folder / "own.db").read_bytes()


@pytest.mark.parametrize("url", ["memory:", "x.db"])
def test_what_every_store_can(folder: Path, url: str) -> None:
    """Each keeps conversations, notes, what is to be embedded, and vectors."""
    store = open_store(url)
    assert isinstance(store, ThreadStore)
    assert isinstance(store, NoteStore)
    assert isinstance(store, IndexQueue)
    assert isinstance(store, VectorStore)
