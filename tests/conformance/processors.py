"""
Processors made of a scenario's setup: objects with only the hooks that are listed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from tests.conformance.format import EVERY_HOOK
from tests.conformance.notation import as_json
from tests.conformance.ops import NOTHING, HookCall, check_names, run_ops
from tests.conformance.scenario import Json, Unknown
from tests.conformance.trace import Recorder, Watch

from procession.processors.hooks import HOOK_NAMES

__all__ = ["build_processor", "prepare_step", "recorder_of_violations"]

MESSAGE_DEFAULT = frozenset({"process_input", "process_output_step", "process_output_result"})

Hook = Callable[[Any], Awaitable[Any]]


class _Hooks:
    """
    The hooks of one processor, and how often each was called.
    """

    def __init__(self, watch: Watch, recorder: Recorder, models: Mapping[str, Any], tools: Mapping[str, Any]) -> None:
        self.watch = watch
        self.recorder = recorder
        self.models = models
        self.tools = tools
        self.calls: Counter[str] = Counter()
        self.runs: Counter[tuple[str, str]] = Counter()

    def make(self, hook: str, ops: Sequence[Mapping[str, Any]]) -> Hook:
        async def method(ctx: Any) -> Any:
            invocation = self.calls[hook]
            self.calls[hook] += 1
            self.runs[hook, ctx.run_id] += 1
            self.recorder.hook(self.watch, hook, ctx, self.runs[hook, ctx.run_id])
            call = HookCall(hook, ctx, self.watch.label, invocation, self.recorder, self.models, self.tools)
            try:
                given = await run_ops(ops, call)
            except Unknown as error:
                self.recorder.unknown = error
                raise
            return default(hook, ctx) if given is NOTHING else given

        return method


def default(hook: str, ctx: Any) -> Any:
    """
    Return what a hook without a *return* op gives.
    """
    if hook in MESSAGE_DEFAULT:
        return ctx.messages
    return ctx.chunk if hook == "process_output_stream" else None


def build_processor(
    key: str, described: Json, recorder: Recorder, models: Mapping[str, Any], tools: Mapping[str, Any]
) -> Any:
    """
    Return the processor that a setup describes.
    """
    if described == EVERY_HOOK:
        hooks: dict[str, Json] = {hook: [] for hook in HOOK_NAMES}
        described = {"hooks": hooks | {"process_api_error": [{"op": "return_retry", "value": True}]}}
    spec: dict[str, Json] = described
    label = str(spec.get("label", key))
    watch = Watch(
        label,
        brief=bool(spec.get("brief", False)),
        only=spec.get("record_only"),
        stream_parts=bool(spec.get("uses_stream_parts", False)),
    )
    made = _Hooks(watch, recorder, models, tools)
    members: dict[str, Any] = {"id": str(spec.get("id", key))}
    for flag in ("process_data_parts", "uses_stream_parts", "process_tool_errors"):
        if flag in spec:
            members[flag] = bool(spec[flag])
    for hook, ops in spec.get("hooks", {}).items():
        check_names(ops, models, tools)
        members[hook] = staticmethod(made.make(hook, ops))
    processor: Any = type(f"Scenario_{key}", (), members)()
    if spec.get("on_violation"):
        processor.on_violation = recorder_of_violations(label, recorder, throws=spec["on_violation"] == "throw")
    return processor


def recorder_of_violations(label: str, recorder: Recorder, *, throws: bool = False) -> Callable[[Any], None]:
    """
    Return an ``on_violation`` that records what it is told, and then raises if it *throws*.
    """

    def on_violation(violation: Any) -> None:
        told: dict[str, Json] = {"processor_id": violation.processor_id, "message": violation.message}
        if violation.detail is not None:
            told["detail"] = as_json(violation.detail)
        recorder.note({"processor": label, "hook": "on_violation", "violation": told})
        if throws:
            raise RuntimeError("on_violation raised")

    return on_violation


def prepare_step(
    ops: Json, recorder: Recorder, models: Mapping[str, Any], tools: Mapping[str, Any]
) -> Callable[[Any], Awaitable[Any]]:
    """
    Return the ``prepare_step`` of a call: recorded like a processor's ``process_input_step``.
    """
    check_names(ops, models, tools)
    return _Hooks(Watch("prepare_step"), recorder, models, tools).make("process_input_step", ops)
