"""
A run as a test: a pytest file, and the data that it reads.
"""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from procession.errors import MessageError, RequestRefused
from procession.messages.chunk_reading import read_chunk
from procession.messages.chunks import Chunk, Finish, ReasoningDelta, TextDelta, ToolCall
from procession.messages.usage import NO_USAGE
from procession.runtime.event_json import plain
from procession.server.redaction import DEFAULT, WITHHELD
from procession.server.saved_run import SavedRun, verdict
from procession.server.seen_run import SeenRun
from procession.server.served import Served

__all__ = ["saved_test"]

_MASK: Final = re.compile(r"‹[a-z][a-z -]{0,30}›")
_TARGET: Final = re.compile(r"([A-Za-z_][\w.]*):([A-Za-z_][\w.]*)")
_FILL_IN: Final = "# Fill in where your code has it, such as: from shop.agents import support as target"
_NEEDED: Final = frozenset({"run.started", "stream.passed", "run.finished"})
_CUT: Final = re.compile(r'"data": "\d+ characters"')
"""What stands in place of a file."""
_ENDED: Final = frozenset({"success", "blocked", "failed"})


def saved_test(app: Served, seen: SeenRun, target: str | None) -> dict[str, Any]:
    """
    Return the test of a run that was *seen*: ``{"name", "files": {name: text}, "notes": [sentence]}``.

    *target* is where the project has what was run, ``module:name``; without it, a place is left to be filled in.

    Raises ``RequestRefused`` where no test can be made that would pass: of a run that goes on, was resumed, or has values
    that are masked in what leaves the process.
    """
    if seen.status not in _ENDED:
        raise _refused(f"it is {seen.status}", "only a run that has ended by itself can be run again in a test")
    events = seen.log.kept(-1)
    if any(event.type == "run.suspended" for event in events):
        raise _refused("it waited for a person", "answers are not replayed in a test")
    if any('"withheld":"too large"' in event.text for event in events if event.type in _NEEDED):
        raise _refused("an event of it was too large to be kept", "make the answer or the input shorter")
    if seen.log.first_seq > 0:
        raise _refused("its first events are kept no longer", "save it sooner, or raise what is kept")
    saved = _agent(seen) if seen.kind == "agent" else _workflow(seen)
    text = json.dumps(
        {name: plain(getattr(saved, name)) for name in saved.__fields__}, indent=2, ensure_ascii=False, allow_nan=False
    )
    if _CUT.search(text):
        raise _refused("it has a file, whose content is not kept", "write the test by hand, with the file beside it")
    _refuse_masked(app, text)
    name = f"test_run_{re.sub(r'[^0-9A-Za-z]+', '_', seen.run_id)[:60]}"
    notes = _notes(saved, target)
    return {
        "name": name,
        "files": {f"{name}.py": _source(saved, name, target), f"{name}.json": text + "\n"},
        "notes": notes,
    }


def _workflow(seen: SeenRun) -> SavedRun:
    asked = seen.asked or {}
    is_hook = "hook" in asked
    shared: dict[str, Any] = {
        "run_id": seen.run_id, "owner": seen.owner, "request_context": asked.get("request_context"),
        "state": asked.get("state"),
    }  # fmt: skip
    expected = {
        "status": seen.status,
        "output": seen.output,
        "tripwire": verdict(seen.tripwire),
        "error": _error_name(seen),
    }
    if is_hook:
        body = {key: value for key, value in asked.items() if key not in ("request_context", "state", "resource")}
        return SavedRun(kind="hook", given=body, expected=expected, **shared)
    return SavedRun(kind="workflow", given=seen.input, expected=expected, **shared)


def _agent(seen: SeenRun) -> SavedRun:
    error = _error_name(seen)
    if error == "ModelError":
        raise _refused("the model failed", "the failures of a model are not recorded")
    result = seen.result
    every = [*result.get("rejected", ()), *result.get("steps", ())]
    tools: dict[str, list[dict[str, Any]]] = {}
    for step in sorted(every, key=lambda step: step["step_number"]):
        for one in step["tool_results"]:
            failed = one["type"] == "tool-error"
            answer = {
                "result": one.get("error") if failed else one.get("result"),
                "is_error": failed or bool(one.get("is_error")),
            }
            tools.setdefault(one["tool_name"], []).append(answer)
    expected = {
        "status": seen.status,
        "text": result.get("text", "") if error is None else "",
        "calls": [
            {"name": call["tool_name"], "args": call["args"]}
            for step in result.get("steps", ()) if error is None
            for call in step["tool_calls"]
        ],
        "tripwire": verdict(seen.tripwire),
        "error": error,
    }  # fmt: skip
    return SavedRun(
        kind="agent", run_id=seen.run_id, owner=seen.owner, given=[_form(one) for one in seen.input], expected=expected,
        answers=_answers(seen), tools=tools,
    )  # fmt: skip


def _form(message: Mapping[str, Any]) -> dict[str, Any]:
    """
    Return a message as it is read again.
    """
    return {"role": message["role"], "content": message["text"]} if _is_text(message) else {
        "id": message["id"], "role": message["role"], "parts": message["parts"]
    }  # fmt: skip


def _is_text(message: Mapping[str, Any]) -> bool:
    return all(part.get("type") == "text" for part in message["parts"])


def _answers(seen: SeenRun) -> list[dict[str, Any]]:
    """
    Return what the model answered, turn by turn, from what of it was told; what a cache answered is left out.
    """
    turns: dict[str, list[Chunk]] = {}
    cached: set[str] = set()
    for event in seen.log.kept(-1, types=("stream.passed", "model.answered")):
        data = event.data
        turn, payload = data["node_path"].rpartition("/")[0], data["payload"]
        if event.type == "model.answered" and payload.get("cached"):
            cached.add(turn)
        came = payload.get("came") if event.type == "stream.passed" else None
        if came is None:
            continue
        try:
            chunk = read_chunk(came)
        except MessageError:
            continue  # a tool's, not the model's
        turns.setdefault(turn, []).append(chunk)
    return [_answer(chunks) for turn, chunks in turns.items() if turn not in cached]


def _answer(chunks: Sequence[Chunk]) -> dict[str, Any]:
    finish = next((chunk for chunk in chunks if isinstance(chunk, Finish)), None)
    made: dict[str, Any] = {
        "text": [chunk.text for chunk in chunks if isinstance(chunk, TextDelta)],
        "reasoning": [chunk.text for chunk in chunks if isinstance(chunk, ReasoningDelta)],
        "tool_calls": [
            {"name": chunk.tool_name, "args": plain(chunk.args), "id": chunk.tool_call_id}
            for chunk in chunks
            if isinstance(chunk, ToolCall) and not chunk.provider_executed
        ],
        "finish": finish.reason if finish is not None else None,
    }
    usage = finish.usage if finish is not None else NO_USAGE
    return {**made, "usage": plain(usage) if usage != NO_USAGE else None}


def _error_name(seen: SeenRun) -> str | None:
    error: Any = seen.error
    return error.get("name") if isinstance(error, Mapping) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def _refuse_masked(app: Served, text: str) -> None:
    """
    Raise ``RequestRefused`` where the test would hold a mask in place of a value, and so would not pass.
    """
    if app.redact is None:
        return
    hint = "an App with redact=None shows values as they are: on loopback, or with a token"
    if app.redact is not DEFAULT:
        raise _refused("values are masked by a function of your own", hint)
    if _MASK.search(text) or WITHHELD in text or app.redact(text) != text:
        raise _refused("some of its values are masked", hint)


def _refused(why: str, hint: str) -> RequestRefused:
    return RequestRefused(f"no test can be made of the run: {why}", status=409, reason="no-test", hint=hint)


def _notes(saved: SavedRun, target: str | None) -> list[str]:
    notes: list[str] = []
    if target is None:
        notes.append("Fill in where your code has it: the test says where.")
    if saved.kind == "agent":
        notes.append("The model and the tools are replayed; a processor that asks a model of its own asks it again.")
    elif saved.kind == "workflow":
        notes.append("Steps of the workflow are run, and agents in it ask their models.")
    return notes


def _source(saved: SavedRun, name: str, target: str | None) -> str:
    importing, expression = _imported(saved, target)
    checks = "\n".join(f'    assert now["{key}"] == SAVED.expected["{key}"]' for key in saved.expected)
    what = {"agent": "agent", "workflow": "workflow", "hook": "processor workflow"}[saved.kind]
    return f'''"""
Run {_plain(saved.run_id)} of {what} {_plain(saved.owner)}, saved as a test: the code as it is now still comes to the same.
"""

from pathlib import Path

import anyio

from procession.server.saved_run import SavedRun

{importing}

SAVED = SavedRun.load(Path(__file__).with_name("{name}.json"))


def {name}() -> None:
    """The outcome, the verdict and what was said are what they were."""
    now = anyio.run(SAVED.again, {expression})
{checks}
'''


def _imported(saved: SavedRun, target: str | None) -> tuple[str, str]:
    """
    Return the import of *target*, and what of it was run.

    Raises ``RequestRefused`` for what is no ``module:name``: nothing else gets into the source.
    """
    if not target:
        return f"{_FILL_IN}\nfrom FILL_IN import target", "target"
    found = _TARGET.fullmatch(target)
    names = re.split(r"[.:]", target)
    if found is None or any(not each.isidentifier() or keyword.iskeyword(each) for each in names):
        raise RequestRefused(
            "target is no module:name", status=422, reason="target", hint="such as shop.agents:support, or shop.app:app"
        )
    first, _, rest = found[2].partition(".")
    return f"from {found[1]} import {first} as target", f"target.{rest}" if rest else "target"


def _plain(text: str) -> str:
    """
    Return *text* as it may stand in a docstring.
    """
    return re.sub(r"[^\w .:@-]", "_", text)[:80]
