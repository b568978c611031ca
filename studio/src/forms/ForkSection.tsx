// Time travel: from a step of a run on again, as a new run, with another input of it or another output before it.
import { useEffect, useRef, useState } from "react";

import { path as pathOf, post } from "../api/client";
import type { Json, JsonObject, NodeRecord } from "../api/types";
import type { LiveRun } from "../run/live";
import { Problem } from "../ui/parts";
import { go, href } from "../ui/routes";
import { useAction } from "../ui/useAction";
import { visible } from "../ui/visible";
import { SchemaForm } from "./SchemaForm";

export function canFork({ run, path }: { run: LiveRun; path: string }): boolean {
  return !run.offline && run.run.kind === "workflow" && run.status !== "running" && nodesBefore(run, path) !== null;
}

export function ForkSection({ run, path }: { run: LiveRun; path: string }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        Run again from here…
      </button>
      {open && <ForkDialog run={run} path={path} close={() => setOpen(false)} />}
    </>
  );
}

/** The nodes that ended before *path* began, the last first; null where it did not begin. */
function nodesBefore(run: LiveRun, path: string): NodeRecord[] | null {
  const here = run.run.nodes.find((node) => node.path === path);
  if (!here || here.started === null) return null;
  return run.run.nodes
    .filter((node) => node !== here && node.status === "success" && node.started !== null && node.started + (node.seconds ?? 0) <= here.started!)
    .filter((node) => !path.startsWith(`${node.path}/`) && !path.startsWith(`${node.path}[`))
    .reverse();
}

function ForkDialog({ run, path, close }: { run: LiveRun; path: string; close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const before = nodesBefore(run, path) ?? [];
  const here = run.run.nodes.find((node) => node.path === path);
  const [what, setWhat] = useState<"nothing" | "input" | string>("nothing");
  const [value, setValue] = useState<Json>(null);
  const [wrong, setWrong] = useState(false);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  const choose = (to: string) => {
    setWhat(to);
    setWrong(false);
    const from = to === "input" ? here?.input : before.find((node) => node.path === to)?.output;
    setValue(structuredClone(from ?? null));
  };
  const fork = useAction(async () => {
    const body: JsonObject = { step: path };
    if (what === "input") body.input = value;
    else if (what !== "nothing") body.outputs = { [what]: value };
    const made = await post<{ run_id: string }>(pathOf`/api/runs/${run.run.run_id}/fork`, body);
    dialog.current?.close();
    go(href("/runs/:id", { id: made.run_id }));
  });
  return (
    <dialog ref={dialog} className="wide" aria-labelledby="fork-title" onClose={close}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          fork.run();
        }}
      >
        <h2 id="fork-title">Run again from {visible(path)}</h2>
        <p>What was done before it holds; it and what follows runs again, as a new run. This run stays as it is.</p>
        <label>
          Change
          <select value={what} onChange={(event) => choose(event.target.value)} autoFocus>
            <option value="nothing">nothing: the same again, through the current code</option>
            <option value="input">the input of {visible(path)}</option>
            {before.map((node) => (
              <option key={node.path} value={node.path}>
                the output of {visible(node.path)}
              </option>
            ))}
          </select>
        </label>
        {what !== "nothing" && <SchemaForm key={what} schema={null} value={value} change={setValue} name={what === "input" ? "Input" : `Output of ${what}`} faults={fork.error?.faults} told={setWrong} />}
        {fork.error && <Problem error={fork.error} />}
        <div className="actions">
          <button type="submit" className="primary" disabled={fork.busy || wrong}>
            {fork.busy ? "Forking…" : "Fork the run"}
          </button>
          <button type="button" onClick={() => dialog.current?.close()}>
            Close
          </button>
        </div>
      </form>
    </dialog>
  );
}
