// What any run may be given beside its input.
import type { Json, JsonObject } from "../api/types";
import { SchemaForm } from "./SchemaForm";

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
