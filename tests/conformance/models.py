"""
Models and tools made of a scenario's setup.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tests.conformance.chunks import data_chunk
from tests.conformance.notation import as_json
from tests.conformance.scenario import Json, is_object
from tests.conformance.trace import Recorder

from procession.errors import ModelError
from procession.messages.usage import Usage
from procession.models.failures import kind_of
from procession.models.model import ModelRequest
from procession.testing.fake_model import FakeModel, Reply, ScriptedCall
from procession.tools.context import ToolContext
from procession.tools.tool import Tool

__all__ = ["build_model", "build_tool"]


def _error(raw: Json) -> BaseException:
    if not is_object(raw):
        return RuntimeError(str(raw))
    error: dict[str, Json] = raw
    if error.get("kind") == "plain":
        return RuntimeError(error["message"])
    status = error.get("status")
    return ModelError(
        error["message"], kind=kind_of(status), status_code=status, retryable=bool(error.get("retryable", False))
    )


def _stream_error(raw: Json) -> BaseException:
    error = _error(raw)
    return error if isinstance(error, ModelError) and error.status_code else ModelError(str(error), kind="stream")


def _reply(entry: Mapping[str, Any]) -> Reply:
    calls = [
        ScriptedCall(
            call["name"], call.get("args"), call.get("id"), call.get("raw"), tuple(call.get("stream_input") or ())
        )
        for call in entry.get("tool_calls") or ()
    ]
    usage = entry.get("usage")
    return Reply(
        entry.get("text") or (),
        reasoning=entry.get("reasoning") or (),
        tool_calls=calls,
        finish=entry.get("finish"),
        usage=Usage(usage[0], usage[1]) if usage else None,
        error=_error(entry["error"]) if "error" in entry else None,
        stream_error=_stream_error(entry["stream_error"]) if "stream_error" in entry else None,
    )


def build_model(name: str, described: Json, recorder: Recorder) -> FakeModel:
    """
    Return a model that plays the setup's script and records each call when it comes.
    """
    spec: dict[str, Json] = described if is_object(described) else {"script": described}
    replies = [_reply(entry) for entry in spec["script"]]
    repeats = bool(spec.get("repeat_last", False))

    def play() -> Iterator[Any]:
        number = 0
        while True:
            yield answer(number)
            number += 1

    def answer(number: int) -> Any:
        def told(request: ModelRequest) -> Reply:
            recorder.model_call(name, number, request)
            if number < len(replies):
                return replies[number]
            if repeats and replies:
                return replies[-1]
            raise RuntimeError(f"the script of model {name!r} ends after {len(replies)} calls")

        return told

    provider = spec.get("provider")
    return FakeModel(play(), id=f"{provider}/{name}" if provider else name, provider=provider or "fake")


def build_tool(name: str, described: Json, recorder: Recorder) -> Tool[Any]:
    """
    Return a tool that records its runs and answers as the setup says.
    """
    spec: dict[str, Json] = described
    params = list(spec.get("params") or ())
    parameters: dict[str, Any] = {
        "type": "object",
        "properties": {param: {"type": "string"} for param in params},
        "required": params,
    }
    fields: dict[str, Any] = {
        "name": name,
        "description": spec.get("description", name),
        "parameters": parameters,
    }
    if spec.get("client_side"):
        return Tool(**fields, client_side=True)

    async def execute(args: Mapping[str, Any], ctx: ToolContext) -> Any:
        recorder.note({"tool_exec": name, "args": as_json(args)})
        for chunk in spec.get("emit") or ():
            await ctx.writer.custom(data_chunk(chunk))
        if "throws" in spec:
            raise RuntimeError(spec["throws"])
        return spec.get("result")

    if "model_output" in spec:
        text = spec["model_output"]
        return Tool(**fields, execute=execute, to_model_output=lambda result: text)
    return Tool(**fields, execute=execute)
