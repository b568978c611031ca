"""
The sources of one answer of Gemini, each once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from procession.messages.chunks import Chunk, SourceChunk
from procession.models.loose import as_list, as_mapping, as_text

__all__ = ["GoogleSources"]

_KINDS = ("web", "maps", "image", "retrievedContext")


class GoogleSources:
    """
    Gives the sources that an answer's grounding names.  Events repeat what earlier ones said.

    >>> page = {"groundingChunks": [{"web": {"uri": "https://example.org", "title": "Example"}}]}
    >>> sources = GoogleSources()
    >>> len(list(sources.new(page))), len(list(sources.new(page)))
    (1, 0)
    """

    def __init__(self) -> None:
        self._known: set[str] = set()

    def new(self, grounding: Mapping[str, Any]) -> Iterator[Chunk]:
        """
        Yield the sources that *grounding* names for the first time; the id of each is its address, or its title.
        """
        for chunk in as_list(grounding.get("groundingChunks")):
            for kind in _KINDS:
                found = as_mapping(as_mapping(chunk).get(kind))
                url = as_text(found.get("uri")) or as_text(found.get("sourceUri"))
                title = as_text(found.get("title"))
                if not (url or title) or (url or title) in self._known:
                    continue
                self._known.add(url or title)
                is_page = kind != "retrievedContext" or url.startswith(("http://", "https://"))
                yield SourceChunk(
                    url or title,
                    "url" if is_page else "document",
                    url or None,
                    title or None,
                    media_type=None if is_page else "text/plain",
                    filename=None if is_page else (url or title).rpartition("/")[2] or None,
                    provider_metadata={"google": {"grounding": kind}},
                )
