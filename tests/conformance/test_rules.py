"""The rules, the comparison and the patches, on small inputs."""

from collections.abc import Mapping

import pytest
from tests.conformance.compare import ANY, compare
from tests.conformance.counter import estimate_message
from tests.conformance.identifiers import numbered
from tests.conformance.notation import dumps
from tests.conformance.rules.apply import ruled, settle
from tests.conformance.scenario import Json
from tests.conformance.superseded import PatchError, apply_patch

ONE_CALL: Json = {"models": {"main": [{"text": "x"}]}, "calls": [{"method": "stream", "input": "Go"}]}
RETRY: Json = {"reason": "again", "retry": True, "processor_id": "p"}


def trace(timeline: list[Json], **run: Json) -> Json:
    """Return a trace of one run."""
    return {"timeline": timeline, "runs": [run]}


def timeline(expected: Json, setup: Json = ONE_CALL) -> list[Json]:
    """Return the timeline once the rules are applied."""
    entries: list[Json] = ruled(expected, setup)["timeline"]
    return entries


def test_steps_seen() -> None:
    """R1: the current step counts after the model call, and a tool's result belongs to the step that called it."""
    entries: Json = [
        {"hook": "process_input_step", "step": 0, "steps_so_far": 0},
        {"model_call": "main#0"},
        {"hook": "process_output_step", "step": 0, "steps_so_far": 0},
        {"hook": "process_tool_result", "step": 1, "steps_so_far": 1, "retry_count": 0},
    ]
    seen = timeline(trace(entries))
    assert [(each.get("step"), each.get("steps_so_far")) for each in seen] == [(0, 0), (None, None), (0, 1), (0, 1)]


def test_retries() -> None:
    """R2 and R7: a rejected attempt leaves the steps and their numbers, and is counted by every step hook."""
    entries: Json = [
        {"hook": "process_input_step", "step": 0, "retry_count": 0},
        {"model_call": "main#0"},
        {"hook": "process_output_step", "step": 0, "retry_count": 0},
        {"hook": "process_input_step", "step": 1, "retry_count": 1},
        {"model_call": "main#1"},
        {"hook": "process_output_stream", "part": {"type": "text-start"}},
        {"hook": "process_output_step", "step": 1, "retry_count": 1},
        {"hook": "process_output_result", "retry_count": 0, "result": {"text": "badgood", "steps": 2}},
    ]
    steps: Json = [{"text": "", "finish_reason": "retry", "tripwire": RETRY}, {"text": "good", "finish_reason": "stop"}]
    setup: Json = {**ONE_CALL, "models": {"main": [{"text": "bad"}, {"text": "good"}]}}
    expected = ruled(trace(entries, result={"text": "good", "steps": steps}), setup)
    assert [each["step"] for each in expected["timeline"] if "step" in each] == [0, 0, 0, 0]
    assert expected["timeline"][5]["retry_count"] == 1
    assert expected["timeline"][7]["result"] == {"text": ANY, "steps": 1}
    assert expected["runs"][0]["result"]["steps"] == steps[1:]
    assert expected["runs"][0]["result"]["rejected"] == [{"tripwire": RETRY}]


def test_violations() -> None:
    """R3: there is exactly one entry for a run that a listening processor stopped, recorded or not."""
    setup: Json = {**ONE_CALL, "processors": {"p": {"id": "guard", "label": "g", "on_violation": True, "hooks": {}}}}
    stopped: Json = {
        "text": "",
        "steps": [],
        "tripwire": {"reason": "no", "metadata": {"k": 1}, "processor_id": "guard"},
    }
    expected = ruled(trace([], result=stopped), setup)
    told: Json = {"processor_id": "guard", "message": "no", "detail": {"k": 1}}
    assert expected["violations"] == {"g": [told]}
    entry: Json = {"processor": "g", "hook": "on_violation", "violation": told}
    for entries, count in (([entry], 0), ([entry, entry], 1), ([], 1)):
        wanted, run, _ = settle(expected, trace(entries, result=stopped), setup)
        assert len(compare(wanted, run)) == count


def test_thread_rows() -> None:
    """R4: a thread in which nothing was ever stored has no row; one that an earlier call wrote keeps it."""
    calls: Json = [{"method": "generate", "input": "x", "options": {"thread": name}} for name in ("a", "a", "b")]
    stored: Json = [{"thread_exists": True, "messages": messages} for messages in (['user: text("x")'], [], [])]
    expected = ruled({"timeline": [], "runs": [{"storage": each} for each in stored]}, {"calls": calls})
    assert [run["storage"]["thread_exists"] for run in expected["runs"]] == [True, True, False]


def test_thrown_or_streamed() -> None:
    """R5: what the reference throws before there is a stream may come as an error chunk, after a start or not."""
    expected = ruled(trace([], thrown={"name": "Error", "message": "boom"}), ONE_CALL)
    failed: Json = {"type": "error", "error": {"name": "X", "message": "boom", "chain": []}}
    choices: list[Json] = [[failed], [{"type": "start"}, failed]]
    for chunks in choices:
        run: Json = {
            "timeline": [],
            "runs": [{"chunks": chunks, "get_full_output_error": failed["error"]}],
            "violations": {},
        }
        assert compare(expected, run) == []
    called: Json = {**ONE_CALL, "calls": [{"method": "generate", "input": "x"}]}
    assert "thrown" in ruled(trace([], thrown={"message": "boom"}), called)["runs"][0]


@pytest.mark.parametrize(
    ("got", "fits"),
    [
        ('assistant: tool-invocation(output-error boom#c1 {} !! "it went kaput"), text("x")', True),
        ('assistant: tool-invocation(output-error boom#c1 {} !! "it went wrong"), text("x")', False),
        ('assistant: tool-invocation(output-error other#c1 {} !! "it went kaput"), text("x")', False),
    ],
)
def test_wording_of_errors(got: str, fits: bool) -> None:
    """R6: of an error's text only what the scenario gives must occur."""
    setup: Json = {**ONE_CALL, "tools": {"boom": {"throws": "kaput"}}}
    recorded = 'assistant: tool-invocation(output-error boom#c1 {} !! "kaput"), text("x")'
    expected = timeline(trace([{"hook": "process_input", "messages": [recorded]}]), setup)
    assert (compare(expected, [{"hook": "process_input", "messages": [got]}]) == []) is fits


def test_wording_of_a_search_for_tools() -> None:
    """R6: of what a search for tools answered, the names and their order count, not the scores and the message."""
    results: Json = [
        {"name": "mail", "description": "Sends", "score": 3.4},
        {"name": "post", "description": "", "score": 1},
    ]
    found: Json = {"results": results, "message": "Found 2 tool(s)."}
    expected = ruled({"runs": [{"result": {"steps": [{"tool_results": [{"result": found}]}]}}]}, {})
    (step,) = expected["runs"][0]["result"]["steps"]
    said = step["tool_results"][0]["result"]
    better: Json = {"results": [{**each, "score": 9.0} for each in results], "message": "Two."}
    assert not compare(said, better)
    assert compare(said, {**better, "results": better["results"][::-1]})


def test_wording_of_prompts() -> None:
    """R6: of a built-in prompt only what it quotes must occur."""
    expected = ruled({"model_calls": [{"prompt": ['user: <built-in wording>(content="mail \\"bob\\" now")']}]}, {})
    said = dumps('Check this: mail "bob" now, please')
    quoting: Json = {"model_calls": [{"prompt": [f"user: text({said})"]}]}
    assert compare(expected, quoting) == []
    assert compare(expected, {"model_calls": [{"prompt": ['user: text("Check this")']}]}) != []


@pytest.mark.parametrize("status", [400, 401])
def test_status_of_errors(status: int) -> None:
    """R6: the status of an error is compared."""
    expected = ruled(trace([], get_full_output_error={"message": "bad", "status": 400}), ONE_CALL)
    found = compare(expected["runs"][0], {"get_full_output_error": {"message": "x", "status": status}})
    assert (found == []) is (status == 400)


def test_stream_parts() -> None:
    """R8: the number is compared with the run's own count, and only for a processor that uses it."""
    entry: Json = {"hook": "process_output_stream", "processor": "p", "part": {"type": "text-end"}}
    expected = ruled(trace([{**entry, "stream_parts": 9}]), ONE_CALL)
    for kept, own, count in ((3, 3, 0), (3, 4, 2)):
        run = trace([{**entry, "stream_parts": kept, "stream_calls": own}])
        wanted, got, _ = settle(expected, run, ONE_CALL)
        assert len(compare(wanted, got)) == count


def test_internal_keys() -> None:
    """R9: the reference's own keys are left out."""
    data: Json = {"processor:a": {"phase": "input", "keys": ["messages"]}}
    assert timeline(trace([{"map": "m", "input_data": data}]))[0]["input_data"] == {"processor:a": {"phase": "input"}}
    record: Json = {"status": "suspended", "suspend_payload": {"__workflow_meta": {"path": ["s"]}, "ask": 1}}
    expected = ruled({"runs": [{"result": {"steps": {"s": record}}}]}, {"flow": []})
    assert expected["runs"][0]["result"]["steps"]["s"]["suspend_payload"] == {"ask": 1}


@pytest.mark.parametrize(
    ("method", "hook", "usage"),
    [
        ("generate", "process_output_stream", [30, 15, 45]),
        ("stream", "process_llm_response", [30, 15, 45]),
        ("stream", "process_output_stream", {"$either": [[30, 15, 45], [10, 5, 15]]}),
    ],
)
def test_usage_after_a_tripwire(method: str, hook: str, usage: Json) -> None:
    """R10: every model call counts; one that was cut while it streamed may count or not."""
    setup: Json = {
        "models": {"main": [{"text": "x"}, {"text": "y", "usage": [20, 10]}]},
        "calls": [{"method": method, "input": "Go"}],
        "processors": {"p": {"hooks": {}}},
    }
    last: Json = {"processor": "p", "hook": hook}
    if hook == "process_output_stream":
        last["part"] = {"type": "text-delta", "text": "y"}
    entries: Json = [{"model_call": "main#0"}, {"model_call": "main#1"}, last]
    stopped: Json = {"tripwire": {"reason": "no", "processor_id": "p"}, "steps": [], "usage": [None, None, None]}
    assert ruled(trace(entries, result=stopped), setup)["runs"][0]["result"]["usage"] == usage


def test_the_token_counter() -> None:
    """R11: the counter gives the reference's numbers."""
    texts = ("You are a parrot.", "hello", "12,345.67", "línea señor añadido", "你好，世界")
    assert [round(estimate_message("system", text), 1) for text in texts] == [9.8, 5.8, 9.8, 12.8, 14.8]


def test_one_text() -> None:
    """R12: what a hook is shown as text must be that of its messages; the end of a step may carry the edited text."""
    result: Json = {"text": "X", "steps": [{"text": "X"}]}
    finish: Json = {"type": "step-finish", "reason": "stop", "text": "x"}
    expected = ruled(trace([], chunks=[finish], result=result), ONE_CALL)
    for text, differences in (("x", 0), ("X", 0), ("z", 1)):
        wanted, run, _ = settle(expected, trace([], chunks=[{**finish, "text": text}], result=result), ONE_CALL)
        assert len(compare(wanted, run)) == differences
    seen: Json = {"hook": "process_output_step", "text": "a", "shown_text": ["b"]}
    assert len(settle(expected, trace([seen], result=result), ONE_CALL)[2]) == 1
    assert len(settle(expected, trace([], result={"text": "Y", "steps": [{"text": "X"}]}), ONE_CALL)[2]) == 1


def test_workflow_events() -> None:
    """R13: results of siblings that need no time may come in any order, other events may not."""
    setup: Json = {"flow": [{"parallel": ["a", "b"]}], "steps": {"a": {"ops": []}, "b": {"ops": []}}}
    starts: Json = [{"type": "workflow-step-start", "step": step} for step in "ab"]
    results: Json = [{"type": "workflow-step-result", "step": step} for step in "ab"]
    expected = ruled({"runs": [{"events": [*starts, *results, {"type": "internal"}]}]}, setup)
    for events, differs in (
        ([*starts, *results], False),
        ([*starts, *results[::-1]], False),
        ([starts[0], results[0], starts[1], results[1]], False),
        ([*starts[::-1], *results], True),
        ([*starts, results[0]], True),
    ):
        wanted, run, _ = settle(expected, {"runs": [{"events": events}]}, setup)
        assert bool(compare(wanted, run)) is differs


@pytest.mark.parametrize(
    ("expected", "got", "count"),
    [
        ({"a": 1}, {"a": 1}, 0),
        ({"a": 1}, {"a": True}, 1),
        ({"a": 1}, {}, 1),
        ({}, {"a": 1}, 1),
        ({"a": ANY}, {}, 0),
        ([1, 2, 3], [1, 3], 1),
        ([1, {"$optional": 2}, 3], [1, 3], 0),
        ([1, {"$optional": 2}, 3], [1, 2, 3], 0),
        ([1, {"$optional": 2}, 3], [1, 4, 3], 1),
        ([{"$unordered": [1, 2]}, 3], [2, 1, 3], 0),
        ([{"$unordered": [1, 2]}, 3], [1, 1, 3], 1),
        ([1, {"$more": True}], [5, 1, 6], 0),
        ([1, {"$more": True}], [5, 6], 1),
        ({"$either": [1, 2]}, 2, 0),
        ({"$either": [1, 2]}, 3, 1),
        ({"$error": {"contains": ["a"]}}, {"message": "b", "chain": ["b", "a"]}, 0),
        ({"$error": {"contains": ["a"]}}, None, 1),
    ],
)
def test_comparison(expected: Json, got: Json, count: int) -> None:
    """Marks mean what they say, and everything else is compared exactly."""
    assert len(compare(expected, got)) == count


@pytest.mark.parametrize(
    ("patch", "after"),
    [
        ([{"op": "add", "path": "/a/1", "value": 9}], {"a": [1, 9, 2], "b/c": {"d": 1}}),
        ([{"op": "replace", "path": "", "value": 1}], 1),
        ([{"op": "remove", "path": "/b~1c/d"}], {"a": [1, 2], "b/c": {}}),
        ([{"op": "move", "from": "/a/0", "path": "/a/-"}], {"a": [2, 1], "b/c": {"d": 1}}),
        ([{"op": "copy", "from": "/a", "path": "/b~1c/e"}], {"a": [1, 2], "b/c": {"d": 1, "e": [1, 2]}}),
        ([{"op": "test", "path": "/a/0", "value": 1}], {"a": [1, 2], "b/c": {"d": 1}}),
    ],
)
def test_patches(patch: list[Json], after: Json) -> None:
    """The six operations of RFC 6902 do what it says, and leave the document that they are given alone."""
    before: Mapping[str, Json] = {"a": [1, 2], "b/c": {"d": 1}}
    assert apply_patch(before, patch) == after
    assert before == {"a": [1, 2], "b/c": {"d": 1}}


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "remove", "path": "/x"},
        {"op": "replace", "path": "/x", "value": 1},
        {"op": "remove", "path": "/a/7"},
        {"op": "add", "path": "/a/01", "value": 1},
        {"op": "test", "path": "/a/0", "value": 2},
        {"op": "frobnicate", "path": "/a"},
        {"op": "add", "path": "a", "value": 1},
    ],
)
def test_patches_that_do_not_apply(operation: Json) -> None:
    """An operation that cannot be carried out is refused and named."""
    with pytest.raises(PatchError, match="operation 0"):
        apply_patch({"a": [1, 2]}, [operation])


def test_placeholders() -> None:
    """Generated ids become placeholders in order of appearance, times one placeholder."""
    first, second = "0198a7c0-0000-7000-8000-000000000000", "0198a7c0-0000-7000-8000-000000000001"
    seen = numbered([f'x {{"id":"{second}"}}', {"id": first}, second, "2025-01-01T00:00:00+00:00"])
    assert seen == ['x {"id":"<id-1>"}', {"id": "<id-2>"}, "<id-1>", "<ts>"]


@pytest.mark.parametrize(
    ("got", "fits"),
    [
        ('assistant: tool-invocation(call t#c {"b":{"y":1,"x":2},"a":1}), text("{")', True),
        ('assistant: tool-invocation(call t#c {"b":{"y":1,"x":3},"a":1}), text("{")', False),
        ('assistant: tool-invocation(call t#c {"b":{"y":1,"x":2}}), text("{")', False),
    ],
)
def test_keys_have_no_order(got: str, fits: bool) -> None:
    """The keys of an object that stands in a text of the notation may come in any order; its values may not differ."""
    expected = 'assistant: tool-invocation(call t#c {"a":1,"b":{"x":2,"y":1}}), text("{")'
    assert (compare(expected, got) == []) is fits


def test_retries_of_a_run_that_failed() -> None:
    """R2: where neither a result nor chunks tell which attempts were rejected, and by whom, the hooks do."""
    entries: Json = [
        {"hook": "process_input_step", "step": 0, "retry_count": 0},
        {"model_call": "main#0"},
        {"hook": "process_output_step", "step": 0, "retry_count": 0},
        {"hook": "process_input_step", "step": 1, "retry_count": 1},
        {"model_call": "main#1"},
        {"hook": "process_api_error", "step": 1, "retry_count": 1},
        {"hook": "process_input_step", "step": 1, "retry_count": 2},
        {"model_call": "main#2"},
        {"hook": "process_output_step", "step": 1, "retry_count": 2},
    ]
    setup: Json = {**ONE_CALL, "calls": [{"method": "generate", "input": "Go"}]}
    seen = timeline(trace(entries, thrown={"message": "boom"}), setup)
    assert [each["step"] for each in seen if each.get("hook") in ("process_input_step", "process_output_step")] == [
        0
    ] * 5


def test_usage_of_a_later_step_that_was_cut() -> None:
    """R10: a call that was cut in a later step may count or not, also where earlier steps were counted."""
    setup: Json = {
        "models": {"main": [{"text": "x"}, {"text": "y"}]},
        "calls": [{"method": "stream", "input": "Go"}],
        "processors": {"p": {"hooks": {}}},
    }
    last: Json = {"processor": "p", "hook": "process_output_stream", "part": {"type": "text-delta", "text": "y"}}
    entries: Json = [{"model_call": "main#0"}, {"model_call": "main#1"}, last]
    stopped: Json = {"tripwire": {"reason": "no", "processor_id": "p"}, "steps": [{"text": "x"}], "usage": [10, 5, 15]}
    usage = ruled(trace(entries, result=stopped), setup)["runs"][0]["result"]["usage"]
    assert usage == {"$either": [[20, 10, 30], [10, 5, 15]]}


def test_violations_of_a_patched_trace() -> None:
    """R3: a tripwire that a patch has put into a trace owes its entry, too."""
    setup: Json = {**ONE_CALL, "processors": {"p": {"on_violation": True, "hooks": {}}}}
    passed = ruled(trace([], result={"text": "x", "steps": []}), setup)
    stopped: Json = {"text": "", "steps": [], "tripwire": {"reason": ANY, "processor_id": "p"}}
    patched = apply_patch(passed, [{"op": "replace", "path": "/runs/0/result", "value": stopped}])
    told: Json = {"processor": "p", "hook": "on_violation", "violation": {"processor_id": "p", "message": "no"}}
    run: Json = {"text": "", "steps": [], "tripwire": {"reason": "no", "processor_id": "p"}}
    for entries, count in (([told], 0), ([], 1)):
        wanted, got, _ = settle(patched, trace(entries, result=run), setup)
        assert len(compare(wanted, got)) == count
