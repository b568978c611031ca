// The tab that goes through a stream chunk by chunk: what came, what each processor made of it, what left.
import { useMemo, useState } from "react";

import { get, path, post } from "../api/client";
import type { JsonObject, Run, RunEvent, Workflow } from "../api/types";
import type { LiveRun } from "../run/live";
import { Diff } from "../ui/Diff";
import { Card, Problem } from "../ui/parts";
import { href } from "../ui/routes";
import { useAction } from "../ui/useAction";
import { visible } from "../ui/visible";
import { count } from "../ui/words";
import "./stream.css";
import { chunkText, passedOf, standAt, textOf, type Passed } from "./stream";

export function hasStream({ run }: { run: LiveRun }): boolean {
  return run.events.some((event) => event.type === "stream.passed");
}

export function StreamTab({ run }: { run: LiveRun }) {
  const passed = useMemo(() => passedOf(run.events), [run.version, run.events]);
  const turns = useMemo(() => [...new Set(passed.map((one) => one.turn))], [passed]);
  const [turn, setTurn] = useState<string | null>(null);
  const shown = turn !== null && turns.includes(turn) ? turn : turns[0];
  const those = useMemo(() => passed.filter((one) => one.turn === shown), [passed, shown]);
  return (
    <div className="stack">
      {turns.length > 1 && (
        <label className="form-wide">
          Turn of the loop
          <select value={shown} onChange={(event) => setTurn(event.target.value)}>
            {turns.map((each, index) => (
              <option key={each} value={each}>
                {index + 1}: {visible(each)}
              </option>
            ))}
          </select>
        </label>
      )}
      {those.length > 0 && <Scrubber key={shown} passed={those} />}
      {!run.offline && run.run.kind === "agent" && run.status !== "running" && <Replay key={`${run.run.run_id} ${shown}`} run={run} passed={those} />}
    </div>
  );
}

function Scrubber({ passed }: { passed: Passed[] }) {
  const [wanted, setAt] = useState(passed.length - 1);
  const at = Math.min(wanted, passed.length - 1);
  const here = passed[at]!;
  const stand = useMemo(() => standAt(passed, at), [passed, at]);
  const next = passed.findIndex((one, index) => index > at && changed(one));
  const before = passed.findLastIndex((one, index) => index < at && changed(one));
  return (
    <Card
      title="Chunk by chunk"
      aside={
        <span className="faint">
          {count(passed.filter(changed).length)} of {count(passed.length)} were changed
        </span>
      }
    >
      <label className="scrubber">
        Chunk {at + 1} of {passed.length}
        <input type="range" min={0} max={passed.length - 1} value={at} onChange={(event) => setAt(Number(event.target.value))} aria-valuetext={`chunk ${at + 1} of ${passed.length}: ${here.came ? String(here.came.type) : "the end"}`} />
      </label>
      <div className="row">
        <button type="button" className="quiet" disabled={at === 0} onClick={() => setAt(at - 1)}>
          ‹ One back
        </button>
        <button type="button" className="quiet" disabled={at === passed.length - 1} onClick={() => setAt(at + 1)}>
          One on ›
        </button>
        <button type="button" className="quiet" disabled={before < 0} onClick={() => setAt(before)}>
          « Change before
        </button>
        <button type="button" className="quiet" disabled={next < 0} onClick={() => setAt(next)}>
          Next change »
        </button>
      </div>
      <ol className="stages" aria-label="What became of this chunk">
        <li>
          <h3>Came from the model</h3>
          <Chunks chunks={here.came ? [here.came] : []} none="nothing: what was held back was let go" />
        </li>
        {here.stages.map((stage, index) => (
          <li key={index}>
            <h3>± {visible(stage.processor)} made of it</h3>
            <Chunks chunks={stage.out} none="nothing yet: it was held back, or taken out" />
          </li>
        ))}
        <li>
          <h3>Left</h3>
          <Chunks chunks={here.left} none="nothing yet" />
        </li>
      </ol>
      <div className="two-columns">
        <div>
          <h3>All that had come</h3>
          <pre tabIndex={0}>{visible(stand.came)}</pre>
        </div>
        <div>
          <h3>All that had left</h3>
          <pre tabIndex={0}>{visible(stand.left)}</pre>
        </div>
      </div>
      <p role="status" className="faint">
        {stand.held > 0 ? `‖ ${count(stand.held)} characters fewer have left than came: held back, or taken out.` : "✓ As much has left as came, or more."}
      </p>
    </Card>
  );
}

function changed(one: Passed): boolean {
  return one.stages.length > 0 || one.left.length !== 1 || JSON.stringify(one.left[0]) !== JSON.stringify(one.came);
}

function Chunks({ chunks, none }: { chunks: JsonObject[]; none: string }) {
  if (!chunks.length) return <p className="faint">{none}</p>;
  return (
    <ul className="chunks">
      {chunks.map((chunk, index) => (
        <li key={index}>
          <span className="tag">{visible(String(chunk.type))}</span> <span className="mono">{visible(chunkText(chunk))}</span>
        </li>
      ))}
    </ul>
  );
}

/** What the model said in this run, through the processors as the code has them now. */
function Replay({ run, passed }: { run: LiveRun; passed: Passed[] }) {
  const [now, setNow] = useState<{ id: string; text: string; status: string } | null>(null);
  const replay = useAction(async () => {
    const workflows = await get<Workflow[]>("/api/workflows");
    const output = workflows.find((one) => one.agent === run.run.owner && one.list === "output" && one.hooks.includes("process_output_stream"));
    if (!output) return setNow({ id: "", text: textOf(passed.map((one) => one.came)), status: "no processor takes part in the stream now" });
    const chunks = passed.map((one) => one.came).filter((chunk) => chunk !== null && /^(text|reasoning|tool|source|file|finish|step-start|response-metadata|raw|data-)/.test(String(chunk.type)));
    const made = await post<Run>(path`/api/workflows/${output.id}/runs`, { hook: "process_output_stream", chunks, messages: run.run.input ?? [], wait: true });
    const page = await get<{ events: RunEvent[] }>(path`/api/runs/${made.run_id}/events` + "?types=stream.passed&limit=5000");
    setNow({ id: made.run_id, text: textOf(passedOf(page.events).flatMap((one) => one.left)), status: made.status });
  });
  const then = textOf(passed.flatMap((one) => one.left));
  return (
    <Card
      title="Through the current processors"
      aside={
        <button type="button" onClick={() => replay.run()} disabled={replay.busy}>
          {replay.busy ? "Passing…" : "Pass this stream again"}
        </button>
      }
    >
      <p className="faint">What the model said here, as it is shown, goes through the processors as the code has them now. No model is asked.</p>
      {replay.error && <Problem error={replay.error} />}
      {now && (
        <>
          <div className="two-columns">
            <div>
              <h3>Left in this run</h3>
              <pre tabIndex={0}>{visible(then)}</pre>
            </div>
            <div>
              <h3>
                Leaves now {now.id && <a href={href("/runs/:id", { id: now.id })}>run</a>} <span className="faint">{now.status}</span>
              </h3>
              <pre tabIndex={0}>{visible(now.text)}</pre>
            </div>
          </div>
          <h3>Difference</h3>
          {then === now.text ? <p role="status">✓ The same.</p> : <Diff before={then} after={now.text} />}
        </>
      )}
    </Card>
  );
}
