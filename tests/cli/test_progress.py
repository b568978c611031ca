"""How far a run has come."""

import io

import pytest
from rich.console import Console

from procession.cli import progress
from procession.cli.progress import Meter


def test_plain_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the output is no terminal there is a line at once, and then now and again, without codes."""
    monkeypatch.setattr(progress, "EVERY", 0.0)
    written = io.StringIO()
    console = Console(file=written, width=100)
    with Meter(console, "inbox [1]", size=200) as meter:
        meter.step(size=50, blocked=True)
        meter.say("line 2: not JSON")
        meter.step(size=50, message=False)
    assert written.getvalue().splitlines() == [
        "inbox [1] ...",
        "inbox [1]: 1 message, 1 blocked (25 %)",
        "line 2: not JSON",
        "inbox [1]: 1 message, 1 blocked (50 %)",
    ]


def test_a_live_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal there is one line that changes and is gone at the end; what is said stands above it."""
    monkeypatch.setattr(progress, "BLINK", 0.0)
    written = io.StringIO()
    console = Console(file=written, width=100, force_terminal=True)
    with Meter(console, "inbox", size=200) as meter:
        meter.step(size=50)
        meter.say("line 2: not JSON")
    text = written.getvalue()
    assert "line 2: not JSON\n" in text
    assert text.endswith("\x1b[1A\x1b[2K")


def test_a_narrow_terminal_keeps_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    """At 80 columns a long title is cut, and the counts, the bar and the time stand whole on one line."""
    monkeypatch.setattr(progress, "BLINK", 0.0)
    written = io.StringIO()
    console = Console(file=written, width=80, force_terminal=True, color_system=None)
    with Meter(console, "a/long/path/to/pipeline.py over another/long/path/inbox.jsonl", size=200) as meter:
        meter.step(size=200)
    last = [line for line in written.getvalue().replace("\r", "\n").splitlines() if "1 message, 0 blocked " in line][-1]
    assert "━" * 24 in last
    assert "a/long/path/" in last and "…" in last
    assert "0:00:00" in last
