// A graph, drawn: zoomed, moved and walked through, by mouse and by keyboard.
import { MiniMap, ReactFlow, ReactFlowProvider, useReactFlow } from "@xyflow/react";
import "@xyflow/react/dist/base.css";
import { useCallback, useEffect, useMemo, useRef, useState, type KeyboardEvent, type ReactNode } from "react";

import type { Graph } from "../api/types";
import { GraphContext } from "./GraphContext";
import { EdgeMarkers, GraphEdgeLine, type RoutedEdge } from "./GraphEdgeLine";
import { GraphFrame, GraphNodeBox, type BoxNode, type FrameNode } from "./GraphNodeBox";
import { HEADER, keyOf, layOut, type Direction, type Layout, type PlacedNode } from "./layout";
import { innerOf } from "./serving";
import { NO_MARKS, type GraphMarks } from "./marks";
import { nearest } from "./walk";
import "./graph.css";

export interface GraphViewProps {
  graph: Graph;
  marks?: GraphMarks;
  /** The key of the node that is looked at. */
  selected?: string | null;
  onSelect?: (node: PlacedNode) => void;
  /** The key of the node that the first view begins with, where not all of the graph is readable at once. */
  beginAt?: string | null;
  /** Keys of nodes that are drawn opened at first. */
  opened?: string[];
  /** Above the drawing, beside its own buttons. */
  tools?: ReactNode;
  label?: string;
}

// Below this zoom nobody reads the names.
const READABLE = 0.7;

const nodeTypes = { box: GraphNodeBox, frame: GraphFrame };
const edgeTypes = { routed: GraphEdgeLine };

export function GraphView(props: GraphViewProps) {
  return (
    <ReactFlowProvider>
      <Drawing {...props} />
    </ReactFlowProvider>
  );
}

function Drawing({ graph, marks = NO_MARKS, selected = null, onSelect, beginAt = null, opened = [], tools, label }: GraphViewProps) {
  const [open, setOpen] = useState<ReadonlySet<string>>(() => new Set(opened));
  const [direction, setDirection] = useState<Direction>("down");
  const [map, setMap] = useState(false);
  const [focused, setFocused] = useState<string | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const flow = useReactFlow();
  const laid = useMemo(() => layOut(graph, open, direction), [graph, open, direction]);
  const nodes = useMemo(() => drawnNodes(laid), [laid]);
  const edges = useMemo(() => drawnEdges(laid), [laid]);
  const nested = useMemo(() => nestedKeys(graph, graph, ""), [graph]);
  const tab = focused && laid.nodes.some((node) => node.key === focused) ? focused : (laid.nodes[0]?.key ?? null);
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  const fit = useCallback(() => void flow.fitView({ padding: 0.08, maxZoom: 1.1, duration: calm ? 0 : 200 }), [flow, calm]);

  const show = useCallback(
    (node: PlacedNode) => {
      const seen = box.current?.getBoundingClientRect();
      if (!seen) return;
      const { x, y, zoom } = flow.getViewport();
      const [left, top] = [node.x * zoom + x, node.y * zoom + y];
      const height = node.open ? HEADER : node.height;
      if (left >= 0 && top >= 0 && left + node.width * zoom <= seen.width && top + height * zoom <= seen.height) return;
      void flow.setCenter(node.x + node.width / 2, node.y + height / 2, { zoom, duration: 0 });
    },
    [flow],
  );

  // What is drawn has another size: all of it is shown, or where that could not be read, as much as can be.
  const beginning = useRef(beginAt);
  useEffect(() => {
    const frame = requestAnimationFrame(() => {
      const seen = box.current?.getBoundingClientRect();
      if (!seen) return;
      const whole = 0.94 * Math.min(seen.width / laid.width, seen.height / laid.height);
      const across = 0.94 * (direction === "down" ? seen.width / laid.width : seen.height / laid.height);
      const zoom = whole >= READABLE ? Math.min(1.1, whole) : Math.min(1, Math.max(READABLE, across));
      const middle = (size: number, room: number) => (room - size * zoom) / 2;
      const x = middle(laid.width, seen.width);
      const y = middle(laid.height, seen.height);
      void flow.setViewport({ x: direction === "right" ? Math.max(8, x) : x, y: direction === "down" ? Math.max(8, y) : y, zoom });
      const first = laid.nodes.find((each) => each.key === beginning.current);
      beginning.current = null;
      if (first) show(first);
    });
    return () => cancelAnimationFrame(frame);
  }, [laid, flow, direction, show]);

  // Where the room changes, as when a panel opens beside it, the middle stays in the middle.
  useEffect(() => {
    let width = 0;
    const measured = new ResizeObserver(([entry]) => {
      const now = entry?.contentRect.width ?? 0;
      const { x, y, zoom } = flow.getViewport();
      if (width && now && now !== width) void flow.setViewport({ x: x + (now - width) / 2, y, zoom });
      width = now;
    });
    measured.observe(box.current!);
    return () => measured.disconnect();
  }, [flow]);

  // What is looked at is in sight, also when it was not chosen here.
  useEffect(() => {
    const node = laid.nodes.find((each) => each.key === selected);
    if (!node) return;
    const frame = requestAnimationFrame(() => requestAnimationFrame(() => show(node)));
    return () => cancelAnimationFrame(frame);
  }, [selected, laid, show]);

  const toggle = useCallback((key: string) => {
    setOpen((before) => {
      const after = new Set(before);
      if (!after.delete(key)) after.add(key);
      return after;
    });
  }, []);
  const select = useCallback((node: PlacedNode) => (setFocused(node.key), onSelect?.(node)), [onSelect]);
  const move = useCallback(
    (from: PlacedNode, towards: string) => {
      const next = nearest(laid.nodes, from, towards);
      if (!next) return;
      setFocused(next.key);
      const there = [...(box.current?.querySelectorAll<HTMLElement>("[data-key]") ?? [])].find((each) => each.dataset.key === next.key);
      there?.focus({ preventScroll: true });
      show(next);
    },
    [laid, show],
  );
  const control = useMemo(
    () => ({ root: graph, marks, selected, focused: tab, select, toggle, move }),
    [graph, marks, selected, tab, select, toggle, move],
  );

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement) return;
    if (event.key === "+" || event.key === "=") void flow.zoomIn();
    else if (event.key === "-") void flow.zoomOut();
    else if (event.key === "0") fit();
    else return;
    event.preventDefault();
  };

  const all = nested.length > 0 && nested.every((key) => open.has(key));
  return (
    <div className="graph" onKeyDown={onKeyDown}>
      <div className="graph-tools" role="toolbar" aria-label="Drawing">
        {tools}
        <span className="graph-tools-own">
          <button type="button" className="quiet" onClick={() => void flow.zoomOut()} aria-label="Zoom out" title="Zoom out (−)">
            −
          </button>
          <button type="button" className="quiet" onClick={() => void flow.zoomIn()} aria-label="Zoom in" title="Zoom in (+)">
            +
          </button>
          <button type="button" className="quiet" onClick={fit} title="Show all of it (0)">
            Fit
          </button>
          <button type="button" className="quiet" onClick={() => setDirection(direction === "down" ? "right" : "down")}>
            {direction === "down" ? "Draw to the right" : "Draw downwards"}
          </button>
          {nested.length > 0 && (
            <button type="button" className="quiet" onClick={() => setOpen(all ? new Set() : new Set(nested))}>
              {all ? "Close all" : "Open all"}
            </button>
          )}
          <button type="button" className="quiet" aria-pressed={map} onClick={() => setMap(!map)}>
            Map
          </button>
        </span>
      </div>
      <div className="graph-canvas" ref={box} role="group" aria-label={label ?? `Graph of ${graph.workflow_id}`}>
        <EdgeMarkers />
        <GraphContext value={control}>
          <ReactFlow
            nodes={nodes}
            edges={edges}
            nodeTypes={nodeTypes}
            edgeTypes={edgeTypes}
            nodesDraggable={false}
            nodesConnectable={false}
            nodesFocusable={false}
            edgesFocusable={false}
            elementsSelectable={false}
            deleteKeyCode={null}
            selectionKeyCode={null}
            disableKeyboardA11y
            zoomOnDoubleClick={false}
            panOnScroll
            minZoom={0.08}
            maxZoom={2}
            onlyRenderVisibleElements={laid.nodes.length > 300}
            proOptions={{ hideAttribution: true }}
          >
            {map && <MiniMap pannable zoomable ariaLabel="Map of the drawing" />}
          </ReactFlow>
        </GraphContext>
      </div>
    </div>
  );
}

function drawnNodes(laid: Layout): (BoxNode | FrameNode)[] {
  const frames = laid.frames.map<FrameNode>((frame) => ({
    id: frame.key, type: "frame", position: { x: frame.x, y: frame.y }, width: frame.width, height: frame.height,
    data: { frame }, zIndex: depth(frame.key) * 4,
  }));
  const boxes = laid.nodes.map<BoxNode>((placed) => ({
    id: placed.key, type: "box", position: { x: placed.x, y: placed.y }, width: placed.width, height: placed.height,
    data: { placed }, zIndex: depth(placed.key) * 4 + (placed.open ? 1 : 3),
  }));
  return [...frames, ...boxes];
}

function drawnEdges(laid: Layout): RoutedEdge[] {
  return laid.edges.map((placed) => ({
    id: placed.key, type: "routed", source: placed.source, target: placed.target, data: { placed }, zIndex: depth(placed.key) * 4 + 2,
  }));
}

function depth(key: string): number {
  return key.split("/").length;
}

function nestedKeys(graph: Graph, root: Graph, prefix: string): string[] {
  return graph.nodes.flatMap((node) => {
    const inner = innerOf(root, node);
    return inner ? [keyOf(prefix, node.id), ...nestedKeys(inner, root, `${prefix}${node.path}/`)] : [];
  });
}
