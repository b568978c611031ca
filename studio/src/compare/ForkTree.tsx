// The tab with the family of a run: what it was forked from, and what was forked from it.
import { useEffect, useState } from "react";

import { get, path } from "../api/client";
import type { Run } from "../api/types";
import type { LiveRun } from "../run/live";
import { href } from "../ui/routes";
import { Status } from "../ui/status";
import { visible } from "../ui/visible";
import { duration } from "../ui/words";

const MOST = 60;

export function hasFamily({ run }: { run: LiveRun }): boolean {
  return !run.offline && (run.run.parent_run_id !== null || (run.run.forks ?? []).length > 0);
}

interface Tree {
  root: string;
  runs: Map<string, Run>;
  /** Whether there are more than are shown. */
  cut: boolean;
}

export function ForkTree({ run }: { run: LiveRun }) {
  const [tree, setTree] = useState<Tree | null>(null);
  useEffect(() => {
    const gone = new AbortController();
    family(run.run, gone.signal).then((found) => gone.signal.aborted || setTree(found), () => {});
    return () => gone.abort();
  }, [run.run]);
  if (!tree) return <p className="loading" role="status">Loading…</p>;
  return (
    <div className="stack">
      <p className="faint">Each is a run of its own. What a fork was begun from has not changed.</p>
      <ul className="fork-tree">
        <Branch id={tree.root} tree={tree} shown={run.run.run_id} />
      </ul>
      {tree.cut && <p className="faint">There are more than {MOST}; the others are not shown.</p>}
    </div>
  );
}

function Branch({ id, tree, shown }: { id: string; tree: Tree; shown: string }) {
  const run = tree.runs.get(id);
  if (!run) return null;
  return (
    <li>
      <span className="row">
        <a href={href("/runs/:id", { id })} aria-current={id === shown ? "page" : undefined}>
          {visible(id)}
        </a>
        <Status status={run.status} />
        <span className="faint">{duration(run.seconds)}</span>
        {run.forked_at && <span className="faint">from {visible(run.forked_at)} on</span>}
        {id === shown ? <span className="faint">this run</span> : <a href={href("/compare/runs", {}, { a: id, b: shown })}>compare with this run</a>}
      </span>
      {(run.forks ?? []).length > 0 && (
        <ul>
          {run.forks.map((fork) => (
            <Branch key={fork} id={fork} tree={tree} shown={shown} />
          ))}
        </ul>
      )}
    </li>
  );
}

async function family(start: Run, signal: AbortSignal): Promise<Tree> {
  const runs = new Map([[start.run_id, start]]);
  const read = async (id: string) => {
    const known = runs.get(id);
    if (known) return known;
    const run = await get<Run>(path`/api/runs/${id}`, { signal });
    runs.set(id, run);
    return run;
  };
  let root = start;
  while (root.parent_run_id && root.forked_at !== undefined && !runs.has(root.parent_run_id) && runs.size < MOST) {
    try {
      root = await read(root.parent_run_id);
    } catch {
      break; // it was deleted
    }
  }
  const open = [root];
  let cut = false;
  for (let run = open.shift(); run; run = open.shift())
    for (const fork of run.forks ?? []) {
      if (runs.size >= MOST) cut = true;
      else if (!open.some((one) => one.run_id === fork)) await read(fork).then((found) => open.push(found), () => {});
    }
  return { root: root.run_id, runs, cut };
}
