// The items of a foreach, each a square with the sign of its status.
import { sign, tone } from "../ui/status";
import { count } from "../ui/words";
import type { RunFold } from "./fold";
import type { NodeState } from "./model";

const SHOWN = 1_000;

export function ItemGrid({ node, fold, onRecord }: { node: NodeState; fold: RunFold; onRecord: (path: string) => void }) {
  const total = Math.max(node.total ?? 0, node.items.size);
  const ended = new Map<string, number>();
  for (const status of node.items.values()) ended.set(status, (ended.get(status) ?? 0) + 1);
  return (
    <>
      <p className="faint">
        {count(node.items.size)} of {count(total)} ended
        {[...ended].map(([status, many]) => ` · ${count(many)} ${status}`).join("")}
      </p>
      <div className="items">
        {Array.from({ length: Math.min(total, SHOWN) }, (_, index) => {
          const path = `${node.path}[${index}]`;
          const status = node.items.get(index) ?? fold.nodes.get(path)?.status ?? "";
          return (
            <button
              key={index}
              type="button"
              className={`item tone-${status ? tone(status) : "none"}`}
              aria-label={`item ${index}: ${status || "not begun"}`}
              title={`item ${index}: ${status || "not begun"}`}
              onClick={() => onRecord(path)}
            >
              {status ? sign(status) : ""}
            </button>
          );
        })}
      </div>
      {total > SHOWN && <p className="faint">The first {count(SHOWN)} are shown; the others are in the event log.</p>}
    </>
  );
}
