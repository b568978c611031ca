"""
SavedRun: what a run was given and came to, kept in a file, to be run again in a test.

The Studio's "Save as test" writes the file, and a test that reads it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from procession.agents.agent import Agent
from procession.errors import InputError, ProcessionError
from procession.messages.shapes import is_form
from procession.messages.usage import Usage
from procession.messages.value import Value
from procession.runtime.event_json import plain
from procession.runtime.runtime import Runtime
from procession.server.catalog import catalog
from procession.server.hook_input import hook_call, hook_output
from procession.server.run_json import shown
from procession.server.served import Served
from procession.steps.request_context import RequestContext
from procession.steps.schema import schema_of
from procession.testing.fake_model import FakeModel, Reply, ScriptedCall
from procession.tools.tool import Tool
from procession.workflows.workflow import Workflow

__all__ = ["SavedRun", "verdict"]

STATUSES: Final = {"completed": "success", "aborted": "cancelled"}
"""How runs of all kinds are said to have ended, where agents say it differently."""
_ANYTHING: Final[Mapping[str, Any]] = {"type": "object", "additionalProperties": True}

Json = Mapping[str, Any]


class SavedRun(Value, kw_only=True):
    """
    A run that was saved.

    >>> saved = SavedRun(kind="workflow", run_id="r", owner="twice", given=4, expected={"status": "success", "output": 8})
    >>> from procession.workflows.workflow import create_workflow
    >>> import anyio
    >>> anyio.run(saved.again, create_workflow("twice", int).map(lambda n: 2 * n).commit())["output"]
    8
    """

    kind: Literal["agent", "workflow", "hook"]
    run_id: str
    owner: str
    given: Any
    """The messages of an agent, the input of a workflow, the body that a hook was run with."""
    expected: Json
    state: Json | None = None
    request_context: Json | None = None
    answers: Sequence[Json] = ()
    """What the model answered, call by call."""
    tools: Mapping[str, Sequence[Json]] = {}
    """What each tool answered, call by call: ``{"result", "is_error"}``."""

    @classmethod
    def load(cls, path: str | Path) -> SavedRun:
        """
        Read a saved run from a file.

        Raises ``OSError`` for a file that cannot be read, ``InputError`` for one that holds no saved run.
        """
        try:
            return cls(**json.loads(Path(path).read_text(encoding="utf-8")))
        except (ValueError, TypeError) as error:
            raise InputError(f"{Path(path).name} holds no saved run: {type(error).__name__}") from None

    async def again(self, target: Any) -> dict[str, Any]:
        """
        Run *target*, which the run was of, on the same input, and return what it came to, by the names of ``expected``.

        The model and the tools of an agent are replayed; what processors ask of models of their own is asked again.
        Steps of a workflow are run.

        *target* may also be the app, or the agent, that has it.  Raises ``InputError`` for one that is not of this kind.
        """
        found = self._found(target)
        if self.kind == "agent" and isinstance(found, Agent):
            return await self._agent(found)
        if self.kind != "agent" and isinstance(found, Workflow):
            return await self._workflow(found)  # pyright: ignore[reportUnknownArgumentType]
        wanted = "an agent" if self.kind == "agent" else "a workflow"
        raise InputError(f"the saved run is one of {wanted}, not of {target!r}", hint="name it in the test's import")

    def _found(self, target: Any) -> Any:
        """
        Return what the run was of, where *target* is an app that has it, or an agent with the list.
        """
        if isinstance(target, Served) and self.kind == "agent":
            return target.agents.get(self.owner)
        if isinstance(target, Served):
            listed = catalog(target).get(self.owner)
            return listed.workflow if listed is not None else None
        if isinstance(target, Agent) and self.kind == "hook":
            return next((each for each in target.processor_workflows if each.id == self.owner), None)
        return target

    async def _workflow(self, workflow: Workflow[Any, Any]) -> dict[str, Any]:
        what: Any = workflow
        if self.kind == "hook":
            what, value = hook_call(workflow, self.given)
        else:
            schema = schema_of(workflow.input_type)
            value = self.given if schema is None else schema.validate(self.given, where="input")
        run = Runtime().create_run(
            what, durable=False, state=self.state, request_context=_context(self.request_context)
        )
        result = await run.start(value)
        output = hook_output(result.output) if self.kind == "hook" else shown(result.output)
        return {
            "status": result.status,
            "output": output,
            "tripwire": verdict(plain(result.tripwire)),
            "error": type(result.error).__name__ if result.error is not None else None,
        }

    async def _agent(self, agent: Agent) -> dict[str, Any]:
        model = FakeModel([_reply(answer) for answer in self.answers], id="saved")
        options: dict[str, Any] = {"model": model, "tools": _tools(self.tools), "raise_on_tripwire": False}
        if self.request_context is not None:
            options["request_context"] = self.request_context
        try:
            async with agent.stream(self.given, **options) as stream:
                result = await stream.result()
        except ProcessionError as error:
            return {"status": "failed", "text": "", "calls": [], "tripwire": None, "error": type(error).__name__}
        return {
            "status": STATUSES.get(result.status, result.status),
            "text": result.text,
            "calls": [{"name": call.tool_name, "args": plain(call.args)} for call in result.tool_calls],
            "tripwire": verdict(plain(result.tripwire)),
            "error": type(result.error).__name__ if result.error is not None else None,
        }


def verdict(tripwire: Any) -> dict[str, Any] | None:
    """
    Return what a test holds a verdict to: who gave it, and why.
    """
    if not is_form(tripwire):
        return None
    return {"processor_id": tripwire.get("processor_id"), "reason": tripwire.get("reason")}


def _context(values: Json | None) -> Any:
    return RequestContext(dict(values)) if values is not None else None


def _reply(answer: Json) -> Reply:
    usage = answer.get("usage")
    return Reply(
        text=answer.get("text", ()),
        reasoning=answer.get("reasoning", ()),
        tool_calls=[ScriptedCall(call["name"], call["args"], call["id"]) for call in answer.get("tool_calls", ())],
        finish=answer.get("finish"),
        usage=Usage(**usage) if usage is not None else None,
    )


def _tools(recorded: Mapping[str, Sequence[Json]]) -> list[Tool[Any]]:
    return [
        Tool(name=name, parameters=_ANYTHING, execute=_Recorded(name, results).answer)
        for name, results in recorded.items()
    ]


class _Recorded:
    """
    A tool that answers what it answered before.
    """

    def __init__(self, name: str, results: Sequence[Json]) -> None:
        self._name = name
        self._results = iter(results)

    def answer(self, args: Mapping[str, Any], ctx: Any) -> Any:
        recorded = next(self._results, None)
        if recorded is None:
            raise InputError(f"tool {self._name!r} was called more often than in the saved run")
        if recorded["is_error"]:
            raise InputError(str(recorded["result"]))
        return recorded["result"]
