"""A store in Postgres, as far as that needs no server: addresses, settings, and what goes wrong before there is one."""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import ModuleSpec
from typing import Any

import anyio
import pytest

from procession.errors import DefinitionError, StoreError
from procession.messages.message import Message

pytest.importorskip("sqlalchemy", reason="pip install 'procession[postgres]'")
pytest.importorskip("psycopg", reason="pip install 'procession[postgres]'")
pytest.importorskip("alembic", reason="pip install 'procession[postgres]'")

from procession.storage.open_store import open_store
from procession.storage.postgres.journal import PostgresJournal
from procession.storage.postgres.store import PostgresStore
from procession.storage.postgres.url import place_of, read_url

NOBODY = "postgresql://ada:swordfish@127.0.0.1:1/shop"


@pytest.fixture
def anyio_backend() -> str:
    """Run on asyncio: the driver runs nowhere else."""
    return "asyncio"


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg"])
def test_every_name_of_the_scheme_is_taken(scheme: str) -> None:
    """The names that others write are those of one driver."""
    made = read_url(f"{scheme}://ada:swordfish@db.example:6543/shop?sslmode=require")
    assert made.drivername == "postgresql+psycopg"
    assert made.query == {"sslmode": "require"}
    assert place_of(made) == "db.example:6543/shop"


@pytest.mark.parametrize("url", ["mysql://ada:swordfish@host/shop", "postgresql+asyncpg://host/shop", "swordfish", ""])
def test_an_url_that_is_none_is_refused(url: str) -> None:
    """It is refused where the store is made, without being quoted."""
    with pytest.raises(DefinitionError, match="the url of a store in Postgres") as raised:
        PostgresStore(url)
    assert "swordfish" not in str(raised.value)


@pytest.mark.parametrize("url", ["postgresql://ada:sword@fish@host/shop", "postgresql://a@fish:sword@fish@host/shop"])
def test_a_password_that_does_not_end_clearly_is_refused(url: str) -> None:
    """What is behind the first @ would be told as the host: no part of it is, and the error says how to write it."""
    for make in (PostgresStore, PostgresJournal, open_store):
        with pytest.raises(DefinitionError, match="%40") as raised:
            make(url)
        assert "fish" not in str(raised.value)
    store = PostgresStore(url.replace("sword@fish", "sword%40fish").replace("a@", "a%40"))
    assert store.place == "host/shop" and "fish" not in repr(store)


@pytest.mark.parametrize("schema", ["x" * 64, "ü" * 32, "a\0", "\ud800", "a%b", "a[b", "a]b", "__[SCHEMA_1]", "a :b"])
def test_a_schema_that_may_be_anothers_is_refused(schema: str) -> None:
    """Postgres cuts long names, so that two tenants would share one; other letters no statement can have."""
    with pytest.raises(DefinitionError, match=r"schema is .*63 bytes"):
        PostgresStore(NOBODY, schema=schema)


async def test_an_option_that_nobody_knows_is_told_of() -> None:
    """An error says that it is the url, and quotes nothing of it."""
    async with PostgresStore(f"{NOBODY}?nonsense=tuna") as store:
        with pytest.raises(StoreError, match="url has an option") as raised:
            await store.thread("t")
    assert "tuna" not in str(raised.value)


@pytest.mark.parametrize(
    ("options", "named"), [({"pool_size": 0}, "pool_size"), ({"timeout": 0}, "timeout"), ({"schema": ""}, "schema")]
)
def test_settings_that_cannot_be_are_refused(options: dict[str, Any], named: str) -> None:
    """What cannot work is said where the store is made."""
    with pytest.raises(DefinitionError, match=named):
        PostgresStore(NOBODY, **options)


async def test_nobody_there_is_an_error_without_the_password() -> None:
    """A server that does not answer is a ``StoreError`` that says where, and neither user nor password."""
    async with PostgresStore(NOBODY) as store:
        for ask in (store.thread("t"), store.save("t", "ada", [Message.user("Hi")]), store.upgrade()):
            with pytest.raises(StoreError, match="127.0.0.1:1/shop") as raised:
                await ask
            assert "swordfish" not in repr(raised.value)
            assert raised.value.__cause__ is None
    assert "swordfish" not in repr(store)


def test_on_trio_it_says_that_it_needs_asyncio() -> None:
    """Its driver runs on asyncio only, which is said where it is used."""

    async def use() -> None:
        await PostgresStore(NOBODY).thread("t")

    with pytest.raises(DefinitionError, match="asyncio only"):
        anyio.run(use, backend="trio")


@pytest.mark.parametrize("package", ["sqlalchemy", "psycopg", "alembic"])
def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    """Without one of its packages the error says what to install."""
    real = importlib.util.find_spec

    def without(name: str) -> ModuleSpec | None:
        return None if name == package else real(name)

    monkeypatch.setattr(importlib.util, "find_spec", without)
    for name in [name for name in sys.modules if name.startswith("procession.storage.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(DefinitionError, match=r"procession\[postgres\]"):
        importlib.import_module("procession.storage.postgres.store")
