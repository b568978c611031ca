// The page of one agent: who runs at which hook, its tools and its workflows.
import { get, path } from "../api/client";
import type { Agent, HookChain } from "../api/types";
import { JsonView } from "../ui/JsonView";
import { Card, Empty, Head, Show, Tag } from "../ui/parts";
import { href, type PageProps } from "../ui/routes";
import { inSlot } from "../ui/slots";
import { useLoad } from "../ui/useLoad";
import { visible } from "../ui/visible";
import { HOOKS, hookName } from "../ui/words";

export default function AgentPage({ params }: PageProps) {
  const agent = useLoad((signal) => get<Agent>(path`/api/agents/${params.id!}`, { signal }), [params.id]);
  if (agent.error?.status === 404)
    return (
      <Empty title="There is no such agent">
        <a href="#/agents">All agents</a>
      </Empty>
    );
  return <Show of={agent}>{(value) => <Page agent={value} />}</Show>;
}

function Page({ agent }: { agent: Agent }) {
  return (
    <>
      <Head
        kicker="Agent"
        title={visible(agent.id)}
        actions={
          <>
            {inSlot("agent.action", { agent }).map(({ id, component: Action }) => (
              <Action key={id} agent={agent} />
            ))}
            <a className="button" href={href("/runs", {}, { owner: agent.id })}>
              Its runs
            </a>
          </>
        }
      >
        {agent.description && <p>{visible(agent.description)}</p>}
        <p className="row tags">
          {agent.models.map((model) => (
            <Tag key={model}>{visible(model)}</Tag>
          ))}
          {agent.memory && <Tag>has a memory</Tag>}
        </p>
      </Head>
      <Card title="Who runs at which hook">
        <ol className="hooks">
          {chains(agent).map(({ hook, processors }, index) => (
            <li key={hook} className={processors.length ? "" : "is-off"}>
              <span className="hook-number">{index + 1}</span>
              <span className="hook-name">{hookName(hook)}</span>
              <span className="row tags">
                {processors.length ? (
                  processors.map((id, place) => (
                    <Tag key={`${id} ${place}`} tone="busy">
                      {visible(id)}
                    </Tag>
                  ))
                ) : (
                  <span className="faint">nobody</span>
                )}
              </span>
            </li>
          ))}
        </ol>
      </Card>
      <Card title="Its workflows">
        <ul className="list">
          {[agent.loop, ...agent.workflows.filter((id) => id !== agent.loop)].map((id) => (
            <li key={id}>
              <a className="list-name" href={href("/workflows/:id", { id })}>
                {visible(id)}
              </a>
              {id === agent.loop && <Tag>the loop</Tag>}
            </li>
          ))}
        </ul>
      </Card>
      <Card title="Tools">
        {agent.tools.length === 0 ? (
          <p className="faint">It has none.</p>
        ) : (
          <ul className="list">
            {agent.tools.map((tool) => (
              <li key={tool.name}>
                <div className="list-main">
                  <p className="strong mono">{visible(tool.name)}</p>
                  {tool.description && <p className="faint">{visible(tool.description)}</p>}
                  <JsonView value={tool.parameters} depth={0} />
                </div>
                <div className="list-side">{tool.approval ? <Tag tone="wait">‖ asks a person</Tag> : null}</div>
              </li>
            ))}
          </ul>
        )}
      </Card>
    </>
  );
}

/** All nine hooks: also those at which nobody runs. */
function chains(agent: Agent): HookChain[] {
  const known = new Map(agent.hooks.map(({ hook, processors }) => [hook, processors]));
  return [...new Set([...HOOKS, ...known.keys()])].map((hook) => ({ hook, processors: known.get(hook) ?? [] }));
}
