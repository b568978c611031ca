"""Answers whose text is no UTF-8."""

from __future__ import annotations

from structlog.testing import capture_logs
from tests.models.test_wire_cases import ASK, model_reading

from procession.messages.chunks import Finish
from procession.testing.recorder import record

PACKET = bytes.fromhex(
    "646174613a207b2263686f69636573223a5b7b22696e646578223a302c2264656c7461223a7b22636f6e74656e74223a22636166e9227d7d5d7d0a0a"
)


async def test_a_broken_character_does_not_break_the_stream() -> None:
    """UNI-006: a byte that is no UTF-8 is U+FFFD, which is warned about, and the stream goes on to its end without
    an exception."""
    for pieces in ([PACKET, b"data: [DONE]\n\n"], [PACKET[:50], PACKET[50:] + b"data: [DONE]\n\n"]):
        with capture_logs() as logs:
            recording = await record(model_reading(pieces).stream(ASK))
        assert [(log["event"], log["log_level"]) for log in logs] == [("the answer is not all UTF-8", "warning")]
        assert recording.text == "caf\ufffd"
        assert recording.error is None
        assert len(recording.of(Finish)) == 1
