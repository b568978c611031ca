// What runs at a hook: the list of processors is one graph at every hook, and is drawn with those that have something to do there.
import type { Graph, GraphEdge, GraphNode } from "../api/types";

const made = new WeakMap<Graph, Map<string, Graph>>();

/** The graph inside of a node, if there is one and it is known: at a hook without what is passed over there. */
export function innerOf(root: Graph, node: GraphNode): Graph | null {
  const inner = (node.ref_hash && root.workflows?.[node.ref_hash]) || null;
  const hook = node.kind === "hook" && node.id.startsWith("process_") ? node.id : node.at;
  if (!inner || !hook) return inner;
  let known = made.get(inner);
  if (!known) made.set(inner, (known = new Map()));
  let shown = known.get(hook);
  if (!shown) known.set(hook, (shown = serving(inner, hook)));
  return shown;
}

function serving(graph: Graph, hook: string): Graph {
  const gone = new Set(graph.nodes.filter((node) => isIdle(node, hook)).map((node) => node.id));
  const groups = graph.groups.flatMap((group) => {
    const children = group.children.filter((child) => !gone.has(child));
    if (children.length) return [{ ...group, children }];
    gone.add(group.entry).add(group.exit);
    return [];
  });
  // What is nested is at this hook, too.
  const nodes = graph.nodes.filter((node) => !gone.has(node.id)).map((node) => (node.ref_hash ? { ...node, at: hook } : node));
  const exits = new Map(groups.map((group) => [group.entry, group.exit]));
  const edges = new Map<string, GraphEdge>();
  for (const edge of graph.edges) {
    if (gone.has(edge.source)) continue;
    for (const target of leadsTo(graph, edge.target, gone)) {
      if (gone.has(edge.target) && exits.get(edge.source) === target) continue; // an arm that is gone: the others lead there
      const key = JSON.stringify([edge.source, target]);
      if (!edges.has(key)) edges.set(key, { ...edge, target });
    }
  }
  return { ...graph, nodes, groups, edges: [...edges.values()] };
}

/** Steps of users' own are never passed over, unless they say so. */
function isIdle(node: GraphNode, hook: string): boolean {
  if (node.on?.length && !node.on.includes(hook)) return true;
  return (node.kind === "processor" || node.kind === "workflow") && !node.hooks?.includes(hook);
}

function leadsTo(graph: Graph, id: string, gone: ReadonlySet<string>): string[] {
  if (!gone.has(id)) return [id];
  return graph.edges.filter((edge) => edge.source === id && edge.kind !== "back").flatMap((edge) => leadsTo(graph, edge.target, gone));
}
