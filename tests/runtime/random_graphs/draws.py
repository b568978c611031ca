"""
Draws: random descriptions of workflows.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from tests.runtime.random_graphs.described import (
    Branch,
    Child,
    Each,
    Flow,
    Graph,
    Item,
    Leaf,
    Loop,
    Make,
    Node,
    Parallel,
    Pause,
    When,
)

__all__ = ["graphs", "workflows"]

ENDS = ("fail", "fail", "block", "again", "bail", "bail-branch", "bail-run", "cancel")


class _Drawer:
    """Draws one description; ``left`` is how many steps it may still have."""

    def __init__(self, draw: st.DrawFn, *, asks: bool) -> None:
        self.draw = draw
        self.left = draw(st.integers(3, 16))
        self.asks = asks
        self.ends = draw(st.lists(st.sampled_from(ENDS), max_size=3))
        """The ends, beside outputs, that steps of this graph have."""

    def number(self, least: int, most: int) -> int:
        return self.draw(st.integers(least, most))

    def chance(self, percent: int) -> bool:
        return self.draw(st.integers(0, 99)) >= 100 - percent

    def of(self, *values: Any) -> Any:
        return self.draw(st.sampled_from(values))

    def workflow(self, id: str, depth: int) -> Flow | Graph:
        return self.graph(id, depth) if self.chance(30) else self.flow(id, depth)

    def flow(self, id: str, depth: int) -> Flow:
        nodes: list[Node] = []
        for number in range(self.number(1, 4)):
            nodes += self.node(str(number), depth, [node.id for node in nodes if isinstance(node, Leaf | Flow | Graph)])
            if self.left <= 0:
                break
        return Flow(id, tuple(nodes))

    def node(self, number: str, depth: int, before: list[str]) -> list[Node]:
        kind = self.of("step", "step", "parallel", "parallel", "branch", "each", "loop", "map", "sleep", "nested")
        match kind:
            case "parallel":
                arms = tuple(self.child(f"a{number}{each}", depth + 1) for each in range(self.number(1, 4)))
                waits = ("cancel", "cancel", "wait")
                chain = self.chance(10)
                made: list[Node] = [
                    Parallel(f"p{number}", arms, self.of(*waits), self.of(*waits), chain, self.of(None, None, 1, 2))
                ]
                return [*made, *self.picks(number, [arm.id for arm in arms])]
            case "branch":
                pairs = [(self.when(), self.child(f"b{number}{each}", depth + 1)) for each in range(self.number(1, 3))]
                default = self.child(f"d{number}", depth + 1) if self.chance(40) else None
                node = Branch(f"c{number}", tuple(pairs), default, self.chance(30), self.chance(60), self.chance(10))
                return [node, *self.picks(number, [arm.id for _, arm in pairs])]
            case "each":
                made_of = "mix" if self.chance(5) else f"spread:{self.number(0, 5)}"
                return [
                    Make(f"l{number}", made_of),
                    Each(self.child(f"e{number}", depth + 1), self.number(1, 4), self.chance(30)),
                ]
            case "loop":
                return [Loop(self.child(f"o{number}", depth + 1), self.when(), self.chance(50), self.number(1, 4))]
            case "map":
                what = self.of("mix", "mix", "raise", *(f"pick:{id}" for id in before))
                return [Make(f"m{number}", what)]
            case "sleep":
                return [Pause(f"z{number}", self.of(0.0, 1.0, 60.0))]
            case "nested" if depth < 3:
                return [self.workflow(f"w{number}", depth + 1)]
            case _:
                return [self.leaf(f"s{number}")]

    def picks(self, number: str, ids: list[str]) -> list[Node]:
        return [Make(f"k{number}", f"pick:{self.of(*ids)}")] if self.chance(15) else []

    def graph(self, id: str, depth: int) -> Graph:
        names = [f"g{number}" for number in range(self.number(1, 7))]
        items: list[Item] = []
        for at, name in enumerate(names):
            after = self.draw(st.lists(st.sampled_from(names[:at]), max_size=3, unique=True)) if at else []
            items.append(Item(self.child(name, depth + 1), tuple(after)))
        return Graph(id, tuple(self.draw(st.permutations(items))))

    def child(self, id: str, depth: int) -> Child:
        if depth < 4 and self.left > 0 and self.chance(20):
            return self.workflow(id, depth)
        return self.leaf(id)

    def leaf(self, id: str) -> Leaf:
        self.left -= 1
        writes = tuple(self.draw(st.lists(st.sampled_from(["sum", "top"]), max_size=2, unique=True)))
        if not self.ends or not self.chance(30):
            asks = self.number(0, 2) if self.asks and self.chance(40) else 0
            return Leaf(id, writes=writes, asks=asks, plain=not asks and self.chance(20))
        ends = tuple(self.of("ok", *self.ends, *self.ends) for _ in range(self.number(1, 2)))
        asks = 1 if self.asks and self.chance(20) else 0
        return Leaf(
            id, ends, self.when(raises=False), self.number(1, 3), self.of(0.0, 0.0, 5.0), writes, asks,
            not asks and self.chance(20),
        )  # fmt: skip

    def when(self, *, raises: bool = True) -> When:
        divisor = self.number(1, 3)
        return When(divisor, self.number(0, divisor - 1), raises and "fail" in self.ends and self.chance(5))


@st.composite
def workflows(draw: st.DrawFn, *, asks: bool = False) -> Flow | Graph:
    """Return a workflow of any form, with workflows in it; with *asks*, steps ask questions."""
    return _Drawer(draw, asks=asks).workflow("w", 0)


@st.composite
def graphs(draw: st.DrawFn, *, asks: bool = False) -> Graph:
    """Return a workflow in the explicit form."""
    return _Drawer(draw, asks=asks).graph("w", 0)
