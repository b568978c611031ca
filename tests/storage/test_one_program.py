"""One program that names no store, with a file and with Postgres: nothing of it changes, and it tells the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.storage import postgres_stores

ROOT = Path(__file__).parents[2]


def ran(folder: Path, store: str | None, module: str, *arguments: str) -> str:
    """Run a program in *folder*, with the environment's word for the store, and return what it prints."""
    environment = {name: value for name, value in os.environ.items() if name != "PROCESSION_STORE"}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    if store is not None:
        environment["PROCESSION_STORE"] = store
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=folder, env=environment, timeout=50, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.timeout(180)
@pytest.mark.parametrize("kind", ["nothing", "file", pytest.param("postgres", marks=pytest.mark.service)])
def test_a_program_is_told_its_store_by_the_environment(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """History, recall, working memory and titles are the same, and in the next process, too, whichever store it is."""
    store = None
    if kind == "file":
        store = "sqlite:///chats.db"
    elif kind == "postgres":
        store = postgres_stores.fresh_database(request.getfixturevalue("pgvector_server"))
    if kind != "nothing":
        pytest.importorskip("typer", reason="pip install 'procession[cli]'")
        ran(tmp_path, store, "procession", "db", "upgrade")
    first = ["I like tulips", "and roses", "it rains", "and it is cold"]
    ran(tmp_path, store, "tests.storage.one_program", "ada", *first)
    ran(tmp_path, store, "tests.storage.one_program", "bob", "my tulips are blue")
    told: dict[str, Any] = json.loads(ran(tmp_path, store, "tests.storage.one_program", "ada", "tulips?"))
    assert told == {
        "sent": ["I like tulips", "and it is cold", "tulips?"],
        "kept": [
            "I like tulips", "You said I like tulips.", "and roses", "You said and roses.", "it rains", "You said it rains.",
            "and it is cold", "Noted.", "tulips?", "Noted.",
        ],
        "found": ["tulips?"],
        "noted": "# Facts\n- last said: tulips?",
        "titles": ["A talk"],
        "others": [],
    }  # fmt: skip
    files = {"nothing": ["procession.db"], "file": ["chats.db"], "postgres": []}[kind]
    assert sorted(each.name for each in tmp_path.iterdir()) == files
