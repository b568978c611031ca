"""
Layout: where everything of a graph stands in a picture, containers round what is in them.

Each container is laid out on its own and stands in the one round it as one node.  An edge that crosses the frame of
a container does so at one place where it comes in and one where it goes out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from procession.messages.value import Value
from procession.workflows.render.flat import Box, Dot, Flat, Item
from procession.workflows.render.layers import Size
from procession.workflows.render.level import Joint, Path, Place, Spot, lay_out
from procession.workflows.render.overlay import EdgeMark, mark_text
from procession.workflows.render.sizes import dot_size, is_bar, text_size, wrap

__all__ = ["Picture", "PlacedBox", "PlacedDot", "Rect", "Route", "layout"]

PAD = 16.0
TITLE = 24.0
"""Height of a container's title."""
GUTTER = 24.0
"""How far beside everything else an edge leads back."""
_IN, _OUT = "in", "out"


class Rect(Value):
    """
    A rectangle: left, top, width and height.
    """

    x: float
    y: float
    width: float
    height: float

    def moved(self, x: float, y: float) -> Rect:
        """
        Return the rectangle, further right and down.
        """
        return Rect(self.x + x, self.y + y, self.width, self.height)


class PlacedDot(Value):
    """
    A node and where it stands.
    """

    dot: Dot
    rect: Rect


class PlacedBox(Value):
    """
    A container, where it stands and what is written at its top.
    """

    box: Box
    rect: Rect
    title: str


class Route(Value, kw_only=True):
    """
    An edge, or the part of one between two frames.
    """

    path: Path
    arrow: bool
    """Whether it ends at a node, rather than at a frame."""
    inside: bool
    """Whether it is in a container."""
    back: bool
    mark: EdgeMark | None
    label: tuple[str, ...] = ()
    label_rect: Rect | None = None

    def moved(self, x: float, y: float) -> Route:
        """
        Return the route, further right and down.
        """
        path = tuple((letter, tuple((a + x, b + y) for a, b in points)) for letter, points in self.path)
        rect = self.label_rect.moved(x, y) if self.label_rect is not None else None
        return self.replace(path=path, label_rect=rect)


class Picture(Value, kw_only=True):
    """
    A graph, laid out: outer containers before inner ones.
    """

    width: float
    height: float
    dots: tuple[PlacedDot, ...]
    boxes: tuple[PlacedBox, ...]
    routes: tuple[Route, ...]


def layout(flat: Flat, direction: Literal["TB", "LR"] = "TB", *, unicode: bool = True) -> Picture:
    """
    Return where everything of *flat* stands.

    Raises ``InputError`` where fast-sugiyama is not installed.
    """
    arranger = _Arranger(flat, across=direction == "LR", unicode=unicode)
    level = arranger.arrange("", flat.items)
    arranger.place(level, 0.0, 0.0)
    return Picture(
        width=level.width,
        height=level.height,
        dots=tuple(arranger.dots),
        boxes=tuple(arranger.boxes),
        routes=tuple(arranger.routes),
    )


class _Segment:
    """
    What edges have in common that join the same two things of one container.
    """

    def __init__(self, source: str, target: str, back: bool) -> None:
        self.source = source
        self.target = target
        self.back = back
        self.labels: dict[str, None] = {}
        self.mark: EdgeMark | None = None

    def lines(self) -> list[str]:
        signs: dict[EdgeMark | None, str] = {"added": "+", "removed": "-"}
        sign = signs.get(self.mark, "")
        lines = [line for label in self.labels for line in wrap(label, 28)]
        return [f"{sign} {lines[0]}", *lines[1:]] if sign and lines else [sign] if sign else lines


def _lead_back_from_circles(segments: Sequence[_Segment]) -> None:
    """
    Let those *segments* lead back that would close a circle: two graphs drawn in one may have some.
    """
    following: dict[str, list[str]] = {}
    for each in segments:
        if each.back:
            continue
        todo, seen = [each.target], {each.target}
        while todo and each.source not in seen:
            for node in following.get(todo.pop(), ()):
                if node not in seen:
                    seen.add(node)
                    todo.append(node)
        if each.source in seen:
            each.back = True
        else:
            following.setdefault(each.source, []).append(each.target)


class _Level:
    """
    The inside of a container, laid out in the picture's own directions.
    """

    def __init__(self) -> None:
        self.width = 0.0
        self.height = 0.0
        self.entry: float | None = None
        self.exit: float | None = None
        self.items: list[tuple[Item, Rect]] = []
        self.inner: dict[str, _Level] = {}
        self.routes: list[Route] = []

    def move(self, x: float, y: float, cross: float) -> None:
        self.items = [(item, rect.moved(x, y)) for item, rect in self.items]
        self.routes = [route.moved(x, y) for route in self.routes]
        self.entry = self.entry + cross if self.entry is not None else None
        self.exit = self.exit + cross if self.exit is not None else None


class _Arranger:
    def __init__(self, flat: Flat, *, across: bool, unicode: bool) -> None:
        self.across = across
        self.unicode = unicode
        self.dots: list[PlacedDot] = []
        self.boxes: list[PlacedBox] = []
        self.routes: list[Route] = []
        self.around: dict[str, tuple[str, ...]] = {}
        self.segments: dict[str, dict[tuple[str, str, bool], _Segment]] = {}
        self.remember(flat.items, ("",))
        for line in flat.lines:
            self.cut(line.source, line.target, line.label, line.kind == "back", line.mark)

    def remember(self, items: Sequence[Item], around: tuple[str, ...]) -> None:
        for item in items:
            self.around[item.name] = (*around, item.name)
            if isinstance(item, Box):
                self.remember(item.items, (*around, item.name))

    def cut(self, source: str, target: str, label: str, back: bool, mark: EdgeMark | None) -> None:
        """
        Cut an edge at the frames that it crosses.
        """
        above, below = self.around[source], self.around[target]
        common = 1
        while above[common] == below[common]:
            common += 1
        self.add(above[common - 1], _Segment(above[common], below[common], back), label, mark)
        for outer, inner in zip(above[common:], above[common + 1 :], strict=False):
            self.add(outer, _Segment(inner, _OUT, False), "", mark)
        for outer, inner in zip(below[common:], below[common + 1 :], strict=False):
            self.add(outer, _Segment(_IN, inner, False), "", mark)

    def add(self, level: str, segment: _Segment, label: str, mark: EdgeMark | None) -> None:
        there = self.segments.setdefault(level, {})
        known = there.setdefault((segment.source, segment.target, segment.back), segment)
        if label:
            known.labels[label] = None
        known.mark = known.mark or mark

    # --- one container ----------------------------------------------------------------------------------------------

    def arrange(self, name: str, items: Sequence[Item]) -> _Level:
        """
        Return the inside of the container called *name*.
        """
        level = _Level()
        segments = [*self.segments.get(name, {}).values()]
        _lead_back_from_circles(segments)
        ends = {end for each in segments for end in (each.source, each.target)}
        things: dict[str, Item | None] = {item.name: item for item in items}
        things |= dict.fromkeys(port for port in (_IN, _OUT) if port in ends)
        spots = [self.spot(thing, level) for thing in things.values()]
        numbers = {each: index for index, each in enumerate(things)}
        forward = [each for each in segments if not each.back]
        joints: list[Joint] = []
        for each in forward:
            width, height = text_size(each.lines())
            room = self.size(width + 8, height) if each.lines() else None
            joints.append(Joint(numbers[each.source], numbers[each.target], room))
        laid = lay_out(spots, joints)
        for (key, thing), place, spot in zip(things.items(), laid.places, spots, strict=True):
            if thing is not None:
                level.items.append((thing, self.rect(place, spot.size.main)))
            elif key == _IN:
                level.entry = place.cross
            else:
                level.exit = place.cross
        for each, path, joint, label in zip(forward, laid.paths, joints, laid.labels, strict=True):
            rect = self.rect(label, joint.label.main) if label is not None and joint.label is not None else None
            route = Route(
                path=self.turned(path),
                arrow=isinstance(things[each.target], Dot),
                inside=bool(name),
                back=False,
                mark=each.mark,
                label=tuple(each.lines()),
                label_rect=rect,
            )
            level.routes.append(self.out_of_frame(route, each))
        level.width, level.height = (laid.main, laid.cross) if self.across else (laid.cross, laid.main)
        for each in segments:
            if each.back:
                self.lead_back(level, each)
        return level

    def spot(self, thing: Item | None, level: _Level) -> Spot:
        if thing is None:
            return Spot(Size(0.0, 0.0, 0.0, 0.0), port=True)
        if isinstance(thing, Dot):
            return Spot(self.size(*dot_size(thing)).replace(bar=is_bar(thing)))
        inner = level.inner[thing.name] = self.framed(thing)
        size = self.size(inner.width, inner.height)
        return Spot(
            Size(
                size.cross,
                size.main,
                inner.entry if inner.entry is not None else size.entry,
                inner.exit if inner.exit is not None else size.exit,
            )
        )

    def lead_back(self, level: _Level, segment: _Segment) -> None:
        """
        Draw an edge that leads back beside everything else.
        """
        rects = {item.name: rect for item, rect in level.items}
        start, end = rects[segment.source], rects[segment.target]
        lines = segment.lines()
        width, height = text_size(lines)
        if self.across:
            gutter = level.height + GUTTER
            first, last = start.x + start.width / 2, end.x + end.width / 2
            corners = [(first, start.y + start.height), (first, gutter), (last, gutter), (last, end.y + end.height)]
            label = Rect(max((first + last - width) / 2, 0.0), gutter + 4, width, height)
            level.height = gutter + height + 6
            level.width = max(level.width, label.x + width)
        else:
            gutter = level.width + GUTTER
            first, last = start.y + start.height / 2, end.y + end.height / 2
            corners = [(start.x + start.width, first), (gutter, first), (gutter, last), (end.x + end.width, last)]
            label = Rect(gutter + 6, (first + last - height) / 2, width, height)
            level.width = gutter + width + 8
        path = tuple(("L" if index else "M", (corner,)) for index, corner in enumerate(corners))
        level.routes.append(
            Route(
                path=path, arrow=True, inside=True, back=True, mark=segment.mark, label=tuple(lines), label_rect=label
            )
        )

    # --- frames -----------------------------------------------------------------------------------------------------

    def framed(self, box: Box) -> _Level:
        """
        Return the inside of *box* with room for its frame and title.
        """
        level = self.arrange(box.name, box.items)
        title, _ = text_size([self.title(box)])
        wide = max(level.width, title + 10)
        x, y = PAD + (wide - level.width) / 2, PAD + TITLE
        level.move(x, y, y if self.across else x)
        level.width = wide + 2 * PAD
        level.height += 2 * PAD + TITLE
        level.routes = [self.to_frame(route, level) for route in level.routes]
        return level

    def out_of_frame(self, route: Route, segment: _Segment) -> Route:
        """
        Mark a route that begins or ends at the frame: it is drawn out to it once the frame is known.
        """
        path = route.path
        if segment.source == _IN:
            path = (("M", ()), ("L", path[0][1]), *path[1:])
        if segment.target == _OUT:
            path = (*path, ("L", ()))
        return route.replace(path=path)

    def to_frame(self, route: Route, level: _Level) -> Route:
        path = route.path
        low, high = (0.0, level.width) if self.across else (0.0, level.height)
        if not path[0][1]:
            path = (("M", (self.at(path[1][1][-1], low),)), *path[1:])
        if not path[-1][1]:
            path = (*path[:-1], ("L", (self.at(path[-2][1][-1], high),)))
        return route.replace(path=path)

    def at(self, point: tuple[float, float], main: float) -> tuple[float, float]:
        return (main, point[1]) if self.across else (point[0], main)

    def title(self, box: Box) -> str:
        mark = f" · {mark_text(box.mark, plain=not self.unicode)}" if box.mark is not None else ""
        return box.label + mark

    def place(self, level: _Level, x: float, y: float) -> None:
        """
        Put everything in *level* into the picture, with its corner at *x* and *y*.
        """
        self.routes += [route.moved(x, y) for route in level.routes]
        for item, rect in level.items:
            moved = rect.moved(x, y)
            if isinstance(item, Dot):
                self.dots.append(PlacedDot(item, moved))
            else:
                self.boxes.append(PlacedBox(item, moved, self.title(item)))
                self.place(level.inner[item.name], moved.x, moved.y)

    # --- directions -------------------------------------------------------------------------------------------------

    def size(self, width: float, height: float) -> Size:
        cross, main = (height, width) if self.across else (width, height)
        return Size(cross, main, cross / 2, cross / 2)

    def rect(self, place: Place, main: float) -> Rect:
        if self.across:
            return Rect(place.main, place.cross, main, place.length)
        return Rect(place.cross, place.main, place.length, main)

    def turned(self, path: Path) -> Path:
        if not self.across:
            return path
        return tuple((letter, tuple((main, cross) for cross, main in points)) for letter, points in path)
