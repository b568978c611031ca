"""
``procession run``: a pipeline over the messages of a file.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from rich.console import Console

from procession.cli.lines import BadLine, Line, read_lines
from procession.cli.logs import log_to_stderr
from procession.cli.model import model_of
from procession.cli.progress import Meter
from procession.cli.score import Scores, tasks_of
from procession.cli.target import Target, load_target, workflow_of
from procession.cli.timings import Timings
from procession.cli.verdict import Judge, Verdict
from procession.cli.window import sliding
from procession.errors import InputError
from procession.messages.value import Value
from procession.runtime.run import RunResult

__all__ = ["Job", "Outcome", "exit_code", "run", "score_corpora"]


class Job(Value, kw_only=True):
    """
    What is asked of one ``procession run``.
    """

    target: str
    input: str
    """A file, or ``-`` for standard input."""
    output: str | None = None
    """A file for the verdicts, or ``-`` for standard output."""
    concurrency: int = 8
    model: str | None = None
    base_url: str | None = None
    rows: int = 12
    """How many verdicts are kept for the table of the report."""


class Outcome:
    """
    What came of the messages of one file.
    """

    def __init__(self, title: str, judge: Judge, scores: Scores, rows: int = 0) -> None:
        self.title = title
        self.judge = judge
        self.scores = scores
        self.timings = Timings()
        self.verdicts: Counter[str] = Counter()
        self.shown: list[Verdict] = []
        self.bad_lines = 0
        self.seconds = 0.0
        self.example: tuple[Verdict, RunResult[Any]] | None = None
        """A message that was blocked, else the first, with its run."""
        self._rows = rows

    @property
    def messages(self) -> int:
        """
        How many messages were judged.
        """
        return self.verdicts.total()

    @property
    def as_json(self) -> str:
        """
        Return this as one line of JSON.
        """
        told = {
            "input": self.title, "messages": self.messages, "verdicts": dict(self.verdicts), "bad_lines": self.bad_lines,
            "seconds": round(self.seconds, 6), "status": exit_code(self),
        }  # fmt: skip
        return json.dumps(told, ensure_ascii=False)

    def add(self, verdict: Verdict) -> None:
        """
        Take the next verdict, in the order of the input.
        """
        self.verdicts[verdict.verdict] += 1
        self.timings.add(verdict.timings)
        self.scores.add(verdict)
        if verdict.run is not None and (
            self.example is None or (verdict.verdict == "block" != self.example[0].verdict)
        ):
            self.example = verdict, verdict.run
        if len(self.shown) < self._rows:
            self.shown.append(verdict.replace(run=None))


def exit_code(outcome: Outcome) -> int:
    """
    Return 2 where a line was bad, else 1 where a message failed, else 3 where one was blocked, else 0.
    """
    if outcome.bad_lines:
        return 2
    if outcome.verdicts["failed"]:
        return 1
    return 3 if outcome.verdicts["block"] else 0


async def run(job: Job, console: Console) -> tuple[Outcome, Target]:
    """
    Do *job*: judge every message of its input, write the verdicts, report bad lines and progress on *console*.

    Raises ``TargetError`` and ``InputError`` for what is wrong before the first message.
    """
    target = load_target(job.target)
    log_to_stderr()
    tasks = tasks_of(target)
    judge = Judge(workflow_of(target, model_of(job.model, job.base_url)))
    outcome = Outcome(_corpus_of(target, job.input) or _name(job.input), judge, Scores(tasks), job.rows)
    with ExitStack() as stack:
        source = sys.stdin.buffer if job.input == "-" else stack.enter_context(_open(job.input))
        sink = _sink(job, stack)
        size = os.fstat(source.fileno()).st_size if job.input != "-" else None
        meter = stack.enter_context(Meter(console, f"{target.text} over {_name(job.input)}", size=size))
        await _judge_all(source, outcome, job.concurrency, meter, sink)
    return outcome, target


async def score_corpora(job: Job, target: Target, console: Console) -> list[Outcome]:
    """
    Run the target's other corpora through the same pipeline, for their scores; none where the input is no corpus.

    They are always run with the pipeline's own model: no reply is scored, so none is paid for.
    """
    if _corpus_of(target, job.input) is None:
        return []
    outcomes: list[Outcome] = []
    for title, path in _corpora(target).items():
        if _same(path, job.input):
            continue
        outcome = Outcome(title, Judge(workflow_of(target)), Scores(tasks_of(target)))
        with _open(str(path)) as source, Meter(console, f"{title}: {path.name}", size=path.stat().st_size) as meter:
            await _judge_all(source, outcome, job.concurrency, meter, None)
        outcomes.append(outcome)
    return outcomes


async def _judge_all(source: BinaryIO, outcome: Outcome, concurrency: int, meter: Meter, sink: TextIO | None) -> None:
    began = time.perf_counter()

    async def messages() -> AsyncIterator[Line]:
        async for line in read_lines(source):
            if isinstance(line, BadLine):
                outcome.bad_lines += 1
                meter.say(f"line {line.number}: {line.fault}")
                meter.step(size=line.size, message=False)
            else:
                yield line

    def take(verdict: Verdict) -> None:
        outcome.add(verdict)
        if verdict.error is not None:
            meter.say(f"line {verdict.line.number}: failed: {verdict.error}")
        if sink is not None:
            sink.write(json.dumps(verdict.to_dict(), ensure_ascii=False, default=str) + "\n")
        meter.step(size=verdict.line.size, blocked=verdict.verdict == "block")

    await sliding(messages(), outcome.judge, take, concurrency=concurrency)
    if sink is not None:
        sink.flush()
    outcome.seconds = time.perf_counter() - began


def _corpora(target: Target) -> Mapping[str, Path]:
    folder = Path(getattr(target.module, "__file__", None) or ".").parent
    return {title: folder / path for title, path in target.setting("corpora").items()}


def _corpus_of(target: Target, input: str) -> str | None:
    return next((title for title, path in _corpora(target).items() if _same(path, input)), None)


def _same(path: Path, input: str) -> bool:
    return input != "-" and path.exists() and Path(input).exists() and path.samefile(input)


def _name(input: str) -> str:
    return "standard input" if input == "-" else input


def _open(path: str) -> BinaryIO:
    try:
        return open(path, "rb")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None


def _sink(job: Job, stack: ExitStack) -> TextIO | None:
    if job.output is None:
        return None
    if job.output == "-":
        return sys.stdout
    if _same(Path(job.output), job.input):
        raise InputError(f"{job.output} is the input", hint="give --output another file")
    try:
        return stack.enter_context(open(job.output, "w", encoding="utf-8", newline="\n"))
    except OSError as error:
        raise InputError(f"{job.output} cannot be written: {error.strerror}") from None
