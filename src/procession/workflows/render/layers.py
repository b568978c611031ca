"""
Layers: one level of a graph, laid out; which node stands in which layer comes from fast-sugiyama.

Everything here is along two axes, ``cross`` within a layer and ``main`` from one layer to the next, so that it holds
for both directions of drawing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from procession.errors import InputError
from procession.messages.value import Value

__all__ = ["Placement", "Size", "layered"]

GAP = 26.0
"""Between neighbours of a layer."""
SWEEPS = 12


class Size(Value):
    """
    How much room a node takes, and where edges enter and leave it, from its low edge along ``cross``.
    """

    cross: float
    main: float
    entry: float
    exit: float
    bar: bool = False
    """Whether it becomes as long as what it joins, so that nothing needs to come near it."""


class Placement(Value, kw_only=True):
    """
    Where everything of one level is: low corners of nodes, and the points that each edge passes through.
    """

    cross: tuple[float, ...]
    layer: tuple[int, ...]
    bends: tuple[tuple[tuple[float, int], ...], ...]
    """Of each edge, ``cross`` and layer of the places where it passes between nodes."""


def layered(sizes: Sequence[Size], edges: Sequence[tuple[int, int]]) -> Placement:
    """
    Lay out nodes of these *sizes* so that *edges* lead from layer to layer and nothing overlaps.

    Raises ``InputError`` where fast-sugiyama is not installed.
    """
    layers, chains = _layers(len(sizes), edges)
    count = 1 + max((node for layer in layers for node in layer), default=-1)
    around = [*sizes, *(Size(0.0, 0.0, 0.0, 0.0) for _ in range(count - len(sizes)))]
    links = [link for chain in chains for link in zip(chain, chain[1:], strict=False)]
    layers = _in_declared_order(layers, links, chains)
    cross = _spread(layers, links, around, len(sizes))
    where = {node: index for index, layer in enumerate(layers) for node in layer}
    return Placement(
        cross=tuple(cross[: len(sizes)]),
        layer=tuple(where[node] for node in range(len(sizes))),
        bends=tuple(tuple((cross[node], where[node]) for node in chain[1:-1]) for chain in chains),
    )


def _layers(count: int, edges: Sequence[tuple[int, int]]) -> tuple[list[list[int]], list[list[int]]]:
    """
    Return the layers, and each edge as the chain of nodes it passes through; nodes from *count* on are bends.
    """
    try:
        from fast_sugiyama import from_edges
    except ImportError:
        raise InputError(
            "drawing an SVG needs the package fast-sugiyama", hint="pip install 'procession[draw]'"
        ) from None
    used = sorted({node for edge in edges for node in edge})  # the library numbers bends from there on
    numbers = {node: index for index, node in enumerate(used)}
    numbered = [(numbers[source], numbers[target]) for source, target in edges]
    parts: Any = from_edges(numbered, dummy_vertices=True) if edges else ()
    layers: list[list[int]] = []
    chains: dict[tuple[int, int], list[int]] = {}
    bends = count
    for positions, _, _, links in parts:
        names: dict[int, int] = {}  # those of bends begin anew in each part of the graph
        for node, _ in sorted(positions):
            names[node] = used[node] if node < len(used) else bends
            bends += node >= len(used)
        for index, height in enumerate(sorted({y for _, (_, y) in positions}, reverse=True)):
            if index == len(layers):
                layers.append([])
            layers[index] += [names[node] for _, node in sorted((x, node) for node, (x, y) in positions if y == height)]
        following: dict[int, list[int]] = {}
        for source, target in links:
            following.setdefault(source, []).append(target)
        for source in (node for node in following if node < len(used)):
            for step in following[source]:
                chain = [source, step]
                while chain[-1] >= len(used):
                    chain.append(following[chain[-1]][0])
                chains[names[source], names[chain[-1]]] = [names[node] for node in chain]
    alone = set(range(count)) - set(used)
    if alone:
        layers = layers or [[]]
        layers[0] += sorted(alone)
    return layers, [chains[edge] for edge in edges]


def _in_declared_order(
    layers: list[list[int]], links: Sequence[tuple[int, int]], chains: Sequence[Sequence[int]]
) -> list[list[int]]:
    """
    Return the layers in the order of declaration where that crosses no more edges, or else as they are or mirrored.
    """
    rank = {node: float(node) for layer in layers for node in layer}
    for chain in chains:
        for node in chain[1:-1]:  # a bend stands with the edge's ends
            rank[node] = (chain[0] + chain[-1]) / 2
    declared = [sorted(layer, key=lambda node: (rank[node], node)) for layer in layers]
    mirrored = [layer[::-1] for layer in layers]
    return min((declared, layers, mirrored), key=lambda each: _crossings(each, links))


def _crossings(layers: Sequence[Sequence[int]], links: Sequence[tuple[int, int]]) -> int:
    place = {node: (index, at) for index, layer in enumerate(layers) for at, node in enumerate(layer)}
    between: dict[int, list[tuple[int, int]]] = {}
    for source, target in links:
        between.setdefault(place[source][0], []).append((place[source][1], place[target][1]))
    return sum(
        (first[0] - second[0]) * (first[1] - second[1]) < 0
        for pairs in between.values()
        for index, first in enumerate(pairs)
        for second in pairs[index + 1 :]
    )


def _spread(
    layers: Sequence[Sequence[int]], links: Sequence[tuple[int, int]], sizes: Sequence[Size], real: int
) -> list[float]:
    """
    Return the low edge of each node: each stands as near as it can to the middle of what it is joined to.
    """
    before: dict[int, list[int]] = {}
    after: dict[int, list[int]] = {}
    for source, target in links:
        after.setdefault(source, []).append(target)
        before.setdefault(target, []).append(source)
    low = [0.0] * len(sizes)
    for layer in layers:
        at = -(sum(sizes[node].cross + GAP for node in layer) - GAP) / 2
        for node in layer:
            low[node] = at
            at += sizes[node].cross + GAP

    def settle(layer: Sequence[int], near: dict[int, list[int]], *, down: bool) -> None:
        wanted: list[float] = []
        weights: list[float] = []
        for node in layer:
            size = sizes[node]
            others = [other for other in near.get(node, ()) if size.bar or not sizes[other].bar]
            own = size.entry if down else size.exit
            places = [low[other] + (sizes[other].exit if down else sizes[other].entry) - own for other in others]
            wanted.append(sum(places) / len(places) if places else low[node])
            weights.append(0.01 if not places else 8.0 if node >= real else 1.0)
        for node, place in zip(layer, _apart(layer, wanted, weights, sizes), strict=True):
            low[node] = place

    for _ in range(SWEEPS):
        for layer in layers[1:]:
            settle(layer, before, down=True)
        for layer in layers[-2::-1]:
            settle(layer, after, down=False)
    least = min(low, default=0.0)
    return [place - least for place in low]


def _apart(layer: Sequence[int], wanted: list[float], weights: list[float], sizes: Sequence[Size]) -> list[float]:
    """
    Return the places nearest to those *wanted*, by weighted squares, at which neighbours do not overlap.
    """
    shifts: list[float] = []
    at = 0.0
    for node in layer:
        shifts.append(at)
        at += sizes[node].cross + GAP
    blocks: list[tuple[float, float, int]] = []  # mean, weight, how many
    for place, weight, shift in zip(wanted, weights, shifts, strict=True):
        mean, total, many = place - shift, weight, 1
        while blocks and blocks[-1][0] >= mean:
            other, heavy, more = blocks.pop()
            mean = (mean * total + other * heavy) / (total + heavy)
            total, many = total + heavy, many + more
        blocks.append((mean, total, many))
    means = [mean for mean, _, many in blocks for _ in range(many)]
    return [mean + shift for mean, shift in zip(means, shifts, strict=True)]
