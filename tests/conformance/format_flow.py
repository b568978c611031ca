"""
The format of the area ``workflow``: steps, the nodes of a flow, and the actions on a run.
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.conformance.format_ops import OBJECT, TEXTS, op_form
from tests.conformance.scenario import Json, Unknown, is_object
from tests.conformance.shapes import ANYTHING, Each, Form, Items, Kinds, Shape, check_form

__all__ = ["FLOW", "PART", "check_node"]

FLOW_OPS: Mapping[str, Form] = {
    "add": op_form("add", {"n": float}),
    "mul": op_form("mul", {"n": float}),
    "return": op_form("return", {"value": ANYTHING}),
    "echo": op_form("echo"),
    "throw": op_form("throw", {"message": str}, {"times": int}),
    "bail": op_form("bail", optional={"value": ANYTHING}),
    "suspend": op_form("suspend", optional={"payload": ANYTHING}),
    "return_resume": op_form("return_resume"),
    "set_state": op_form("set_state", {"value": OBJECT}),
    "incr_state": op_form("incr_state", {"key": str}),
    "emit": op_form("emit", optional={"type": str, "data": ANYTHING}),
    "emit_custom": op_form("emit_custom", {"type": str}, {"data": ANYTHING}),
    "abort": op_form("abort"),
    "sleep": op_form("sleep", {"ms": float}),
}
FLOW_STEP = Form(
    "a step",
    optional={
        "ops": Items(Kinds("op", FLOW_OPS)),
        "retries": int,
        "suspends": bool,
        "stateful": bool,
        "strict_input": bool,
        "read_init": bool,
        "read_step": str,
    },
)
_RESUME: Mapping[str, Shape] = {"data": ANYTHING, "step": (str, TEXTS)}
ACTIONS: Mapping[str, Form] = {
    "start": Form("start", optional={"input": ANYTHING, "initial_state": OBJECT}),
    "stream": Form("stream", optional={"input": ANYTHING, "initial_state": OBJECT}),
    "resume": Form("resume", optional=_RESUME),
    "resume_stream": Form("resume_stream", optional=_RESUME),
    "start_then_cancel": Form("start_then_cancel", optional={"input": ANYTHING, "after": float}),
}
WHEN = Form(
    "a condition",
    optional={
        "value_lt": float,
        "value_gte": float,
        "iteration_lt": int,
        "state_gte": Items(ANYTHING),
        "throws": str,
    },
    called="condition",
)
PART: Shape = (str, Form("a nested workflow", {"workflow": str, "flow": Items(OBJECT)}))
NODES: Mapping[str, Form] = {
    "then": Form("then", {"then": PART}),
    "parallel": Form("parallel", {"parallel": Items(PART)}),
    "branch": Form("branch", {"branch": Items(Form("an arm", {"when": WHEN, "then": PART}))}),
    "map": Form(
        "map",
        {"map": Form("map", optional={"pick": str, "sum_values": bool, "first_defined": bool}, called="map")},
    ),
    "map_object": Form(
        "map_object",
        {
            "map_object": Each(
                Form(
                    "a field of a map",
                    optional={"value": ANYTHING, "step": str, "init_data": ANYTHING, "path": str},
                    called="field of a map",
                )
            )
        },
    ),
    "foreach": Form("foreach", {"foreach": PART}, {"concurrency": int}),
    "dowhile": Form("dowhile", {"dowhile": PART, "when": WHEN}),
    "dountil": Form("dountil", {"dountil": PART, "when": WHEN}),
    "sleep": Form("sleep", {"sleep": float}),
}
FLOW = Form(
    "a setup",
    {"flow": Items(OBJECT)},
    {
        "steps": Each(FLOW_STEP),
        "actions": Items(Kinds("do", ACTIONS)),
        "input": ANYTHING,
        "retry_config": Form("retry_config", {"attempts": int}, {"delay": float}),
        "stateful": bool,
    },
)


def check_node(node: Json) -> None:
    """
    Raise ``Unknown`` for a node of a workflow that is none.
    """
    kind = next((key for key in node if key in NODES), None) if is_object(node) else None
    if kind is None:
        raise Unknown("node of a workflow", min(node, default="nothing") if is_object(node) else node)
    check_form(node, NODES[kind])
