// The tab of a workflow that starts it: a form of its input, or of one hook of its processors.
import { useState } from "react";

import { path, post } from "../api/client";
import type { Json, JsonObject, Workflow } from "../api/types";
import { Problem } from "../ui/parts";
import { go, href } from "../ui/routes";
import { useAction } from "../ui/useAction";
import { HookForm } from "./HookForm";
import { initial, isForm } from "./schema";
import { SchemaForm } from "./SchemaForm";

export function RunTab({ workflow }: { workflow: Workflow }) {
  if (workflow.kind === "processors") return <HookForm key={workflow.id} workflow={workflow} />;
  return <RunForm key={workflow.id} workflow={workflow} />;
}

function RunForm({ workflow }: { workflow: Workflow }) {
  const { input_schema: schema, state_schema: state } = workflow;
  const [input, setInput] = useState<Json>(() => (isForm(schema) ? initial(schema, schema) : ""));
  const [begins, setBegins] = useState<Json | undefined>(undefined);
  const [options, setOptions] = useState<Options>(NO_OPTIONS);
  const [wrong, setWrong] = useState(false);
  const start = useAction(async () => {
    const body: JsonObject = { input, ...optionsOf(options), ...(begins === undefined ? {} : { state: begins }) };
    const made = await post<{ run_id: string }>(path`/api/workflows/${workflow.id}/runs`, body);
    go(href("/runs/:id", { id: made.run_id }));
  });
  return (
    <form
      className="stack form-wide"
      onSubmit={(event) => {
        event.preventDefault();
        start.run();
      }}
    >
      <SchemaForm schema={schema} value={input} change={setInput} name="Input" faults={start.error?.faults} told={setWrong} />
      {isForm(state) &&
        (begins === undefined ? (
          <div>
            <button type="button" className="quiet" onClick={() => setBegins(initial(state, state))}>
              + State to begin with
            </button>
          </div>
        ) : (
          <SchemaForm schema={state} value={begins} change={setBegins} name="State" />
        ))}
      <RunOptions options={options} change={setOptions} />
      {start.error && <Problem error={start.error} />}
      <div className="form-foot">
        <button type="submit" className="primary" disabled={start.busy || wrong}>
          {start.busy ? "Starting…" : "Start a run"}
        </button>
      </div>
    </form>
  );
}

export interface Options {
  run_id: string;
  resource: string;
  request_context: Json | undefined;
}

export const NO_OPTIONS: Options = { run_id: "", resource: "", request_context: undefined };

export function optionsOf(options: Options): JsonObject {
  return {
    ...(options.run_id ? { run_id: options.run_id } : {}),
    ...(options.resource ? { resource: options.resource } : {}),
    ...(options.request_context === undefined ? {} : { request_context: options.request_context }),
  };
}

/** What any run may be given. */
export function RunOptions({ options, change }: { options: Options; change: (options: Options) => void }) {
  return (
    <details>
      <summary>Options</summary>
      <div className="stack" style={{ marginTop: 12 }}>
        <label>
          Run id
          <input value={options.run_id} placeholder="made for you" onChange={(event) => change({ ...options, run_id: event.target.value.trim() })} />
        </label>
        <label>
          Resource: whose run it is
          <input value={options.resource} onChange={(event) => change({ ...options, resource: event.target.value })} />
        </label>
        {options.request_context === undefined ? (
          <div>
            <button type="button" className="quiet" onClick={() => change({ ...options, request_context: {} })}>
              + Request context
            </button>
          </div>
        ) : (
          <SchemaForm schema={null} value={options.request_context} change={(value) => change({ ...options, request_context: value })} name="Request context" />
        )}
      </div>
    </details>
  );
}
