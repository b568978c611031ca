// What every node of a drawing needs to know, and can ask for.
import { createContext } from "react";

import type { Graph } from "../api/types";
import type { PlacedNode } from "./layout";
import { NO_MARKS, type GraphMarks } from "./marks";

export interface GraphControl {
  root: Graph;
  marks: GraphMarks;
  selected: string | null;
  /** The one node that Tab leads to; arrow keys lead on from it. */
  focused: string | null;
  select: (node: PlacedNode) => void;
  toggle: (key: string) => void;
  move: (from: PlacedNode, towards: string) => void;
}

export const GraphContext = createContext<GraphControl>({
  root: { schema_version: 1, workflow_id: "", kind: "", graph_hash: "", nodes: [], edges: [], groups: [], schemas: {} },
  marks: NO_MARKS,
  selected: null,
  focused: null,
  select: () => {},
  toggle: () => {},
  move: () => {},
});
