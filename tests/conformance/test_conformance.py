"""The recorded scenarios: what the library does is what the traces have, but for what a decision changes."""

import json
from pathlib import Path

import pytest
from tests.conformance.__main__ import main
from tests.conformance.report import as_json_report, text_report
from tests.conformance.runner import Outcome, run_file
from tests.conformance.scenario import HERE, Json, find_scenarios
from tests.conformance.superseded import apply_patch

GOLDEN, SUPERSEDED = HERE / "golden", HERE / "superseded"
CLEAN_AREAS = (
    "api_error", "hook_order", "message_list", "output_stream", "processor_workflow", "retry", "return_forms", "signals",
    "tool_result", "tripwire", "workflow",
)  # fmt: skip
OTHER_AREAS = sorted({path.parent.name for path in find_scenarios(GOLDEN)} - set(CLEAN_AREAS))


def scenario(key: str) -> Json:
    """Return a recorded scenario, to be altered."""
    return json.loads((GOLDEN / f"{key}.json").read_text("utf-8"))


def write(directory: Path, key: str, trace: Json) -> Path:
    """Write a scenario, or a patch, into a directory of the same layout."""
    path = directory / f"{key}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(trace), "utf-8")
    return path


def alone(path: Path) -> Outcome:
    """Run one file without any patch."""
    return run_file(path, path.parent / "no patches")


@pytest.mark.parametrize("area", CLEAN_AREAS)
def test_nothing_differs(area: str) -> None:
    """Every scenario of these areas does what its trace, or the decision that supersedes it, says."""
    outcomes = [run_file(path, SUPERSEDED) for path in find_scenarios(GOLDEN, [area])]
    assert [each.key for each in outcomes if each.status not in ("match", "superseded")] == [], text_report(outcomes)


@pytest.mark.parametrize("area", OTHER_AREAS)
def test_other_areas_are_run_and_reported(area: str) -> None:
    """Every scenario of the other areas runs to an end and gets a status; none breaks the runner."""
    outcomes = [run_file(path, SUPERSEDED) for path in find_scenarios(GOLDEN, [area])]
    broken = [line for each in outcomes for line in each.diff if line.startswith("the scenario did not run")]
    assert broken == []
    assert sum(as_json_report(outcomes)["areas"][area].values()) == len(outcomes)


def test_every_operation_of_a_patch_is_needed() -> None:
    """Patches are as small as they can be."""
    outcomes = [run_file(GOLDEN / path.relative_to(SUPERSEDED), SUPERSEDED) for path in SUPERSEDED.glob("*/*.json")]
    assert [(each.key, each.diff) for each in outcomes if each.status == "superseded" and each.diff] == []


def test_every_patch_supersedes_a_scenario() -> None:
    """Each patch stands beside a scenario, and says by what it is superseded and why."""
    for path in sorted(SUPERSEDED.glob("*/*.json")):
        patch = json.loads(path.read_text("utf-8"))
        assert (GOLDEN / path.relative_to(SUPERSEDED)).is_file(), path
        assert set(patch) == {"decided_by", "why", "patch"}, path
        assert patch["decided_by"] and patch["why"] and patch["patch"], path


@pytest.mark.parametrize(
    "change",
    [
        {"op": "replace", "path": "/expected/runs/0/result/text", "value": "something else"},
        {"op": "remove", "path": "/expected/timeline/3"},
        {"op": "add", "path": "/expected/timeline/0", "value": {"model_call": "main#7"}},
        {"op": "add", "path": "/expected/model_calls/0/prompt/-", "value": 'user: text("more")'},
        {"op": "move", "from": "/expected/runs/0/chunks/3", "path": "/expected/runs/0/chunks/4"},
        {"op": "replace", "path": "/expected/timeline/0/retry_count", "value": 3},
        {"op": "remove", "path": "/expected/runs/0/result/usage"},
    ],
)
def test_an_altered_trace_differs(tmp_path: Path, change: Json) -> None:
    """A trace that says anything else than what happens is reported as differing, with what was expected and got."""
    trace = scenario("hook_order/no_tools_stream")
    assert alone(write(tmp_path, "hook_order/as_recorded", trace)).status == "match"
    outcome = alone(write(tmp_path, "hook_order/altered", apply_patch(trace, [change])))
    assert outcome.status == "differ"
    assert any("expected" in line or "got" in line for line in outcome.diff)


HOOK = "/processors/a/hooks/process_input"
DREAMS: Json = {"builtin_processors": {"d": "DreamFilter(depth=2)"}, "agent": {"input_processors": ["d"]}}


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        ("frobnicate", HOOK, [{"op": "frobnicate"}]),
        ("moon_phase", HOOK, [{"op": "abort", "when": {"moon_phase": 1}}]),
        ("shuffle", HOOK, [{"op": "return_messages", "transform": {"shuffle": True}}]),
        ("process_dreams", "/processors/a/hooks/process_dreams", []),
        ("DreamFilter", "", {"models": {"main": []}, "calls": [], **DREAMS}),
        ("DreamFilter", "/processors/b", {"class": "DreamFilter"}),
        ("telepathy", "/calls/0/method", "telepathy"),
        ("mood", "/calls/0/options", {"mood": "good"}),
        ("sorcery", "/sorcery", True),
    ],
)
def test_an_unknown_word_is_named(tmp_path: Path, name: str, path: str, value: Json) -> None:
    """A word that the runner does not know gives the status unknown and its name, even where it would never run."""
    trace = scenario("return_forms/input_map_text")
    if name == "DreamFilter" and path:
        trace["setup"]["builtin_processors"] = {"b": trace["setup"]["processors"].pop("b")}
        path = "/builtin_processors/b"
    trace["setup"] = apply_patch(trace["setup"], [{"op": "add", "path": path, "value": value}])
    outcome = alone(write(tmp_path, "return_forms/spoiled", trace))
    assert outcome.status == "unknown"
    assert name in outcome.diff[0]


def test_a_directory_never_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command runs a directory of new areas and names, and its exit status tells whether all is well."""
    directory, report = tmp_path / "traces", tmp_path / "report.json"
    trace = scenario("return_forms/input_map_text")
    trace["setup"]["processors"]["a"]["hooks"]["process_input"][0]["transform"] = {"map_text": {"prefix": "~"}}
    for entry in ("timeline", "model_calls"):
        text = json.dumps(trace["expected"][entry])
        for word in ("ONE", "TWO", "THREE"):
            text = text.replace(word, f"~{word.lower()}")
        trace["expected"][entry] = json.loads(text)
    write(directory, "new_area/new_name", trace)
    assert main([str(directory), "--json", str(report)]) == 0
    assert json.loads(report.read_text("utf-8")) == {
        "areas": {"new_area": {"match": 1, "superseded": 0, "differ": 0, "unknown": 0}},
        "scenarios": {"new_area/new_name": {"status": "match", "decided_by": None, "diff": []}},
    }
    (directory / "new_area" / "no_trace.json").write_text("[]", "utf-8")
    write(directory, "another/broken", trace | {"setup": {"calls": [], "sorcery": 1}})
    assert main([str(directory)]) == 1
    assert main([str(directory), "--area", "another"]) == 1
    assert main([str(directory), "--area", "missing"]) == 2
    printed = capsys.readouterr()
    assert "unknown key of a setup: sorcery" in printed.out
    assert "unknown file: no_trace.json" in printed.out
    assert "missing" in printed.err


def test_a_patch_that_is_needed(tmp_path: Path) -> None:
    """A scenario that does what a patch of its trace says is superseded, and the report tells by what."""
    trace = scenario("return_forms/input_map_text")
    trace["expected"]["runs"][0]["result"]["text"] = "as the reference has it"
    path = write(tmp_path / "traces", "return_forms/patched", trace)
    patch = {"op": "replace", "path": "/runs/0/result/text", "value": "ok"}
    write(tmp_path / "patches", "return_forms/patched", {"decided_by": "D0", "why": "test", "patch": [patch]})
    outcome = run_file(path, tmp_path / "patches")
    assert (outcome.status, outcome.decided_by) == ("superseded", "D0")


def test_a_spare_operation_is_named(tmp_path: Path) -> None:
    """An operation that is not needed beside one that is changes nothing, and is named."""
    trace = scenario("return_forms/input_map_text")
    trace["expected"]["runs"][0]["result"]["text"] = "as the reference has it"
    path = write(tmp_path / "traces", "return_forms/patched", trace)
    patch = [{"op": "replace", "path": f"/runs/0/result/{name}", "value": value} for name, value in
             (("text", "ok"), ("finish_reason", "stop"))]  # fmt: skip
    write(tmp_path / "patches", "return_forms/patched", {"decided_by": "D0", "why": "test", "patch": patch})
    outcome = run_file(path, tmp_path / "patches")
    assert outcome.status == "superseded"
    assert "operation 1 of the patch is not needed any more" in outcome.diff[0]


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        ({"op": "replace", "path": "/runs/0/result/text", "value": "ok"}, "not needed any more"),
        ({"op": "remove", "path": "/runs/9"}, "does not apply"),
        ({"op": "replace", "path": "/runs/0/result/text", "value": "other"}, "and still"),
    ],
)
def test_a_stale_patch_differs(tmp_path: Path, patch: Json, said: str) -> None:
    """A patch that is not needed, cannot be applied or is not enough makes its scenario differ."""
    path = write(tmp_path / "traces", "return_forms/patched", scenario("return_forms/input_map_text"))
    write(tmp_path / "patches", "return_forms/patched", {"decided_by": "D0", "why": "test", "patch": [patch]})
    outcome = run_file(path, tmp_path / "patches")
    assert outcome.status == "differ"
    assert said in outcome.diff[0]
