"""
``procession chat``: a conversation with an agent, on a terminal or through a pipe.

The main thread reads what is typed and waits for answers; an event loop beside it makes them.  So Ctrl-C interrupts the
reading, or asks the answer to stop, and never breaks into the loop.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from rich.console import Console

from procession.agents.output import AgentResult
from procession.agents.stream import AgentStream
from procession.cli.chat_agent import ChatJob, Partner
from procession.cli.chat_json import JsonScreen
from procession.cli.chat_questions import answers_to
from procession.cli.chat_screen import Screen
from procession.cli.chat_turn import Cost, Turn
from procession.cli.logs import log_to_stderr
from procession.errors import ProcessionError
from procession.steps.abort import AbortSignal

__all__ = ["chat"]

_HELP = """\
/help   this list
/reset  begin a new conversation
/usage  what the chat has cost so far
/exit   leave; so do Ctrl-D, and Ctrl-C at the prompt

Ctrl-C stops an answer that is coming. A message that begins with two slashes is sent with one."""

_WAKE = 0.2
"""Seconds after which the main thread looks up from its waiting: some systems tell it of Ctrl-C only then."""

Open = Callable[[AbortSignal], AgentStream[Any]]


def chat(job: ChatJob, out: Console, notes: Console, *, as_json: bool = False) -> int:
    """
    Talk until there is nothing more to say, and return the exit status.

    On a terminal that is 0.  In a pipe, a line being a message: 1 where an answer failed, else 3 where a guard stopped one,
    else 0.  *as_json*, as in a pipe, each answer is a line of JSON.

    Raises ``TargetError`` and ``InputError`` for what is wrong before the first message, and ``KeyboardInterrupt`` where
    it is left by Ctrl-C.
    """
    live = sys.stdin.isatty() and out.is_terminal and not as_json
    partner = Partner(job)
    log_to_stderr()
    screen = JsonScreen(out, notes) if as_json else Screen(out, notes, live=live)
    with start_blocking_portal() as portal:
        talk = Conversation(partner, screen, portal)
        if live:
            with suppress(ImportError):
                import readline  # noqa: F401  # pyright: ignore[reportUnusedImport]  (keys that edit the line, and those that bring back earlier ones)
            screen.note(f"{partner.name}: /help says what there is, Ctrl-D leaves")
            if partner.kept is not None:
                screen.note(f"what is said is kept: {partner.kept}")
            screen.gap()
        while (line := talk.read()) is not None:
            if line.strip() and talk.take(line.strip()):
                break
        if live and talk.turns > 1:
            talk.tell_usage()
    return 0 if live else talk.status


class Conversation:
    """
    A chat: what is typed, what is answered, and what it costs.
    """

    def __init__(self, partner: Partner, screen: Screen, portal: BlockingPortal) -> None:
        self.turns = 0
        self.status = 0
        self._partner = partner
        self._screen = screen
        self._portal = portal
        self._loop: asyncio.AbstractEventLoop = portal.call(asyncio.get_running_loop)
        self._cost = Cost()
        self._said: set[str] = set()
        self._error: Exception | None = None
        """What the last answer failed with."""
        self._ahead: list[str] = []
        """Lines of a pipe that were read for an answer and are messages."""

    # -- what is typed

    def read(self, prompt: str = "> ") -> str | None:
        """
        Return the next line, or ``None`` at the end of the input.
        """
        if self._ahead:
            return self._ahead.pop()
        if self._screen.live:
            sys.stdout.flush()
            try:
                return input(prompt)
            except EOFError:
                sys.stdout.write("\n")
                return None
            except UnicodeDecodeError:
                self._screen.mark("stop", "that is no UTF-8")
                return ""
        raw = sys.stdin.buffer.readline()
        return raw.decode("utf-8", "replace") if raw else None

    def ask(self, question: str, yes_or_no: bool) -> str | None:
        """
        Return what is answered to a question, or ``None`` where nobody does.

        In a pipe only a line that is no more than yes or no answers a question of that kind; another one is the next
        message, and the question has no answer.
        """
        if self._screen.live:
            try:
                return self.read(question)
            except KeyboardInterrupt:
                sys.stdout.write("\n")
                return None
        line = self.read()
        if line is not None and yes_or_no and line.strip().lower() not in ("y", "yes", "n", "no"):
            self._ahead.append(line)
            return None
        return line.rstrip("\r\n") if line is not None else None

    def take(self, line: str) -> bool:
        """
        Do what *line* says, a command or a message; returns whether that was to leave.
        """
        command = line.lower()
        if command in ("/exit", "/quit"):
            return True
        if command == "/help":
            self._screen.note(_HELP)
        elif command == "/usage":
            self.tell_usage()
        elif command == "/reset":
            self._partner.forget()
            self._screen.note("a new conversation")
        elif command.startswith("/") and command[1:].isalpha():
            self._screen.mark("stop", f"there is no command {line}: /help says which there are")
        else:
            self._talk(line[1:] if line.startswith("//") else line)
        self._screen.gap()
        return False

    # -- what is answered

    def _talk(self, text: str) -> None:
        """
        Answer a message, and ask whatever its run wants to know meanwhile.
        """
        partner, agent = self._partner, self._partner.agent
        turn = Turn(self._screen, self._said)
        self.turns += 1
        self._error = None
        result = self._answer(turn, lambda stop: agent.stream(text, **partner.options(stop)))
        while result is not None and result.suspended:
            answers = answers_to(result.suspended, self._screen, self.ask)
            result = self._answer(turn, partial(self._resumed, result.run_id, answers))
        self._screen.answered(result, self._error, turn.cost.total)
        if result is None:
            self.status = 1
        elif result.tripwire is not None:
            self.status = self.status or 3
        self._cost += turn.cost
        if turn.cost.total:
            so_far = f"; {self._cost.total:,} tokens so far" if self.turns > 1 else ""
            self._screen.note(f"{turn.cost}{so_far}")

    def _resumed(self, run_id: str, answers: Mapping[str, Any], stop: AbortSignal) -> AgentStream[Any]:
        return self._partner.agent.resume_stream(run_id, answers, **self._partner.options(stop))

    def _answer(self, turn: Turn, begin: Open) -> AgentResult | None:
        """
        Show one answer to its end and return its result, or ``None`` where it failed, which has been said.
        """
        stop = AbortSignal()

        async def show() -> AgentResult:
            return await turn.show(begin(stop))

        try:
            with self._stopping(stop):
                answered: Future[AgentResult] = self._portal.start_task_soon(show)
                while not wait([answered], timeout=_WAKE).done:
                    continue
                return answered.result()
        except BrokenPipeError:
            raise
        except Exception as error:
            self._failed(error)
            return None

    @contextmanager
    def _stopping(self, stop: AbortSignal) -> Generator[None]:
        """
        On a terminal, let Ctrl-C stop the answer and nothing else.
        """
        if not self._screen.live:
            yield
            return

        def pressed(number: int, frame: object) -> None:
            self._loop.call_soon_threadsafe(stop.abort, "Ctrl-C")

        before = signal.signal(signal.SIGINT, pressed)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _failed(self, error: Exception) -> None:
        self._error = error
        message = error.message if isinstance(error, ProcessionError) else f"{type(error).__name__}: {error}"
        self._screen.mark("stop", message, whole=True)
        if isinstance(error, ProcessionError) and error.hint:
            self._screen.note(f"  hint: {error.hint}")

    def tell_usage(self) -> None:
        """
        Show what the chat has cost.
        """
        self._screen.note(f"{self.turns} turn{'' if self.turns == 1 else 's'}: {self._cost}")
