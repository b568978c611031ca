"""
Oracle: what may come of a described workflow, worked out one step after the other, without the engine.

Where decision D27 lets the moment decide, because the first stop cancels the steps beside it, there is one *world* for
each step that may have been first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tests.runtime.random_graphs.described import (
    Branch,
    Child,
    Each,
    Flow,
    Graph,
    Leaf,
    Loop,
    Make,
    Node,
    Parallel,
    Pause,
)
from tests.runtime.random_graphs.worlds import End, Failure, World, all_of, arm_ended, few, named, one_by_one, together

__all__ = ["worlds_of"]


def worlds_of(graph: Flow | Graph, value: Any, answers: Mapping[str, list[Any]] | None = None) -> list[World]:
    """
    Return all worlds in which a run of *graph* on *value* can end, its questions answered by *answers*, by path.

    Raises ``TooManyWorlds``.
    """
    return list(_Oracle(answers or {}).workflow(graph, value, ""))


class _Oracle:
    def __init__(self, answers: Mapping[str, list[Any]]) -> None:
        self.answers = answers

    def workflow(self, graph: Flow | Graph, value: Any, prefix: str) -> list[World]:
        if isinstance(graph, Graph):
            return few(self.graph(graph, value, prefix))
        worlds = [World(End("ok", value))]
        for node in graph.nodes:
            worlds = few(self._after(worlds, node, prefix))
        return worlds

    def _after(self, worlds: list[World], node: Node, prefix: str) -> Iterator[World]:
        for world in worlds:
            if world.end.kind != "ok":
                yield world
                continue
            for more in self.node(node, world.end.value, prefix, world.values):
                yield world.then(more)

    def node(self, node: Node, value: Any, prefix: str, known: Mapping[str, Any]) -> list[World]:
        match node:
            case Leaf() | Flow() | Graph():
                return self.child(node, value, prefix + node.id)
            case Make():
                return [self.made(node, value, prefix, known)]
            case Parallel():
                return self.parallel(node, value, prefix)
            case Branch():
                return self.branch(node, value, prefix)
            case Each():
                return self.each(node, value, prefix + node.body.id)
            case Loop():
                return self.loop(node, value, prefix + node.body.id)
            case Pause():
                return [World(End("ok", value)).noted(prefix + node.id, End("ok", value))]

    def child(self, child: Child, value: Any, path: str) -> list[World]:
        if isinstance(child, Leaf):
            return [self.leaf(child, value, path)]
        made: list[World] = []
        for world in self.workflow(child, value, path + "/"):
            end = world.end
            if end.kind == "bailed" and end.scope != "run":
                end = End("ok", end.value)
            made.append(world.noted(path, end))
        return made

    def leaf(self, leaf: Leaf, value: Any, path: str) -> World:
        given = self.answers.get(path, [])
        if len(given) < leaf.asks:
            return World(End("ok"), runs={path: 1}).noted(path, End("suspended", path=path, why=str(len(given))))
        attempt, end = 1, leaf.end(value, 1)
        while end == "fail" and attempt < leaf.attempts:
            attempt, end = attempt + 1, leaf.end(value, attempt + 1)
        world = World(End("ok"), runs={path: attempt})
        match end:
            case "ok":
                output = leaf.output(value, given)
                writes = tuple((key, len(path)) for key in leaf.writes)
                return replace(world, writes=writes).noted(path, End("ok", output))
            case "fail":
                return world.noted(path, End("failed", path=path, why="StepError"))
            case "block" | "again":
                return world.noted(path, End("blocked", path=path, why=leaf.id, again=end == "again"))
            case "cancel":
                return world.noted(path, End("cancelled", path=path))
            case _:
                output = leaf.output(value, [end])
                return world.noted(path, End("bailed", output, path, scope=end.partition("-")[2] or "workflow"))

    def made(self, node: Make, value: Any, prefix: str, known: Mapping[str, Any]) -> World:
        path = prefix + node.id
        world = World(End("ok"))
        kind, _, wanted = node.what.partition(":")
        if kind == "raise":
            return world.noted(path, End("failed", path=path, why="StepError"))
        if kind != "pick":
            return world.noted(path, End("ok", node.output(value)))
        if isinstance(value, dict) and wanted in value:
            return world.noted(path, End("ok", value[wanted]))
        if prefix + wanted in known:
            return world.noted(path, End("ok", known[prefix + wanted]))
        return world.noted(path, End("failed", path=path, why="RunError"))

    def parallel(self, node: Parallel, value: Any, prefix: str) -> list[World]:
        if node.chain:
            return few(self.chain(node.arms, value, prefix))
        options = [self.child(arm, value, prefix + arm.id) for arm in node.arms]
        waits = {"blocked": node.on_block == "wait", "failed": node.on_failure == "wait"}
        limit = node.concurrency
        return few(named(together(options, waits, limit), [arm.id for arm in node.arms]))

    def chain(self, arms: Sequence[Child], value: Any, prefix: str) -> Iterator[World]:
        started = [(World(End("ok", value)), dict[str, Any]())]
        for arm in arms:
            after: list[tuple[World, dict[str, Any]]] = []
            for world, outputs in started:
                for more in self.child(arm, world.end.value, prefix + arm.id):
                    more = arm_ended(more)
                    if more.end.kind == "ok":
                        after.append((world.then(more), {**outputs, arm.id: more.end.value}))
                    else:
                        yield world.then(more)
            started = after
        for world, outputs in started:
            yield replace(world, end=End("ok", outputs))

    def branch(self, node: Branch, value: Any, prefix: str) -> list[World]:
        path = prefix + node.id
        world = World(End("ok"))
        chosen: list[Child] = []
        for condition, arm in node.arms:
            if condition.raises:
                return [world.noted(path, End("failed", path=path, why="ConditionError"))]
            if condition.holds(value):
                chosen.append(arm)
                if node.first:
                    break
        if not chosen and node.default is not None:
            chosen.append(node.default)
        if not chosen and not node.skip:
            return [world.noted(path, End("failed", path=path, why="NoArmMatched"))]
        decided = world.noted(path, End("ok", [arm.id for arm in chosen]))
        decided = replace(decided, values={})
        if not chosen:
            return [replace(decided, end=End("ok", value))]
        if node.chain:
            return few(decided.then(each) for each in self.chain(chosen, value, prefix))
        options = [self.child(arm, value, prefix + arm.id) for arm in chosen]
        return few(decided.then(each) for each in named(together(options), [arm.id for arm in chosen]))

    def each(self, node: Each, value: Any, path: str) -> list[World]:
        if type(value) is not list:
            return [World(End("ok")).noted(path, End("failed", path=path, why="SchemaError"))]
        items: list[Any] = value  # pyright: ignore[reportUnknownVariableType]
        options = [self.child(node.body, item, f"{path}[{index}]") for index, item in enumerate(items)]
        if node.collect:
            options = [[_collected(world, index) for world in worlds] for index, worlds in enumerate(options)]
        if node.concurrency > 1 and len(options) > 1:
            worlds = together(options, limit=node.concurrency, named=False)
        else:
            worlds = one_by_one(options)
        return few(world.noted(path, world.end) for world in worlds)

    def loop(self, node: Loop, value: Any, path: str) -> list[World]:
        ended: list[World] = []
        going = [World(End("ok", value))]
        for number in range(node.most):
            after: list[World] = []
            for world in going:
                for more in self.child(node.body, world.end.value, f"{path}[{number}]"):
                    more = world.then(more)
                    if more.end.kind != "ok":
                        ended.append(more.noted(path, more.end))
                    elif node.condition.raises:
                        ended.append(more.noted(path, End("failed", path=path, why="ConditionError")))
                    elif node.condition.holds(more.end.value) is node.until:
                        ended.append(more.noted(path, more.end))
                    elif number + 1 >= node.most:
                        ended.append(more.noted(path, End("failed", path=path, why="RunError")))
                    else:
                        after.append(more)
            going = few(after)
        return few(ended)

    def graph(self, graph: Graph, value: Any, prefix: str) -> Iterator[World]:
        order = _in_order(graph)
        place = {item.step.id: number for number, item in enumerate(graph.items)}
        needs = {item.step.id: item.after for item in graph.items}
        sinks = [name for name in place if not any(name in after for after in needs.values())]
        drawn: list[dict[str, World]] = [{}]
        for name in order:
            step = graph.items[place[name]].step
            after: list[dict[str, World]] = []
            for worlds in drawn:
                if not all(need in worlds and worlds[need].end.kind == "ok" for need in needs[name]):
                    after.append(worlds)
                    continue
                outputs = {need: worlds[need].end.value for need in needs[name]}
                given = value if not outputs else next(iter(outputs.values())) if len(outputs) == 1 else outputs
                more = [arm_ended(world) for world in self.child(step, given, prefix + name)]
                after += [{**worlds, name: world} for world in more]
            drawn = few(after)
        for worlds in drawn:
            stops = sorted(
                (name for name, world in worlds.items() if world.end.kind != "ok"),
                key=lambda name: (worlds[name].end.rank, place[name]),
            )
            ends = [name for name in stops if worlds[name].end.kind != "suspended"]
            if not ends:
                outputs = {name: worlds[name].end.value for name in sinks if name in worlds}
                end = worlds[stops[0]].end if stops else End("ok", outputs if len(sinks) > 1 else outputs[sinks[0]])
                yield all_of(list(worlds.values()), end)
            for name in ends:
                kept = _before(needs, name) | {name}
                stronger = stops[: stops.index(name)]
                made = [
                    world if each in kept else world.cut(weaker=each in stronger, begun=not needs[each])
                    for each, world in worlds.items()
                ]
                yield all_of(made, worlds[name].end)


def _collected(world: World, index: int) -> World:
    """Return the world of an item whose failure stands in the list."""
    end = world.end
    if end.kind != "failed":
        return world
    return replace(world, end=End("ok", Failure(end.path, index, "ValueError" if end.why == "StepError" else end.why)))


def _in_order(graph: Graph) -> list[str]:
    needs = {item.step.id: item.after for item in graph.items}
    order: list[str] = []
    while len(order) < len(needs):
        order += [name for name, after in needs.items() if name not in order and all(each in order for each in after)]
    return order


def _before(needs: Mapping[str, Sequence[str]], name: str) -> set[str]:
    found: set[str] = set()
    for need in needs[name]:
        found |= {need} | _before(needs, need)
    return found
