// The shape of each kind of node, as the path of an SVG of its size: kinds are told apart without any colour.
import type { NodeKind } from "../api/types";

/** The name of a kind in words, which stands in the node. */
export const KIND_WORDS: Record<NodeKind, string> = {
  step: "step", processor: "processor", agent: "agent", tool: "tool", map: "map", workflow: "workflow", hook: "hook",
  model: "model", sleep: "sleep", fork: "fork", join: "join", decision: "if", loop: "loop", foreach: "for each",
  start: "start", end: "end",
};

/** The outline of a *kind* in a box of *w* by *h*, and lines within it. */
export function outline(kind: NodeKind, w: number, h: number): { path: string; lines?: string } {
  const o = 1.5; // half a line's width: nothing is cut off
  const [r, b] = [w - o, h - o];
  switch (kind) {
    case "processor":
      return { path: rounded(o, o, r, b, 16) };
    case "agent":
    case "start":
    case "end":
      return { path: rounded(o, o, r, b, h / 2 - o) };
    case "tool":
      return { path: rounded(o, o, r, b, 2), lines: `M ${o + 7} ${o} V ${b} M ${r - 7} ${o} V ${b}` };
    case "workflow":
      return { path: rounded(o, o, r, b, 5), lines: `${rounded(o + 4, o + 4, r - 4, b - 4, 3)}` };
    case "map":
      return { path: `M ${o + 16} ${o} H ${r} L ${r - 16} ${b} H ${o} Z` };
    case "sleep":
      return { path: `M ${o + 18} ${o} H ${r - 18} L ${r} ${h / 2} L ${r - 18} ${b} H ${o + 18} L ${o} ${h / 2} Z` };
    case "decision":
      return { path: `M ${w / 2} ${o} L ${r} ${h / 2} L ${w / 2} ${b} L ${o} ${h / 2} Z` };
    case "loop":
      return { path: `M ${o + 34} ${o} H ${r - 34} L ${r} ${h / 2} L ${r - 34} ${b} H ${o + 34} L ${o} ${h / 2} Z` };
    case "foreach":
      return { path: `M ${o} ${o} H ${r} V ${b - 8} H ${o} Z`, lines: `M ${o + 5} ${b - 8} V ${b - 4} H ${r - 5} V ${b - 8} M ${o + 10} ${b - 4} V ${b} H ${r - 10} V ${b - 4}` };
    case "model":
      return { path: `M ${o + 12} ${o} H ${r - 12} L ${r} ${o + 12} V ${b - 12} L ${r - 12} ${b} H ${o + 12} L ${o} ${b - 12} V ${o + 12} Z` };
    case "hook":
      return { path: `M ${o} ${o} H ${r - 16} L ${r} ${h / 2} L ${r - 16} ${b} H ${o} Z` };
    case "fork":
    case "join":
      return { path: rounded(o, o, r, b, 4) };
    default:
      return { path: rounded(o, o, r, b, 3) };
  }
}

function rounded(x: number, y: number, r: number, b: number, c: number): string {
  return `M ${x + c} ${y} H ${r - c} Q ${r} ${y} ${r} ${y + c} V ${b - c} Q ${r} ${b} ${r - c} ${b} H ${x + c} Q ${x} ${b} ${x} ${b - c} V ${y + c} Q ${x} ${y} ${x + c} ${y} Z`;
}
