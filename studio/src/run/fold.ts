// Events, put together: what each node of the run did, as far as is known.
import type { Fault, Json, JsonObject, Run, RunEvent, Tripwire, Usage } from "../api/types";
import { graphKey, newNode, type Decision, type Gap, type HookChange, type NodeState } from "./model";

// What steps send is shown from its end; a long run may send very much.
const EMITTED_KEPT = 200;
const CHUNKS_KEPT = 2_000;

/** All that is known of a run; `take` adds to it, and `version` counts how often. */
export class RunFold {
  readonly events: RunEvent[] = [];
  readonly nodes = new Map<string, NodeState>();
  /** The records of one node of the graph, in the order in which they began. */
  readonly byKey = new Map<string, NodeState[]>();
  readonly gaps: Gap[] = [];
  version = 0;
  lastSeq = -1;
  /** How many events are no longer kept by the server. */
  missing = 0;
  status = "";
  started: number | null = null;
  ended: number | null = null;
  finish: JsonObject | null = null;

  /** Add what is new of *events*: what was there is known by its seq. */
  take(events: readonly RunEvent[]): number {
    let added = 0;
    for (const event of events) {
      if (event.seq <= this.lastSeq) continue;
      this.missing += event.seq - this.lastSeq - 1;
      this.lastSeq = event.seq;
      this.events.push(event);
      this.one(event);
      added += 1;
    }
    if (added) this.version += 1;
    return added;
  }

  /** Fill in from the run's record what no event told: of a run whose events are no longer kept. */
  fill(run: Run): void {
    for (const record of run.nodes ?? []) {
      if (this.nodes.has(record.path)) continue;
      const node = this.node(record.path, record.id, record.kind);
      node.status = record.status;
      node.input = record.input;
      node.output = record.output;
      if (record.error) node.error = record.error;
      if (record.tripwire) node.tripwire = record.tripwire;
      if (record.started !== null)
        node.spans.push({
          attempt: record.attempt,
          started: record.started,
          ended: record.seconds === null ? null : record.started + record.seconds,
          status: record.status,
        });
    }
    if (!this.status) this.status = run.status;
    this.version += 1;
  }

  private node(path: string, id: string | null, kind?: string): NodeState {
    let node = this.nodes.get(path);
    if (!node) {
      node = newNode(path, id ?? path, kind);
      this.nodes.set(path, node);
      const key = graphKey(node);
      const others = this.byKey.get(key);
      if (others) others.push(node);
      else this.byKey.set(key, [node]);
    } else if (kind && !node.kind) {
      const before = graphKey(node);
      node.kind = kind;
      const key = graphKey(node);
      if (key !== before) {
        this.byKey.set(before, (this.byKey.get(before) ?? []).filter((each) => each !== node));
        this.byKey.set(key, [...(this.byKey.get(key) ?? []), node]);
      }
    }
    return node;
  }

  private one(event: RunEvent): void {
    const { type, ts, payload } = event;
    if (type.startsWith("run.")) this.runEvent(event);
    else if (type.startsWith("node.")) this.nodeEvent(event);
    else if (type === "branch.decided") this.decision(event);
    else if (type === "merge.applied")
      this.node(event.node_path, event.node_id).merges.push({
        seq: event.seq,
        policy: String(payload.policy ?? ""),
        branches: payload.branches ?? null,
        conflicts: payload.conflicts ?? null,
        payload,
      });
    else if (type === "foreach.progress") {
      const node = this.node(event.node_path, event.node_id, "foreach");
      node.items.set(Number(payload.index), String(payload.status));
      node.total = Number(payload.total ?? node.total);
    } else if (type === "hook.changed") this.hook(event);
    else if (type === "stream.passed") this.chunk(event);
    else if (type === "model.asked")
      this.node(event.node_path, event.node_id).calls.push({ seq: event.seq, asked: payload, answered: null });
    else if (type === "model.answered") {
      const { calls } = this.node(event.node_path, event.node_id);
      const open = calls.findLast((call) => call.answered === null);
      if (open) open.answered = payload;
      else calls.push({ seq: event.seq, asked: null, answered: payload });
    }
    if (this.started === null) this.started = ts;
  }

  private runEvent({ type, ts, payload }: RunEvent): void {
    if (type === "run.started") {
      this.status = "running";
      this.ended = null;
      this.resumed(ts);
    } else if (type === "run.suspended") {
      this.status = String(payload.status ?? "suspended");
      this.gaps.push({ from: ts, to: null });
      this.ended = ts;
    } else if (type === "run.finished") {
      this.status = String(payload.status ?? "");
      this.finish = payload;
      this.ended = ts;
      for (const node of this.nodes.values()) {
        // What the run left open has no end of its own: the run's is its end.
        if (node.status !== "running") continue;
        node.status = "cancelled";
        const span = node.spans.at(-1);
        if (span && span.ended === null) Object.assign(span, { ended: ts, status: "cancelled" });
      }
    }
  }

  /** A run that goes on after it has waited. */
  private resumed(ts: number): void {
    const gap = this.gaps.at(-1);
    if (gap && gap.to === null) {
      gap.to = ts;
      this.ended = null;
      this.status = "running";
    }
  }

  private nodeEvent(event: RunEvent): void {
    const { ts, payload, attempt } = event;
    const what = event.type.slice(5);
    const kind = typeof payload.kind === "string" ? payload.kind : undefined;
    const node = this.node(event.node_path, event.node_id, kind);
    if (this.gaps.length) this.resumed(ts);
    if (what === "started") {
      node.status = "running";
      if (payload.input !== undefined) node.input = payload.input;
      if (typeof payload.total === "number") node.total = payload.total;
      node.spans.push({ attempt, started: ts, ended: null, status: "running" });
    } else if (what === "retrying") {
      const error = payload.error as Fault;
      this.end(node, ts, "failed", attempt - 1, { error });
      const delay = Number(payload.delay ?? 0);
      node.status = "running";
      node.spans.push({ attempt, started: ts + delay, ended: null, status: "running" });
    } else if (what === "output") {
      node.emittedCount += 1;
      node.emitted.push(payload.output ?? null);
      if (node.emitted.length > EMITTED_KEPT) node.emitted.shift();
    } else if (what === "skipped") {
      node.status = "skipped";
      node.reason = reasonOf(payload);
    } else if (what === "suspended") {
      node.question = { payload: payload.payload ?? null, label: (payload.label as string | null) ?? null };
      this.end(node, ts, "suspended", attempt);
    } else if (what === "completed") {
      node.output = payload.output;
      node.question = undefined;
      this.end(node, ts, payload.bailed ? "bailed" : "success", attempt);
    } else if (what === "failed") {
      node.error = payload.error as Fault;
      this.end(node, ts, "failed", attempt, { error: node.error });
    } else if (what === "blocked") {
      node.tripwire = payload.tripwire as Tripwire;
      this.end(node, ts, "blocked", attempt);
    } else if (what === "cancelled") {
      node.reason = reasonOf(payload);
      this.end(node, ts, "cancelled", attempt, { reason: node.reason });
    }
  }

  private end(node: NodeState, ts: number, status: string, attempt: number, more: object = {}): void {
    node.status = status;
    let span = node.spans.findLast((each) => each.ended === null);
    if (!span) {
      if (status === "cancelled") return; // it never began
      node.spans.push((span = { attempt, started: ts, ended: null, status }));
    }
    Object.assign(span, { ended: Math.max(ts, span.started), status, ...more });
  }

  private decision({ seq, node_path, node_id, payload }: RunEvent): void {
    const isLoop = payload.round !== undefined;
    const node = this.node(node_path, node_id, isLoop ? "loop" : "branch");
    node.decisions.push({ seq, ...(payload as object) } as Decision);
    if (!isLoop && !node.status) node.status = "success";
  }

  private hook({ seq, node_path, node_id, payload }: RunEvent): void {
    const change: HookChange = {
      seq,
      hook: String(payload.hook ?? ""),
      processor: String(payload.processor ?? node_id ?? ""),
      step: typeof payload.step_number === "number" ? payload.step_number : null,
      seconds: typeof payload.seconds === "number" ? payload.seconds : null,
      outcome: String(payload.outcome ?? ""),
      messages: (payload.messages ?? []) as unknown as HookChange["messages"],
      fields: (payload.fields ?? {}) as HookChange["fields"],
      violations: (payload.violations ?? []) as Json[],
    };
    this.node(node_path, node_id).changes.push(change);
  }

  private chunk({ seq, node_path, node_id, payload }: RunEvent): void {
    const hook = this.node(node_path, node_id);
    if (!hook.status) hook.status = "success";
    let before = payload.came ? [payload.came as JsonObject] : [];
    for (const stage of (payload.stages ?? []) as { processor: string; node_path: string; out: JsonObject[] }[]) {
      const node = this.node(stage.node_path, stage.processor, "processor");
      if (!node.status) node.status = "success";
      const after = stage.out ?? [];
      if (node.chunks.length < CHUNKS_KEPT) node.chunks.push({ seq, number: Number(payload.number), before, after });
      before = after;
    }
  }
}

function reasonOf(payload: JsonObject): string {
  return typeof payload.reason === "string" ? payload.reason : "";
}

/** What a node's model calls used, all together; null where none said. */
export function usageOf(nodes: readonly NodeState[]): Usage | null {
  const sum: Record<string, number> = {};
  for (const node of nodes)
    for (const call of node.calls) {
      const usage = (call.answered?.usage ?? null) as JsonObject | null;
      for (const [name, value] of Object.entries(usage ?? {})) if (typeof value === "number") sum[name] = (sum[name] ?? 0) + value;
    }
  return Object.keys(sum).length ? sum : null;
}
