"""
sqlite-vec, where it is installed and this Python can load it: it compares vectors in the file, and keeps none in memory.

Many builds of Python cannot load extensions of SQLite, and everything works without it.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from procession.storage.sqlite.vector_cache import Scope
from procession.storage.threads import MessageRef
from procession.storage.vector_rows import SearchFor, facts_of, hits_of
from procession.storage.vectors import VectorHit

if TYPE_CHECKING:
    import sqlite3

__all__ = ["loaded", "search_by_extension"]


@cache
def extension() -> str | None:
    """
    Return where the extension is, ``None`` where it is not installed or this Python loads none.
    """
    import sqlite3

    if not hasattr(sqlite3.Connection, "enable_load_extension"):
        return None
    try:
        import sqlite_vec
    except ImportError:
        return None
    path: str = sqlite_vec.loadable_path()
    return path


def loaded(made: sqlite3.Connection) -> bool:
    """
    Load the extension, and return whether it is there.
    """
    import sqlite3

    path = extension()
    if path is None:
        return False
    try:
        made.enable_load_extension(True)
        try:
            made.load_extension(path)
        finally:
            made.enable_load_extension(False)
    except sqlite3.Error:  # it is there, and made for another machine or version
        return False
    return True


def search_by_extension(made: sqlite3.Connection, scope: Scope, sought: SearchFor) -> list[VectorHit]:
    """
    Return what is nearest in a scope, each message once; *made* has the extension, and a transaction.
    """
    where, values = scope.where, list[Any](scope.values)
    if sought.thread_id is not None:
        where += " AND thread_id = ?"
        values.append(sought.thread_id)
    if sought.facts is not None:
        known = made.execute(f"SELECT DISTINCT facts FROM procession_vectors WHERE {where}", values).fetchall()
        where += " AND facts IN (SELECT value FROM json_each(?))"
        values.append(json.dumps([row[0] for row in known if row[0] is not None and sought.fits(facts_of(row[0]))]))
    limit = 4 * sought.top_k + len(sought.without)  # a message may be in pieces
    while True:
        rows = made.execute(
            "SELECT thread_id, message_id, 1 - vec_distance_cosine(vector, ?) AS score FROM procession_vectors"
            f" WHERE {where} ORDER BY score DESC LIMIT ?",
            (sought.unit, *values, limit),
        ).fetchall()
        found: dict[MessageRef, float] = {}
        for thread_id, message_id, score in rows:
            if sought.threshold is not None and score < sought.threshold:
                return hits_of(found, sought.top_k)
            ref = MessageRef(thread_id, message_id)
            if ref not in sought.without:
                found.setdefault(ref, max(-1.0, min(1.0, score)))
        if len(found) >= sought.top_k or len(rows) < limit:
            return hits_of(found, sought.top_k)
        limit *= 8
