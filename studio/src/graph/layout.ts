// Where everything of a graph stands: each level by dagre, what is nested first, so that its size is known.
import dagre from "@dagrejs/dagre";

import type { Graph, GraphEdge, GraphGroup, GraphNode } from "../api/types";
import { innerOf } from "./serving";

export type Direction = "down" | "right";

export interface Point {
  x: number;
  y: number;
}

export interface PlacedNode {
  /** Unique in the drawing: the prefix of the level, and the node's id. */
  key: string;
  /** Of the level's paths: "" or "outer/inner/". */
  prefix: string;
  node: GraphNode;
  graph: Graph;
  group: GraphGroup | null;
  x: number;
  y: number;
  width: number;
  height: number;
  /** Whether what is inside of it is drawn. */
  open: boolean;
}

export interface PlacedFrame {
  key: string;
  label: string;
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface PlacedEdge {
  key: string;
  prefix: string;
  edge: GraphEdge;
  source: string;
  target: string;
  points: Point[];
  label: Point | null;
}

export interface Layout {
  nodes: PlacedNode[];
  frames: PlacedFrame[];
  edges: PlacedEdge[];
  width: number;
  height: number;
}

export const HEADER = 40;
const PAD = 18;

/** The key of a node in the drawing. */
export function keyOf(prefix: string, id: string): string {
  return `${prefix}${id}`;
}

/** Lay out *graph*; of the nodes in *open* (by key) what is inside is drawn as well. */
export function layOut(graph: Graph, open: ReadonlySet<string>, direction: Direction): Layout {
  return level(graph, graph, "", open, direction);
}

function level(graph: Graph, root: Graph, prefix: string, open: ReadonlySet<string>, direction: Direction): Layout {
  const g = new dagre.graphlib.Graph({ compound: true, multigraph: true });
  g.setGraph({ rankdir: direction === "down" ? "TB" : "LR", nodesep: 28, ranksep: 44, edgesep: 18, marginx: PAD, marginy: PAD });
  const groups = memberships(graph);
  for (const group of graph.groups) if (isDrawn(group)) g.setNode(frameId(group), { width: 0, height: 0 });
  const inner = new Map<string, Layout>();
  for (const node of graph.nodes) {
    const key = keyOf(prefix, node.id);
    const within = open.has(key) ? innerOf(root, node) : null;
    let size = sizeOf(node);
    if (within) {
      const made = level(within, root, `${prefix}${node.path}/`, open, direction);
      inner.set(node.id, made);
      size = { width: Math.max(made.width, 320), height: made.height + HEADER };
    }
    g.setNode(node.id, { ...size });
    const group = groups.get(node.id);
    if (group && isDrawn(group)) g.setParent(node.id, frameId(group));
  }
  graph.edges.forEach((edge, index) => {
    const text = edge.label ?? "";
    const box = text ? { width: Math.min(text.length, 34) * 6.6 + 12, height: 18, labelpos: "c" } : {};
    // A back edge is laid out the way the graph runs, or it would turn the loop upside down.
    const [from, to] = edge.kind === "back" ? [edge.target, edge.source] : [edge.source, edge.target];
    g.setEdge(from, to, { ...box, weight: edge.kind === "back" ? 0 : 2 }, String(index));
  });
  dagre.layout(g);

  const made: Layout = { nodes: [], frames: [], edges: [], width: g.graph().width ?? 0, height: g.graph().height ?? 0 };
  for (const group of graph.groups) {
    if (!isDrawn(group)) continue;
    const box = g.node(frameId(group));
    made.frames.push({ key: `${prefix}${group.id}@frame`, label: frameLabel(group), ...corner(box) });
  }
  for (const node of graph.nodes) {
    const box = corner(g.node(node.id));
    const within = inner.get(node.id);
    made.nodes.push({
      key: keyOf(prefix, node.id), prefix, node, graph, group: groups.get(node.id) ?? null, open: Boolean(within), ...box,
    });
    if (within) addMoved(made, within, box.x + (box.width - within.width) / 2, box.y + HEADER);
  }
  graph.edges.forEach((edge, index) => {
    const back = edge.kind === "back";
    const laid = back ? g.edge(edge.target, edge.source, String(index)) : g.edge(edge.source, edge.target, String(index));
    const points = (laid?.points ?? []).map(({ x, y }: Point) => ({ x, y }));
    const from = graph.nodes.find((node) => node.id === edge.source);
    if (from?.kind === "decision" && points[0]) {
      const box = g.node(edge.source); // a diamond is left at its corner, not at the box around it
      points[0] = direction === "down" ? { x: box.x, y: box.y + box.height / 2 } : { x: box.x + box.width / 2, y: box.y };
    }
    made.edges.push({
      key: `${prefix}${edge.source}→${edge.target}#${index}`, prefix, edge,
      source: keyOf(prefix, edge.source), target: keyOf(prefix, edge.target),
      points: back ? points.reverse() : points,
      label: edge.label && laid?.x !== undefined ? { x: laid.x, y: laid.y! } : null,
    });
  });
  return made;
}

function addMoved(to: Layout, from: Layout, dx: number, dy: number): void {
  const move = <T extends Point>(box: T): T => ({ ...box, x: box.x + dx, y: box.y + dy });
  to.nodes.push(...from.nodes.map(move));
  to.frames.push(...from.frames.map(move));
  to.edges.push(
    ...from.edges.map((edge) => ({ ...edge, points: edge.points.map(move), label: edge.label && move(edge.label) })),
  );
}

function memberships(graph: Graph): Map<string, GraphGroup> {
  const found = new Map<string, GraphGroup>();
  for (const group of graph.groups) for (const id of [group.entry, ...group.children, group.exit]) found.set(id, group);
  return found;
}

/** A loop of one node is drawn by its back edge; the others are worth a frame. */
function isDrawn(group: GraphGroup): boolean {
  return group.kind !== "loop";
}

function frameId(group: GraphGroup): string {
  return `@frame:${group.id}`;
}

/** What a container says of itself. */
export function frameLabel(group: GraphGroup): string {
  const options = group.options ?? {};
  const said = [
    group.kind === "parallel" && group.merge ? `merge=${group.merge}` : "",
    options.on_block === "wait" ? "on_block=wait" : "",
    options.on_failure === "wait" ? "on_failure=wait" : "",
    options.mode === "first" ? "first match" : "",
    options.on_no_match === "skip" ? "none: pass on" : "",
    group.concurrency !== undefined && group.concurrency !== null ? `concurrency=${group.concurrency}` : "",
    options.on_error === "collect" ? "failures collected" : "",
    options.max_iterations !== undefined ? `at most ${options.max_iterations}` : "",
  ].filter(Boolean);
  const name = group.kind === "foreach" ? "for each" : group.kind;
  return [`${name} · ${group.id}`, ...said].join(" · ");
}

function sizeOf(node: GraphNode): { width: number; height: number } {
  switch (node.kind) {
    case "start":
    case "end":
      return { width: 76, height: 32 };
    case "fork":
    case "join":
      return { width: 132, height: 30 };
    case "decision":
    case "loop":
      return { width: 208, height: 76 };
    default:
      return { width: 220, height: 78 };
  }
}

function corner(box: { x: number; y: number; width: number; height: number }) {
  return { x: box.x - box.width / 2, y: box.y - box.height / 2, width: box.width, height: box.height };
}
