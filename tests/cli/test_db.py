"""``procession db``: the tables of a store."""

from __future__ import annotations

import json
import sqlite3
from base64 import urlsafe_b64decode
from pathlib import Path

import pytest
from tests.cli.conftest import Command

from procession.storage.sqlite.schema import VERSION


@pytest.mark.parametrize("name", ["{}", "sqlite:///{}"])
def test_a_file_is_made_and_told_of(procession: Command, tmp_path: Path, name: str) -> None:
    """A file that is not there has no tables, and status does not make it; upgrade does, by opening it."""
    file = tmp_path / "some store.db"
    store = name.format(file)
    done = procession("db", "status", "--store", store)
    assert (done.returncode, done.stderr) == (1, b"")
    assert b"no tables" in done.stdout and b"procession db upgrade" in done.stdout
    assert not file.exists()
    done = procession("db", "upgrade", "--store", store)
    assert (done.returncode, done.stderr) == (0, b"")
    assert f"now of version {VERSION}".encode() in done.stdout
    done = procession("db", "status", "--store", store, "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout) == {
        "store": str(file), "found": str(VERSION), "needed": str(VERSION), "current": True,
    }  # fmt: skip


def test_a_file_of_an_earlier_version_becomes_one_of_this(procession: Command, tmp_path: Path) -> None:
    """Status says what it is and leaves it so; upgrade opens it, which upgrades it."""
    file = tmp_path / "runs.db"
    file.write_bytes((Path(__file__).parent.parent / "storage" / "data" / "runs_v2.db").read_bytes())
    for _ in range(2):
        done = procession("db", "status", "--store", file, "--json")
        assert (done.returncode, json.loads(done.stdout)["found"]) == (1, "2")
    done = procession("db", "upgrade", "--store", file, "--json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["found"], told["current"]) == (0, "2", True)
    assert procession("db", "status", "--store", file).returncode == 0


def test_a_file_of_a_newer_version_is_refused(procession: Command, tmp_path: Path) -> None:
    """It is left as it is, and the error says what to do."""
    file = tmp_path / "new.db"
    with sqlite3.connect(file) as made:
        made.execute("CREATE TABLE procession_schema (version INTEGER NOT NULL)")
        made.execute("INSERT INTO procession_schema VALUES (999)")
    made.close()
    for command in ("upgrade", "status"):
        done = procession("db", command, "--store", file)
        assert (done.returncode, done.stdout) == (2, b"")
        assert b"newer version" in done.stderr and b"update procession" in done.stderr


def test_conversations_of_a_newer_version_are_refused(procession: Command, tmp_path: Path) -> None:
    """They have a version of their own: status does not say that all is well where the store is refused."""
    file = tmp_path / "new.db"
    assert procession("db", "upgrade", "--store", file).returncode == 0
    with sqlite3.connect(file) as made:
        made.execute("UPDATE procession_families SET version = 9 WHERE name = 'conversations'")
    made.close()
    for command in ("upgrade", "status"):
        done = procession("db", command, "--store", file)
        assert (done.returncode, done.stdout) == (2, b"")
        assert b"conversations" in done.stderr and b"update procession" in done.stderr


def test_a_file_that_is_none(procession: Command, tmp_path: Path) -> None:
    """What is no store is told in a sentence."""
    file = tmp_path / "notes.txt"
    file.write_text("not a database at all " * 100)
    done = procession("db", "status", "--store", file)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"cannot be read" in done.stderr


@pytest.mark.parametrize(
    ("store", "told"),
    [
        ("memory:", b"no tables"),
        ("mysql://ada:swordfish@host/shop", b"unknown kind"),
        ("mysql:swordfish", b"unknown kind"),
        ("memory", b"names no file"),
        ("sqlite:///a.db?mode=ro", b"names no file"),
    ],
)
def test_a_store_without_tables_is_refused(
    procession: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: str, told: bytes
) -> None:
    """What a program would not take for a store is made by no command, and no password is quoted."""
    monkeypatch.chdir(tmp_path)
    for command in ("upgrade", "status"):
        done = procession("db", command, "--store", store)
        assert (done.returncode, done.stdout) == (2, b"")
        assert told in done.stderr and b"swordfish" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_schema_is_for_postgres(procession: Command, tmp_path: Path) -> None:
    """A file has none."""
    done = procession("db", "status", "--store", tmp_path / "a.db", "--schema", "agents")
    assert (done.returncode, b"--schema" in done.stderr) == (2, True)


def test_a_server_that_is_not_there(procession: Command) -> None:
    """It is told where it should be, and no password."""
    pytest.importorskip("sqlalchemy", reason="pip install 'procession[postgres]'")
    done = procession("db", "status", "--store", "postgresql://ada:swordfish@127.0.0.1:1/shop")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"127.0.0.1:1/shop" in done.stderr
    assert b"swordfish" not in done.stderr and b"ada" not in done.stderr and b"Traceback" not in done.stderr


def test_a_key_is_made(procession: Command) -> None:
    """Each call prints another key, alone on its line, which is one that a store takes."""
    keys = [procession("db", "key").stdout.decode() for _ in range(2)]
    assert keys[0] != keys[1]
    for key in keys:
        assert key == key.strip() + "\n"
        assert len(urlsafe_b64decode(key)) == 32
