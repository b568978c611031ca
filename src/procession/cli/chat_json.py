"""
What a chat through a pipe writes for programs: one line of JSON for each message.
"""

from __future__ import annotations

import sys

from rich.console import Console

from procession.agents.output import AgentResult
from procession.cli.chat_screen import Screen
from procession.cli.told import error_data, one_line, tripwire_data

__all__ = ["JsonScreen"]


class JsonScreen(Screen):
    """
    A screen whose standard output has a line of JSON for each answer; what is said about answers goes to ``notes``.
    """

    def __init__(self, out: Console, notes: Console) -> None:
        super().__init__(out, notes, live=False)

    def whole(self, text: str) -> None:
        """
        Show nothing: the text is in the line of the answer.
        """

    def answered(self, result: AgentResult | None, error: Exception | None, tokens: int) -> None:
        """
        Write how an answer has ended.
        """
        told = {
            "status": "failed" if result is None else result.status,
            "text": None if result is None else result.text,
            "run_id": None if result is None else result.run_id,
            "tripwire": None if result is None or result.tripwire is None else tripwire_data(result.tripwire),
            "violations": []
            if result is None
            else [
                {"processor": each.processor_id, "hook": each.hook, "outcome": each.outcome, "message": each.message}
                for each in result.violations
            ],
            "tokens": tokens,
            "error": None if error is None else error_data(error),
        }
        sys.stdout.write(f"{one_line(told)}\n")
        sys.stdout.flush()
