"""Streams as lists."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from procession.errors import ModelError
from procession.messages.chunks import TextDelta
from procession.models.model import ModelRequest
from procession.testing.fake_model import FakeModel, Reply
from procession.testing.recorder import record

ASK = ModelRequest(messages=())


async def test_recording_is_a_list_with_views() -> None:
    """A recording is the list of what came, and shows its types, its text and the items of one class."""
    recording = await record(FakeModel([Reply(["a", "b"])]).stream(ASK))
    assert len(recording) == len(recording.types) == 6
    assert recording.text == "ab"
    assert recording.of(TextDelta) == [TextDelta("a"), TextDelta("b")]
    assert recording.error is None


async def test_error_is_raised_unless_caught() -> None:
    """An error of the stream is raised, or recorded where its class was named."""
    broken = Reply("a", stream_error=ModelError("gone"))
    recording = await record(FakeModel(broken).stream(ASK), catch=ModelError)
    assert recording.text == "a"
    assert str(recording.error) == "gone"
    with pytest.raises(ModelError, match="gone"):
        await record(FakeModel(broken).stream(ASK), catch=ValueError)


async def test_any_items() -> None:
    """Items without a type are shown by their class, and a stream needs no more than to be iterated."""

    class Numbers:
        def __init__(self) -> None:
            self.left = 2

        def __aiter__(self) -> AsyncIterator[int]:
            return self

        async def __anext__(self) -> int:
            if not self.left:
                raise StopAsyncIteration
            self.left -= 1
            return self.left

    assert (await record(Numbers())).types == ["int", "int"]
