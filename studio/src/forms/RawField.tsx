// A value written as JSON.
import { useState } from "react";

import type { Json } from "../api/types";
import { Faults, Labelled, type FieldProps } from "./Field";
import { faultsAt } from "./schema";

/** Text that becomes a value as soon as it is JSON; until then the value stays what it was, and the fault is told. */
export function RawField(props: FieldProps & { rows?: number; told?: (wrong: boolean) => void }) {
  const { value, change, faults, path, told } = props;
  const [draft, setDraft] = useState<{ text: string; of: Json | undefined } | null>(null);
  const text = draft && Object.is(draft.of, value) ? draft.text : pretty(value);
  const problem = faultOf(text);
  const set = (given: string) => {
    const wrong = faultOf(given);
    told?.(wrong !== null);
    const made = wrong === null ? (JSON.parse(given) as Json) : value;
    setDraft({ text: given, of: made });
    if (wrong === null) change(made as Json);
  };
  return (
    <Labelled {...props}>
      {(ids) => (
        <>
          <textarea {...ids} className="mono" spellCheck={false} rows={props.rows ?? Math.min(14, Math.max(3, text.split("\n").length))} value={text} onChange={(event) => set(event.target.value)} aria-invalid={problem !== null || ids["aria-invalid"]} />
          {problem && <Faults texts={[problem]} />}
          {faultsAt(faults, path, true).length > faultsAt(faults, path).length && <Faults texts={faultsAt(faults, path, true).slice(faultsAt(faults, path).length)} />}
        </>
      )}
    </Labelled>
  );
}

function pretty(value: Json | undefined): string {
  return value === undefined ? "" : JSON.stringify(value, null, 2);
}

function faultOf(text: string): string | null {
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return `no JSON: ${(error as Error).message}`;
  }
}
