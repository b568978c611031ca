// One edge, along the points that the layout found for it.
import type { Edge, EdgeProps } from "@xyflow/react";
import { memo, useContext } from "react";

import { visible } from "../ui/visible";
import { GraphContext } from "./GraphContext";
import type { PlacedEdge, Point } from "./layout";

export type RoutedEdge = Edge<{ placed: PlacedEdge }, "routed">;

const LONGEST = 34;

export const GraphEdgeLine = memo(function GraphEdgeLine({ data }: EdgeProps<RoutedEdge>) {
  const { marks } = useContext(GraphContext);
  const { edge, points, label, key } = data!.placed;
  const mark = marks.edge(key);
  const text = [edge.label, mark?.answer && `→ ${mark.answer}`].filter(Boolean).join(" ");
  const shown = text.length > LONGEST + 8 ? `${text.slice(0, LONGEST + 7)}…` : text;
  const at = label ?? points[Math.floor(points.length / 2)];
  const state = mark?.state || "plain";
  return (
    <g className={`gedge kind-${edge.kind} is-${state}`}>
      <path className="gedge-line" d={curve(points)} markerEnd={`url(#gedge-${state})`} />
      {shown && at && (
        <g transform={`translate(${at.x} ${at.y})`}>
          <title>{visible(text)}</title>
          <rect className="gedge-ground" x={-shown.length * 3.2 - 5} y={-9} width={shown.length * 6.4 + 10} height={18} rx={4} />
          <text className="gedge-label" textAnchor="middle" dominantBaseline="central">
            {visible(shown)}
          </text>
        </g>
      )}
    </g>
  );
});

/** A line through *points* whose corners are round. */
function curve(points: Point[]): string {
  const [first, ...rest] = points;
  if (!first) return "";
  let d = `M ${first.x} ${first.y}`;
  for (let index = 0; index < rest.length - 1; index += 1) {
    const here = rest[index]!;
    const next = rest[index + 1]!;
    const middle = index === rest.length - 2 ? next : { x: (here.x + next.x) / 2, y: (here.y + next.y) / 2 };
    d += ` Q ${here.x} ${here.y} ${middle.x} ${middle.y}`;
  }
  if (rest.length === 1) d += ` L ${rest[0]!.x} ${rest[0]!.y}`;
  return d;
}

export function EdgeMarkers() {
  return (
    <svg className="gedge-markers" aria-hidden="true">
      <defs>
        {["plain", "taken", "off", "added", "removed"].map((state) => (
          <marker key={state} id={`gedge-${state}`} className={`is-${state}`} viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto-start-reverse">
            <path d="M 0 1 L 9 5 L 0 9 z" />
          </marker>
        ))}
      </defs>
    </svg>
  );
}
