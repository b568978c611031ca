"""The format of a setup: all of it is known, and whatever is not of it is named."""

from copy import deepcopy

import pytest
from tests.conformance.format import check_setup
from tests.conformance.ops import CONDITIONS, OPS
from tests.conformance.runner import run_setup
from tests.conformance.scenario import Json, Unknown
from tests.conformance.superseded import apply_patch
from tests.conformance.transforms import CHANGES

from procession.processors.hooks import HOOK_NAMES

SETUP: Json = {
    "models": {
        "main": {
            "script": [
                {
                    "reasoning": ["h", "m"],
                    "text": ["a", "b"],
                    "tool_calls": [
                        {"id": "c1", "name": "weather", "args": {"city": "A"}, "stream_input": ["{", "}"]},
                        {"id": "c2", "name": "boom", "raw": "{}"},
                    ],
                    "finish": "tool-calls",
                    "usage": [3, 4],
                },
                {"error": {"message": "busy", "status": 503, "retryable": True}},
                {"text": "half", "stream_error": {"kind": "plain", "message": "gone"}},
                {"text": "done"},
            ],
            "repeat_last": True,
            "provider": "fake",
        },
        "alt": [{"text": "x"}],
    },
    "tools": {
        "weather": {"params": ["city"], "result": 1, "model_output": "one", "emit": [{"type": "data-a", "data": 1}]},
        "boom": {"params": [], "throws": "kaput"},
        "client": {"params": [], "client_side": True},
    },
    "processors": {
        "p": {
            "id": "pp",
            "label": "P",
            "process_data_parts": True,
            "on_violation": "throw",
            "record_only": ["text-delta"],
            "brief": True,
            "hooks": {
                "process_input": [{"op": "edit_in_place", "map_text": {"prefix": ">"}, "role": "user"}],
                "process_input_step": [
                    {
                        "op": "return_override",
                        "model": "main",
                        "toolChoice": {"type": "tool", "toolName": "weather"},
                        "tools": {"keep_existing": True, "add": ["boom"]},
                        "when": {"step": 0, "retry_eq": 0},
                    }
                ],
                "process_api_error": [{"op": "return_retry", "value": True, "when": {"retry_lt": 5}}],
            },
        },
        "q": {"hooks": {"process_output_result": []}},
    },
    "workflow": {
        "id": "wf",
        "steps": [
            {"parallel": ["q", {"workflow": "inner", "steps": [{"then": "p"}]}]},
            {"map_log": "after"},
            {"branch": [{"if_message_contains": "a", "then": "r"}, {"default": True, "then": "s"}]},
            {"map_select": "r"},
        ],
    },
    "agent": {"instructions": "Be.", "tools": ["weather", "boom"], "input_processors": ["wf"], "max_steps": 3},
    "record": "mid",
    "calls": [
        {
            "method": "stream",
            "input": [{"role": "user", "content": "Go"}],
            "options": {"max_steps": 2, "tool_choice": "auto", "context": ["c"], "request_context": {"k": 1}},
        }
    ],
}
SETUP["processors"] |= {"r": {"hooks": {"process_output_result": []}}, "s": {"hooks": {"process_input": []}}}


def test_all_of_the_format_runs() -> None:
    """A setup with a bit of everything is known, and runs to its end."""
    check_setup(SETUP)
    trace = run_setup("any", SETUP)
    assert trace["runs"][0]["result"]["finish_reason"] == "stop"


def test_the_tables_agree() -> None:
    """Every op, condition and transform that the format has is carried out, and none beside."""
    from tests.conformance import format_ops

    assert set(format_ops.OPS) == set(OPS)
    assert set(format_ops.CONDITIONS.optional) == set(CONDITIONS)
    assert set(format_ops.TRANSFORM.optional) == {*CHANGES, "role"}


HOOK = "/processors/p/hooks/process_input"


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("/sorcery", 1, "key of a setup: sorcery"),
        ("/record", "loud", "record of a setup: 'loud'"),
        ("/models/main/script/0/beam", 1, "key of a model's script: beam"),
        ("/models/main/script/0/finish", "bored", "finish of a model's script: 'bored'"),
        ("/models/main/script/0/tool_calls/0/spell", 1, "key of a tool call: spell"),
        ("/models/main/script/1/error", {"status": 1}, "an error: one without message"),
        ("/models/main/mood", 1, "key of a model: mood"),
        ("/tools/weather/lightning", 1, "key of a tool: lightning"),
        ("/tools/weather/params", "city", "params of a tool: 'city'"),
        ("/processors/p/colour", 1, "key of a processor: colour"),
        ("/processors/p/hooks/process_dreams", [], "hook: process_dreams"),
        (HOOK, {"op": "throw"}, "process_input of hooks: {'op': 'throw'}"),
        (HOOK, [{"op": "frobnicate"}], "frobnicate"),
        (HOOK, ["throw"], "'throw'"),
        (HOOK, [{"op": "throw"}], "op throw: one without message"),
        (HOOK, [{"op": "throw", "message": 5}], "message of op throw: 5"),
        (HOOK, [{"op": "abort", "reasn": "x"}], "key of op abort: reasn"),
        (HOOK, [{"op": "abort", "options": {"loud": True}}], "abort option: loud"),
        (HOOK, [{"op": "abort", "when": {"moon_phase": 1}}], "condition: moon_phase"),
        (HOOK, [{"op": "abort", "when": {"step": "first"}}], "step of a condition: 'first'"),
        (HOOK, [{"op": "return_messages", "transform": {"shuffle": True}}], "transform: shuffle"),
        (HOOK, [{"op": "return_messages", "transform": {"map_text": {"rot": 13}}}], "map_text: rot"),
        (HOOK, [{"op": "list_add", "role": "user", "text": "x", "source": "moon"}], "source of op list_add: 'moon'"),
        (HOOK, [{"op": "signal", "signal": {"type": "reactive", "smoke": 1}}], "key of a signal: smoke"),
        (HOOK, [{"op": "return_override", "model": "venus"}], "model: venus"),
        (HOOK, [{"op": "return_override", "tools": {"set": ["axe"]}}], "tool: axe"),
        ("/workflow/steps/0", {"parallel": ["q"], "hop": 1}, "key of parallel: hop"),
        ("/workflow/steps/0", {"hop": "q"}, "node of a workflow: hop"),
        ("/workflow/steps/0", {"then": "zz"}, "processor: zz"),
        ("/workflow/steps/2/branch/0/if_moon", "x", "condition of a branch: if_moon"),
        ("/workflow/steps/0/parallel/1/colour", 1, "key of a nested workflow: colour"),
        ("/agent/colour", 1, "key of an agent: colour"),
        ("/agent/model", "venus", "model: venus"),
        ("/agent/tools", ["axe"], "tool: axe"),
        ("/agent/input_processors", ["zz"], "processor: zz"),
        ("/agent/memory", {"options": {"dreams": 1}}, "memory option: dreams"),
        ("/calls/0/method", "telepathy", "method of a call: 'telepathy'"),
        ("/calls/0/hurry", 1, "key of a call: hurry"),
        ("/calls/0/options/mood", "good", "option of a call: mood"),
        ("/calls/0/options/max_steps", "3", "max_steps of a call's options: '3'"),
        ("/calls/0/options/prepare_step", [{"op": "jump"}], "jump"),
        ("/calls/0/options/structured_output", {"fields": ["a"], "model": "venus"}, "model: venus"),
        ("/calls/0/options/memory_options", {"dreams": 1}, "memory option: dreams"),
    ],
)
def test_what_is_not_of_the_format_is_named(path: str, value: Json, said: str) -> None:
    """A key, a word, a name or a value that the format does not have is unknown, wherever it stands."""
    setup = apply_patch(deepcopy(SETUP), [{"op": "add", "path": path, "value": value}])
    if path == "/workflow/steps/0":
        setup["workflow"]["steps"].pop(1)
    with pytest.raises(Unknown) as raised:
        run_setup("any", setup)
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("operation", "said"),
    [
        ({"frob": 1}, "operation on a message list: frob"),
        ({"add": "x", "sauce": "input"}, "key of add: sauce"),
        ({"add": "x", "source": "moon"}, "source of add: 'moon'"),
        ({"view": "all.v9"}, "view: all.v9"),
        ({"update_tool": {"state": "result"}}, "a tool call: one without toolCallId"),
    ],
)
def test_an_unknown_operation_on_a_message_list_is_named(operation: Json, said: str) -> None:
    """What cannot be done to a message list is unknown."""
    with pytest.raises(Unknown, match=said):
        run_setup("message_list", {"ops": [operation]})


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("/flow/0", {"hop": "a"}, "node of a workflow: hop"),
        ("/flow/0", {"then": "z"}, "step: z"),
        ("/flow/0", {"foreach": "a", "speed": 2}, "key of foreach: speed"),
        ("/flow/0", {"dowhile": "a", "when": {"moon": 1}}, "condition: moon"),
        ("/steps/a/ops", [{"op": "jump"}], "jump"),
        ("/steps/a/colour", 1, "key of a step: colour"),
        ("/actions/0", {"do": "teleport"}, "teleport"),
        ("/actions/0/hurry", 1, "key of start: hurry"),
        ("/weather", 1, "key of a setup: weather"),
    ],
)
def test_what_is_not_of_the_format_of_a_flow_is_named(path: str, value: Json, said: str) -> None:
    """The setups of the area ``workflow`` are looked at in the same way."""
    flow: Json = {"steps": {"a": {"ops": [{"op": "echo"}]}}, "flow": [{"then": "a"}], "actions": [{"do": "start"}]}
    operation = "replace" if path in ("/flow/0", "/actions/0") else "add"
    with pytest.raises(Unknown, match=said):
        run_setup("workflow", apply_patch(flow, [{"op": operation, "path": path, "value": value}]))


def test_a_strict_step_refuses_other_input() -> None:
    """A step with ``strict_input`` takes an object with a number, and fails for anything else."""
    flow: Json = {
        "steps": {"a": {"ops": [{"op": "return", "value": {"value": "x"}}]}, "b": {"ops": [], "strict_input": True}},
        "flow": [{"then": "a"}, {"then": "b"}],
        "actions": [{"do": "start", "input": {"value": 1}}],
    }
    result = run_setup("workflow", flow)["runs"][0]["result"]
    assert (result["status"], result["steps"]["b"]["status"]) == ("failed", "failed")


def test_every_hook_can_be_given_every_condition() -> None:
    """A condition about something that a hook is not given is not met there, and breaks nothing."""
    values: Json = {
        "step": 9, "step_gt": 9, "retry_lt": 0, "retry_eq": 9, "part_type": "x", "part_contains": "x",
        "text_contains": "x", "any_message_contains": "x", "invocation": 99, "tool": "x", "error_contains": "x",
        "state_gte": ["n", 1],
    }  # fmt: skip
    assert set(values) == set(CONDITIONS)
    ops: Json = [{"op": "abort", "when": {name: value}} for name, value in values.items()]
    retry: Json = {"op": "return_retry", "value": True}
    hooks: Json = {hook: [*ops, retry] if hook == "process_api_error" else ops for hook in HOOK_NAMES}
    setup: Json = {
        "models": {"main": [{"error": {"message": "e"}}, {"tool_calls": [{"id": "c", "name": "t"}]}, {"text": "ok"}]},
        "tools": {"t": {"result": 1}},
        "processors": {"p": {"hooks": hooks}},
        "agent": {"input_processors": ["p"], "output_processors": ["p"]},
        "calls": [{"method": "generate", "input": "Go"}],
    }
    trace = run_setup("any", setup)
    assert {entry["hook"] for entry in trace["timeline"] if "hook" in entry} == set(HOOK_NAMES)
    assert trace["runs"][0]["result"]["text"] == "ok"


@pytest.mark.parametrize(
    ("text", "context", "seen"),
    [
        ('if request_context.mode == "b c" then [p, q] else [q]', {"mode": "b c"}, ["p", "q"]),
        ('if request_context.mode == "b c" then [p, q] else [q]', {}, ["q"]),
        ("if request_context.level == 2 then [p] else []", {"level": 2}, ["p"]),
        ("if request_context.level == 2 then [p]", {"level": 3}, []),
    ],
)
def test_lists_that_depend_on_the_request(text: str, context: Json, seen: list[str]) -> None:
    """A list may be described as a choice by a value of the request context, for any of the three lists."""
    hooks: Json = {"hooks": {"process_output_step": []}}
    setup: Json = {
        "models": {"main": [{"text": "ok"}]},
        "processors": {"p": hooks, "q": hooks},
        "agent": {"output_processors_fn": text},
        "calls": [{"method": "generate", "input": "Go", "options": {"request_context": context}}],
    }
    timeline = run_setup("any", setup)["timeline"]
    assert [entry["processor"] for entry in timeline if "hook" in entry] == seen
