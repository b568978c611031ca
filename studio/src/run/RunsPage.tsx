// The runs that the server knows, the newest first.
import { useEffect, useState } from "react";

import { get } from "../api/client";
import type { RunSummary } from "../api/types";
import { Empty, Head, Show } from "../ui/parts";
import { go, href, type PageProps } from "../ui/routes";
import { Status } from "../ui/status";
import { useLoad } from "../ui/useLoad";
import { visible } from "../ui/visible";
import { clock, duration } from "../ui/words";

const STATUSES = ["running", "suspended", "success", "failed", "blocked", "cancelled", "bailed"];
const AT_ONCE = 50;
const AGAIN_AFTER = 4_000;

interface RunPageOf {
  runs: RunSummary[];
  next: string | null;
}

/** Ask for runs; the server gives a list, or a page with where the next begins. */
async function ask(filter: Record<string, string>, signal: AbortSignal): Promise<RunPageOf> {
  const given = await get<RunSummary[] | { runs: RunSummary[]; next?: string | null }>(`/api/runs?${new URLSearchParams(filter)}`, { signal });
  return Array.isArray(given) ? { runs: given, next: null } : { runs: given.runs, next: given.next ?? null };
}

export default function RunsPage({ query }: PageProps) {
  const filter = Object.fromEntries([...query].filter(([name, value]) => value && ["owner", "kind", "status", "resource", "after"].includes(name)));
  const asked = new URLSearchParams(filter).toString();
  const runs = useLoad((signal) => ask({ ...filter, limit: String(AT_ONCE) }, signal), [asked]);
  const [picked, setPicked] = useState<string[]>([]);
  const set = (name: string, value: string) => go(href("/runs", {}, { ...filter, after: undefined, [name]: value || undefined }), { replace: true });

  // A list of runs that go on is read again now and then, as long as somebody looks at it.
  const isMoving = runs.value?.runs.some((run) => run.status === "running") ?? false;
  useEffect(() => {
    if (!isMoving) return;
    const timer = setInterval(() => document.visibilityState === "visible" && runs.reload(), AGAIN_AFTER);
    return () => clearInterval(timer);
  }, [isMoving, runs.reload]);

  const toggle = (id: string) => setPicked((before) => (before.includes(id) ? before.filter((each) => each !== id) : [...before.slice(-1), id]));
  return (
    <>
      <Head
        title="Runs"
        actions={
          <>
            {picked.length === 2 && (
              <a className="button" href={href("/compare/runs", {}, { a: picked[0], b: picked[1] })}>
                Compare the two
              </a>
            )}
            <button type="button" onClick={runs.reload}>
              Refresh
            </button>
          </>
        }
      />
      <div className="filters" role="search">
        <label>
          Agent or workflow
          <Typed key={filter.owner ?? ""} value={filter.owner ?? ""} commit={(value) => set("owner", value)} placeholder="its id" />
        </label>
        <label>
          Kind
          <select value={filter.kind ?? ""} onChange={(event) => set("kind", event.target.value)}>
            <option value="">all</option>
            <option value="agent">agents</option>
            <option value="workflow">workflows</option>
          </select>
        </label>
        <label>
          Status
          <select value={filter.status ?? ""} onChange={(event) => set("status", event.target.value)}>
            <option value="">all</option>
            {STATUSES.map((status) => (
              <option key={status}>{status}</option>
            ))}
          </select>
        </label>
        <label>
          Resource
          <Typed key={filter.resource ?? ""} value={filter.resource ?? ""} commit={(value) => set("resource", value)} placeholder="whose" />
        </label>
        {Object.keys(filter).length > 0 && <a href="#/runs">Clear</a>}
      </div>
      <Show of={runs}>
        {({ runs: rows, next }) =>
          rows.length === 0 ? (
            <Empty title={Object.keys(filter).length ? "No run is like that" : "No runs yet"}>
              {Object.keys(filter).length ? "Other filters may find some." : "Whatever runs an agent or a workflow of this server appears here, also from its own code."}
            </Empty>
          ) : (
            <>
              <div className="table-box" tabIndex={0} role="region" aria-label="Runs">
                <table>
                  <thead>
                    <tr>
                      <th>
                        <span className="sr">Compare</span>
                      </th>
                      <th>Run</th>
                      <th>Agent or workflow</th>
                      <th>Status</th>
                      <th>Took</th>
                      <th>Began</th>
                    </tr>
                  </thead>
                  <tbody>
                    {rows.map((run) => (
                      <tr key={run.run_id}>
                        <td>
                          <input type="checkbox" aria-label={`Compare ${run.run_id}`} checked={picked.includes(run.run_id)} onChange={() => toggle(run.run_id)} />
                        </td>
                        <td className="cell-id">
                          <a href={href("/runs/:id", { id: run.run_id })}>{visible(run.run_id)}</a>
                          {run.forked_at && <span className="faint"> fork</span>}
                        </td>
                        <td>
                          {visible(run.owner)} <span className="faint">{run.kind}</span>
                        </td>
                        <td>
                          <Status status={run.status} />
                        </td>
                        <td className="number">{duration(run.seconds)}</td>
                        <td className="faint number">{clock(run.created_at)}</td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
              <p className="row pager">
                {filter.after && <a href={href("/runs", {}, { ...filter, after: undefined })}>To the newest</a>}
                {next && <a href={href("/runs", {}, { ...filter, after: next })}>Older runs</a>}
              </p>
            </>
          )
        }
      </Show>
    </>
  );
}

/** A text that counts once it is finished: by Enter, or when it is left. */
function Typed({ value, commit, placeholder }: { value: string; commit: (value: string) => void; placeholder: string }) {
  return (
    <input
      defaultValue={value}
      placeholder={placeholder}
      onKeyDown={(event) => event.key === "Enter" && commit(event.currentTarget.value.trim())}
      onBlur={(event) => event.currentTarget.value.trim() !== value && commit(event.currentTarget.value.trim())}
    />
  );
}
