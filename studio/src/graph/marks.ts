// What is said of a graph's nodes and edges: by a run (run/marks.ts), or by a comparison.

export interface NodeMark {
  status: string;
  /** What stands beside the status: "112 ms ×3". */
  text?: string;
  /** How much of the most any node took, from 0 to 1: the overlay of time, tokens or cost. */
  heat?: number;
}

export interface EdgeMark {
  /** Whether a run went along it, or cannot any more. */
  state: "taken" | "off" | "added" | "removed" | "";
  /** What the condition said: it stands beside the label. */
  answer?: string;
}

export interface GraphMarks {
  /** By the key of the node in the drawing. */
  node(key: string, path: string, kind: string): NodeMark | undefined;
  edge(key: string): EdgeMark | undefined;
}

export const NO_MARKS: GraphMarks = { node: () => undefined, edge: () => undefined };
