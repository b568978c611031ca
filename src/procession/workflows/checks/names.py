"""
Names: ids that are missing, taken, not fit for a path, or another one in the next process.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from keyword import iskeyword

from procession.errors import Fix
from procession.workflows.checks.finder import Finder
from procession.workflows.nodes import ForeachNode, LoopNode, Node, StepNode

__all__ = ["check_names"]

# Read by most ids once: whatever has none of this is in order.
_ODD = re.compile(r"[/\[\]@<\ud800-\udfff]|^\s|\s$|^$|[0-9a-fA-F]{12}|0x[0-9a-fA-F]{5}|[0-9a-f]{8}-[0-9a-f]{4}")
_BREAKS = re.compile(r"[/\[\]@\ud800-\udfff]|^\s|\s$")
_ADDRESS = re.compile(r"\b(?:at )?0x[0-9a-fA-F]{5,}")
_RANDOM = re.compile(
    r"(?i:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"  # as uuid writes them
    r"|(?<![0-9a-f])(?=[a-f]*[0-9])(?=[0-9]*[a-f])(?:[0-9a-f]{32}|[0-9a-f]{40})(?![0-9a-f])"
    r"|(?<!\d)\d{13,}(?!\d)"  # an id() or a time
)


def check_names(finder: Finder) -> None:
    """
    Find what is wrong with the ids of a workflow and of what it is made of.
    """
    workflow = finder.workflow
    if not workflow.id.strip():
        finder.say(
            "missing-step-id",
            f"the workflow has no id: {workflow.id!r}",
            None,
            "runs, events and drawings name it by its id",
            fix=Fix("rename", code='create_workflow("...")'),
        )
    elif _ODD.search(workflow.id):
        _check_stable(finder, workflow.id, None)
    names = _Names(finder)
    for node in workflow.nodes:
        if isinstance(node, StepNode):
            names.check(node.id, node, node)
            continue
        if not isinstance(node, ForeachNode | LoopNode):  # these bear the name of their step
            names.check(node.id, node, None)
        for child in node.children:
            names.check(child.id, node, child)


class _Names:
    def __init__(self, finder: Finder) -> None:
        self.finder = finder
        self.seen: dict[str, Node] = {}
        self.free: dict[str, int] = {}
        self.taken: set[str] | None = None

    def check(self, id: str, node: Node, step: StepNode | None) -> None:
        place = step or node
        if not id or id.isspace():
            self.finder.say(
                "missing-step-id",
                f"a {_kind(node)} has no id: {id!r}",
                node,
                "results are kept by id",
                fix=Fix("rename", code='step.clone("...")' if step is not None else 'id="..."'),
            )
            return
        first = self.seen.setdefault(id, place)
        if first is not place:
            where = f" (the first at {first.source})" if first.source else ""
            self.finder.say(
                "duplicate-step-id",
                f"two steps have the id {id!r}{where}",
                node,
                "results are kept by id: give one of them another, e.g. by .clone('...') of the step or workflow",
                steps=(id,),
                fix=_rename(id, self.other(id), node, step),
            )
        if _ODD.search(id):
            if _BREAKS.search(id):
                _say_breaks(self.finder, id, node, step)
            _check_stable(self.finder, id, node)

    def other(self, id: str) -> str:
        """
        Return an id like *id* that nothing has and that was not proposed before.
        """
        if self.taken is None:
            self.taken = set(self.finder.ids)
        number = self.free.get(id, 2)
        while f"{id}-{number}" in self.taken:
            number += 1
        self.free[id] = number + 1
        self.taken.add(f"{id}-{number}")
        return f"{id}-{number}"


def _rename(id: str, to: str, node: Node, step: StepNode | None) -> Fix:
    if step is None:
        code = f"id={quoted(to)}"
    elif step.step.kind == "processor" and id.startswith("processor:"):
        code = f"{type(step.step.owner).__name__}(id={quoted(to.removeprefix('processor:'))})"
    else:
        code = f"{spoken(id)}.clone({quoted(to)})"
        if step.step.kind in ("tool", "agent"):
            code = f"{spoken(id)}.as_step().clone({quoted(to)})"
        elif step.step.kind == "workflow":
            code += ".commit()"
        elif step.step.kind == "step" and node.kind == "step":
            code = f".{'add' if step.after is not None else 'then'}({code})"
    return Fix("rename", step=id, to=to, code=code)


def _say_breaks(finder: Finder, id: str, node: Node, step: StepNode | None) -> None:
    shown = sorted({each for each in id if each in "/[]@" or "\ud800" <= each <= "\udfff"})
    what = f"{' and '.join(map(repr, shown))} in it" if shown else "blanks around it"
    to = re.sub(r"[/\[\]@\s\ud800-\udfff]+", "-", id.strip()).strip("-") or "step"
    nested = step is not None and step.step.kind == "workflow"
    finder.say(
        "invalid-nested-workflow-id" if nested else "invalid-step-id",
        f"{id!r} has {what}",
        node,
        "a path is made of ids: outer/loop[2]/step, and a drawing's own marks have an @",
        fix=_rename(id, to, node, step),
    )


def _check_stable(finder: Finder, id: str, node: Node | None) -> None:
    what = None
    if _ADDRESS.search(id):
        what = "an address in memory"
    elif "<lambda>" in id or "<locals>" in id:
        what = "the name of a function without a name"
    elif _RANDOM.search(id):
        what = "a number that looks random"
    if what is not None:
        finder.say(
            "unstable-id",
            f"{id!r} has {what} in it, and would be another in the next process",
            node,
            "a run that is resumed, compared or drawn again is found by its ids: give one that stays",
            steps=(id,),
            severity="warning",
        )


def _kind(node: Node) -> str:
    return {"loop": "loop's step", "foreach": "foreach's step"}.get(node.kind, node.kind)


def quoted(text: str) -> str:
    """
    Return a text as it is written in code, in double quotes.
    """
    inner = repr(text)[1:-1]
    return f'"{inner}"' if '"' not in inner else repr(text)


def spoken(id: str) -> str:
    """
    Return an id as the name of a variable that probably holds it.
    """
    name = re.sub(r"\W+", "_", id).strip("_")
    return name if name.isidentifier() and not iskeyword(name) and len(name) <= 40 else "step"


def listed(names: Iterable[str]) -> str:
    """
    Return names as one would say them: the first few, and that there are more.
    """
    every = list(names)
    return ", ".join(every[:8]) + (f" and {len(every) - 8} more" if len(every) > 8 else "")
