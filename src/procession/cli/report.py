"""
The report of ``procession run``: verdicts, the pipeline, timings and scores, as tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from procession.cli.graph import speaks_unicode
from procession.cli.run import Outcome
from procession.cli.score import Measure
from procession.cli.timings import Timing
from procession.cli.verdict import Verdict
from procession.workflows.render.draw import draw
from procession.workflows.render.text import clean, cut, duration

__all__ = ["report"]

_STYLES = {"pass": "green", "redact": "cyan", "block": "red", "failed": "bold red"}


def report(console: Console, outcome: Outcome, others: Sequence[Outcome] = ()) -> None:
    """
    Print what came of *outcome*, and after it the scores of *others* beside its own.
    """
    unicode = speaks_unicode(console.encoding)
    if outcome.shown:
        _section(console, "Messages", _messages(outcome))
    title = f"Verdicts: {_messages_of(outcome.messages)} in {duration(outcome.seconds, plain=not unicode)}"
    if outcome.bad_lines:
        title += f", {outcome.bad_lines} bad line{'' if outcome.bad_lines == 1 else 's'} left out"
    _section(console, title, _verdicts(outcome))
    _pipeline(console, outcome, unicode)
    if timings := outcome.timings.all():
        guards = set(outcome.judge.guards)
        timings.sort(key=lambda timing: timing.step not in guards)
        _section(console, "Timing per guard and step", _timings(timings, unicode))
    scored = [corpus for corpus in (outcome, *others) if corpus.scores.messages]
    for corpus in scored:
        title = f"Precision and recall: {corpus.title}, {_messages_of(corpus.scores.messages)}"
        _section(console, title, _scores(corpus.scores.measures()))
    if scored:
        console.print()
        console.print(Text("A guard is not scored on messages that another one had stopped before it saw them.", "dim"))


def _section(console: Console, title: str, *content: RenderableType) -> None:
    console.print()
    console.print(Text(title, "bold"))
    for each in content:
        console.print(each)


def _verdicts(outcome: Outcome) -> Table:
    table = _table("verdict", "messages", "share")
    for verdict, count in outcome.verdicts.most_common():
        style = _STYLES.get(verdict, "yellow")
        table.add_row(Text(clean(verdict), style), str(count), f"{100 * count / outcome.messages:.1f} %")
    return table


def _messages(outcome: Outcome) -> Table:
    table = Table(expand=True, show_edge=False, pad_edge=False)
    table.add_column("line", justify="right")
    table.add_column("verdict")
    table.add_column("found", ratio=2, overflow="ellipsis", no_wrap=True)
    table.add_column("text that went on, or why none did", ratio=5, overflow="ellipsis", no_wrap=True)
    for verdict in outcome.shown:
        style = _STYLES.get(verdict.verdict, "yellow")
        text = Text(cut(clean(verdict.text), 200)) if verdict.text is not None else Text(cut(_why(verdict), 200), "dim")
        table.add_row(str(verdict.line.number), Text(clean(verdict.verdict), style), Text(_found(verdict)), text)
    if (more := outcome.messages - len(outcome.shown)) > 0:
        table.add_row("", Text("...", "dim"), "", Text(f"and {more} more: --output FILE has them all", "dim"))
    return table


def _timings(timings: Sequence[Timing], unicode: bool) -> Table:
    table = _table("step", "runs", "median", "p95", "total")
    for each in timings:
        cells = (duration(value, plain=not unicode) for value in (each.median, each.p95, each.total))
        table.add_row(clean(each.step), str(each.count), *cells)
    return table


def _found(verdict: Verdict) -> str:
    kinds = Counter(str(finding.get("type", finding["guard"])) for finding in verdict.findings)
    return ", ".join(f"{kind} x{count}" if count > 1 else kind for kind, count in kinds.items())


def _why(verdict: Verdict) -> str:
    return clean(verdict.reason or "nothing went on")


def _pipeline(console: Console, outcome: Outcome, unicode: bool) -> None:
    title = "Pipeline"
    run = None
    if outcome.example is not None:
        verdict, run = outcome.example
        title += f", and what it did with line {verdict.line.number} ({verdict.verdict})"
    drawing = draw(outcome.judge.workflow, width=console.width, run=run, unicode=unicode)
    _section(console, title)
    console.print(drawing, end="", markup=False, highlight=False, soft_wrap=True)


def _scores(measures: Sequence[Measure]) -> Table:
    tiers = list(dict.fromkeys(tier for measure in measures for tier in measure.counts))
    tiers.sort(key=lambda tier: (tier != "all", tier))
    table = _table("guard", "measure", *tiers)
    before = None
    for measure in measures:
        guard = measure.guard if measure.guard != before else ""
        before = measure.guard
        table.add_row(clean(guard), measure.name, *(_share(measure.counts, tier) for tier in tiers))
    return table


def _share(counts: Mapping[str, tuple[int, int]], tier: str) -> str:
    good, total = counts.get(tier, (0, 0))
    return f"{100 * good / total:.1f} % ({good}/{total})" if total else "-"


def _table(first: str, *others: str) -> Table:
    table = Table(show_edge=False, pad_edge=False)
    table.add_column(first)
    for name in others:
        table.add_column(name, justify="left" if name == "measure" else "right")
    return table


def _messages_of(count: int) -> str:
    return f"{count} message{'' if count == 1 else 's'}"
