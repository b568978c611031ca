// A run from a file: looked at without the server that it came from.
import { useCallback, useState } from "react";

import type { Bundle, Json, JsonObject } from "../api/types";
import { offlineRun, type LiveRun } from "../run/live";
import { RunView } from "../run/RunView";
import { Empty, Head } from "../ui/parts";
import type { PageProps } from "../ui/routes";
import { visible } from "../ui/visible";
import "./compare.css";

const LARGEST = 64 * 1024 * 1024;

export default function OpenPage(_: PageProps) {
  const [live, setLive] = useState<LiveRun | null>(null);
  const [trouble, setTrouble] = useState<string | null>(null);
  const [name, setName] = useState("");
  const [view, setView] = useState<{ tab: string; node: string | null }>({ tab: "graph", node: null });
  const set = useCallback(
    (changes: Record<string, string | undefined>) =>
      setView((before) => ({ tab: changes.tab ?? before.tab, node: "node" in changes ? (changes.node ?? null) : before.node })),
    [],
  );
  const open = async (file: File | undefined) => {
    if (!file) return;
    setName(file.name);
    setView({ tab: "graph", node: null });
    try {
      setLive(offlineRun(await readBundle(file)));
      setTrouble(null);
    } catch (error) {
      setLive(null);
      setTrouble((error as Error).message);
    }
  };
  return (
    <>
      <Head title="Open a run from a file">
        <p className="faint">One that was downloaded from the page of a run. It is read here, and sent nowhere.</p>
      </Head>
      <label className="open-file">
        File of a run (JSON)
        <input type="file" accept=".json,application/json" onChange={(event) => void open(event.target.files?.[0])} />
      </label>
      {trouble && (
        <div className="problem" role="alert">
          <p className="problem-title">{visible(name)} cannot be opened.</p>
          <p>{visible(trouble)}</p>
        </div>
      )}
      {live ? <RunView key={live.run.run_id} live={live} tab={view.tab} node={view.node} set={set} /> : !trouble && <Empty title="No file is open">The button “Download” of a run's page makes one.</Empty>}
    </>
  );
}

/** Read a bundle; nothing of it is trusted but its shape, which is looked at first. */
async function readBundle(file: File): Promise<Bundle> {
  if (file.size > LARGEST) throw new Error(`It has ${Math.round(file.size / 1024 / 1024)} MB, of at most ${LARGEST / 1024 / 1024}.`);
  let found: Json;
  try {
    found = JSON.parse(await file.text());
  } catch {
    throw new Error("It is no JSON.");
  }
  const bundle = found as JsonObject;
  const run = bundle?.run as JsonObject | undefined;
  if (typeof run !== "object" || run === null || typeof run.run_id !== "string" || !Array.isArray(bundle.events)) throw new Error("It is no bundle of a run: it has no run, or no events.");
  const events = bundle.events.filter((each) => typeof (each as JsonObject)?.seq === "number" && typeof (each as JsonObject)?.type === "string");
  const made = { ...bundle, run: { ...run, suspended: [], forks: [], nodes: Array.isArray(run.nodes) ? run.nodes : [] }, events };
  return made as unknown as Bundle;
}
