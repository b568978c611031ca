"""What a pipeline said of a message."""

import sys
from pathlib import Path
from typing import Any

import pytest

from procession.cli.lines import Line
from procession.cli.target import load_target, workflow_of
from procession.cli.verdict import Judge, Verdict
from procession.processors.contexts import InputContext
from procession.processors.processor import Processor
from procession.processors.utility.unicode import UnicodeNormalizer
from procession.steps.step import StepContext, step
from procession.workflows.workflow import create_workflow


def line(text: str, **rest: Any) -> Line:
    """Make a line with a message."""
    return Line(5, text, rest)


@pytest.fixture
def judge(pipeline: Path, monkeypatch: pytest.MonkeyPatch) -> Judge:
    """Make a judge of the pipeline."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    return Judge(workflow_of(load_target(str(pipeline))))


async def test_a_message_that_passes(judge: Judge) -> None:
    """A mapping with a verdict is the verdict; its text, and whatever else it says, stand in the output."""
    verdict = await judge(line("hello", id="m-1", customer=7))
    made = verdict.to_dict()
    assert {step for step, time in made.pop("timings_us").items() if time > 0} == {
        "receive",
        "processor:words",
        "answer",
    }
    assert made == {
        "id": "m-1",
        "line": 5,
        "verdict": "pass",
        "text": "hello",
        "findings": [],
        "language": "en",
        "customer": 7,
    }
    assert verdict.ran == {"words"}


async def test_findings_never_hold_the_value(judge: Judge) -> None:
    """A finding is its guard, its type and its place; what a guard says besides, such as the value, is left out."""
    verdict = await judge(line("my secret"))
    assert verdict.verdict == "redact"
    assert verdict.text == "my [secret]"
    assert verdict.to_dict()["findings"] == [
        {"guard": "words", "outcome": "modified", "type": "secret", "start": 3, "end": 9}
    ]


async def test_a_message_that_is_blocked(judge: Judge) -> None:
    """A tripwire is the verdict block with its reason, and nothing of the text."""
    made = (await judge(line("forbidden"))).to_dict()
    assert (made["verdict"], made["text"], made["reason"]) == ("block", None, "a forbidden word")
    assert made["findings"] == [{"guard": "words", "outcome": "blocked", "reason": "a forbidden word"}]


async def test_a_message_that_fails(judge: Judge) -> None:
    """A step that raises is the verdict failed, with the error, of which the first line is the reason."""
    made = (await judge(line("broken"))).to_dict()
    assert made["verdict"] == "failed"
    assert "it broke" in made["error"]
    assert made["reason"] == "step 'answer' raised ValueError: it broke"


async def test_carried_keys_never_hide_the_verdict(judge: Judge) -> None:
    """A key of the input that the output needs is carried under another name."""
    made = (await judge(line("hello", verdict="block", language="xx", reason="r"))).to_dict()
    assert (made["verdict"], made["language"]) == ("pass", "en")
    assert (made["input_verdict"], made["input_language"], made["input_reason"]) == ("block", "xx", "r")


class Upper(Processor):
    """Writes everything large."""

    id = "upper"
    mutates = True

    def process_input(self, ctx: InputContext) -> None:
        ctx.messages[-1].text = ctx.view[-1].text.upper()


async def test_a_workflow_of_processors() -> None:
    """A workflow of processors is given a message list; a text that came out changed was redacted."""
    judge = Judge(create_workflow("upper", kind="processor").then(Upper()).commit())
    assert [(await judge(line(text))).to_dict()["verdict"] for text in ("hello", "HELLO")] == ["redact", "pass"]
    assert (await judge(line("hello"))).text == "HELLO"


async def test_any_other_result_is_kept() -> None:
    """What is no mapping with a verdict is the output of a message that passed."""
    for workflow in (create_workflow("count", str), create_workflow("count")):
        made = (await Judge(workflow.map(len).commit())(line("hello"))).to_dict()
        assert (made["verdict"], made["text"], made["output"]) == ("pass", "hello", 5)


async def test_a_workflow_of_records() -> None:
    """A workflow whose input is a mapping is given the whole record."""

    @step
    def name(ctx: StepContext[dict[str, Any]]) -> str:
        return f"{ctx.input['customer']}: {ctx.input['text']}"

    judge = Judge(create_workflow("record", dict[str, Any]).then(name).commit())
    assert (await judge(line("hello", customer="Ada"))).extra == {"output": "Ada: hello"}


class Finder(Processor):
    """Reports where a word begins."""

    id = "finder"

    def process_input(self, ctx: InputContext) -> None:
        at = ctx.view[-1].text.index("word")
        ctx.report("found", [{"index": at, "length": 4, "rule": "word"}], "warned")


class Twice(Processor):
    """Reports one thing by two rules, and another."""

    id = "twice"

    def process_input(self, ctx: InputContext) -> None:
        places = [(2, 5, "phone"), (0, 3, "phone"), (1, 2, "url"), (7, 9, "phone")]
        ctx.report("found", [{"start": start, "end": end, "type": type} for start, end, type in places], "warned")


async def test_what_two_rules_find_is_one_finding() -> None:
    """Overlapping places of one type are one finding; findings stand in the order of the text."""
    judge = Judge(create_workflow("find", kind="processor").then(Twice()).commit())
    findings = (await judge(line("0123456789"))).findings
    assert [(each["start"], each["end"], each["type"]) for each in findings] == [
        (0, 5, "phone"),
        (1, 2, "url"),
        (7, 9, "phone"),
    ]


async def test_places_are_those_of_the_message() -> None:
    """Behind a Unicode normaliser, findings are still given by their place in the message as it came."""
    workflow = create_workflow("find", kind="processor").then(UnicodeNormalizer(profile="safe")).then(Finder())
    text = "a\u200b\u200b   ｗｏｒｄ!"
    verdict: Verdict = await Judge(workflow.commit())(line(text))
    (finding,) = verdict.findings
    assert text[finding["start"] : finding["end"]] == "ｗｏｒｄ"
    assert finding["type"] == "word"


async def test_places_are_right_on_both_sides_of_a_normaliser() -> None:
    """A guard that stands before the normaliser has seen the message as it came; its places are not moved."""
    workflow = create_workflow("find", kind="processor").then(Twice())
    workflow = workflow.then(UnicodeNormalizer(profile="safe")).then(Finder())
    text = "0\u200b\u200b123456 word"
    findings = (await Judge(workflow.commit())(line(text))).findings
    assert [(each["start"], each["end"], each["type"]) for each in findings] == [
        (0, 5, "phone"),
        (1, 2, "url"),
        (7, 9, "phone"),
        (text.index("word"), len(text), "word"),
    ]
