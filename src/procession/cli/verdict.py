"""
Verdicts: what a pipeline said of one message, as a line of output.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from inspect import isclass
from typing import Any, cast, get_origin, is_typeddict

from procession.cli.lines import Line
from procession.errors import ProcessionError
from procession.messages.message import Message
from procession.messages.message_list import MessageList
from procession.messages.text.normalise import Normalised, Profile, normalise
from procession.messages.value import Value
from procession.processors.payloads import HookPayload, InputPayload
from procession.processors.violation import Violation
from procession.runtime.run import RunResult
from procession.runtime.runtime import Runtime
from procession.steps.step import Step
from procession.workflows.workflow import Workflow

__all__ = ["Judge", "Verdict"]

# The fields of a line of output, in order; a key of the input that has one of these names is carried as input_<name>.
_FIELDS = ("line", "verdict", "text", "findings", "reason", "language", "reply", "output", "error", "timings_us")

# What may be said of a finding: never the value that was found.
_SAID = ("type", "rule", "score")


class Verdict(Value, kw_only=True):
    """
    What the pipeline said of one message.
    """

    line: Line
    verdict: str
    """``pass``, ``redact``, ``block``, ``failed``, or what the pipeline calls it."""
    text: str | None = None
    """The message as it went on, after redaction; ``None`` where it did not."""
    findings: Sequence[Mapping[str, Any]] = ()
    """``guard``, ``outcome``, and ``type``, ``start`` and ``end`` where the guard gave them; never the value."""
    reason: str | None = None
    extra: Mapping[str, Any] = {}
    """What else the pipeline returned: ``reply``, ``language`` and so on."""
    timings: Mapping[str, float] = {}
    """Seconds by step, for processors, agents and the steps of the pipeline itself."""
    ran: frozenset[str] = frozenset()
    """Ids of the processors that looked at the message to their end."""
    error: Exception | None = None
    run: RunResult[Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """
        Return the verdict as JSON values, with the other keys of the input.
        """
        own: dict[str, Any] = {
            "line": self.line.number,
            "verdict": self.verdict,
            "text": self.text,
            "findings": [dict(finding) for finding in self.findings],
        }
        if self.reason is not None:
            own["reason"] = self.reason
        if self.error is not None:
            own["error"] = f"{type(self.error).__name__}: {self.error}"
        own |= {key: value for key, value in self.extra.items() if key not in own}
        own["timings_us"] = {step: round(seconds * 1e6, 1) for step, seconds in self.timings.items()}
        carried = {
            f"input_{key}" if key in own or key in _FIELDS else key: value for key, value in self.line.rest.items()
        }
        identity = {"id": carried.pop("id")} if "id" in carried else {}
        return identity | own | carried


class Judge:
    """
    Runs a workflow on messages and reads its verdicts.

    A workflow of processors is given a message list with the message in it; one whose input is a mapping is given the
    record of the line; any other is given the text.  It may return a mapping with ``verdict`` (and ``text``,
    ``reply``, ``language``, whatever else); another result is kept as ``output`` of a message that passed.
    """

    def __init__(self, workflow: Workflow[Any, Any]) -> None:
        self.workflow = workflow.commit()
        self.runtime = Runtime()
        steps = list(workflow.walk_steps())
        self.guards = tuple(dict.fromkeys(step.id for step in steps if step.kind == "processor"))
        self._agents = frozenset(step.id for step in steps if step.kind == "agent")
        self._own = frozenset(child.id for node in workflow.nodes for child in node.children)
        self._profile, self._before = _profile(steps)
        self._of_processors = workflow.kind == "processor" or (
            workflow.input_type is None
            and bool(self.guards)
            and all(step.kind in ("processor", "workflow") for step in steps)
        )
        self._of_records = _is_mapping(workflow.input_type)

    async def __call__(self, line: Line) -> Verdict:
        """
        Run the workflow on the message of *line*.
        """
        run = self.runtime.create_run(self.workflow, durable=False)
        result = await run.start(self.value(line))
        timings: dict[str, float] = {}
        ran: set[str] = set()
        for path, record in result.steps.items():
            if record.id in self.guards:
                timings[record.id] = timings.get(record.id, 0.0) + record.seconds
                if record.status in ("success", "blocked"):
                    ran.add(record.id.removeprefix("processor:"))
            elif record.id in self._agents or (path in self._own and record.kind == "step"):
                timings[record.id] = record.seconds
        findings = tuple(self._findings(line.text, run.scope.violations))
        verdict = self._read(line, result)
        return verdict.replace(findings=findings, timings=timings, ran=frozenset(ran), run=result)

    def value(self, line: Line) -> Any:
        """
        Return what the workflow is given for the message of *line*.
        """
        if self._of_processors:
            return InputPayload(MessageList([Message.user(line.text)]))
        if self._of_records:
            return {**line.rest, "text": line.text}
        return line.text

    def _read(self, line: Line, result: RunResult[Any]) -> Verdict:
        if result.status == "blocked":
            tripwire = result.tripwire
            return Verdict(line=line, verdict="block", reason=tripwire.reason if tripwire is not None else None)
        if result.status != "success":
            return Verdict(line=line, verdict="failed", reason=_why(result), error=result.error)
        output = result.output
        said = dict(cast("Mapping[str, Any]", output)) if isinstance(output, Mapping) else {}
        if isinstance(said.get("verdict"), str):
            return Verdict(
                line=line,
                verdict=said.pop("verdict"),
                text=said.pop("text", None),
                reason=said.pop("reason", None),
                extra=said,
            )
        if isinstance(output, HookPayload):
            text = "\n".join(message.text for message in output.message_list.view("input"))
            return Verdict(line=line, verdict="pass" if text == line.text else "redact", text=text)
        return Verdict(line=line, verdict="pass", text=line.text, extra={"output": output})

    def _findings(self, text: str, violations: Sequence[Violation]) -> Iterator[Mapping[str, Any]]:
        seen: Normalised | None = None
        for violation in violations:
            common = {"guard": violation.processor_id, "outcome": violation.outcome}
            spans = _joined(_spans(violation.detail))
            if not spans:
                yield {**common, "reason": violation.message}
            for span in spans:
                start, end = span["start"], span["end"]
                if self._profile is not None and violation.processor_id not in self._before:
                    seen = seen if seen is not None else normalise(text, self._profile)
                    start, end = seen.span(start, end)
                yield {**common, **{key: span[key] for key in _SAID if span.get(key)}, "start": start, "end": end}


def _why(result: RunResult[Any]) -> str:
    """
    Return in one line why a run failed: the first of its error's, without the hint; else its status.
    """
    error = result.error
    if error is None:
        return result.status
    said = error.message if isinstance(error, ProcessionError) else f"{type(error).__name__}: {error}"
    return said.strip().partition("\n")[0]


def _spans(detail: Any) -> Iterator[Mapping[str, Any]]:
    """
    Yield what has a place in a guard's metadata: mappings with ``start`` and ``end``, or ``index`` and ``length``.
    """
    if isinstance(detail, Mapping):
        known = cast("Mapping[str, Any]", detail)
        start = known.get("start", known.get("index"))
        if isinstance(start, int):
            end = known.get("end", start + known.get("length", 1))
            yield {"type": known.get("rule"), **known, "start": start, "end": end}
        else:
            for value in known.values():
                yield from _spans(value)
    elif isinstance(detail, (list, tuple)):
        for value in cast("Sequence[Any]", detail):
            yield from _spans(value)


def _joined(spans: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """
    Return *spans* in order, those of one type that overlap as one: two rules have found the same thing.
    """
    made: list[dict[str, Any]] = []
    for span in sorted(spans, key=lambda span: (str(span["type"]), span["start"])):
        last = made[-1] if made else None
        if last is not None and last["type"] == span["type"] and span["start"] < last["end"]:
            last["end"] = max(last["end"], span["end"])
        else:
            made.append(dict(span))
    return sorted(made, key=lambda span: (span["start"], span["end"]))


def _profile(steps: Sequence[Step[Any, Any]]) -> tuple[Profile | None, frozenset[str]]:
    """
    Return how the first processor that normalises does it, and the ids of those that see the message before.
    """
    before: set[str] = set()
    for step in steps:
        if step.kind == "processor":
            profile = getattr(step.owner, "profile", None)
            if isinstance(profile, Profile):
                return profile, frozenset(before)
            before.add(step.id.removeprefix("processor:"))
    return None, frozenset()


def _is_mapping(type: Any) -> bool:
    kind = get_origin(type) or type
    return isclass(kind) and (issubclass(kind, Mapping) or is_typeddict(kind))
