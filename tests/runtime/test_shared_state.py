"""Shared state: contributions of steps, by key, with types, reducers and a way back."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

import pytest
from annotated_types import Gt
from pydantic import BaseModel, ConfigDict, Field

from procession.errors import DefinitionError, MergeConflict, SchemaError
from procession.runtime.shared_state import UNSET, SharedState
from procession.steps.state_type import ANYTHING, state_type_of

FORKS = (("", frozenset(("a", "b", "x"))),)


class Seen(TypedDict, total=False):
    """What was seen."""

    count: int
    words: list[str]


class Model(BaseModel):
    """The same with defaults and bounds."""

    count: Annotated[int, Gt(0)] = 1
    words: list[str] = Field(default_factory=list)
    later: str


class Open(BaseModel):
    """One key, and any other."""

    model_config = ConfigDict(extra="allow")
    count: int = 0


def joined(old: list[Any], new: list[Any]) -> list[Any]:
    """Add to a list, in place."""
    old += new
    return old


def test_what_is_set_is_seen_at_once() -> None:
    """A key has the value that was set last, until it is taken away."""
    state = SharedState({"a": 1})
    state.set("s", "b", 2)
    assert state.values == {"a": 1, "b": 2}
    state.unset("s", "a")
    state.unset("s", "nothing")
    assert state.values == {"b": 2}
    assert state.written_by("s") == [("b", 2), ("a", UNSET), ("nothing", UNSET)]
    assert state.written_by("other") == []
    assert state.first == {"a": 1}


def test_nothing_is_shared_with_the_state() -> None:
    """What was given, set or handed out can be changed without changing the state."""
    words = ["one"]
    state = SharedState()
    state.set("s", "words", words)
    words.append("two")
    copy = state.copy()
    copy["words"].append("three")
    copy["new"] = 1
    assert state.values == {"words": ["one"]}


def test_a_reducer_counts_each_contribution_once() -> None:
    """What a step set is taken back and set again without counting twice, whatever was set between."""
    state = SharedState({"all": [0]}, reducers={"all": joined})
    state.set("a", "all", [1])
    state.set("b", "all", [2])
    state.set("a", "all", [3])
    assert state.values == {"all": [0, 1, 2, 3]}
    state.undo("a")
    assert state.values == {"all": [0, 2]}
    state.set("a", "all", [1])
    assert state.values == {"all": [0, 2, 1]}
    assert state.first == {"all": [0]}


def test_undoing_brings_back_what_was_there() -> None:
    """A key that only the undone step had set is gone, one that it took away is back; what it called stays or goes."""
    state = SharedState({"kept": 1})
    state.set("a", "n", 1)
    state.unset("a", "kept")
    state.set("a/inner", "m", 1)
    state.set("ab", "k", 1)
    state.undo("a")
    assert state.values == {"kept": 1, "m": 1, "k": 1}
    state.undo("a", below=True)
    assert state.values == {"kept": 1, "k": 1}
    state.undo("nobody")
    assert state.values == {"kept": 1, "k": 1}


def test_contributions_are_restored() -> None:
    """What was written down of each step makes the same state again."""
    state = SharedState(reducers={"n": max})
    state.set("a", "n", 3)
    state.set("b", "n", 2)
    state.set("b", "m", 1)
    state.unset("b", "m")
    again = SharedState(reducers={"n": max})
    for path in ("a", "b"):
        again.restore(path, state.written_by(path))
    assert again.values == state.values == {"n": 3}


def test_branches_do_not_race() -> None:
    """Two branches set a key to one value, or with a reducer; another value, or taking it away, is a conflict."""
    state = SharedState(reducers={"all": joined})
    for path in ("a", "b/inner"):
        state.set(path, "same", 1, FORKS)
        state.set(path, "all", [path], FORKS)
    assert state.values == {"same": 1, "all": ["a", "b/inner"]}
    with pytest.raises(MergeConflict, match="'b'.*'x\\[1\\]/s'") as caught:
        state.set("b", "mine", 1, FORKS)
        state.set("b", "mine", 2, FORKS)
        state.set("x[1]/s", "mine", 3, FORKS)
    assert "reducer" in (caught.value.hint or "")
    with pytest.raises(MergeConflict):
        state.unset("a", "mine", FORKS)
    state.set("after", "mine", 3, FORKS)
    state.set("x", "mine", 4)
    assert state.values["mine"] == 4


@pytest.mark.parametrize("kind", [Seen, Model])
def test_keys_have_types(kind: Any) -> None:
    """A value is checked against its key's type, what a reducer makes of it too, and there are no other keys."""
    state = SharedState(reducers={"count": lambda old, new: new and old + new}, type=state_type_of(kind, "w"))
    state.set("s", "count", "2")
    assert state.values["count"] in (2, 3)
    with pytest.raises(SchemaError, match="state 'words'"):
        state.set("s", "words", 3)
    with pytest.raises(SchemaError, match="no 'other'") as caught:
        state.set("s", "other", 3)
    assert "count, words" in (caught.value.hint or "")
    assert caught.value.path == "s"
    with pytest.raises(SchemaError, match="no 'other'"):
        state.unset("s", "other")
    with pytest.raises(SchemaError, match="state 'count'"):
        SharedState({"count": "many"}, type=state_type_of(kind, "w"))


def test_a_model_has_defaults() -> None:
    """Defaults are there from the first, each run with its own; bounds hold; what has no default may come later."""
    kind = state_type_of(Model, "w")
    one, two = SharedState(type=kind), SharedState({"words": ["x"]}, type=kind)
    assert (one.values, two.values) == ({"count": 1, "words": []}, {"count": 1, "words": ["x"]})
    one.values["words"].append("mine")
    assert SharedState(type=kind).values["words"] == []
    with pytest.raises(SchemaError, match="state 'count'"):
        one.set("s", "count", 0)
    opened = SharedState({"x": 1}, type=state_type_of(Open, "w"))
    assert opened.values == {"count": 0, "x": 1}


def test_a_workflow_inside_adds_its_keys() -> None:
    """The keys of a workflow inside are added to those of the one around it, whose types count."""
    both = state_type_of(Seen, "w").over(state_type_of(Model, "inner"))
    assert list(both.types) == ["count", "words", "later"]
    assert both.check("count", 0) == 0
    assert not both.is_open
    assert ANYTHING.over(state_type_of(Seen, "inner")).is_open


@pytest.mark.parametrize("wrong", [int, dict, {"count": int}, "Seen", Model(later="x")])
def test_what_is_no_state_type(wrong: Any) -> None:
    """Only a ``TypedDict`` or a pydantic model says what a state holds."""
    with pytest.raises(DefinitionError, match="state_type"):
        state_type_of(wrong, "w")


def test_what_a_reducer_refuses_was_never_set() -> None:
    """A step that goes on after it leaves nothing that would be refused again when another step is taken back."""

    def shorter(old: str, new: str) -> str:
        if new == "long":
            raise ValueError("too long")
        return old + new

    state = SharedState(reducers={"text": shorter})
    state.set("a", "text", "x")
    with pytest.raises(ValueError, match="too long"):
        state.set("a", "text", "long")
    state.set("b", "text", "y")
    state.undo("b")
    assert state.values == {"text": "x"}
    assert state.written_by("a") == [("text", "x")]


@pytest.mark.parametrize("at", [0, 1, 150, 298, 299])
def test_what_is_taken_back_costs_what_came_after_it(at: int) -> None:
    """Wherever it stands, the value is what it would be without it, and reducers are asked again only for later ones."""
    asked = 0

    def add(old: list[int], new: list[int]) -> list[int]:
        nonlocal asked
        asked += 1
        return [*old, *new]

    state = SharedState({"n": [-1]}, reducers={"n": add})
    for number in range(300):
        state.set(str(number), "n", [number])
    asked = 0
    state.undo(str(at))
    assert state.values["n"] == [-1, *(n for n in range(300) if n != at)]
    assert asked == (299 - at if at > 236 else 299)
    state.set("again", "n", [7])
    state.undo("again")
    assert state.values["n"] == [-1, *(n for n in range(300) if n != at)]
