"""Isolation: what one branch does to a plain value, no other sees, nor does the caller (PAR-007)."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from dataclasses import dataclass
from typing import Any, NamedTuple

import anyio.lowlevel
import pytest
from pydantic import BaseModel, PrivateAttr
from tests.runtime.kit import make, run

from procession.runtime.isolate import copier_of, isolated
from procession.steps.step import Step
from procession.workflows.workflow import Workflow, create_workflow


class Model(BaseModel):
    """Hold a list, in sight and out of it."""

    words: list[str]
    _seen: list[str] = PrivateAttr(default_factory=list)

    @property
    def seen(self) -> list[str]:
        """What is out of sight."""
        return self._seen


@dataclass(frozen=True, slots=True)
class Data:
    """Hold a list."""

    words: list[str]


def append(ctx: Any) -> int:
    """Append to the list."""
    ctx.input["messages"].append("mine")
    return len(ctx.input["messages"])


async def iterate(ctx: Any) -> int:
    """Go through the list, letting others work meanwhile."""
    seen = 0
    for _ in ctx.input["messages"]:
        seen += 1
        for _ in range(5):
            await anyio.lowlevel.checkpoint()
    return seen


def both() -> list[Step[Any, Any]]:
    """Return the two steps."""
    return [make("iterate", iterate), make("append", append), make("again", append)]


FORMS: dict[str, Workflow[Any, Any]] = {
    "parallel": create_workflow("w").parallel(both()).commit(),
    "branch": create_workflow("w").branch([(lambda value: True, each) for each in both()]).commit(),
    "graph": create_workflow("w").add(both()[0]).add(both()[1]).add(both()[2]).commit(),
    "graph below a step": create_workflow("w")
    .add(make("root", lambda ctx: ctx.input))
    .add(both()[0], after=["root"])
    .add(both()[1], after=["root"])
    .add(both()[2], after=["root"])
    .commit(),
}


@pytest.mark.parametrize("form", FORMS)
async def test_branches_do_not_share_a_plain_value(form: str) -> None:
    """PAR-007: each branch iterates over and appends to a list of its own; the caller's is as it was."""
    value = {"messages": ["one"]}
    assert (await run(FORMS[form], value)).output == {"iterate": 1, "append": 2, "again": 2}
    assert value == {"messages": ["one"]}


async def test_limited_branches_do_not_share_a_plain_value() -> None:
    """PAR-007: also a branch that begins after another has ended is given the value as it was."""
    value = {"messages": ["one"]}
    workflow = create_workflow("w").parallel(both(), concurrency=1).commit()
    assert (await run(workflow, value)).output == {"iterate": 1, "append": 2, "again": 2}


def test_what_is_copied() -> None:
    """Containers, models and dataclasses are copied with what they hold; what is opaque is the same."""
    opaque = object()
    model = Model(words=["a"])
    model.seen.append("b")
    value: dict[str, Any] = {
        "list": [[1]], "set": {1}, "tuple": ([1],), "bytes": bytearray(b"a"), "deque": deque([[1]], 3),
        "ordered": OrderedDict(a=[1]), "default": defaultdict(list, a=[1]), "model": model, "data": Data(["a"]),
        "opaque": opaque, "plain": (1, "a"),
    }  # fmt: skip
    mine = isolated(value)
    assert {key: mine[key] for key in mine} == value
    assert mine["opaque"] is opaque
    assert mine["plain"] is value["plain"]
    mine["list"][0].append(2)
    mine["set"].add(2)
    mine["tuple"][0].append(2)
    mine["bytes"].append(2)
    mine["deque"][0].append(2)
    mine["ordered"]["a"].append(2)
    mine["default"]["b"].append(2)
    mine["model"].words.append("x")
    mine["model"].seen.append("x")
    mine["data"].words.append("x")
    assert value["list"] == [[1]]
    assert (value["set"], value["tuple"], value["bytes"]) == ({1}, ([1],), bytearray(b"a"))
    assert (list(deque(value["deque"])), value["ordered"]["a"], dict(value["default"])) == ([[1]], [1], {"a": [1]})
    assert (model.words, model.seen, value["data"]) == (["a"], ["b"], Data(["a"]))


def test_what_hangs_together_still_does() -> None:
    """A list that stands in two places, or in itself, does so in the copy."""
    inner: list[Any] = []
    inner.append(inner)
    first, second = isolated([inner, inner])
    assert first is second is first[0]
    assert first is not inner


@pytest.mark.parametrize("value", [1, "a", None, 1.5, b"", True, object(), print])
def test_what_cannot_be_changed_costs_nothing(value: Any) -> None:
    """Numbers and texts, and what is opaque, are handed on as they are."""
    assert copier_of(value) is None


class Pair(NamedTuple):
    """A named tuple that holds what can be changed."""

    words: list[str]
    number: int


class Words(list[Any]):
    """A list of one's own, which has something beside its items."""

    def __init__(self, name: str, items: list[Any]) -> None:
        super().__init__(items)
        self.name = name


class Table(dict[str, Any]):
    """A dict of one's own."""


def test_classes_made_of_containers_are_copied_too() -> None:
    """Named tuples, and one's own lists and dicts, stay what they are, and hold copies (PAR-007)."""
    given = [Pair(["a"], 1), Words("w", [["a"]]), Table(words=["a"]), Pair([], 2)]
    mine = isolated(given)
    assert mine == given
    assert [type(each) for each in mine] == [Pair, Words, Table, Pair]
    assert mine[1].name == "w"
    mine[0].words.append("b")
    mine[1][0].append("b")
    mine[2]["words"].append("b")
    assert given == [Pair(["a"], 1), Words("w", [["a"]]), Table(words=["a"]), Pair([], 2)]
