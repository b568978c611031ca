// What the server gives, as its OpenAPI document says.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export interface Info {
  version: string;
  read_only: boolean;
  redacted: boolean;
  studio: boolean;
  token_needed: boolean;
}

export interface HookChain {
  hook: string;
  processors: string[];
}

export interface Agent {
  id: string;
  description: string;
  models: string[];
  tools: { name: string; description: string; parameters: JsonObject; approval: Json }[];
  hooks: HookChain[];
  workflows: string[];
  loop: string;
  memory: boolean;
  threads: boolean;
}

export interface Workflow {
  id: string;
  kind: "workflow" | "processors" | "loop";
  agent?: string | null;
  list?: "input" | "output" | "error" | null;
  description: string;
  step_count: number;
  graph_hash: string;
  hooks: string[];
  input_schema?: JsonObject | null;
  output_schema?: JsonObject | null;
  state_schema?: JsonObject | null;
}

export interface Fault {
  type?: string;
  code?: string;
  message?: string;
  hint?: string | null;
  [key: string]: Json | undefined;
}

export interface Tripwire {
  reason?: string;
  processor_id?: string;
  hook?: string;
  retry?: boolean;
  metadata?: Json;
  [key: string]: Json | undefined;
}

export interface Usage {
  input_tokens?: number;
  output_tokens?: number;
  total_tokens?: number;
  cached_tokens?: number;
  cost?: number | null;
  [key: string]: Json | undefined;
}

export interface Spent {
  calls: number;
  input_tokens: number;
  output_tokens: number;
  /** In dollars; null where a price is not known. */
  cost: number | null;
}

export interface Question {
  path: string;
  label: string | null;
  question_id: string;
  payload: Json;
  schema: JsonObject | null;
  /** Of an agent's tool call that waits. */
  tool?: string;
  args?: Json;
}

export interface NodeRecord {
  path: string;
  id: string;
  kind: string;
  status: string;
  attempt: number;
  attempts?: Json;
  started: number | null;
  seconds: number | null;
  input?: Json;
  output?: Json;
  error?: Fault | null;
  tripwire?: Tripwire | null;
}

export interface RunSummary {
  run_id: string;
  owner: string;
  kind: "agent" | "workflow";
  status: string;
  created_at: Json;
  updated_at: Json;
  seconds: number | null;
  /** The run that it was forked from, and the node at which. */
  parent_run_id: string | null;
  forked_at: string | null;
  /** The run inside which it went on. */
  outer_run_id?: string | null;
}

export interface Run extends RunSummary {
  input: Json;
  output: Json;
  error: Fault | null;
  tripwire: Tripwire | null;
  usage: Usage | null;
  suspended: Question[];
  nodes: NodeRecord[];
  graph_hash: string | null;
  last_seq: number;
  forks: string[];
  /** Of a kept run that goes on as far as is known: whether its process is gone, so that it can be restarted. */
  broken_off?: boolean;
  inner_runs?: string[];
  /** What model calls used, by the path of the node. */
  spent?: Record<string, Spent>;
}

export interface RunEvent {
  seq: number;
  ts: number;
  run_id: string;
  type: string;
  node_path: string;
  node_id: string | null;
  attempt: number;
  payload: JsonObject;
}

export type NodeKind =
  | "step" | "processor" | "agent" | "tool" | "map" | "workflow" | "hook" | "model" | "sleep"
  | "fork" | "join" | "decision" | "loop" | "foreach" | "start" | "end";

export interface GraphNode {
  id: string;
  path: string;
  kind: NodeKind;
  label: string;
  description?: string;
  input_schema_ref?: string;
  output_schema_ref?: string;
  suspend_schema_ref?: string;
  resume_schema_ref?: string;
  hooks?: string[];
  on?: string[];
  /** The hook in whose place it is drawn: not from the server. */
  at?: string;
  mutates?: boolean;
  placeholder?: boolean;
  can_suspend?: boolean;
  retry?: JsonObject;
  timeout?: number;
  budget?: JsonObject;
  made_of?: JsonObject;
  source?: { file: string; line: number };
  ref?: string;
  ref_hash?: string;
}

export interface GraphEdge {
  source: string;
  target: string;
  kind: "seq" | "fork" | "join" | "true" | "false" | "default" | "back";
  label?: string;
  type_ref?: string;
}

export interface GraphGroup {
  id: string;
  kind: "parallel" | "branch" | "loop" | "foreach";
  label: string;
  children: string[];
  entry: string;
  exit: string;
  merge?: string;
  concurrency?: number | string;
  options?: JsonObject;
}

export interface Graph {
  schema_version: number;
  workflow_id: string;
  kind: string;
  graph_hash: string;
  nodes: GraphNode[];
  edges: GraphEdge[];
  groups: GraphGroup[];
  schemas: Record<string, JsonObject>;
  workflows?: Record<string, Graph>;
  description?: string;
}

export interface Bundle {
  run: Run;
  graph: Graph | null;
  events: RunEvent[];
  [key: string]: unknown;
}
