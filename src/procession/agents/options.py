"""
CallOptions: what a single call of an agent may say differently from the agent; and the check of what was said.

The check looks at what was given and no deeper than its type: it runs once for each call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypedDict, cast

from procession.agents.callbacks import CALLBACKS, Callback, Condition
from procession.agents.pipelines import GuardMode
from procession.agents.resolve import Models, is_function, is_models
from procession.agents.turns import THREAD_POLICIES, ThreadPolicy
from procession.errors import DefinitionError, InputError
from procession.messages.chunks import Chunk
from procession.messages.message import SystemMessage
from procession.messages.message_list import SystemInput
from procession.messages.shapes import is_sequence, yields
from procession.models.model import ToolChoice
from procession.models.structured_output import may_be_structured
from procession.processors.apply import CHOICE_HINT, NAMES_HINT, fault_of_names, is_choice
from procession.processors.chain import ProcessorList
from procession.runtime.runtime import Runtime
from procession.steps.abort import AbortSignal
from procession.steps.request_context import RequestContext
from procession.tools.tool import Approver

__all__ = ["CallOptions", "NewRunOptions", "ResumeOptions", "SharedOptions", "check_settings", "checked_options"]


class SharedOptions(TypedDict, total=False):
    """
    What a single call may say differently.  Processor lists replace the agent's own; memory's stay around them.

    ``None`` says nothing, except where an option says that it does.
    """

    request_context: RequestContext | Mapping[str, Any] | None
    """Values that steps, tools and hooks of this request may read."""
    tracing_context: Any
    """What your tracing needs, such as the present span: handed to hooks, tools and inner agents as it is."""
    thread: str | Mapping[str, Any] | None
    """The conversation, by its id, or an ``id`` with a ``title`` and ``metadata`` for it; with ``resource`` it makes the
    agent's memory take part."""
    resource: str | None
    """Whose conversation it is."""
    thread_policy: ThreadPolicy | None
    """What to do while another call runs on the thread: ``queue``, ``reject``, ``cancel_previous``."""
    model: Models | None
    """A model, a name, or a list of them: the next one is asked where one fails."""
    tools: Sequence[Any] | Mapping[str, Any] | None
    """Further tools; one with a name that the agent has takes its place."""
    require_tool_approval: Approver | None
    """Whether a person must agree to tool calls; a tool that asks for it itself needs it anyway."""
    tool_choice: ToolChoice | None
    active_tools: Sequence[str] | None
    """The names of the tools that the model is shown; ``None`` is all of them."""
    model_settings: Mapping[str, Any] | None
    provider_options: Mapping[str, Any] | None
    max_steps: int | None
    stop_when: Condition | Sequence[Condition] | None
    """Called with the accepted steps where another one would follow: whether the run ends there; any of several, none in ``[]``."""
    max_processor_retries: int | None
    """How often processors may send a step back; ``None`` is never."""
    guard_mode: GuardMode | None
    """Whether input guards that only check run ``"before"`` the model call, or beside it: ``"concurrent"``."""
    input_processors: ProcessorList | None
    output_processors: ProcessorList | None
    error_processors: ProcessorList | None
    prepare_step: Callable[[Any], Any] | None
    """Called like ``process_input_step``, after the processors."""
    raise_on_tripwire: bool | None
    abort_signal: AbortSignal | None
    """Ends the run once it is set: what was said so far is its result."""
    on_chunk: Callable[[Chunk], Any] | None
    on_step_finish: Callback | None
    """Told each step, an ``AgentStep``; one that is sent back or replaced has the finish reason ``retry``."""
    on_finish: Callback | None
    """Told the ``AgentResult`` of a run that came to its end, also by a model's error or aborted."""
    on_error: Callback | None
    """Told the error that the call raises, once."""
    on_abort: Callback | None
    """Told the ``AgentResult`` of a run that was aborted."""
    on_title_generated: Callback | None
    """Told the ``Thread`` that was given a title, where the agent's memory has titles."""
    on_iteration_complete: Callback | None
    """Told each turn of the loop, an ``Iteration``; may return ``{"continue_": False}`` or ``{"feedback": "..."}``."""


class ResumeOptions(SharedOptions, total=False):
    """
    What a call may say that goes on with a suspended run: it keeps what it was begun with.
    """

    structured_output: Any
    """What the answer is to be: a pydantic model, another type, a JSON schema, or a ``StructuredOutput``."""


class NewRunOptions(SharedOptions, total=False):
    """
    What a call may say that begins a run, besides what its answer is to be.
    """

    memory_options: Mapping[str, Any] | None
    instructions: SystemInput | Sequence[SystemInput] | None
    system: SystemInput | Sequence[SystemInput] | None
    """Further system messages for this call, tagged ``user-provided``."""
    context: Any
    """Messages that the model sees and that are neither input nor stored."""
    run_id: str | None
    """The id of the run; none that there has been."""


class CallOptions(NewRunOptions, ResumeOptions, total=False):
    """
    What a call of ``generate`` or ``stream`` may say.
    """


class _Rule(NamedTuple):
    """
    What an option must be, and what to say to whoever gave something else.
    """

    holds: Callable[[Any], bool]
    hint: str


def _anything(value: Any) -> bool:
    """
    Whoever uses it checks it.
    """
    return True


def _is_id(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _is_thread(value: Any) -> bool:
    return _is_id(value) or isinstance(value, Mapping)


def _is_policy(value: Any) -> bool:
    return isinstance(value, str) and value in THREAD_POLICIES


def _is_bool(value: Any) -> bool:
    return value is True or value is False


def _is_mapping(value: Any) -> bool:
    return isinstance(value, Mapping)


def _is_mapping_or_none(value: Any) -> bool:
    return value is None or isinstance(value, Mapping)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_limit(value: Any) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0)


def _is_tools(value: Any) -> bool:
    return hasattr(value, "__iter__") and not isinstance(value, (str, bytes))


def _is_system(value: Any) -> bool:
    return isinstance(value, (str, SystemMessage, Mapping)) or is_sequence(value)


def _is_memory(value: Any) -> bool:
    if value is None:
        return True
    from procession.processors.memory.memory import Memory  # with the first that is given

    return isinstance(value, Memory)


def _is_runtime(value: Any) -> bool:
    return value is None or isinstance(value, Runtime)


def _is_signal(value: Any) -> bool:
    return isinstance(value, AbortSignal)


def _is_condition(value: Any) -> bool:
    return _is_callback(value) or (is_sequence(value) and all(map(_is_callback, value)))


def _is_condition_or_none(value: Any) -> bool:
    return value is None or _is_condition(value)


def _is_callback(value: Any) -> bool:
    return callable(value) and not yields(value)


def _is_callback_or_none(value: Any) -> bool:
    return value is None or _is_callback(value)


def _is_guard_mode(value: Any) -> bool:
    return isinstance(value, str) and value in ("before", "concurrent")


def _is_approver(value: Any) -> bool:
    return isinstance(value, bool) or _is_callback(value)


def _is_names(value: Any) -> bool:
    return fault_of_names(value) is None


_MAPPING = _Rule(_is_mapping, "give a mapping of names to values")
_CALLBACK = _Rule(_is_callback, "give a function")
_CONDITION = _Rule(_is_condition, "give a function of the steps so far, or a list of such functions")
_ELSEWHERE = _Rule(_anything, "")
_MODEL = _Rule(is_models, 'give a model, a name such as "openai/gpt-5-mini", or a list of them')
_TOOLS = _Rule(_is_tools, "give a list of tools, made with @tool")
_SYSTEM = _Rule(_is_system, "give a text")
_SCHEMA = _Rule(may_be_structured, "give a pydantic model, a JSON schema or a StructuredOutput")
_COUNT = _Rule(_is_count, "give a count of at least 1")
_LIMIT = _Rule(_is_limit, "give a count, or None: a step is then never sent back")
_POLICY = _Rule(_is_policy, '"queue", "reject" or "cancel_previous"')
_GUARD_MODE = _Rule(_is_guard_mode, 'it is "before" or "concurrent"')
_BOOL = _Rule(_is_bool, "give True or False")

_APPROVER = _Rule(_is_approver, "give True, False, or a function of the arguments and the context")

_OF_A_CALL: Mapping[str, _Rule] = {
    "request_context": _Rule(_is_mapping, "give a RequestContext, or a mapping of names to values"),
    "tracing_context": _ELSEWHERE,
    "thread": _Rule(_is_thread, "give the id of a thread, as a text, or a mapping with it"),
    "resource": _Rule(_is_id, "give the id of whose thread it is, as a text"),
    "thread_policy": _POLICY,
    "memory_options": _MAPPING,
    "model": _MODEL,
    "instructions": _SYSTEM,
    "system": _SYSTEM,
    "context": _ELSEWHERE,
    "tools": _TOOLS,
    "require_tool_approval": _APPROVER,
    "tool_choice": _Rule(is_choice, CHOICE_HINT),
    "active_tools": _Rule(_is_names, NAMES_HINT),
    "model_settings": _MAPPING,
    "provider_options": _MAPPING,
    "structured_output": _SCHEMA,
    "max_steps": _COUNT,
    "stop_when": _CONDITION,
    "max_processor_retries": _LIMIT,
    "guard_mode": _GUARD_MODE,
    "input_processors": _ELSEWHERE,
    "output_processors": _ELSEWHERE,
    "error_processors": _ELSEWHERE,
    "prepare_step": _CALLBACK,
    "on_title_generated": _CALLBACK,
    "raise_on_tripwire": _BOOL,
    "run_id": _Rule(_is_id, "give the id of the run, as a text, or leave it out"),
    "abort_signal": _Rule(_is_signal, "give an AbortSignal"),
    **dict.fromkeys(CALLBACKS, _CALLBACK),
}

_NONE_SAYS_SOMETHING = frozenset({"active_tools", "max_processor_retries"})


def _of_request(rule: _Rule) -> _Rule:
    """
    Return the rule of a setting that may be a function of the request context as well.
    """

    def holds(value: Any) -> bool:
        return is_function(value) or rule.holds(value)

    return _Rule(holds, rule.hint)


_OF_AN_AGENT: Mapping[str, _Rule] = {
    "id": _Rule(_is_id, 'an agent needs an id: Agent("support", model=...)'),
    "model": _of_request(_MODEL),
    "instructions": _of_request(_SYSTEM),
    "tools": _of_request(_TOOLS),
    "memory": _Rule(_is_memory, "give a Memory"),
    "max_processor_retries": _LIMIT,
    "guard_mode": _GUARD_MODE,
    "max_steps": _COUNT,
    "model_settings": _Rule(_is_mapping_or_none, _MAPPING.hint),
    "provider_options": _Rule(_is_mapping_or_none, _MAPPING.hint),
    "tool_concurrency": _COUNT,
    "raise_on_tripwire": _BOOL,
    "require_tool_approval": _APPROVER,
    "thread_policy": _POLICY,
    "runtime": _Rule(_is_runtime, "give a Runtime"),
    "stop_when": _Rule(_is_condition_or_none, _CONDITION.hint),
    **dict.fromkeys(CALLBACKS, _Rule(_is_callback_or_none, _CALLBACK.hint)),
}


def checked_options(options: Mapping[str, Any]) -> CallOptions:
    """
    Return the options of a call, without those that are ``None`` and so were not given.

    Raises ``DefinitionError`` for one that does not exist, and ``InputError`` for what cannot work.
    """
    given: dict[str, Any] = {}
    for name, value in options.items():
        rule = _OF_A_CALL.get(name)
        if rule is None:
            raise DefinitionError(f"unknown option {name!r}", hint=f"a call takes {', '.join(sorted(_OF_A_CALL))}")
        if value is None and name not in _NONE_SAYS_SOMETHING:
            continue
        if not rule.holds(value):
            raise InputError(_fault(name, value, rule), hint=rule.hint)
        given[name] = value
    return cast("CallOptions", given)


def check_settings(**settings: Any) -> None:
    """
    Check what an agent is made with.

    Raises ``DefinitionError`` for what cannot work.
    """
    for name, value in settings.items():
        rule = _OF_AN_AGENT[name]
        if not rule.holds(value):
            raise DefinitionError(f"an agent's {_fault(name, value, rule)}", hint=rule.hint)


def _fault(name: str, value: Any, rule: _Rule) -> str:
    """
    Return what was given: by its type, for its content may be private, unless it is a number that was asked for.
    """
    if rule.holds is _is_names:
        return fault_of_names(value) or name
    if any(map(yields, value if is_sequence(value) else (value,))):
        return f"{name} is a generator function, of which a call runs nothing"
    if type(value) is int and rule.holds in (_is_count, _is_limit):
        return f"{name}={value}"
    return f"{name} is {'an empty text' if value == '' else type(value).__name__}"
