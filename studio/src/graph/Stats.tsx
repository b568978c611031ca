// How long the nodes of a workflow take, over the runs that are known.
import { get, path } from "../api/client";
import type { Spent } from "../api/types";
import { Empty, Show } from "../ui/parts";
import { useLoad } from "../ui/useLoad";
import { visible } from "../ui/visible";
import { count, duration, money } from "../ui/words";

interface NodeStats {
  path: string;
  count: number;
  statuses: Record<string, number>;
  p50: number | null;
  p95: number | null;
  spent: Spent | null;
}

interface WorkflowStats {
  runs: number;
  statuses: Record<string, number>;
  seconds: { p50: number | null; p95: number | null };
  spent: Spent;
  nodes: NodeStats[];
}

export function Stats({ id }: { id: string }) {
  const stats = useLoad((signal) => get<WorkflowStats>(path`/api/workflows/${id}/stats`, { signal }), [id]);
  return (
    <Show of={stats}>
      {(value) => {
        const { nodes } = value;
        if (!nodes.length) return <Empty title="No run of it is known yet">Each run adds to the times that are shown here.</Empty>;
        const most = Math.max(...nodes.map((node) => node.p95 ?? 0), 1e-9);
        return (
          <>
            <p className="row stat-sum">
              <span>
                {count(value.runs)} {value.runs === 1 ? "run" : "runs"}: {Object.entries(value.statuses).map(([status, many]) => `${count(many)} ${status}`).join(", ")}
              </span>
              <span className="faint">
                half within {duration(value.seconds.p50)}, 95% within {duration(value.seconds.p95)}
              </span>
              {value.spent.calls > 0 && <span className="faint">{spentText(value.spent)}</span>}
            </p>
            <div className="table-box" tabIndex={0} role="region" aria-label="Times of its nodes">
              <table>
                <thead>
                  <tr>
                    <th>Node</th>
                    <th>Times</th>
                    <th>Half within</th>
                    <th>95% within</th>
                    <th>
                      <span className="sr">As a bar</span>
                    </th>
                    <th>Tokens</th>
                    <th>Cost</th>
                  </tr>
                </thead>
                <tbody>
                  {nodes.map((node) => (
                    <tr key={node.path}>
                      <td className="mono">{visible(node.path)}</td>
                      <td className="number">{count(node.count)}</td>
                      <td className="number">{duration(node.p50)}</td>
                      <td className="number">{duration(node.p95)}</td>
                      <td className="stat-bar" aria-hidden="true">
                        <i style={{ width: `${(100 * (node.p95 ?? 0)) / most}%` }} />
                        <b style={{ width: `${(100 * (node.p50 ?? 0)) / most}%` }} />
                      </td>
                      <td className="number">{node.spent ? count(node.spent.input_tokens + node.spent.output_tokens) : "–"}</td>
                      <td className="number">{typeof node.spent?.cost === "number" ? money(node.spent.cost) : "–"}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          </>
        );
      }}
    </Show>
  );
}

function spentText({ calls, input_tokens, output_tokens, cost }: Spent): string {
  const tokens = `${count(calls)} model calls, ${count(input_tokens + output_tokens)} tokens`;
  return cost === null ? `${tokens}; not all prices are known` : `${tokens}, ${money(cost)}`;
}
