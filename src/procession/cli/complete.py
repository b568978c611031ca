"""
What a shell offers to complete: targets and runs.  Nothing is imported and nothing is made to find them.
"""

from __future__ import annotations

import ast
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from typer import Context

__all__ = ["run_ids", "targets"]

MOST = 50


def targets(incomplete: str) -> list[str]:
    """
    Return the files that *incomplete* may become, and behind the colon of one the names in it.
    """
    place, colon, name = incomplete.partition(":")
    if colon:
        return [f"{place}:{each}" for each in _names(Path(place)) if each.startswith(name)]
    folder = Path(place) if place.endswith("/") else Path(place).parent
    found = [each for each in _entries(folder) if each.startswith(place)]
    return sorted(found)[:MOST]


def run_ids(context: Context, incomplete: str) -> list[str]:
    """
    Return the newest runs of the store, where that is a file.
    """
    from procession.cli.store import is_postgres, named_store, sqlite_path
    from procession.errors import ProcessionError

    url = named_store(context.params.get("store"))
    if is_postgres(url):
        return []
    try:
        path = sqlite_path(url)
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as made:
            rows = made.execute("SELECT run_id FROM procession_runs ORDER BY number DESC LIMIT 1000").fetchall()
    except (sqlite3.Error, ProcessionError):
        return []
    return [run_id for (run_id,) in rows if run_id.startswith(incomplete)][:MOST]


def _entries(folder: Path) -> Iterator[str]:
    if not folder.is_dir():
        return
    for each in folder.iterdir():
        if each.name.startswith("."):
            continue
        name = each.as_posix()
        if each.suffix == ".py":
            yield name
        elif each.is_dir() and each.name != "__pycache__":
            yield f"{name}/"


def _names(path: Path) -> list[str]:
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return []
    found: list[str] = []
    for node in tree.body:
        match node:
            case ast.Assign(targets=assigned):
                found += [each.id for each in assigned if isinstance(each, ast.Name)]
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.FunctionDef(name=name):
                found.append(name)
            case _:
                pass
    return [name for name in found if not name.startswith("_")]
