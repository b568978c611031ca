// The form of a processor workflow: which hook, and what it is given, from a sample or one's own.
import { useState } from "react";

import { get, path, post } from "../api/client";
import type { JsonObject, Workflow } from "../api/types";
import { Problem, Show } from "../ui/parts";
import { go, href } from "../ui/routes";
import { useAction } from "../ui/useAction";
import { useLoad } from "../ui/useLoad";
import { hookName } from "../ui/words";
import { HOOKS } from "./hooks";
import { NO_OPTIONS, RunOptions, optionsOf } from "./RunOptions";
import { isForm, type Schema } from "./schema";
import { SchemaForm } from "./SchemaForm";

interface Sample {
  hook: string;
  title: string;
  body: JsonObject;
}

export function HookForm({ workflow }: { workflow: Workflow }) {
  const samples = useLoad((signal) => get<Sample[]>(path`/api/workflows/${workflow.id}/samples`, { signal }), [workflow.id]);
  return <Show of={samples}>{(found) => <Form workflow={workflow} samples={found} />}</Show>;
}

function Form({ workflow, samples }: { workflow: Workflow; samples: Sample[] }) {
  const [hook, setHook] = useState(() => samples[0]?.hook ?? workflow.hooks[0] ?? "process_input");
  const [body, setBody] = useState<JsonObject>(() => samples[0]?.body ?? { hook });
  const [options, setOptions] = useState(NO_OPTIONS);
  const [wrong, setWrong] = useState(false);
  const own = samples.filter((sample) => sample.hook === hook);
  const start = useAction(async () => {
    const made = await post<{ run_id: string }>(path`/api/workflows/${workflow.id}/runs`, { ...body, hook, ...optionsOf(options) });
    go(href("/runs/:id", { id: made.run_id }));
  });
  const choose = (to: string) => {
    setHook(to);
    setBody(samples.find((sample) => sample.hook === to)?.body ?? { hook: to });
    start.clear();
  };
  const { hook: _, ...fields } = body;
  return (
    <form
      className="stack form-wide"
      onSubmit={(event) => {
        event.preventDefault();
        start.run();
      }}
    >
      <fieldset className="field-group">
        <legend>Hook</legend>
        <div className="hook-choice">
          {HOOKS.map(([name, about]) => {
            const has = workflow.hooks.includes(name);
            return (
              <label key={name} className="check" title={about}>
                <input type="radio" name="hook" checked={hook === name} disabled={!has} onChange={() => choose(name)} />
                <span className={has ? undefined : "faint"}>
                  {hookName(name)}
                  {!has && " (not here)"}
                </span>
              </label>
            );
          })}
        </div>
        <p className="faint">{HOOKS.find(([name]) => name === hook)?.[1]}</p>
      </fieldset>
      <div className="row">
        <span>Samples:</span>
        {own.map((sample) => (
          <button key={sample.title} type="button" className="quiet" onClick={() => setBody(sample.body)}>
            {sample.title}
          </button>
        ))}
      </div>
      <SchemaForm key={hook} schema={SCHEMAS[hook]!} value={fields} change={(value) => isForm(value) && setBody({ hook, ...value })} name="Payload" faults={start.error?.faults} told={setWrong} />
      <RunOptions options={options} change={setOptions} />
      {start.error && <Problem error={start.error} />}
      <div className="form-foot">
        <button type="submit" className="primary" disabled={start.busy || wrong}>
          {start.busy ? "Running…" : `Run ${hookName(hook)}`}
        </button>
      </div>
    </form>
  );
}

const MESSAGE: Schema = {
  type: "object",
  title: "Message",
  properties: {
    role: { enum: ["user", "assistant", "system", "tool"] },
    content: { anyOf: [{ type: "string", title: "text" }, { type: "array", title: "parts", items: {} }] },
  },
  required: ["role", "content"],
};
const MESSAGES: Schema = { anyOf: [{ type: "array", title: "list of messages", items: MESSAGE }, { type: "string", title: "one text" }], title: "Messages" };
const CHUNKS: Schema = { type: "array", title: "Chunks", items: { title: "Chunk" }, description: "As the model would send them." };
const STEP: Schema = { type: "integer", title: "Step number", minimum: 0 };
const RETRY: Schema = { type: "integer", title: "Retry count", minimum: 0 };

function of(fields: Record<string, Schema>): Schema {
  return { type: "object", title: "Payload", properties: { messages: MESSAGES, ...fields, step_number: STEP, retry_count: RETRY }, required: ["messages"] };
}

const CALL: Record<string, Schema> = { tool_name: { type: "string", maxLength: 64 }, tool_call_id: { type: "string", maxLength: 64 }, args: {} };

const SCHEMAS: Record<string, Schema> = {
  process_input: of({}),
  process_input_step: of({}),
  process_llm_request: of({}),
  process_output_stream: of({ chunks: CHUNKS }),
  process_api_error: of({
    error: {
      type: "object",
      title: "Error of the call",
      properties: {
        message: { type: "string" },
        kind: { enum: ["rejected", "rate_limited", "unavailable", "stream", "timeout", "other"] },
        status_code: { type: "integer", title: "HTTP status", minimum: 0 },
        retryable: { type: "boolean" },
      },
    },
  }),
  process_llm_response: of({ chunks: CHUNKS }),
  process_output_step: of({
    text: { type: "string" },
    finish_reason: { type: "string", maxLength: 40 },
    tool_calls: { type: "array", title: "Tool calls", items: { type: "object", title: "Call", properties: CALL, required: ["tool_name", "tool_call_id", "args"] } },
  }),
  process_tool_result: of({
    tool_result: {
      type: "object",
      title: "Tool result",
      properties: { ...CALL, result: {}, is_error: { type: "boolean", title: "Is an error" } },
      required: ["tool_name", "result"],
    },
  }),
  process_output_result: of({ finish_reason: { type: "string", maxLength: 40 } }),
};
