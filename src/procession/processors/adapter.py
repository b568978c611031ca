"""
A processor as a step: ``processor:<id>``, one step for all its hooks.

The step looks at its payload's hook and calls the method of that name, or passes the payload on.  What the hook
decided is read from its context, so that it counts even where the hook's own code swallowed it (D12).
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple, NoReturn

import anyio.to_thread

from procession.errors import (
    DefinitionError,
    MessageError,
    ProcessorDefinitionError,
    ProcessorError,
    UnreadableThread,
)
from procession.messages.chunks import TripwireInfo
from procession.processors.apply import apply_result
from procession.processors.check_only import checked_call
from procession.processors.checks import check_hooks
from procession.processors.context import HookContext, Replaced, tell
from procession.processors.contexts import CONTEXTS
from procession.processors.development import in_development, watched
from procession.processors.emptied import note_emptied
from procession.processors.hooks import Hook
from procession.processors.log import log_skipped
from procession.processors.protocols import guards, hook_methods, option
from procession.processors.time_limit import limited_hook
from procession.processors.violation import GuardOutcome, Violation
from procession.steps.own_task import IgnoredCancellation
from procession.steps.scope import RequestScope
from procession.steps.signals import Signal, Tripwire, signal_in
from procession.steps.step import InlineRun, Step
from procession.steps.stray import is_stray
from procession.workflows.validate import register_check

__all__ = ["HookCaller", "left_out", "processor_step", "report_failure"]

register_check(check_hooks)  # wherever processors are


def processor_step(owner: Any) -> Step[Any, Any]:
    """
    Return any processor, whether or not it derives from ``Processor``, as a step.

    Raises ``ProcessorDefinitionError`` for an object that is no processor.
    """
    caller = HookCaller(owner)
    inline: Callable[[Any, InlineRun, str], Any] = caller.call if caller.plain else caller.call_async
    if option(owner, "check_only"):
        inline = checked_call(owner.id, inline, is_async=not caller.plain)
    return Step(
        id=f"processor:{owner.id}",
        inline=inline,
        inline_async=not caller.plain,
        kind="processor",
        hooks=frozenset(hook.value for hook in caller.methods),
        mutates=bool(option(owner, "mutates")),
        description=option(owner, "description") or option(owner, "name") or "",
        owner=owner,
    )


class Bound(NamedTuple):
    """
    One hook of one processor, with everything looked up.
    """

    method: Callable[[Any], Any]
    is_async: bool
    context: Callable[[Any, RequestScope, Any], HookContext[Any]]
    passes: Callable[[Any, Any], bool] | None
    always: bool
    may_empty: bool
    """Whether a hook that returned nothing may have taken away, in place, what a user said."""


class HookCaller:
    """
    Calls the hooks of one processor and settles what comes of it.
    """

    __slots__ = ("_bound", "flush", "is_async", "methods", "owner", "plain", "skips", "timeout")

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self.methods = hook_methods(owner)
        self.is_async: dict[Hook, bool] = {
            hook: inspect.iscoroutinefunction(method) for hook, method in self.methods.items()
        }
        self.timeout: float | None = option(owner, "timeout")
        self.skips = option(owner, "on_error") == "skip"
        self.plain = not any(self.is_async.values()) and not option(owner, "blocking") and self.timeout is None
        if option(owner, "on_error") not in ("stop", "skip"):
            raise ProcessorDefinitionError(
                f"processor {owner.id!r} has on_error={option(owner, 'on_error')!r}", hint='it is "stop" or "skip"'
            )
        if self.timeout is not None and not _is_time(self.timeout):
            raise ProcessorDefinitionError(
                f"processor {owner.id!r} has timeout={self.timeout!r}", hint="it is a number of seconds, or None"
            )
        if in_development():
            for hook, method in self.methods.items():
                self.methods[hook] = watched(
                    owner, hook, method, is_async=self.is_async[hook], blocking=bool(option(owner, "blocking"))
                )
        if option(owner, "blocking"):
            for hook, method in self.methods.items():
                if not self.is_async[hook]:
                    self.methods[hook] = _in_thread(method)
                    self.is_async[hook] = True
        self.flush: Callable[[Any], Any] | None = getattr(owner, "flush_output_stream", None)
        """Lets go of what the processor holds back of a stream, if it does; what it returns may have to be awaited."""
        if self.timeout is not None:
            for hook, method in self.methods.items():
                self.methods[hook] = limited_hook(method, self.timeout, is_async=self.is_async[hook])
            if self.flush is not None:
                self.flush = limited_hook(self.flush, self.timeout, is_async=False)
        if guards(owner):
            for hook, method in self.methods.items():
                if hook is not Hook.OUTPUT_STREAM:  # there it is noted once, not for each chunk
                    self.methods[hook] = _looking(method, hook.value)
        self._bound = {
            hook: Bound(
                method,
                self.is_async[hook],
                CONTEXTS[hook],
                _PASSES.get(hook),
                hook in _ALWAYS,
                hook is Hook.INPUT_STEP,
            )
            for hook, method in self.methods.items()
        }

    def call(self, payload: Any, run: InlineRun, path: str) -> Any:
        """
        Call the payload's hook in place: for processors whose hooks are all plain.
        """
        try:
            bound = self._bound.get(payload.hook)
        except AttributeError:
            raise _no_payload(self.owner, payload) from None
        if bound is None:
            return payload
        method, _, context, passes, always, may_empty = bound
        if passes is not None and passes(self.owner, payload):
            return payload
        version = payload.message_list.version
        ctx = context(payload, run.scope, self.owner)
        before = payload.fork() if self.skips else None
        try:
            result = method(ctx)
            if result is not None and hasattr(result, "__await__"):
                raise _not_awaited(result)
            if ctx.verdict is None:
                if result is not None or ctx.drafts is not None or always:
                    apply_result(ctx, payload, result)
                elif may_empty and payload.message_list.version != version:
                    note_emptied(run.scope, payload.message_list, ctx.processor_id)
                return payload
        except Exception as error:
            if ctx.verdict is None:
                self._failed(ctx, payload, before, error, path)
                return payload
        except (Signal, BaseExceptionGroup) as raised:
            ctx.verdict = signal_in(raised, ctx.verdict)
        except BaseException as error:
            if not is_stray(error):
                raise
            if ctx.verdict is None:
                self._failed(ctx, payload, before, error, path)
                return payload
        self.settle(ctx, run.scope)
        return payload

    async def call_async(self, payload: Any, run: InlineRun, path: str) -> Any:
        """
        Call the payload's hook, awaiting it where it is asynchronous.
        """
        try:
            bound = self._bound.get(payload.hook)
        except AttributeError:
            raise _no_payload(self.owner, payload) from None
        if bound is None:
            return payload
        method, is_async, context, passes, always, may_empty = bound
        if passes is not None and passes(self.owner, payload):
            return payload
        version = payload.message_list.version
        ctx = context(payload, run.scope, self.owner)
        before = payload.fork() if self.skips else None
        try:
            result = method(ctx)
            if is_async:
                result = await result
            if result is not None and hasattr(result, "__await__"):
                raise _not_awaited(result)
            if ctx.verdict is None:
                if result is not None or ctx.drafts is not None or always:
                    apply_result(ctx, payload, result)
                elif may_empty and payload.message_list.version != version:
                    note_emptied(run.scope, payload.message_list, ctx.processor_id)
                return payload
        except Exception as error:
            if ctx.verdict is None:
                self._failed(ctx, payload, before, error, path)
                return payload
        except (Signal, BaseExceptionGroup) as raised:
            ctx.verdict = signal_in(raised, ctx.verdict)
        except BaseException as error:
            if not is_stray(error):
                raise
            if ctx.verdict is None:
                self._failed(ctx, payload, before, error, path)
                return payload
        self.settle(ctx, run.scope)
        return payload

    def settle(self, ctx: HookContext[Any], scope: RequestScope, outcome: GuardOutcome = "blocked") -> None:
        """
        Raise, or note, what the hook decided; *outcome* is what a verdict is listed as.
        """
        verdict = ctx.verdict
        if isinstance(verdict, Replaced):
            if scope.replacement is None:
                if scope.replaced_by != ctx.processor_id:  # in a stream it may say so of each of its own chunks
                    ctx.report("gave an answer in place of the model's", None, "modified")
                scope.replacement, scope.replaced_by = verdict.text, ctx.processor_id
            return
        if isinstance(verdict, Tripwire):
            info = verdict.info
            if info.processor_id is None:  # raised without ctx.abort()
                info = info.replace(processor_id=ctx.processor_id)
            violation = Violation(
                ctx.processor_id, info.reason, info.metadata, outcome, ctx.hook.value, ctx.step_number
            )
            scope.violations.append(violation)
            tell(self.owner, violation, scope)
            raise Tripwire(info)
        if verdict is not None:
            raise verdict

    def failure(self, ctx: HookContext[Any], error: BaseException, path: str = "") -> NoReturn:
        """
        Raise what an exception in a hook means: a tripwire of a guard, or a ``ProcessorError`` (D17).
        """
        hook = ctx.hook.value
        if option(ctx.owner, "fails_closed"):
            kind = "guard_timeout" if isinstance(error, TimeoutError) else "guard_failed"
            reason = f"{ctx.processor_id} could not check: {type(error).__name__}"
            ctx.verdict = Tripwire(TripwireInfo(reason, False, {"kind": kind}, ctx.processor_id))
            self.settle(ctx, ctx.scope, _failure_of(error))
        report_failure(ctx, error)
        raise ProcessorError(
            f"processor {ctx.processor_id!r} failed in {hook}: {self._said(error)}",
            processor_id=ctx.processor_id,
            hook=hook,
            path=path or None,
        ) from error

    def _said(self, error: BaseException) -> str:
        """
        Return what may be said of *error* to readers of the stream: another's words may quote private text.
        """
        if isinstance(error, IgnoredCancellation):
            return str(error)
        if isinstance(error, TimeoutError) and self.timeout is not None:
            return f"took longer than {self.timeout:g} s"
        # Our own about what a hook returned or asked for name fields, types and ids.
        ours = isinstance(error, (MessageError, DefinitionError, UnreadableThread))
        return str(error) if ours else type(error).__name__

    def skipped(self, ctx: HookContext[Any], error: BaseException) -> None:
        """
        Note that the processor failed and was left out.
        """
        left_out(ctx, error)

    def _failed(self, ctx: HookContext[Any], payload: Any, before: Any, error: BaseException, path: str) -> None:
        if not self.skips:
            self.failure(ctx, error, path)
        payload.message_list.adopt_state(before.message_list)
        for field in payload.changeable:
            setattr(payload, field, getattr(before, field))
        self.skipped(ctx, error)


def _is_time(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0


def _has_retry(owner: Any, payload: Any) -> bool:
    return bool(payload.retry)  # the first retry wins (D21)


def _is_other_error(owner: Any, payload: Any) -> bool:
    return bool(payload.is_error) and not option(owner, "process_tool_errors")


def _is_not_for(owner: Any, payload: Any) -> bool:
    chunk = payload.chunk
    return chunk is None or (chunk.type.startswith("data-") and not option(owner, "process_data_parts"))


_PASSES: Mapping[Hook, Callable[[Any, Any], bool]] = {
    Hook.API_ERROR: _has_retry,
    Hook.TOOL_RESULT: _is_other_error,
    Hook.OUTPUT_STREAM: _is_not_for,
}
"""When a processor is left out of a call although it has the hook."""

_ALWAYS = frozenset({Hook.INPUT, Hook.TOOL_RESULT, Hook.OUTPUT_STREAM})
"""The hooks in which something is to be done even where nothing was returned and no draft was asked for."""


def _no_payload(owner: Any, value: object) -> MessageError:
    return MessageError(
        f"processor {owner.id!r} was handed {type(value).__name__} in place of the phase's payload",
        hint="a plain step before it in a workflow of processors returns ctx.input",
    )


def _not_awaited(result: Any) -> ProcessorDefinitionError:
    """
    Return the error of a hook that gave something to await.
    """
    close = getattr(result, "close", None)
    if close is not None:
        close()
    return ProcessorDefinitionError(
        f"it returned {type(result).__name__}, which nobody awaited", hint="make the hook an async def that awaits it"
    )


def left_out(ctx: HookContext[Any], error: BaseException) -> None:
    """
    Note that the processor of *ctx* failed and is left out.
    """
    log_skipped(ctx.processor_id, ctx.hook.value, error)
    report_failure(ctx, error)


def report_failure(ctx: HookContext[Any], error: BaseException) -> None:
    """
    Report that the processor of *ctx* failed.
    """
    ctx.report(f"{ctx.processor_id} failed: {type(error).__name__}", None, _failure_of(error))


def _failure_of(error: BaseException) -> GuardOutcome:
    return "timeout" if isinstance(error, TimeoutError) else "error"


def _looking(method: Callable[[Any], Any], hook: str) -> Callable[[Any], Any]:
    """
    Return the hook *method* of a guard so that the request knows that it was asked.
    """

    def call(ctx: Any) -> Any:
        ctx.scope.note_look(ctx.processor_id, hook)
        return method(ctx)

    return call


def _in_thread(method: Callable[[Any], Any]) -> Callable[[Any], Awaitable[Any]]:
    async def call(ctx: Any) -> Any:
        # In a tuple: trio refuses what is to be awaited with words that say nothing of the hook.
        (result,) = await anyio.to_thread.run_sync(lambda: (method(ctx),), abandon_on_cancel=True)
        return result

    return call
