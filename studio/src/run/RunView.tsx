// A run, from the server or from a file: its head, what it asks, and its tabs.
import { useState } from "react";

import { path as pathOf, send } from "../api/client";
import type { Run } from "../api/types";
import { Head, Tag } from "../ui/parts";
import { href } from "../ui/routes";
import { inSlot } from "../ui/slots";
import { Status } from "../ui/status";
import { Tabs } from "../ui/Tabs";
import { visible } from "../ui/visible";
import { clock, count, duration, money } from "../ui/words";
import { EventLog } from "./EventLog";
import type { LiveRun } from "./live";
import { Outcome } from "./Outcome";
import { RunGraph } from "./RunGraph";
import { Timeline } from "./Timeline";
import "./run.css";

export interface RunViewProps {
  live: LiveRun;
  tab: string;
  /** The path of the node that is looked at. */
  node: string | null;
  set: (changes: Record<string, string | undefined>) => void;
}

export function RunView({ live, tab, node, set }: RunViewProps) {
  const more = inSlot("run.tab", { run: live });
  const tabs = [
    { id: "graph", title: "Graph" },
    { id: "timeline", title: "Timeline" },
    { id: "events", title: `Events (${count(live.events.length)})` },
    { id: "outcome", title: "Input and output" },
    ...more.map(({ id, title }) => ({ id, title })),
  ];
  const shown = tabs.some(({ id }) => id === tab) ? tab : "graph";
  const filling = more.find(({ id }) => id === shown);
  const toNode = (path: string) => set({ tab: "graph", node: path });
  return (
    <div className="run">
      <RunHead live={live} />
      {inSlot("run.banner", { run: live }).map(({ id, component: Banner }) => (
        <Banner key={id} run={live} />
      ))}
      <Tabs tabs={tabs} shown={shown} pick={(id) => set({ tab: id })} />
      <div className="tab-body" role="tabpanel" id={`panel-${shown}`} aria-labelledby={`tab-${shown}`}>
        {shown === "graph" && <RunGraph live={live} node={node} onNode={(path) => set({ node: path ?? undefined })} />}
        {shown === "timeline" && <Timeline live={live} onRecord={toNode} />}
        {shown === "events" && <EventLog live={live} />}
        {shown === "outcome" && <Outcome live={live} />}
        {filling && <filling.component run={live} />}
      </div>
    </div>
  );
}

function RunHead({ live }: { live: LiveRun }) {
  const { run, fold, status } = live;
  const seconds = fold.started !== null ? (fold.ended ?? fold.events.at(-1)?.ts ?? fold.started) - fold.started : run.seconds;
  const spent = Object.values(run.spent ?? {});
  const owner = run.kind === "agent" ? href("/agents/:id", { id: run.owner }) : href("/workflows/:id", { id: run.owner });
  return (
    <Head
      kicker={
        <>
          Run of {run.kind} <a href={live.offline ? undefined : owner}>{visible(run.owner)}</a>
        </>
      }
      title={visible(run.run_id)}
      actions={
        <>
          {inSlot("run.action", { run: live }).map(({ id, component: Action }) => (
            <Action key={id} run={live} />
          ))}
          {!live.offline && <DownloadButton id={run.run_id} />}
        </>
      }
    >
      <p className="row run-facts">
        <Status status={status} />
        <span>{duration(seconds)}</span>
        {spent.length > 0 && <span>{count(spent.reduce((all, each) => all + each.input_tokens + each.output_tokens, 0))} tokens</span>}
        {spent.length > 0 && spent.every((each) => each.cost !== null) && <span>{money(spent.reduce((all, each) => all + each.cost!, 0))}</span>}
        <span className="faint">{clock(run.created_at)}</span>
        <span className={`link-state is-${live.link}`} role="status">
          {live.linkText}
        </span>
      </p>
      {!live.offline && <Relatives run={run} />}
    </Head>
  );
}

/** The runs that it came from, and those that came of it. */
function Relatives({ run }: { run: Run }) {
  const link = (id: string) => <a href={href("/runs/:id", { id })}>{visible(id)}</a>;
  const many: [string, string[]][] = [["forks:", run.forks ?? []], ["runs inside of it:", run.inner_runs ?? []]];
  if (!run.parent_run_id && !run.outer_run_id && !many.some(([, ids]) => ids.length)) return null;
  return (
    <p className="row faint">
      {run.outer_run_id && <span>inside of {link(run.outer_run_id)}</span>}
      {run.parent_run_id && (
        <span>
          forked{run.forked_at ? ` at ${visible(run.forked_at)}` : ""} from {link(run.parent_run_id)}
        </span>
      )}
      {many.map(([word, ids]) =>
        ids.length ? (
          <span key={word} className="row">
            {word} {ids.slice(0, 20).map((id) => <Tag key={id}>{link(id)}</Tag>)}
          </span>
        ) : null,
      )}
    </p>
  );
}

/** The bundle is asked for with the token, so it is no plain link. */
function DownloadButton({ id }: { id: string }) {
  const [trouble, setTrouble] = useState<string | null>(null);
  const download = async () => {
    try {
      const blob = await (await send("GET", pathOf`/api/runs/${id}/bundle`)).blob();
      const link = document.createElement("a");
      link.href = URL.createObjectURL(blob);
      link.download = `${id.replace(/[^\w.-]+/g, "_").slice(0, 80)}.json`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
      setTrouble(null);
    } catch (error) {
      setTrouble(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <>
      <button type="button" onClick={() => void download()}>
        Download
      </button>
      {trouble && (
        <span className="faint" role="alert">
          {trouble}
        </span>
      )}
    </>
  );
}
