// The agents of the App.
import { get } from "../api/client";
import type { Agent } from "../api/types";
import { Card, Empty, Head, Show, Tag } from "../ui/parts";
import { href } from "../ui/routes";
import { useLoad } from "../ui/useLoad";
import { visible } from "../ui/visible";

export default function AgentsPage() {
  const agents = useLoad((signal) => get<Agent[]>("/api/agents", { signal }), []);
  return (
    <>
      <Head title="Agents" />
      <Show of={agents}>
        {(all) =>
          all.length === 0 ? (
            <Empty title="This server has no agents">App(agents=[…]) shows them here.</Empty>
          ) : (
            <Card>
              <ul className="list">
                {all.map((agent) => (
                  <li key={agent.id}>
                    <div className="list-main">
                      <a className="list-name" href={href("/agents/:id", { id: agent.id })}>
                        {visible(agent.id)}
                      </a>
                      {agent.description && <p className="faint">{visible(agent.description)}</p>}
                      <p className="row tags">
                        {agent.models.map((model) => (
                          <Tag key={model}>{visible(model)}</Tag>
                        ))}
                      </p>
                    </div>
                    <div className="list-side">
                      <span className="faint">
                        {new Set(agent.hooks.flatMap((each) => each.processors)).size} processors · {agent.tools.length} tools
                      </span>
                    </div>
                  </li>
                ))}
              </ul>
            </Card>
          )
        }
      </Show>
    </>
  );
}
