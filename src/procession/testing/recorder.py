"""
record(): the chunks or events of a stream as a list to assert on.
"""

from __future__ import annotations

from collections.abc import AsyncIterable
from typing import Any, TypeVar

from procession.messages.chunks import TextDelta

__all__ = ["Recording", "record"]

T = TypeVar("T")
Kind = TypeVar("Kind")


class Recording(list[T]):
    """
    What a stream gave, in order.
    """

    error: BaseException | None = None
    """What ended the stream, where ``record`` was told to catch it."""

    @property
    def types(self) -> list[str]:
        """
        The ``type`` of each item.
        """
        return [str(getattr(item, "type", type(item).__name__)) for item in self]

    @property
    def text(self) -> str:
        """
        The text of all text deltas, joined.
        """
        return "".join(item.text for item in self if isinstance(item, TextDelta))

    def of(self, kind: type[Kind]) -> list[Kind]:
        """
        Return the items of one class.
        """
        return [item for item in self if isinstance(item, kind)]


async def record(
    stream: AsyncIterable[T], *, catch: type[BaseException] | tuple[type[BaseException], ...] = ()
) -> Recording[T]:
    """
    Read *stream* to its end.

    An exception of a class in *catch* ends the recording and stands in its ``error``; any other is raised.

    >>> import anyio
    >>> from procession.models.model import ModelRequest
    >>> from procession.testing.fake_model import FakeModel
    >>> recording = anyio.run(record, FakeModel("Hello.").stream(ModelRequest(messages=())))
    >>> recording.text, recording.types[-1]
    ('Hello.', 'finish')
    """
    recording: Recording[T] = Recording()
    try:
        async for item in stream:
            recording.append(item)
    except catch as error:
        recording.error = error
    finally:
        close: Any = getattr(stream, "aclose", None)
        if close is not None:
            await close()
    return recording
