"""
Removal: how messages, threads and resources go from a file, with all that belongs to them.

Each function returns, besides what was asked, what stood in the file for texts that are kept elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from procession.storage.records import ELSEWHERE
from procession.storage.sqlite.conversation_file import in_portions

if TYPE_CHECKING:
    import sqlite3

__all__ = ["remove_messages", "remove_resource", "remove_thread"]

_ELSEWHERE = f"substr({{0}}, 1, {len(ELSEWHERE)}) = '{ELSEWHERE}'"


def remove_messages(
    made: sqlite3.Connection, thread_id: str, resource_id: str, ids: Sequence[str]
) -> tuple[int, list[str]]:
    """
    Remove messages of a thread, and return how many there were.
    """
    thread = made.execute(
        "SELECT number FROM procession_threads WHERE thread_id = ? AND resource_id = ?", (thread_id, resource_id)
    ).fetchone()
    count, elsewhere = 0, list[str]()
    if thread is None:
        return count, elsewhere
    for some in in_portions(ids):
        marks = ", ".join("?" * len(some))
        gone, kept = _remove(made, f"thread = ? AND message_id IN ({marks})", (*thread, *some))
        count += gone
        elsewhere += kept
    return count, elsewhere


def remove_thread(made: sqlite3.Connection, thread_id: str, resource_id: str) -> tuple[bool, list[str]]:
    """
    Remove a thread, and return whether there was one.
    """
    gone, elsewhere = _remove_threads(made, "thread_id = ? AND resource_id = ?", (thread_id, resource_id))
    return gone > 0, elsewhere


def remove_resource(made: sqlite3.Connection, resource_id: str) -> tuple[int, list[str]]:
    """
    Remove all threads and notes of a resource, and return how many threads there were.
    """
    return _remove_threads(made, "resource_id = ?", (resource_id,))


def _remove_threads(made: sqlite3.Connection, which: str, values: tuple[Any, ...]) -> tuple[int, list[str]]:
    """
    Remove threads, and notes of which the same is true.
    """
    elsewhere: list[str] = []
    for table, text in (
        ("procession_threads", "title"),
        ("procession_threads", "metadata"),
        ("procession_notes", "text"),
    ):
        question = f"SELECT {text} FROM {table} WHERE {which} AND {_ELSEWHERE.format(text)}"
        elsewhere += [found for (found,) in made.execute(question, values)]
    _, kept = _remove(made, f"thread IN (SELECT number FROM procession_threads WHERE {which})", values)
    made.execute(f"DELETE FROM procession_notes WHERE {which}", values)
    gone = made.execute(f"DELETE FROM procession_threads WHERE {which}", values)
    return gone.rowcount, elsewhere + kept


def _remove(made: sqlite3.Connection, which: str, values: tuple[Any, ...]) -> tuple[int, list[str]]:
    """
    Remove messages, with what is noted of them.
    """
    messages = f"FROM procession_messages WHERE {which}"
    kept = made.execute(f"SELECT data {messages} AND {_ELSEWHERE.format('data')}", values).fetchall()
    made.execute(f"DELETE FROM procession_index_queue WHERE message IN (SELECT number {messages})", values)
    return made.execute(f"DELETE {messages}", values).rowcount, [data for (data,) in kept]
