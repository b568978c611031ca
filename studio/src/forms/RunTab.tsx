// The tab of a workflow that starts it: a form of its input, or of one hook of its processors.
import { useState } from "react";

import { path, post } from "../api/client";
import type { Json, JsonObject, Workflow } from "../api/types";
import { Problem } from "../ui/parts";
import { go, href } from "../ui/routes";
import { useAction } from "../ui/useAction";
import { HookForm } from "./HookForm";
import { NO_OPTIONS, RunOptions, optionsOf, type Options } from "./RunOptions";
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
