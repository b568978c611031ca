"""
Agent scenarios: an agent made of a setup, its calls, and what they gave.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

from tests.conformance.built_ins import build_builtin
from tests.conformance.chunks import chunk_of
from tests.conformance.models import build_model, build_tool
from tests.conformance.notation import as_json, error_of, message_text, result_of
from tests.conformance.ops import our_settings, tool_choice
from tests.conformance.pipelines import build_pipeline
from tests.conformance.processors import build_processor, prepare_step
from tests.conformance.recall import AnswersFirst, build_embedder, recall_options
from tests.conformance.scenario import Json, Unknown, is_object, listing, mapping, named
from tests.conformance.trace import Recorder

from procession.agents.agent import Agent
from procession.errors import ProcessionError
from procession.models.structured_output import StructuredOutput
from procession.processors.memory.memory import Memory
from procession.steps.request_context import RequestContext
from procession.storage.memory import InMemoryStore

__all__ = ["Stage", "run_agent"]

LISTS = ("input_processors", "output_processors", "error_processors")
MEMORY_OPTIONS: Mapping[str, str] = {
    "lastMessages": "last_messages",
    "readOnly": "read_only",
    "semanticRecall": "semantic_recall",
    "workingMemory": "working_memory",
}
KEYS: Mapping[str, Any] = {"last_user_text": attrgetter("last_user_text")}
"""The functions that make a key of its parts, as setups name them."""
CHOICE = re.compile(r"if request_context\.(\w+) == (\S+|\"[^\"]*\") then \[([^\]]*)\](?: else \[([^\]]*)\])?")


class Stage:
    """
    Everything that a setup names, built once: models, tools, processors, the store and the agent.
    """

    def __init__(self, setup: Mapping[str, Json]) -> None:
        self.setup = setup
        self.recorder = Recorder(str(setup.get("record", "full")))
        self.models = {
            name: build_model(name, spec, self.recorder) for name, spec in mapping(setup.get("models")).items()
        }
        if not self.models:
            self.models["main"] = build_model("main", [], self.recorder)
        self.tools = {name: build_tool(name, spec, self.recorder) for name, spec in mapping(setup.get("tools")).items()}
        self.store = InMemoryStore()
        self.processors: dict[str, Any] = {}
        spec: Mapping[str, Json] = mapping(setup.get("agent"))
        self.remembers = "memory" in spec
        self.agent = Agent("agent", **self.agent_options(spec))

    def agent_options(self, spec: Mapping[str, Json]) -> dict[str, Any]:
        options: dict[str, Any] = {
            "model": named("model", self.models, spec.get("model", "main")),
            "instructions": spec.get("instructions", "You are a parrot."),
            "tools": [named("tool", self.tools, name) for name in spec.get("tools", list(self.tools))],
        }
        for name in LISTS:
            if name in spec:
                options[name] = self.processor_list(spec[name])
            elif f"{name}_fn" in spec:
                options[name] = self._chosen(spec[f"{name}_fn"])
        for name in ("max_processor_retries", "max_steps"):
            if name in spec:
                options[name] = spec[name]
        if self.remembers:
            options["memory"] = self._memory(mapping(mapping(spec["memory"]).get("options")))
        return options

    def _memory(self, options: Mapping[str, Json]) -> Any:
        given = memory_options(options)
        for name in given:
            if name not in inspect.signature(Memory).parameters:
                raise Unknown("memory option", name)
        embedder = mapping(self.setup.get("builtin_processors")).get("embedder")
        if embedder is not None:
            given |= {"vector": AnswersFirst(), "embedder": build_embedder(embedder)}
        return Memory(storage=self.store, **given)

    def processor(self, key: str) -> Any:
        """
        Return the processor, built-in or workflow of this key; the same one each time.
        """
        if key not in self.processors:
            own, builtin = mapping(self.setup.get("processors")), mapping(self.setup.get("builtin_processors"))
            workflow = mapping(self.setup.get("workflow"))
            if key in own:
                made: Any = build_processor(key, own[key], self.recorder, self.models, self.tools)
            elif key in builtin:
                made = build_builtin(builtin[key], self.models, self.tools, self.store, self.recorder)
            elif key == workflow.get("id"):
                made = build_pipeline(workflow, self.processor, self.recorder)
            else:
                raise Unknown("processor", key)
            self.processors[key] = made
        return self.processors[key]

    def processor_list(self, keys: Sequence[str]) -> list[Any]:
        """
        Return the processors of these keys.
        """
        return [self.processor(key) for key in keys]

    def _chosen(self, text: str) -> Any:
        found = CHOICE.fullmatch(text)
        if found is None:
            raise Unknown("function of the request context", text)
        name, literal, then, otherwise = found.groups(default="")
        try:
            value: Json = json.loads(literal)
        except ValueError:
            raise Unknown("function of the request context", text) from None
        first = self.processor_list([key.strip() for key in then.split(",") if key.strip()])
        second = self.processor_list([key.strip() for key in otherwise.split(",") if key.strip()])

        def choose(context: RequestContext) -> list[Any]:
            return first if context.get(name) == value else second

        return choose

    # -- calls

    def call_options(self, call: Mapping[str, Json], finished: dict[str, Json]) -> dict[str, Any]:
        """
        Return the options of a call, under our names.
        """
        given: Mapping[str, Json] = mapping(call.get("options"))
        context: dict[str, Any] = dict(mapping(given.get("request_context")))
        if "resource_id" in call:
            context["resource_id"] = call["resource_id"]

        def finish(result: Any) -> None:
            finished["on_finish_called"] = True

        def fail(error: BaseException) -> None:
            finished["on_error"] = error_of(error)

        options: dict[str, Any] = {
            "model_settings": {"max_retries": 0, **our_settings(mapping(given.get("model_settings")))},
            "on_finish": finish,
            "on_error": fail,
        }
        if context:
            options["request_context"] = RequestContext(context)
        if "cache_context" in call:
            options["request_context"] = _cache_context(RequestContext(context), mapping(call["cache_context"]))
        for name, value in given.items():
            match name:
                case "model_settings" | "request_context":
                    pass
                case "input_processors" | "output_processors" | "error_processors":
                    options[name] = self.processor_list(value)
                case "tool_choice":
                    options[name] = tool_choice(value)
                case "memory_options":
                    options[name] = memory_options(value)
                case "prepare_step":
                    options[name] = prepare_step(value, self.recorder, self.models, self.tools)
                case "structured_output":
                    options[name] = self._structured(value)
                case "tools":
                    options[name] = [named("tool", self.tools, key) for key in value]
                case "model":
                    options[name] = named("model", self.models, value)
                case _:
                    options[name] = value
        if self.remembers and "thread" in options:
            options.setdefault("resource", "user-1")
        return options

    def _structured(self, value: Mapping[str, Json]) -> StructuredOutput:
        from pydantic import create_model

        fields: dict[str, Any] = {name: (str, ...) for name in value["fields"]}
        options: dict[str, Any] = {}
        if "model" in value:
            options["model"] = named("model", self.models, value["model"])
        if "errorStrategy" in value:
            options["error_strategy"] = value["errorStrategy"]
        if "fallbackValue" in value:
            options["fallback_value"] = value["fallbackValue"]
        return StructuredOutput(create_model("Answer", **fields), **options)

    async def call(self, call: Mapping[str, Json]) -> dict[str, Json]:
        """
        Make one call and return what it gave.
        """
        finished: dict[str, Json] = {"on_finish_called": False}
        options = self.call_options(call, finished)
        if call["method"] == "generate":
            run = await self._generate(call["input"], options)
        else:
            run = await self._stream(call, options)
        if self.remembers and "thread" in options:
            run["storage"] = await self._stored(options["thread"])
        return run | finished

    async def _generate(self, messages: Json, options: Mapping[str, Any]) -> dict[str, Json]:
        try:
            result = await self.agent.generate(messages, **options)
        except ProcessionError as error:
            return {"thrown": error_of(error)}
        return {"result": result_of(result)} | _shown(result)

    async def _stream(self, call: Mapping[str, Json], options: Mapping[str, Any]) -> dict[str, Json]:
        chunks: list[Json] = []
        run: dict[str, Json] = {"chunks": chunks}
        try:
            async with self.agent.stream(call["input"], **options) as stream:
                if "consume" in call:
                    run["awaited"] = await _awaited(stream)
                else:
                    async for chunk in stream.full_stream:
                        chunks.append(chunk_of(chunk))
                try:
                    result = await stream.result()
                except ProcessionError as error:
                    run["get_full_output_error"] = error_of(error)
                else:
                    run["result"] = result_of(result)
                    run |= _shown(result)
        except ProcessionError as error:
            run["thrown"] = error_of(error)
        return run

    async def _stored(self, thread_id: str) -> Json:
        thread = await self.store.thread(thread_id)
        messages = await self.store.messages(thread_id)
        return {"thread_exists": thread is not None, "messages": [message_text(message) for message in messages]}


def _cache_context(context: RequestContext, given: Mapping[str, Json]) -> RequestContext:
    """
    Return *context* with what a call says differently of the response cache.
    """
    from procession.processors.cache.response_cache import ResponseCache

    options: dict[str, Any] = {}
    for name, value in given.items():
        if name == "key_fn":
            options["key"] = named("function of a key", KEYS, value)
        elif name in ("key", "scope", "bust"):
            options[name] = value
        else:
            raise Unknown("cache context", name)
    return ResponseCache.apply_context(context, **options)


def memory_options(options: Mapping[str, Json]) -> dict[str, Any]:
    """
    Return memory options under our names.
    """
    given = {named("memory option", MEMORY_OPTIONS, name): value for name, value in options.items()}
    if is_object(working := given.get("working_memory")):
        settings = {name: value for name, value in working.items() if name != "enabled"}
        given["working_memory"] = settings if working.get("enabled", True) else False
    if "semantic_recall" in given:
        given["semantic_recall"] = recall_options(given["semantic_recall"])
    return given


async def _awaited(stream: Any) -> Json:
    async for _ in stream.text_stream:
        pass
    result = await stream.result()
    return {"text": result.text, "finish_reason": result.finish_reason, "steps": len(result.steps)}


def _shown(result: Any) -> dict[str, Json]:
    metadata = [
        {"role": message.role, "metadata": as_json(message.metadata)} for message in result.messages if message.metadata
    ]
    return {"ui_messages_metadata": metadata}


async def run_agent(setup: Mapping[str, Json]) -> dict[str, Json]:
    """
    Build a scenario's agent, make its calls and return the trace.
    """
    stage = Stage(setup)
    calls: list[Mapping[str, Json]] = listing(setup.get("calls"))
    runs: list[Json] = []
    for number, call in enumerate(calls):
        if len(calls) > 1:
            stage.recorder.note({"call": number})
        runs.append(await stage.call(call))
        if stage.recorder.unknown is not None:
            raise stage.recorder.unknown
    return {"timeline": stage.recorder.timeline, "model_calls": stage.recorder.model_calls, "runs": runs}
