// The graph of a run, with what became of each node, and the panel of the one that is looked at.
import { useCallback, useMemo, useState } from "react";

import type { Graph, Run } from "../api/types";
import { GraphView } from "../graph/GraphView";
import { keyOf, type PlacedNode } from "../graph/layout";
import { innerOf } from "../graph/serving";
import { Empty } from "../ui/parts";
import type { LiveRun } from "./live";
import { recordsOf, runMarks, type Overlay } from "./marks";
import { NodePanel } from "./NodePanel";

export function RunGraph({ live, node, onNode }: { live: LiveRun; node: string | null; onNode: (path: string | null) => void }) {
  const { graph, fold, version } = live;
  const [overlay, setOverlay] = useState<Overlay>("status");
  const [key, setKey] = useState<string | null>(null);
  const now = fold.ended ?? Date.now() / 1000;
  const marks = useMemo(() => (graph ? runMarks(graph, fold, now, overlay, live.run.spent) : undefined), [graph, fold, version, overlay, live.run.spent]);
  const places = useMemo(() => (graph ? placesOf(graph, graph, "") : []), [graph]);
  const select = useCallback(
    (placed: PlacedNode) => {
      setKey(placed.key);
      onNode(placed.prefix + placed.node.path);
    },
    [onNode],
  );

  const begin = useMemo(() => placeOfInterest(places, live.run.nodes), [places, live.run.nodes]);

  // What is looked at: one of the graph's nodes (with all its rounds), or one record by its path.
  const bare = node?.replace(/\[\d+\]/g, "");
  const place = places.find((each) => each.key === key && each.path === node) ?? places.find((each) => each.path === bare);
  const record = node ? fold.nodes.get(node) : undefined;
  const records = place && place.path === node ? recordsOf(fold, place.path, place.kind) : record ? [record] : [];
  const shown = place && records.length === 0 && ["fork", "join", "decision"].includes(place.kind) ? groupRecord(live, place.path) : records;

  return (
    <div className={`run-graph${node ? " has-panel" : ""}`}>
      {graph ? (
        <GraphView
          graph={graph}
          marks={marks}
          selected={place?.key ?? null}
          beginAt={node ? null : (begin?.key ?? null)}
          onSelect={select}
          opened={places.filter((each) => each.nested && ((each.depth < 1 && places.length <= 60) || (bare ?? begin?.path)?.startsWith(`${each.path}/`))).map((each) => each.key)}
          tools={
            <label className="row-label">
              Show
              <select value={overlay} onChange={(event) => setOverlay(event.target.value as Overlay)}>
                <option value="status">status and time</option>
                <option value="time">time, as bars</option>
                <option value="tokens">tokens</option>
                <option value="cost">cost</option>
              </select>
            </label>
          }
        />
      ) : graph === undefined ? (
        <p className="loading" role="status">
          Loading…
        </p>
      ) : (
        <Empty title="Its graph is not here">The workflow that it ran is not served any more; the timeline and the events are.</Empty>
      )}
      {node && (
        <NodePanel
          key={node}
          live={live}
          records={shown}
          title={place?.path === node ? place.label : node.slice(node.lastIndexOf("/") + 1)}
          onRecord={(path) => onNode(path)}
          onClose={() => {
            const back = document.querySelector<HTMLElement>(`.gnode[aria-pressed="true"]`);
            setKey(null);
            onNode(null);
            back?.focus();
          }}
        />
      )}
    </div>
  );
}

/** What the run waits for, was ended by or does now: the innermost of it, which the page begins with. */
function placeOfInterest(places: readonly Place[], records: Run["nodes"]): Place | undefined {
  for (const status of ["suspended", "failed", "blocked", "running"]) {
    const there = new Set(records.filter((each) => each.status === status).map((each) => each.path.replace(/\[\d+\]/g, "")));
    const found = places.filter((each) => there.has(each.path)).sort((a, b) => b.depth - a.depth)[0];
    if (found) return found;
  }
  return undefined;
}

function groupRecord(live: LiveRun, path: string) {
  const found = live.fold.nodes.get(path);
  return found ? [found] : [];
}

interface Place {
  key: string;
  path: string;
  kind: string;
  label: string;
  nested: boolean;
  depth: number;
}

function placesOf(graph: Graph, root: Graph, prefix: string): Place[] {
  return graph.nodes.flatMap((node) => {
    const inner = innerOf(root, node);
    const path = prefix + node.path;
    const own = { key: keyOf(prefix, node.id), path, kind: node.kind, label: node.label || node.id, nested: inner !== null, depth: prefix.split("/").length - 1 };
    return inner ? [own, ...placesOf(inner, root, `${path}/`)] : [own];
  });
}
