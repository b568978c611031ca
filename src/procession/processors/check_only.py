"""
Processors that only check: what they say is held against what they do.

A processor with ``check_only = True`` may run beside the model call, on messages of its own; what it changed there
would be lost without a word.  So it fails wherever it stands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from procession.errors import ProcessorError
from procession.steps.step import InlineRun

__all__ = ["changed_all_the_same", "checked_call", "only_checks"]

Inline = Callable[[Any, InlineRun, str], Any]


def checked_call(processor_id: str, call: Inline, *, is_async: bool) -> Inline:
    """
    Return *call*, which runs a processor's hook, so that it raises ``ProcessorError`` where messages were changed.
    """

    def plain(payload: Any, run: InlineRun, path: str) -> Any:
        version = payload.message_list.version
        output = call(payload, run, path)
        if payload.message_list.version != version:
            raise changed_all_the_same(processor_id, payload.hook.value, path)
        return output

    async def awaited(payload: Any, run: InlineRun, path: str) -> Any:
        version = payload.message_list.version
        output = await call(payload, run, path)
        if payload.message_list.version != version:
            raise changed_all_the_same(processor_id, payload.hook.value, path)
        return output

    return awaited if is_async else plain


def only_checks(guard: Any, *methods: str) -> bool:
    """
    Whether *guard* changes nothing, and these *methods* are this library's: a user's may do anything with a message.
    """
    kind: type[Any] = type(guard)  # pyright: ignore[reportUnknownVariableType]
    return not guard.mutates and all(getattr(kind, name).__module__.startswith("procession.") for name in methods)


def changed_all_the_same(processor_id: str, hook: str, path: str) -> ProcessorError:
    """
    Return the error of a processor, or a workflow of them, that only checks and changed messages.
    """
    return ProcessorError(
        f"processor {processor_id!r} says check_only and changed messages in {hook}",
        processor_id=processor_id,
        hook=hook,
        path=path or None,
        hint="leave check_only = True away: it then runs before the model call",
    )
