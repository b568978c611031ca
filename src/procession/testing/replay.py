"""
A model that answers with what a server was recorded to send.
"""

from __future__ import annotations

from pathlib import Path

from procession.models.http import replaying
from procession.models.openai_chat import OpenAIChatModel

__all__ = ["replay"]


def replay(recording: bytes | Path) -> OpenAIChatModel:
    """
    Return a model that answers every streamed call with *recording*, read by the decoder that reads a server.

    *recording* is the body of a chat completion that was streamed, as OpenAI's API sends it, or the path of a file with
    it.  Nothing is sent anywhere.  Raises ``OSError`` for a file that cannot be read.

        model = replay(Path("answer.sse"))
    """
    body = recording.read_bytes() if isinstance(recording, Path) else recording
    return OpenAIChatModel("replayed", base_url="http://replay.invalid/v1", transport=replaying(body))
