// How long the nodes of a workflow take, over the runs that are known.
import { get, path } from "../api/client";
import type { JsonObject } from "../api/types";
import { JsonView } from "../ui/JsonView";
import { Empty, Show } from "../ui/parts";
import { useLoad } from "../ui/useLoad";
import { visible } from "../ui/visible";
import { count, duration, money } from "../ui/words";

interface NodeStats {
  path: string;
  count?: number;
  p50?: number | null;
  p95?: number | null;
  [more: string]: unknown;
}

export function Stats({ id }: { id: string }) {
  const stats = useLoad((signal) => get<JsonObject & { nodes?: NodeStats[]; runs?: number }>(path`/api/workflows/${id}/stats`, { signal }), [id]);
  return (
    <Show of={stats}>
      {(value) => {
        const nodes = value.nodes ?? [];
        if (!nodes.length) return <Empty title="No run of it is known yet">Each run adds to the times that are shown here.</Empty>;
        const most = Math.max(...nodes.map((node) => node.p95 ?? 0), 1e-9);
        const { nodes: _nodes, ...rest } = value;
        return (
          <>
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
                      <td className="number">{typeof node.count === "number" ? count(node.count) : "–"}</td>
                      <td className="number">{duration(node.p50)}</td>
                      <td className="number">{duration(node.p95)}</td>
                      <td className="stat-bar" aria-hidden="true">
                        <i style={{ width: `${(100 * (node.p95 ?? 0)) / most}%` }} />
                        <b style={{ width: `${(100 * (node.p50 ?? 0)) / most}%` }} />
                      </td>
                      <td className="number">{typeof node.tokens === "number" ? count(node.tokens) : "–"}</td>
                      <td className="number">{typeof node.cost === "number" ? money(node.cost) : "–"}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
            {Object.keys(rest).length > 0 && <JsonView value={rest} depth={1} />}
          </>
        );
      }}
    </Show>
  );
}
