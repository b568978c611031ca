// Two graphs: what was added, removed and changed, and what of it breaks those who rely on the old one.
import { get } from "../api/client";
import { Card, Empty, Head, Show, Tag } from "../ui/parts";
import { go, href, type PageProps } from "../ui/routes";
import { useLoad } from "../ui/useLoad";
import { visible } from "../ui/visible";
import "./compare.css";
import { PickTwo } from "./PickTwo";

interface Difference {
  path: string;
  text: string;
  change: "added" | "removed" | "changed";
  part: string;
  breaking: boolean;
  hashed: boolean;
}

interface Comparison {
  a: { workflow_id: string; graph_hash: string };
  b: { workflow_id: string; graph_hash: string };
  same: boolean;
  breaking: boolean;
  differences: Difference[];
}

const KINDS = [
  ["removed", "− removed", "bad"],
  ["added", "+ added", "ok"],
  ["changed", "± changed", "busy"],
] as const;

export default function CompareGraphsPage({ query }: PageProps) {
  const [a, b] = [query.get("a") ?? "", query.get("b") ?? ""];
  return (
    <>
      <Head title="Compare two graphs">
        <p className="faint">A workflow stands for its graph as the code has it now; a run for the graph that it ran on.</p>
      </Head>
      <PickTwo what="workflow, or run" a={a} b={b} list="/api/workflows" go={(one, two) => go(href("/compare/graphs", {}, { a: one, b: two }))} />
      {a && b ? <Both key={`${a} ${b}`} a={a} b={b} /> : <Empty title="Choose two graphs">By the ids of workflows or of runs.</Empty>}
    </>
  );
}

function Both({ a, b }: { a: string; b: string }) {
  const found = useLoad((signal) => get<Comparison>(`/api/compare/graphs?${new URLSearchParams({ a, b })}`, { signal }), [a, b]);
  return <Show of={found}>{(value) => <Result found={value} />}</Show>;
}

function Result({ found }: { found: Comparison }) {
  if (found.same)
    return (
      <Empty title="They are the same graph">
        {visible(found.a.workflow_id)}, {found.a.graph_hash.slice(0, 12)}
      </Empty>
    );
  const breaking = found.differences.filter((each) => each.breaking).length;
  return (
    <>
      <p className={`compare-verdict tone-${breaking ? "bad" : "ok"}`} role="status">
        {breaking ? `✗ ${breaking} of ${found.differences.length} differences break whoever relies on A.` : "✓ Nothing breaks for whoever relies on A."}
      </p>
      {KINDS.map(([change, word, tone]) => {
        const those = found.differences.filter((each) => each.change === change);
        if (!those.length) return null;
        return (
          <Card key={change} title={`${word} (${those.length})`}>
            <ul className="compare-differences">
              {those.map((each, index) => (
                <li key={index}>
                  <span className={`status tone-${tone}`}>{word}</span>
                  <span>{visible(each.text)}</span>
                  <Tag>{each.part}</Tag>
                  {each.breaking && <span className="status tone-bad">✗ breaking</span>}
                  {!each.hashed && <Tag>a setting: kept runs go on</Tag>}
                </li>
              ))}
            </ul>
          </Card>
        );
      })}
    </>
  );
}
