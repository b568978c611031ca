"""
The text guards of an answer over the strings of the value that is made of it.

Guards look at text as it is written.  In JSON an escape may stand for any character, and what a second model writes no
guard has seen: so the strings themselves are looked at, as those in a tool's result are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from procession.agents.pipelines import Pipelines
from procession.agents.state import LoopState
from procession.processors.adapter import HookCaller
from procession.processors.chain import owners
from procession.processors.payloads import ToolResultPayload
from procession.processors.strings import KEY, replace_strings, strings_in
from procession.steps.step import InlineRun

if TYPE_CHECKING:
    from procession.processors.text_guard import TextGuard

__all__ = ["guarded", "guarded_args", "output_guards"]

_NAME = "structured-output"
"""What reports of guards name in place of a tool."""


def output_guards(pipelines: Pipelines) -> list[TextGuard]:
    """
    Return the guards that may change or stop the text of an answer, each once.
    """
    if pipelines.output is None:
        return []
    kind = _text_guard()
    found: list[TextGuard] = []
    for owner in owners([pipelines.output.as_step()]):
        if isinstance(owner, kind) and not owner.passes and owner.phase != "input" and owner not in found:
            found.append(owner)
    return found


async def guarded(state: LoopState, run: InlineRun, value: Any, *, said: str | None, name: str = _NAME) -> Any:
    """
    Return JSON data as the text guards leave its strings; their reports call it *name*.

    *said* is the text that it was read from and that they have seen; without an escape in it nothing is hidden from
    them.  Raises ``Tripwire`` where one of them stops the run.
    """
    if said is not None and "\\" not in said:
        return value
    return await _through(state, run, _asked(output_guards(state.pipelines), seen=said is not None), value, name)


async def guarded_args(state: LoopState, run: InlineRun, args: Any, name: str) -> Any:
    """
    Return what tool *name* is to be called with as the guards that look at arguments leave it, where no stream had it:
    names, types and structure stay.  The same object where nothing changes.

    Raises ``Tripwire`` where one of them stops the run.
    """
    guards = [guard for guard in output_guards(state.pipelines) if guard.scan_tool_args]
    texts = {path: text for path, text in strings_in(args) if path[-1:] != (KEY,)} if guards else {}
    if not texts:
        return args
    left = dict(zip(texts, await _through(state, run, guards, list(texts.values()), name), strict=True))
    return args if left == texts else replace_strings(args, lambda path, text: left.get(path, text))


async def _through(state: LoopState, run: InlineRun, guards: Iterable[TextGuard], value: Any, name: str) -> Any:
    for guard in guards:
        payload = ToolResultPayload(
            state.messages, tool_name=name, result=value, step_number=state.step_number, steps=state.seen_steps()
        )
        await HookCaller(guard).call_async(payload, run, "")
        value = payload.result
    return value


def _asked(guards: list[TextGuard], *, seen: bool) -> Iterator[TextGuard]:
    """
    Leave out those that only ask a detector, where it has *seen* the text: it reads escapes as people do.
    """
    return (guard for guard in guards if not (seen and guard.asks and not guard.rules))


@cache
def _text_guard() -> type[TextGuard]:
    """
    Return the class of the guards; most agents have none, and it is asked for at every tool call of those that may.
    """
    from procession.processors.text_guard import TextGuard

    return TextGuard
