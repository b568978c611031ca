// What can be done to a run: cancel it, restart it, run it again, keep it as a test.
import { useEffect, useRef, useState } from "react";

import { get, path, post } from "../api/client";
import type { LiveRun } from "../run/live";
import { Problem } from "../ui/parts";
import { go, href } from "../ui/routes";
import { useAction } from "../ui/useAction";
import { visible } from "../ui/visible";
import { saveText } from "./save";

/** Whether a run still says that it goes on, though nobody drives it any more. */
export function isBrokenOff(run: LiveRun): boolean {
  return run.run.broken_off === true && run.status === "running";
}

export function isOver(run: LiveRun): boolean {
  return !["running", "pending", "suspended"].includes(run.status);
}

export function CancelButton({ run }: { run: LiveRun }) {
  const cancel = useAction(async () => {
    await post(path`/api/runs/${run.run.run_id}/cancel`);
    run.reload();
  });
  return (
    <>
      <button type="button" onClick={() => cancel.run()} disabled={cancel.busy}>
        {cancel.busy ? "Cancelling…" : "Cancel the run"}
      </button>
      {cancel.error && <Problem error={cancel.error} />}
    </>
  );
}

/** The run lost its process: it goes on where it was, and what was completed is not done again. */
export function RestartButton({ run }: { run: LiveRun }) {
  const restart = useAction(async () => {
    await post(path`/api/runs/${run.run.run_id}/restart`);
    run.reload();
  });
  return (
    <>
      <span className="faint" role="status">
        Its process is gone.
      </span>
      <button type="button" className="primary" onClick={() => restart.run()} disabled={restart.busy}>
        {restart.busy ? "Restarting…" : "Restart"}
      </button>
      {restart.error && <Problem error={restart.error} />}
    </>
  );
}

/** Through the current code, as a new run: the one that is looked at stays. */
export function AgainButton({ run }: { run: LiveRun }) {
  const again = useAction(async () => {
    const made = await post<{ run_id: string }>(path`/api/runs/${run.run.run_id}/replay`);
    go(href("/compare/runs", {}, { a: run.run.run_id, b: made.run_id }));
  });
  return (
    <>
      <button type="button" onClick={() => again.run()} disabled={again.busy}>
        {again.busy ? "Starting…" : "Run again and compare"}
      </button>
      {again.error && <Problem error={again.error} />}
    </>
  );
}

interface SavedTest {
  name: string;
  files: Record<string, string>;
  notes: string[];
}

export function SaveTestButton({ run }: { run: LiveRun }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        Save as test
      </button>
      {open && <SaveTestDialog id={run.run.run_id} close={() => setOpen(false)} />}
    </>
  );
}

function SaveTestDialog({ id, close }: { id: string; close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [target, setTarget] = useState("");
  const [test, setTest] = useState<SavedTest | null>(null);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  const make = useAction(async () => {
    const query = target.trim() ? `?${new URLSearchParams({ target: target.trim() })}` : "";
    setTest(await get<SavedTest>(path`/api/runs/${id}/test` + query));
  });
  return (
    <dialog ref={dialog} className="wide" aria-labelledby="save-test-title" onClose={close}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          make.run();
        }}
      >
        <h2 id="save-test-title">Save this run as a test</h2>
        <p>A pytest file and its data: it runs your code on the input of this run, and checks that the outcome is the same. An agent's model and tools are replayed, so that no key is needed; steps of a workflow are run.</p>
        <label>
          Where your code has it
          <input value={target} placeholder="module:name, such as shop.agents:support" onChange={(event) => setTarget(event.target.value)} autoFocus />
        </label>
        {make.error && <Problem error={make.error} />}
        <div className="actions">
          <button type="submit" className="primary" disabled={make.busy}>
            Make the test
          </button>
          <button type="button" onClick={() => dialog.current?.close()}>
            Close
          </button>
        </div>
      </form>
      {test && (
        <div className="stack" style={{ marginTop: 16 }}>
          {test.notes.map((note) => (
            <p key={note} className="faint">
              {note}
            </p>
          ))}
          {Object.entries(test.files).map(([name, text]) => (
            <div key={name} className="stack">
              <div>
                <button type="button" className="quiet" onClick={() => saveText(name, text)}>
                  Download {visible(name)}
                </button>
              </div>
              <details open={name.endsWith(".py")}>
                <summary>What is in it</summary>
                <pre tabIndex={0}>{visible(text)}</pre>
              </details>
            </div>
          ))}
        </div>
      )}
    </dialog>
  );
}
