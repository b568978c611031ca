"""
Semantic recall as setups describe it: the embedder and the vector store that the traces were recorded with.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping, Sequence
from typing import Any

from tests.conformance.scenario import Json, Unknown, is_object, named

from procession.models.embedder import Embeddings
from procession.storage.memory_vectors import InMemoryVectors
from procession.storage.threads import MessageRef
from procession.storage.vectors import VectorHit, VectorItem

__all__ = ["AnswersFirst", "KeywordEmbedder", "build_embedder", "recall_options"]

DESCRIBED = re.compile(
    r"vector over keywords \[([\w, ]+)\] \(1 if the lower-cased text contains the word else 0\) plus a constant ([\d.]+);"
    r" store: exact dot product"
)
OPTIONS: Mapping[str, str] = {"topK": "top_k", "messageRange": "message_range", "scope": "scope"}


class KeywordEmbedder:
    """
    A number for each keyword, 1 where the text has it, and a constant.
    """

    id = "keywords"

    def __init__(self, keywords: Sequence[str], constant: float) -> None:
        self._keywords = keywords
        self._constant = constant
        self.dimensions = len(keywords) + 1

    async def embed(self, texts: Sequence[str]) -> Embeddings:
        """
        Return a vector for each text.
        """
        return Embeddings(
            tuple(
                array("f", [*(float(word in text.lower()) for word in self._keywords), self._constant])
                for text in texts
            )
        )


class AnswersFirst(InMemoryVectors):
    """
    Vectors compared one by one.  Of messages that are equally alike the traces have the oldest answer found: nothing says
    which of equals is, so the store of the runner says that.
    """

    def __init__(self) -> None:
        super().__init__()
        self._order: dict[MessageRef, tuple[bool, int]] = {}

    async def put_vectors(self, index: str, items: Sequence[VectorItem]) -> None:
        """
        Keep vectors, and who said what in which order.
        """
        await super().put_vectors(index, items)
        for item in items:
            is_asked = (item.facts or {}).get("role") == "user"
            self._order.setdefault(MessageRef(item.thread_id, item.message_id), (is_asked, len(self._order)))

    async def search(self, index: str, vector: Sequence[float], *, top_k: int, **options: Any) -> list[VectorHit]:
        """
        Return the messages that are most alike, of equals the oldest answer first.
        """
        hits = await super().search(index, vector, top_k=1000, **options)
        return sorted(hits, key=lambda hit: (-round(hit.score, 6), self._order[hit.ref]))[:top_k]


def build_embedder(described: Json) -> KeywordEmbedder:
    """
    Return the embedder that a setup describes.  Raises ``Unknown`` for any other.
    """
    found = DESCRIBED.fullmatch(str(described))
    if found is None:
        raise Unknown("embedder", described)
    return KeywordEmbedder(found[1].split(", "), float(found[2]))


def recall_options(value: Json) -> Any:
    """
    Return what ``semanticRecall`` says, under our names.
    """
    return {named("recall option", OPTIONS, name): each for name, each in value.items()} if is_object(value) else value
