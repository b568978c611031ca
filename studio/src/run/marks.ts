// What a run says of each node and edge of its graph.
import type { Graph, GraphGroup, GraphNode, Spent } from "../api/types";
import { keyOf } from "../graph/layout";
import { innerOf } from "../graph/serving";
import type { EdgeMark, GraphMarks, NodeMark } from "../graph/marks";
import { count, duration, money } from "../ui/words";
import { usageOf, type RunFold } from "./fold";
import { secondsOf, worst, type NodeState } from "./model";

export type Overlay = "status" | "time" | "tokens" | "cost";

/** Lay *fold* over *graph*. */
export function runMarks(graph: Graph, fold: RunFold, now: number, overlay: Overlay, spent: Record<string, Spent> = {}): GraphMarks {
  const made = new Maker(fold, now, overlay, spent);
  made.level(graph, graph, "");
  return made.done();
}

/** The records of the node at *path* of the graph: those of all rounds. */
export function recordsOf(fold: RunFold, path: string, kind: string): NodeState[] {
  const container = kind === "loop" || kind === "foreach";
  return fold.byKey.get(container ? `${path}[]` : path) ?? [];
}

class Maker {
  private readonly nodes = new Map<string, NodeMark>();
  private readonly edges = new Map<string, EdgeMark>();
  private readonly weights = new Map<string, number>();

  constructor(
    private readonly fold: RunFold,
    private readonly now: number,
    private readonly overlay: Overlay,
    private readonly spent: Record<string, Spent>,
  ) {}

  done(): GraphMarks {
    const most = Math.max(0, ...this.weights.values());
    if (most > 0) for (const [key, weight] of this.weights) this.nodes.get(key)!.heat = weight / most;
    return { node: (key) => this.nodes.get(key), edge: (key) => this.edges.get(key) };
  }

  level(graph: Graph, root: Graph, prefix: string): void {
    const groups = new Map<string, GraphGroup>();
    for (const group of graph.groups) {
      groups.set(group.entry, group);
      groups.set(group.exit, group);
    }
    let after = false;
    for (const node of [...graph.nodes].reverse()) {
      const own = this.mark(node, prefix, groups.get(node.id));
      // A hook that the run came by and at which nobody had anything to do.
      const mark = own ?? (after && node.kind === "hook" ? { status: "idle" } : undefined);
      if (mark) this.nodes.set(keyOf(prefix, node.id), mark);
      after ||= own !== undefined;
    }
    graph.edges.forEach((edge, index) => {
      const mark = this.edge(graph, prefix, edge.source, edge.target, edge.kind, groups.get(edge.source));
      if (mark) this.edges.set(`${prefix}${edge.source}→${edge.target}#${index}`, mark);
    });
    for (const node of graph.nodes) {
      const inner = innerOf(root, node);
      if (inner) this.level(inner, root, `${prefix}${node.path}/`);
    }
  }

  private mark(node: GraphNode, prefix: string, group: GraphGroup | undefined): NodeMark | undefined {
    const { fold, now } = this;
    if (node.kind === "start" || node.kind === "end") {
      // Those of what is nested: begun and ended as the node is that it is inside of.
      const around = prefix ? worst(recordsOf(fold, prefix.slice(0, -1), "").map((each) => each.status)) : fold.status;
      const passed = node.kind === "start" ? around && around !== "skipped" : around === "success";
      return passed ? { status: "success" } : undefined;
    }
    const own = recordsOf(fold, prefix + node.path, node.kind);
    if (node.kind === "fork" || node.kind === "join" || node.kind === "decision") {
      const arms = (group?.children ?? []).flatMap((id) => recordsOf(fold, prefix + id, ""));
      const ran = [...own, ...arms].filter((each) => each.status && each.status !== "skipped");
      if (!ran.length) return undefined;
      const status = worst(ran.map((each) => each.status));
      if (node.kind === "join") return { status };
      return { status: own.some((each) => each.status === "failed") ? "failed" : "success" };
    }
    const told = own.filter((each) => each.status);
    if (!told.length) return undefined;
    const status = worst(told.map((each) => each.status));
    if (status === "skipped") return { status };
    const seconds = told.reduce<number | null>((sum, each) => add(sum, secondsOf(each, now)), null);
    const mark: NodeMark = { status, text: this.text(told, seconds) };
    const weight = this.weight(told, seconds);
    if (weight) this.weights.set(keyOf(prefix, node.id), weight);
    return mark;
  }

  private text(records: NodeState[], seconds: number | null): string {
    const times = records.length > 1 ? ` ×${count(records.length)}` : "";
    const tries = Math.max(...records.map((each) => each.spans.at(-1)?.attempt ?? 1));
    const again = tries > 1 ? ` · ${tries} attempts` : "";
    const usage = this.overlay === "tokens" ? usageOf(records) : null;
    if (usage) return `${count(tokens(usage))} tokens${times}`;
    if (this.overlay === "cost") {
      const costs = this.costs(records);
      if (costs.length) return costs.includes(null) ? "price not known" : `${money(sum(costs))}${times}`;
    }
    const progress = records.find((each) => each.total !== null);
    if (progress?.total) return `${count(progress.items.size)} of ${count(progress.total)}`;
    return (seconds === null ? "" : duration(seconds)) + times + again;
  }

  private weight(records: NodeState[], seconds: number | null): number {
    if (this.overlay === "time") return seconds ?? 0;
    if (this.overlay === "cost") return sum(this.costs(records));
    const usage = this.overlay === "tokens" ? usageOf(records) : null;
    return usage ? tokens(usage) : 0;
  }

  /** What the model calls of each record cost in dollars; null where a price is not known. */
  private costs(records: NodeState[]): (number | null)[] {
    return records.map((each) => this.spent[each.path]).filter((each) => each !== undefined).map((each) => each.cost);
  }

  private edge(
    graph: Graph, prefix: string, source: string, target: string, kind: string, group: GraphGroup | undefined,
  ): EdgeMark | undefined {
    const to = this.nodes.get(keyOf(prefix, target));
    const from = this.nodes.get(keyOf(prefix, source));
    const decided = group?.kind === "branch" && group.entry === source;
    if (decided) {
      const decisions = recordsOf(this.fold, prefix + group.id, "branch").flatMap((each) => each.decisions);
      const last = decisions.at(-1);
      if (!last) return undefined;
      const isArm = kind === "true" || kind === "default";
      const answer = isArm ? last.conditions?.[target] : undefined;
      const taken = isArm ? (last.chosen ?? []).includes(target) : (last.chosen ?? []).length === 0;
      return { state: taken ? "taken" : "off", answer: answer === undefined ? undefined : String(answer) };
    }
    if (kind === "back") {
      const again = recordsOf(this.fold, prefix + source.replace(/@loop$/, ""), "loop").flatMap((each) => each.decisions);
      const rounds = again.filter((each) => each.again).length;
      return again.length ? { state: rounds ? "taken" : "off", answer: rounds ? `${rounds}×` : undefined } : undefined;
    }
    const target_ = graph.nodes.find((node) => node.id === target);
    if (from?.status === "skipped" || to?.status === "skipped") return { state: "off" };
    if (!from || !["success", "bailed", "idle"].includes(from.status)) return undefined;
    return to || target_?.kind === "end" ? { state: "taken" } : undefined;
  }
}

function add(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : a + b;
}

function sum(numbers: (number | null)[]): number {
  return numbers.reduce<number>((all, each) => all + (each ?? 0), 0);
}

function tokens(usage: Record<string, unknown>): number {
  return Number(usage.total_tokens ?? Number(usage.input_tokens ?? 0) + Number(usage.output_tokens ?? 0));
}
