"""
Where an OpenAI answer says that it comes from: its annotations, as source chunks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from procession.messages.chunks import SourceChunk
from procession.models.loose import as_mapping, as_text

__all__ = ["CitedSources"]

_SAME = ("url", "file_id", "start_index", "end_index", "index")


class CitedSources:
    """
    Collects the annotations of an answer, each once, and gives those that were not given yet.

    >>> sources = CitedSources()
    >>> sources.add({"type": "url_citation", "url": "https://example.com", "title": "Example"})
    >>> [source.url for source in sources.take()], sources.take()
    (['https://example.com'], [])
    """

    def __init__(self) -> None:
        self._seen: set[tuple[str, ...]] = set()
        self._waiting: list[SourceChunk] = []

    def add(self, annotation: Mapping[str, Any], place: str = "") -> None:
        """
        Take an annotation; *place* tells apart texts that cite the same.
        """
        kind = as_text(annotation.get("type"))
        told = as_mapping(annotation.get(kind)) or annotation  # Chat Completions put the fields one level down
        key = (place, kind, *(str(told.get(name)) for name in _SAME))
        if key in self._seen:
            return
        source = _source(kind, told, f"source-{len(self._seen) + 1}")
        if source is not None:
            self._seen.add(key)
            self._waiting.append(source)

    def take(self) -> list[SourceChunk]:
        """
        Return the sources since the last time.
        """
        waiting, self._waiting = self._waiting, []
        return waiting


def _source(kind: str, told: Mapping[str, Any], source_id: str) -> SourceChunk | None:
    url, filename = as_text(told.get("url")), as_text(told.get("filename"))
    noted = {
        name: told[key]
        for name, key in (
            ("startIndex", "start_index"), ("endIndex", "end_index"), ("index", "index"), ("fileId", "file_id"),
            ("containerId", "container_id"),
        )
        if isinstance(told.get(key), (int, str))
    }  # fmt: skip
    metadata = {"openai": noted} if noted else None
    if kind == "url_citation" and url:
        return SourceChunk(source_id, "url", url, as_text(told.get("title")) or None, provider_metadata=metadata)
    if kind in ("file_citation", "container_file_citation", "file_path") and told.get("file_id"):
        return SourceChunk(
            source_id, "document", title=filename or None, filename=filename or None, provider_metadata=metadata
        )
    return None
