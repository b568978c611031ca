// The page of one workflow: its graph, its schemas, its runs, and whatever else is filled in.
import { useState } from "react";

import { get, path } from "../api/client";
import type { Graph, GraphNode, Workflow } from "../api/types";
import { JsonView } from "../ui/JsonView";
import { Card, Empty, Head, Show, Tag } from "../ui/parts";
import { go, href, type PageProps } from "../ui/routes";
import { inSlot } from "../ui/slots";
import { Tabs } from "../ui/Tabs";
import { useLoad } from "../ui/useLoad";
import { visible } from "../ui/visible";
import { hookName } from "../ui/words";
import { GraphView } from "./GraphView";
import type { PlacedNode } from "./layout";
import { Stats } from "./Stats";

export default function WorkflowPage({ params, query }: PageProps) {
  const id = params.id!;
  const workflow = useLoad((signal) => get<Workflow>(path`/api/workflows/${id}`, { signal }), [id]);
  if (workflow.error?.status === 404)
    return (
      <Empty title="There is no such workflow">
        <a href="#/workflows">All workflows</a>
      </Empty>
    );
  return <Show of={workflow}>{(value) => <Page workflow={value} tab={query.get("tab") ?? "graph"} />}</Show>;
}

function Page({ workflow, tab }: { workflow: Workflow; tab: string }) {
  const { id } = workflow;
  const more = inSlot("workflow.tab", { workflow });
  const tabs = [
    { id: "graph", title: "Graph" },
    ...more.map(({ id, title }) => ({ id, title })),
    { id: "stats", title: "Times" },
    { id: "schemas", title: "Schemas" },
  ];
  const shown = tabs.some((each) => each.id === tab) ? tab : "graph";
  const filling = more.find((each) => each.id === shown);
  return (
    <div className="run">
      <Head
        kicker={
          workflow.agent ? (
            <>
              {workflow.list ? `${workflow.list} processors` : "loop"} of the agent <a href={href("/agents/:id", { id: workflow.agent })}>{visible(workflow.agent)}</a>
            </>
          ) : (
            "Workflow"
          )
        }
        title={visible(id)}
        actions={
          <>
            {inSlot("workflow.action", { workflow }).map(({ id: key, component: Action }) => (
              <Action key={key} workflow={workflow} />
            ))}
            <a className="button" href={href("/runs", {}, { owner: workflow.kind === "loop" ? (workflow.agent ?? id) : id })}>
              Its runs
            </a>
          </>
        }
      >
        {workflow.description && <p>{visible(workflow.description)}</p>}
        {workflow.hooks?.length > 0 && (
          <p className="row tags">
            {workflow.hooks.map((hook) => (
              <Tag key={hook} tone="busy">
                {hookName(hook)}
              </Tag>
            ))}
          </p>
        )}
      </Head>
      <Tabs tabs={tabs} shown={shown} pick={(to) => go(href("/workflows/:id", { id }, { tab: to }), { replace: true })} />
      <div className="tab-body" role="tabpanel" id={`panel-${shown}`} aria-labelledby={`tab-${shown}`}>
        {shown === "graph" && <GraphTab id={id} />}
        {shown === "stats" && <Stats id={id} />}
        {shown === "schemas" && <Schemas workflow={workflow} />}
        {filling && <filling.component workflow={workflow} />}
      </div>
    </div>
  );
}

function GraphTab({ id }: { id: string }) {
  const graph = useLoad((signal) => get<Graph>(path`/api/workflows/${id}/graph`, { signal }), [id]);
  const [picked, setPicked] = useState<PlacedNode | null>(null);
  return (
    <Show of={graph}>
      {(value) => (
        <div className={`run-graph${picked ? " has-panel" : ""}`}>
          <GraphView graph={value} selected={picked?.key ?? null} onSelect={setPicked} />
          {picked && <NodeFacts node={picked.node} graph={value} close={() => setPicked(null)} />}
        </div>
      )}
    </Show>
  );
}

function NodeFacts({ node, graph, close }: { node: GraphNode; graph: Graph; close: () => void }) {
  const schemas = (["input_schema_ref", "output_schema_ref", "suspend_schema_ref", "resume_schema_ref"] as const).filter((name) => node[name] && graph.schemas[node[name]!]);
  const settings = Object.fromEntries(Object.entries({ retry: node.retry, timeout: node.timeout, budget: node.budget, on: node.on, made_of: node.made_of }).filter(([, value]) => value !== undefined));
  return (
    <aside className="panel" aria-label={`Details of ${node.label}`} onKeyDown={(event) => event.key === "Escape" && close()}>
      <div className="panel-head">
        <h2>{visible(node.label || node.id)}</h2>
        <button type="button" className="quiet" onClick={close} aria-label="Close the details">
          ×
        </button>
      </div>
      <p className="row">
        <Tag>{node.kind}</Tag>
        {node.mutates && <Tag>changes what it is given</Tag>}
        {node.can_suspend && <Tag>‖ may wait for an answer</Tag>}
      </p>
      {node.description && <p>{visible(node.description)}</p>}
      {node.hooks?.length ? <p>Hooks: {node.hooks.map(hookName).join(", ")}</p> : null}
      {node.source && (
        <p className="faint mono">
          {visible(node.source.file)}:{node.source.line}
        </p>
      )}
      {Object.keys(settings).length > 0 && <JsonView value={settings} />}
      {schemas.map((name) => (
        <details key={name} className="section" open>
          <summary>
            <h3>{name.replace("_schema_ref", "")} schema</h3>
          </summary>
          <JsonView value={graph.schemas[node[name]!]} depth={3} />
        </details>
      ))}
    </aside>
  );
}

function Schemas({ workflow }: { workflow: Workflow }) {
  const given = (["input_schema", "output_schema", "state_schema"] as const).filter((name) => workflow[name]);
  if (!given.length) return <Empty title="It says nothing about its types">Types written in code appear here as JSON schemas.</Empty>;
  return (
    <>
      {given.map((name) => (
        <Card key={name} title={name.replace("_schema", "")}>
          <JsonView value={workflow[name]} depth={4} />
        </Card>
      ))}
    </>
  );
}
