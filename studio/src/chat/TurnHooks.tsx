// The nine hooks of one turn, as its run goes on.
import { useState } from "react";

import type { HookChain } from "../api/types";
import { HOOKS } from "../forms/hooks";
import { SuspendedPanel } from "../forms/SuspendedPanel";
import { HookChanges } from "../run/Changes";
import { useLiveRun, type LiveRun } from "../run/live";
import { href } from "../ui/routes";
import { Status, sign, tone } from "../ui/status";
import { visible } from "../ui/visible";
import { count, hookName } from "../ui/words";
import { hooksOf, type HookRun } from "./hooks";

export function TurnHooks({ id, chains }: { id: string; chains: HookChain[] }) {
  const { live, error } = useLiveRun(id);
  if (error) return <p className="faint">What ran cannot be shown: {visible(error.message)}</p>;
  if (!live) return <p className="faint">…</p>;
  return (
    <div className="turn-run">
      {live.status === "suspended" && <SuspendedPanel run={live} />}
      <Later live={live} />
      <Nine live={live} chains={chains} />
    </div>
  );
}

/** What was said after a person had answered: no stream of this page brought it. */
function Later({ live }: { live: LiveRun }) {
  const waited = live.events.some((event) => event.type === "run.suspended");
  const last = live.events.at(-1);
  if (!waited || last?.type !== "run.finished") return null;
  const text = typeof last.payload.text === "string" ? last.payload.text : "";
  return (
    <div className="bubble is-agent">
      <p className="faint">After the answer ({String(last.payload.status)})</p>
      <p className="said">{visible(text)}</p>
    </div>
  );
}

function Nine({ live, chains }: { live: LiveRun; chains: HookChain[] }) {
  const [open, setOpen] = useState<string | null>(null);
  const ran = hooksOf(live);
  const shown = open === null ? undefined : ran.get(open);
  return (
    <section aria-label="Hooks of this turn">
      <ul className="nine">
        {HOOKS.map(([hook], index) => {
          const one = ran.get(hook);
          const configured = chains.find((chain) => chain.hook === hook)?.processors.length ?? 0;
          const outcome = worstOf(one);
          const says = one ? outcome : configured ? "not run" : "nobody";
          return (
            <li key={hook}>
              <button type="button" className={`hook-chip ${one ? `tone-${tone(outcome)}` : "is-off"}`} aria-expanded={open === hook} disabled={!one} onClick={() => setOpen(open === hook ? null : hook)}>
                <span className="hook-number">{index + 1}</span> {hookName(hook)}
                <span className="hook-says">
                  {one && <span aria-hidden="true">{sign(outcome)} </span>}
                  {says}
                </span>
              </button>
            </li>
          );
        })}
      </ul>
      {shown && <Details run={shown} live={live} />}
      <p className="row faint">
        <Status status={live.status} /> <a href={href("/runs/:id", { id: live.run.run_id })}>Open the run</a>
      </p>
    </section>
  );
}

function worstOf(one: HookRun | undefined): string {
  const outcomes = one?.processors.map((each) => each.outcome) ?? [];
  return ["blocked", "failed", "changed"].find((each) => outcomes.includes(each)) ?? "passed";
}

function Details({ run, live }: { run: HookRun; live: LiveRun }) {
  return (
    <div className="hook-details">
      <h3>{hookName(run.hook)}</h3>
      {run.chunks > 0 && (
        <p>
          {count(run.chunks)} chunks passed. <a href={href("/runs/:id", { id: live.run.run_id }, { tab: "stream" })}>Go through them</a>
        </p>
      )}
      {run.processors.length === 0 && <p className="faint">No processor changed anything.</p>}
      {run.processors.map((one) => (
        <div key={one.id} className="hook-processor">
          <p className="row">
            <strong className="mono">{visible(one.id)}</strong> <Status status={one.outcome} />
          </p>
          {one.changes.some((change) => change.outcome !== "passed") && <HookChanges changes={one.changes.filter((change) => change.outcome !== "passed")} />}
        </div>
      ))}
    </div>
  );
}
