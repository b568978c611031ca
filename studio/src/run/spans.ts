// The timeline: every attempt of every node as a bar, and the chain of bars that the run's length is made of.
import type { RunFold } from "./fold";
import type { NodeState, Span } from "./model";

export interface Bar {
  node: NodeState;
  span: Span;
  depth: number;
  /** Its end, which is now while it runs. */
  end: number;
  critical: boolean;
}

// Clocks of a start and of the end before it may differ by this much, in seconds.
const TOGETHER = 0.002;

/** All bars in the order in which a reader expects them: by start, what is inside below what it is inside of. */
export function barsOf(fold: RunFold, now: number): Bar[] {
  const children = new Map<string, Bar[]>();
  for (const node of fold.nodes.values()) {
    const parent = parentOf(node.path, fold);
    const depth = node.path.split("/").length - 1 + (/\]$/.test(node.path) ? 1 : 0);
    for (const span of node.spans) {
      const bar = { node, span, depth, end: span.ended ?? now, critical: false };
      const beside = children.get(parent);
      if (beside) beside.push(bar);
      else children.set(parent, [bar]);
    }
  }
  for (const bars of children.values()) bars.sort((a, b) => a.span.started - b.span.started);
  const ordered: Bar[] = [];
  const add = (parent: string): void => {
    let before: NodeState | null = null;
    for (const bar of children.get(parent) ?? []) {
      ordered.push(bar);
      if (bar.node !== before) add(bar.node.path);
      before = bar.node;
    }
    children.delete(parent);
  };
  mark(children, "");
  add("");
  for (const parent of [...children.keys()]) add(parent); // what has lost its parent: a log that begins in the middle
  return ordered;
}

/** Walk back from what ended last: each time the one that ended last before it began. */
function mark(children: Map<string, Bar[]>, parent: string): void {
  const bars = children.get(parent);
  if (!bars) return;
  // What was cancelled held up nobody: what cancelled it did.
  const counted = bars.filter((bar) => bar.span.status !== "cancelled");
  const byEnd = [...(counted.length ? counted : bars)].sort((a, b) => b.end - a.end);
  let until = Infinity;
  for (const bar of byEnd) {
    if (bar.end > until + TOGETHER) continue;
    bar.critical = true;
    until = bar.span.started;
    mark(children, bar.node.path);
  }
}

/** The nearest path above *path* that has a record. */
function parentOf(path: string, fold: RunFold): string {
  let at = path;
  for (;;) {
    const round = /^(.*)\[\d+\]$/.exec(at);
    if (round) at = round[1]!;
    else {
      const cut = at.lastIndexOf("/");
      if (cut < 0) return "";
      at = at.slice(0, cut);
    }
    if (fold.nodes.get(at)?.spans.length) return at;
  }
}
