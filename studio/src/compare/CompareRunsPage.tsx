// Two runs beside each other, node by node.
import { useState } from "react";

import { get } from "../api/client";
import type { Json } from "../api/types";
import { ValueDiff } from "../run/Changes";
import { Card, Empty, Head, Show } from "../ui/parts";
import { go, href, type PageProps } from "../ui/routes";
import { Status } from "../ui/status";
import { useLoad } from "../ui/useLoad";
import { visible } from "../ui/visible";
import { clock, count, duration, money } from "../ui/words";
import "./compare.css";
import { PickTwo } from "./PickTwo";

interface Spent {
  calls: number;
  input_tokens: number;
  output_tokens: number;
  cost: number | null;
}

type Pair<T> = [T, T];

interface Side {
  run_id: string;
  owner: string;
  status: string;
  created_at: Json;
  seconds: number | null;
}

interface Comparison {
  a: Side;
  b: Side;
  same_graph: boolean;
  values: Record<string, Pair<Json>>;
  spent: Pair<Spent>;
  nodes: {
    path: string;
    kind: string;
    change: "same" | "changed" | "only-a" | "only-b";
    status: Pair<string | null>;
    seconds: Pair<number | null>;
    spent: Pair<Spent | null>;
    values: Record<string, Pair<Json>>;
  }[];
}

const WORDS = { same: "same", changed: "± changed", "only-a": "− only in A", "only-b": "+ only in B" };
const TONES = { same: "idle", changed: "busy", "only-a": "bad", "only-b": "ok" };

export default function CompareRunsPage({ query }: PageProps) {
  const [a, b] = [query.get("a") ?? "", query.get("b") ?? ""];
  return (
    <>
      <Head title="Compare two runs" />
      <PickTwo what="run" a={a} b={b} list="/api/runs?limit=100" go={(one, two) => go(href("/compare/runs", {}, { a: one, b: two }))} />
      {a && b ? <Both key={`${a} ${b}`} a={a} b={b} /> : <Empty title="Choose two runs">What went in and out of each node, how it ended, how long it took and what it cost are put beside each other.</Empty>}
    </>
  );
}

function Both({ a, b }: { a: string; b: string }) {
  const found = useLoad((signal) => get<Comparison>(`/api/compare/runs?${new URLSearchParams({ a, b })}`, { signal }), [a, b]);
  return (
    <>
      <div className="row compare-again">
        <button type="button" className="quiet" onClick={found.reload}>
          Compare again
        </button>
        {found.value && [found.value.a, found.value.b].some((side) => side.status === "running") && <span role="status">One of them is still running.</span>}
      </div>
      <Show of={found}>{(value) => <Result found={value} />}</Show>
    </>
  );
}

function Result({ found }: { found: Comparison }) {
  const [all, setAll] = useState(false);
  const changed = found.nodes.filter((node) => node.change !== "same");
  const shown = all ? found.nodes : changed;
  return (
    <>
      <Card title="As a whole">
        <div className="table-wide">
          <table>
            <thead>
              <tr>
                <td />
                <th scope="col">
                  A · <a href={href("/runs/:id", { id: found.a.run_id })}>{visible(found.a.run_id)}</a>
                </th>
                <th scope="col">
                  B · <a href={href("/runs/:id", { id: found.b.run_id })}>{visible(found.b.run_id)}</a>
                </th>
              </tr>
            </thead>
            <tbody>
              <Row title="of" cells={[visible(found.a.owner), visible(found.b.owner)]} />
              <Row title="ended" cells={[<Status key="a" status={found.a.status} />, <Status key="b" status={found.b.status} />]} />
              <Row title="began" cells={[clock(found.a.created_at), clock(found.b.created_at)]} />
              <Row title="took" cells={[duration(found.a.seconds), duration(found.b.seconds)]} />
              <Row title="model calls" cells={[spentOf(found.spent[0]), spentOf(found.spent[1])]} />
            </tbody>
          </table>
        </div>
        {!found.same_graph && <p>⚠ Their graphs are different: the code has changed, or they are of two workflows.</p>}
        <Values values={found.values} />
      </Card>
      <Card
        title={`${changed.length} of ${found.nodes.length} nodes are different`}
        aside={
          <label className="check">
            <input type="checkbox" checked={all} onChange={(event) => setAll(event.target.checked)} /> show those that are the same, too
          </label>
        }
      >
        {shown.length === 0 ? (
          <p className="faint">Every node had the same input, the same output and the same end.</p>
        ) : (
          <ul className="compare-nodes">
            {shown.map((node) => (
              <li key={node.path}>
                <div className="row">
                  <span className={`status tone-${TONES[node.change]}`}>{WORDS[node.change]}</span>
                  <strong className="mono">{visible(node.path)}</strong>
                  <span className="faint">{node.kind}</span>
                  {node.status[0] !== node.status[1] && node.status[0] && node.status[1] && (
                    <>
                      <Status status={node.status[0]} /> <span aria-label="became">→</span> <Status status={node.status[1]} />
                    </>
                  )}
                  <span className="faint">
                    {duration(node.seconds[0])} → {duration(node.seconds[1])}
                  </span>
                  {(node.spent[0] || node.spent[1]) && (
                    <span className="faint">
                      {spentOf(node.spent[0])} → {spentOf(node.spent[1])}
                    </span>
                  )}
                </div>
                <Values values={node.values} />
              </li>
            ))}
          </ul>
        )}
      </Card>
    </>
  );
}

function Row({ title, cells }: { title: string; cells: React.ReactNode[] }) {
  return (
    <tr>
      <th scope="row">{title}</th>
      {cells.map((cell, index) => (
        <td key={index}>{cell}</td>
      ))}
    </tr>
  );
}

function Values({ values }: { values: Record<string, Pair<Json>> }) {
  return (
    <>
      {Object.entries(values).map(([name, [before, after]]) => (
        <div key={name} className="compare-value">
          <h3>{name}</h3>
          <ValueDiff before={before} after={after} />
        </div>
      ))}
    </>
  );
}

function spentOf(spent: Spent | null): string {
  if (!spent || !spent.calls) return "none";
  const cost = spent.cost === null ? "price not known" : money(spent.cost);
  return `${count(spent.calls)} · ${count(spent.input_tokens + spent.output_tokens)} tokens · ${cost}`;
}
