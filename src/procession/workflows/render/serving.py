"""
What serves at a hook: the workflow of a processor list is drawn at each hook of an agent with those that run there.

A list is one workflow, which passes over what has nothing to do at a hook.  Its description is the same everywhere, and
so is its hash; a drawing leaves out what is passed over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from procession.workflows.spec import EdgeSpec, GraphSpec, GroupSpec, NodeSpec

__all__ = ["serving"]


def serving(spec: GraphSpec) -> GraphSpec:
    """
    Return *spec* with, inside of each place of a hook, only what runs at that hook.

    What stands nowhere at a hook is as it was; the result is for drawing, and its hash another.
    """
    shown = _Serving(spec.workflows)
    inside = {key: shown.places(each) for key, each in spec.workflows.items()}
    made = shown.places(spec)
    if not shown.made:
        return spec
    return made.replace(workflows=inside | shown.made)


class _Serving:
    def __init__(self, workflows: Mapping[str, GraphSpec]) -> None:
        self.workflows = workflows
        self.made: dict[str, GraphSpec] = {}

    def places(self, spec: GraphSpec) -> GraphSpec:
        """
        Return *spec* with each place of a hook leading to what runs there.
        """
        nodes = tuple(
            node.replace(ref_hash=self.at(node.ref_hash, node.id))
            if node.kind == "hook" and node.ref_hash is not None and node.id.startswith("process_")
            else node
            for node in spec.nodes
        )
        return spec.replace(nodes=nodes)

    def at(self, key: str, hook: str) -> str:
        """
        Return the key of the graph *key* as it runs at *hook*.
        """
        name = f"{key}@{hook}"
        if name not in self.made:
            spec = self.workflows[key]
            self.made[name] = spec  # so that a graph inside of itself ends here
            nodes = tuple(
                node.replace(ref_hash=self.at(node.ref_hash, hook))
                if node.kind == "workflow" and node.ref_hash is not None
                else node
                for node in spec.nodes
            )
            self.made[name] = _without(spec.replace(nodes=nodes), {node.id for node in nodes if _is_idle(node, hook)})
        return name


def _is_idle(node: NodeSpec, hook: str) -> bool:
    """
    Return whether *node* is passed over at *hook*; steps of users' own never are, unless they say so.
    """
    if node.on and hook not in node.on:
        return True
    return node.kind in ("processor", "workflow") and hook not in node.hooks


def _without(spec: GraphSpec, gone: set[str]) -> GraphSpec:
    """
    Return *spec* without the nodes *gone*, what led to them leading on; a container without arms goes with them.
    """
    groups: list[GroupSpec] = []
    entries: dict[str, str] = {}
    for group in spec.groups:
        left = tuple(child for child in group.children if child not in gone)
        if left:
            groups.append(group.replace(children=left))
            entries[group.entry] = group.exit
        else:
            gone = gone | {group.entry, group.exit}
    if not gone:
        return spec
    edges: dict[tuple[str, str], EdgeSpec] = {}
    for edge in spec.edges:
        if edge.source in gone:
            continue
        for target in _leads_to(spec, edge.target, gone):
            if edge.target in gone and entries.get(edge.source) == target:
                continue  # an arm that is gone: the others lead there
            edges.setdefault((edge.source, target), edge.replace(target=target))
    kept = tuple(node for node in spec.nodes if node.id not in gone)
    return spec.replace(nodes=kept, edges=tuple(edges.values()), groups=tuple(groups))


def _leads_to(spec: GraphSpec, id: str, gone: set[str]) -> Iterator[str]:
    if id not in gone:
        yield id
        return
    for edge in spec.edges:
        if edge.source == id and edge.kind != "back":
            yield from _leads_to(spec, edge.target, gone)
