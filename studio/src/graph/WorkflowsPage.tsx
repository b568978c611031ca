// The workflows: those of the App, and those that its agents are made of.
import { get } from "../api/client";
import type { Workflow } from "../api/types";
import { Card, Empty, Head, Show, Tag } from "../ui/parts";
import { href } from "../ui/routes";
import { useLoad } from "../ui/useLoad";
import { visible } from "../ui/visible";
import { hookName } from "../ui/words";

const LISTS = { input: "input processors", output: "output processors", error: "error processors" };

export default function WorkflowsPage() {
  const workflows = useLoad((signal) => get<Workflow[]>("/api/workflows", { signal }), []);
  return (
    <>
      <Head title="Workflows" />
      <Show of={workflows}>
        {(all) => {
          const own = all.filter((workflow) => !workflow.agent);
          const agents = [...new Set(all.map((workflow) => workflow.agent).filter((id): id is string => Boolean(id)))];
          if (!all.length) return <Empty title="This server has no workflows">App(workflows=[…]) shows them here, and those of its agents appear by themselves.</Empty>;
          return (
            <>
              {own.length > 0 && (
                <Card title="Of the App">
                  <List of={own} />
                </Card>
              )}
              {agents.map((agent) => (
                <Card
                  key={agent}
                  title={
                    <>
                      Of the agent <a href={href("/agents/:id", { id: agent })}>{visible(agent)}</a>
                    </>
                  }
                >
                  <List of={all.filter((workflow) => workflow.agent === agent)} />
                </Card>
              ))}
            </>
          );
        }}
      </Show>
    </>
  );
}

function List({ of }: { of: Workflow[] }) {
  return (
    <ul className="list">
      {of.map((workflow) => (
        <li key={workflow.id}>
          <div className="list-main">
            <a className="list-name" href={href("/workflows/:id", { id: workflow.id })}>
              {visible(workflow.id)}
            </a>
            {workflow.description && <p className="faint">{visible(workflow.description)}</p>}
            {workflow.hooks?.length > 0 && (
              <p className="row tags">
                {workflow.hooks.map((hook) => (
                  <Tag key={hook} tone="busy">
                    {hookName(hook)}
                  </Tag>
                ))}
              </p>
            )}
          </div>
          <div className="list-side">
            <Tag>{workflow.list ? LISTS[workflow.list] : workflow.kind === "loop" ? "the agent's loop" : workflow.kind === "processors" ? "processors" : "workflow"}</Tag>
            <span className="faint">
              {workflow.step_count} {workflow.step_count === 1 ? "step" : "steps"}
            </span>
          </div>
        </li>
      ))}
    </ul>
  );
}
