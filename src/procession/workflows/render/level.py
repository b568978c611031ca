"""
One container, laid out: nodes in layers, edges as paths between them.

Along the two axes of ``layers.py``: a point is ``(cross, main)``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from procession.messages.value import Value
from procession.workflows.render.layers import Placement, Size, layered

__all__ = ["Joint", "Laid", "Path", "Place", "Spot", "lay_out"]

GAP, PORT_GAP = 32.0, 16.0
"""Between layers, and beside one where edges cross the frame."""
OVERHANG = 18.0
"""How far a bar goes past what it joins."""
BEND = 7.0

Step: TypeAlias = tuple[str, tuple[tuple[float, float], ...]]
"""A letter of an SVG path and its points: M, L, Q or C."""

Path: TypeAlias = tuple[Step, ...]


class Spot(Value):
    """
    Something to be placed; a *port* is where edges cross the frame.
    """

    size: Size
    port: bool = False


class Joint(Value):
    """
    An edge between two spots, by their numbers, and the room for its label.
    """

    source: int
    target: int
    label: Size | None = None


class Place(Value):
    """
    Where something stands: its low corner, and how long it is along ``cross``.
    """

    cross: float
    main: float
    length: float


class Laid(Value, kw_only=True):
    """
    Where everything stands, and how much room it takes.
    """

    places: tuple[Place, ...]
    paths: tuple[Path, ...]
    labels: tuple[Place | None, ...]
    cross: float
    main: float


def lay_out(spots: Sequence[Spot], joints: Sequence[Joint]) -> Laid:
    """
    Place *spots*, and draw *joints* between them.
    """
    sizes = [spot.size for spot in spots]
    links: list[tuple[int, int]] = []
    chains: list[tuple[int, ...]] = []
    for joint in joints:  # a label stands in a layer of its own, as a node would
        if joint.label is None:
            chains.append((len(links),))
            links.append((joint.source, joint.target))
        else:
            chains.append((len(links), len(links) + 1))
            links += [(joint.source, len(sizes)), (len(sizes), joint.target)]
            sizes.append(joint.label)
    placed = layered(sizes, links)
    bands = _bands(sizes, placed, {placed.layer[index] for index, spot in enumerate(spots) if spot.port})
    places = [
        Place(cross, sum(bands[layer]) / 2 - size.main / 2, size.cross)
        for cross, layer, size in zip(placed.cross, placed.layer, sizes, strict=True)
    ]
    bars = {index for index, spot in enumerate(spots) if spot.size.bar and _is_alone(index, placed)}
    for index in bars:
        places[index] = _stretched(index, places, sizes, links, placed)
    drawer = _Drawer(sizes, places, links, placed, bands, bars)
    paths: list[Path] = []
    for chain in chains:
        first, *rest = [drawer.path(index) for index in chain]
        paths.append((*first, *(step for path in rest for step in _going_on(path))))
    paths = [_without_rests(path) for path in paths]
    points = [point for path in paths for _, points in path for point in points]
    return Laid(
        places=tuple(places[: len(spots)]),
        paths=tuple(paths),
        labels=tuple(places[links[chain[0]][1]] if len(chain) > 1 else None for chain in chains),
        cross=max((*(each.cross + each.length for each in places), *(cross for cross, _ in points)), default=0.0),
        main=bands[-1][1] if bands else 0.0,
    )


def _bands(sizes: Sequence[Size], placed: Placement, ports: set[int]) -> list[tuple[float, float]]:
    """
    Return where each layer begins and ends along ``main``.
    """
    count = 1 + max((*placed.layer, *(layer for bends in placed.bends for _, layer in bends)), default=-1)
    bands: list[tuple[float, float]] = []
    at = 0.0
    for index in range(count):
        thick = max((size.main for size, layer in zip(sizes, placed.layer, strict=True) if layer == index), default=0)
        bands.append((at, at + thick))
        at += thick + (PORT_GAP if {index, index + 1} & ports else GAP)
    return bands


def _is_alone(index: int, placed: Placement) -> bool:
    layer = placed.layer[index]
    return placed.layer.count(layer) == 1 and all(at != layer for bends in placed.bends for _, at in bends)


def _stretched(
    index: int, places: Sequence[Place], sizes: Sequence[Size], links: Sequence[tuple[int, int]], placed: Placement
) -> Place:
    reached = [places[index].cross + sizes[index].cross / 2]
    for (source, target), bends in zip(links, placed.bends, strict=True):
        if source == index:
            reached.append(bends[0][0] if bends else places[target].cross + sizes[target].entry)
        if target == index:
            reached.append(bends[-1][0] if bends else places[source].cross + sizes[source].exit)
    low, high = min(reached) - OVERHANG, max(reached) + OVERHANG
    return Place(low, places[index].main, high - low)


class _Drawer:
    def __init__(
        self,
        sizes: Sequence[Size],
        places: Sequence[Place],
        links: Sequence[tuple[int, int]],
        placed: Placement,
        bands: Sequence[tuple[float, float]],
        bars: set[int],
    ) -> None:
        self.sizes = sizes
        self.places = places
        self.links = links
        self.placed = placed
        self.bands = bands
        self.bars = bars
        self.fans = self.only_fans()

    def only_fans(self) -> set[int]:
        """
        Return the layers after which all edges come from one node, or all lead to one: they may share a line.
        """
        between: dict[int, tuple[set[object], set[object]]] = {}
        for number, ((source, target), bends) in enumerate(zip(self.links, self.placed.bends, strict=True)):
            stops: list[object] = [source, *((number, layer) for _, layer in bends), target]
            layers = [self.placed.layer[source], *(layer for _, layer in bends), self.placed.layer[target]]
            for layer, start, end in zip(layers, stops, stops[1:], strict=False):
                starts, ends = between.setdefault(layer, (set(), set()))
                starts.add(start)
                ends.add(end)
        return {layer for layer, (starts, ends) in between.items() if len(starts) == 1 or len(ends) == 1}

    def path(self, number: int) -> Path:
        """
        Return the path of a link: straight through each layer, turning between one layer and the next.
        """
        (source, target), bends = self.links[number], self.placed.bends[number]
        start, end = self.places[source], self.places[target]
        leaves, arrives = start.cross + self.sizes[source].exit, end.cross + self.sizes[target].entry
        stops = [leaves, *(cross for cross, _ in bends), arrives]
        if source in self.bars:  # edges leave a bar right above where they lead
            stops[0] = stops[1]
        if target in self.bars:
            stops[-1] = stops[-2]
        layers = [self.placed.layer[source], *(layer for _, layer in bends), self.placed.layer[target]]
        steps: list[Step] = [("M", ((stops[0], start.main + self.sizes[source].main),))]
        for index, (one, other) in enumerate(zip(stops, stops[1:], strict=False)):
            low, high = self.bands[layers[index]][1], self.bands[layers[index + 1]][0]
            steps += _turn(one, other, low, high, elbow=layers[index] in self.fans)
        steps.append(("L", ((stops[-1], end.main),)))
        return tuple(steps)


def _turn(one: float, other: float, low: float, high: float, *, elbow: bool) -> Iterable[Step]:
    """
    Yield the way from *one* at *low* to *other* at *high*.
    """
    yield "L", ((one, low),)
    middle = (low + high) / 2
    if abs(one - other) < 0.5:
        pass
    elif elbow:
        bend = min(BEND, abs(one - other) / 2, (high - low) / 2)
        side = bend if other > one else -bend
        yield "L", ((one, middle - bend),)
        yield "Q", ((one, middle), (one + side, middle))
        yield "L", ((other - side, middle),)
        yield "Q", ((other, middle), (other, middle + bend))
    else:
        yield "C", ((one, middle), (other, middle), (other, high))
    yield "L", ((other, high),)


def _without_rests(path: Path) -> Path:
    """
    Return *path* without lines of no length: an arrow at the end of one has no direction.
    """
    kept = list(path[:1])
    for step in path[1:]:
        if step[0] != "L" or step[1][-1] != kept[-1][1][-1]:
            kept.append(step)
    return tuple(kept)


def _going_on(path: Path) -> Path:
    return (("L", path[0][1]), *path[1:])
