"""
What a chat shows and where: an answer as it comes and notes about it on a terminal, the answer alone in a pipe.
"""

from __future__ import annotations

import json
from typing import Any, Literal

from rich.console import Console
from rich.status import Status
from rich.text import Text

from procession.agents.output import AgentResult
from procession.cli.graph import speaks_unicode
from procession.cli.terminal_text import Wrapped, harmless
from procession.workflows.render.text import clean, cut

__all__ = ["Screen", "as_json"]

Mark = Literal["call", "result", "stop", "warn", "ask"]

_MARKS: dict[Mark, tuple[str, str, str]] = {
    "call": ("→", "->", "cyan"),
    "result": ("←", "<-", "cyan"),
    "stop": ("✗", "x", "red"),
    "warn": ("!", "!", "yellow"),
    "ask": ("?", "?", "bold yellow"),
}
_LONGEST_NOTE = 2_000
"""Characters of a note; on a terminal it gets three lines at most."""


class Screen:
    """
    Where a chat is shown.  *live* says that somebody is watching: then the answer is shown as it comes, with what
    happens on the way.  Else ``out`` gets nothing but the answers, and ``notes`` all that is said about them.

    Whatever is shown has been made harmless before: neither a model nor a tool can give orders to the terminal.
    """

    def __init__(self, out: Console, notes: Console, *, live: bool) -> None:
        self.out = out
        self.notes = out if live else notes
        self.live = live
        self._unicode = speaks_unicode(self.notes.encoding)
        self._kind = ""
        self._wrapped = Wrapped(self._width)
        self._status: Status | None = None

    # -- the answer

    def wait(self) -> None:
        """
        Show that something is going on, until there is something to show.
        """
        if self.live and self.out.is_terminal and not self.out.is_dumb_terminal and self._status is None:
            self.end()
            spinner = "dots" if self._unicode else "line"
            self._status = Status("", console=self.out, spinner=spinner, spinner_style="dim")
            self._status.start()

    def text(self, piece: str) -> None:
        """
        Show more of the answer.
        """
        if self.live:
            self._flow("text", piece, "")

    def aside(self, piece: str) -> None:
        """
        Show more of what is not the answer: what the model thinks, or an agent inside says.
        """
        if self.live:
            self._flow("aside", piece, "dim")

    def end(self) -> None:
        """
        Bring what is being shown to its end, and to the end of its line.
        """
        if self._status is not None:
            self._status.stop()
            self._status = None
        if self._kind:
            style = "dim" if self._kind == "aside" else ""
            self._print(self.out, self._wrapped.end(), style)
            if self._wrapped.column:
                self._print(self.out, "\n", "")
            self._kind = ""

    def whole(self, text: str) -> None:
        """
        Show a whole answer.
        """
        self.end()
        self._lines(self.out, text.rstrip("\n"), "")

    def answered(self, result: AgentResult | None, error: Exception | None, tokens: int) -> None:
        """
        Take note of how an answer has ended: all of it has been shown.
        """

    # -- what is said about it

    def note(self, text: str, style: str = "dim") -> None:
        """
        Show a line about the answer.
        """
        self.end()
        self._lines(self.notes, text, style)

    def gap(self) -> None:
        """
        Leave a line of the terminal empty.
        """
        if self.live:
            self._print(self.out, "\n", "")

    def mark(self, mark: Mark, text: str, *, whole: bool = False) -> None:
        """
        Show a line that begins with a mark; it is cut to three lines of the terminal unless it is to be *whole*.
        """
        unicode, ascii, style = _MARKS[mark]
        text = clean(text)
        if not whole:
            dots = "…" if self._unicode else "..."
            text = cut(text, 3 * self.out.width - 4 if self.live else _LONGEST_NOTE, dots=dots)
        self.note(f"{unicode if self._unicode else ascii} {text}", style)

    # -- inside

    def _flow(self, kind: str, piece: str, style: str) -> None:
        safe = harmless(piece, self.out.encoding)
        if self._kind != kind:
            safe = safe.lstrip("\n")  # models begin with empty lines
            if not safe:
                return
            self.end()
            self._kind = kind
            self._wrapped = Wrapped(self._width)
        self._print(self.out, self._wrapped.add(safe), style)

    def _lines(self, console: Console, text: str, style: str) -> None:
        safe = harmless(text, console.encoding)
        if self.live:
            wrapped = Wrapped(self._width)
            safe = wrapped.add(safe) + wrapped.end()
        self._print(console, f"{safe}\n", style)

    def _width(self) -> int:
        return max(1, self.out.width)

    def _print(self, console: Console, text: str, style: str) -> None:
        if text:
            console.print(Text(text, style), end="", soft_wrap=True, highlight=False)


def as_json(value: Any, *, indent: int | None = None) -> str:
    """
    Return a value of a tool as people read it: JSON as far as it goes.

    >>> as_json({"city": "Bergen"})
    '{"city": "Bergen"}'
    """
    try:
        return json.dumps(value, ensure_ascii=False, indent=indent, default=str)
    except (ValueError, TypeError, RecursionError):
        return f"<{type(value).__name__}>"
