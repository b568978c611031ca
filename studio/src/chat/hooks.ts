// Which hooks ran in one turn, and what their processors did.
import type { LiveRun } from "../run/live";
import type { HookChange } from "../run/model";
import { passedOf } from "../compare/stream";

export interface HookRun {
  hook: string;
  processors: { id: string; outcome: string; changes: HookChange[] }[];
  /** Of the stream: how many chunks passed. */
  chunks: number;
}

const RANK = ["passed", "changed", "failed", "blocked"];

/** What is known so far, by hook; a hook that did not run is not there. */
export function hooksOf(run: LiveRun): Map<string, HookRun> {
  const found = new Map<string, HookRun>();
  const at = (hook: string) => {
    let one = found.get(hook);
    if (!one) found.set(hook, (one = { hook, processors: [], chunks: 0 }));
    return one;
  };
  const processor = (hook: string, id: string) => {
    const one = at(hook);
    let known = one.processors.find((each) => each.id === id);
    if (!known) one.processors.push((known = { id, outcome: "passed", changes: [] }));
    return known;
  };
  for (const node of run.fold.nodes.values())
    for (const change of node.changes) {
      const one = processor(change.hook, change.processor);
      one.changes.push(change);
      if (RANK.indexOf(change.outcome) > RANK.indexOf(one.outcome)) one.outcome = change.outcome;
    }
  for (const passed of passedOf(run.events)) {
    at("process_output_stream").chunks += 1;
    for (const stage of passed.stages) {
      const one = processor("process_output_stream", stage.processor);
      if (one.outcome === "passed") one.outcome = "changed";
    }
  }
  return found;
}
