"""Scoring guards against labels."""

from collections.abc import Sequence
from typing import Any

from procession.cli.lines import Line
from procession.cli.score import PIPELINE, Scores
from procession.cli.verdict import Verdict

GUARDS = {"pii": "pii", "keys": "secrets", "inject": "injection", "tongue": "language"}

EMAIL = {"start": 10, "end": 20, "type": "email"}
SECRET = {"start": 30, "end": 40, "type": "secret"}


def scored(
    labels: dict[str, Any],
    findings: Sequence[tuple[Any, ...]] = (),
    *,
    verdict: str = "pass",
    ran: Sequence[str] = tuple(GUARDS),
    language: str | None = None,
) -> dict[tuple[str, str], tuple[int, int]]:
    """Score one message; a finding is (guard, start, end, type)."""
    names = ("guard", "start", "end", "type")
    made: list[dict[str, Any]] = [dict(zip(names, finding, strict=False)) for finding in findings]
    extra = {"language": language} if language is not None else {}
    scores = Scores(GUARDS)
    scores.add(Verdict(line=Line(1, "", labels), verdict=verdict, findings=made, extra=extra, ran=frozenset(ran)))
    return {(measure.guard, measure.name): measure.counts["all"] for measure in scores.measures()}


def test_a_span_is_found_where_a_finding_of_its_type_overlaps() -> None:
    """Overlap is enough, the type must be right."""
    labels = {"spans": [EMAIL]}
    assert scored(labels, [("pii", 19, 25, "email")]) == {("pii", "recall"): (1, 1), ("pii", "precision"): (1, 1)}
    assert scored(labels, [("pii", 19, 25, "phone")])["pii", "recall"] == (0, 1)
    assert scored(labels, [("pii", 20, 25, "email")])["pii", "recall"] == (0, 1)
    assert scored(labels) == {("pii", "recall"): (0, 1)}


def test_a_finding_that_touches_no_span_is_false() -> None:
    """Whatever its type, a finding that touches a labelled or an optional span is never false; any other is."""
    labels = {"spans": [EMAIL], "optional": [{"start": 50, "end": 60, "type": "url"}]}
    findings = [("pii", 12, 14, "phone"), ("pii", 50, 60, "uuid"), ("pii", 70, 80, "email"), ("pii", 0, 10, "email")]
    assert scored(labels, findings)["pii", "precision"] == (2, 4)


def test_secrets_and_personal_data_are_told_apart() -> None:
    """The guard for secrets answers for secrets of any vendor, the guard for personal data for the rest."""
    labels = {"spans": [EMAIL, SECRET]}
    found = scored(labels, [("keys", 30, 40, "aws-key"), ("pii", 30, 40, "api-key")])
    assert found["keys", "recall"] == (1, 1)
    assert found["pii", "recall"] == (0, 1)
    assert found["pii", "precision"] == (1, 1)


def test_injection() -> None:
    """A flagged attack is recalled, a flagged harmless message costs precision."""
    assert scored({"injection": "attack"}, [("inject",)]) == {
        ("inject", "precision"): (1, 1),
        ("inject", "recall"): (1, 1),
    }
    assert scored({"injection": "benign"}, [("inject",)]) == {("inject", "precision"): (0, 1)}
    assert scored({"injection": "attack"}) == {("inject", "recall"): (0, 1)}
    assert scored({"injection": "benign"}) == {}


def test_language() -> None:
    """A language is right if it is the labelled one or accepted; a region does not matter; none is und."""
    assert scored({"lang": "no", "accept": ["nb"]}, language="nb") == {("tongue", "accuracy"): (1, 1)}
    assert scored({"lang": "zh"}, language="zh-Hant") == {("tongue", "accuracy"): (1, 1)}
    assert scored({"lang": "und"}, language="") == {("tongue", "accuracy"): (1, 1)}
    assert scored({"lang": "de"}, language="en") == {("tongue", "accuracy"): (0, 1)}
    assert scored({"lang": "de"}) == {}


def test_verdicts() -> None:
    """The whole pipeline is right where its verdict is the labelled one."""
    assert scored({"verdict": "block"}, verdict="block") == {(PIPELINE, "verdict as labelled"): (1, 1)}
    assert scored({"verdict": "block"}) == {(PIPELINE, "verdict as labelled"): (0, 1)}


def test_what_a_guard_did_not_see_is_not_counted() -> None:
    """A guard that was cancelled by another's block is not blamed for what it would have found."""
    assert scored({"spans": [EMAIL]}, ran=["inject"]) == {}


def test_tiers_are_counted_apart() -> None:
    """Each tier has its own figures beside those of all messages."""
    scores = Scores(GUARDS)
    for tier, finding in (("core", [{"guard": "inject"}]), ("hard", [])):
        labels = {"injection": "attack", "tier": tier}
        scores.add(Verdict(line=Line(1, "", labels), verdict="pass", findings=finding, ran=frozenset(GUARDS)))
    recall = {measure.name: measure.counts for measure in scores.measures()}["recall"]
    assert recall == {"all": (1, 2), "core": (1, 1), "hard": (0, 1)}
    assert scores.messages == 2


def test_messages_without_labels() -> None:
    """Without labels nothing is scored."""
    scores = Scores(GUARDS)
    scores.add(Verdict(line=Line(1, "", {"id": 1}), verdict="pass", ran=frozenset(GUARDS)))
    assert (scores.messages, scores.measures()) == (0, [])
