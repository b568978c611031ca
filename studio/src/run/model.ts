// What is known of a run's nodes: made of its events (fold.ts), read by everything that shows a run.
import type { Fault, Json, JsonObject, Tripwire } from "../api/types";

/** One attempt of a node, from its start to its end; times are seconds since the epoch. */
export interface Span {
  attempt: number;
  started: number;
  ended: number | null;
  status: string;
  error?: Fault;
  /** Why it was cancelled or skipped, or how long it waited before it was made again. */
  reason?: string;
}

/** What one processor made of the messages, or of fields of the payload, at one hook. */
export interface HookChange {
  seq: number;
  hook: string;
  processor: string;
  step: number | null;
  seconds: number | null;
  outcome: string;
  messages: { id: string; role: string; change: string; before: JsonObject | null; after: JsonObject | null }[];
  fields: Record<string, { before?: Json; after?: Json }>;
  violations: Json[];
}

/** What one processor made of one chunk of the stream. */
export interface ChunkChange {
  seq: number;
  number: number;
  before: JsonObject[];
  after: JsonObject[];
}

export interface Decision {
  seq: number;
  /** Of a branch: the answer of each arm that was asked. */
  conditions?: Record<string, boolean | "error">;
  chosen?: string[];
  skipped?: string[];
  /** Of a loop. */
  round?: number;
  condition?: Json;
  again?: boolean;
}

export interface Merge {
  seq: number;
  policy: string;
  branches: Json;
  conflicts: Json;
  payload: JsonObject;
}

/** One request to a model, and its answer. */
export interface ModelCall {
  seq: number;
  asked: JsonObject | null;
  answered: JsonObject | null;
}

export interface NodeState {
  path: string;
  id: string;
  kind: string;
  status: string;
  spans: Span[];
  input?: Json;
  output?: Json;
  error?: Fault;
  tripwire?: Tripwire;
  reason?: string;
  question?: { payload: Json; label: string | null };
  emitted: Json[];
  emittedCount: number;
  changes: HookChange[];
  chunks: ChunkChange[];
  decisions: Decision[];
  merges: Merge[];
  calls: ModelCall[];
  items: Map<number, string>;
  total: number | null;
}

/** A time in which the run waited for an answer. */
export interface Gap {
  from: number;
  to: number | null;
}

const CONTAINERS = new Set(["loop", "foreach"]);

/** Where a node's record belongs in the graph: iterations put together, and a loop apart from its body. */
export function graphKey(node: { path: string; kind: string }): string {
  return node.path.replace(/\[\d+\]/g, "") + (CONTAINERS.has(node.kind) ? "[]" : "");
}

// Which of several ends of one node is shown.
const WORST = ["failed", "blocked", "suspended", "running", "cancelled", "bailed", "success", "skipped"];

export function worst(statuses: string[]): string {
  return WORST.find((status) => statuses.includes(status)) ?? statuses[0] ?? "";
}

/** Seconds from the first start to the last end; null while none has begun. */
export function secondsOf(node: NodeState, now: number): number | null {
  let sum = 0;
  for (const span of node.spans) sum += (span.ended ?? now) - span.started;
  return node.spans.length ? sum : null;
}

export function newNode(path: string, id: string, kind = ""): NodeState {
  return {
    path, id, kind, status: "", spans: [], emitted: [], emittedCount: 0, changes: [], chunks: [], decisions: [],
    merges: [], calls: [], items: new Map(), total: null,
  };
}
