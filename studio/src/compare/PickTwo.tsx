// Choosing what is compared: two ids, typed or from what there is.
import { useId, useState } from "react";

import { get } from "../api/client";
import { useLoad } from "../ui/useLoad";

interface Known {
  run_id?: string;
  id?: string;
  owner?: string;
  status?: string;
}

export function PickTwo({ what, a, b, list, go }: { what: string; a: string; b: string; list: string; go: (a: string, b: string) => void }) {
  const known = useLoad((signal) => get<Known[] | { runs: Known[] }>(list, { signal }), [list]);
  const all = known.value === null ? [] : Array.isArray(known.value) ? known.value : known.value.runs;
  const [one, setOne] = useState(a);
  const [two, setTwo] = useState(b);
  const [from, setFrom] = useState([a, b]);
  const id = useId();
  // Another address, such as after a replay: it says what is compared.
  if (from[0] !== a || from[1] !== b) {
    setFrom([a, b]);
    setOne(a);
    setTwo(b);
  }
  return (
    <form
      className="pick-two"
      onSubmit={(event) => {
        event.preventDefault();
        go(one.trim(), two.trim());
      }}
    >
      <label>
        A: {what}
        <input list={id} value={one} required onChange={(event) => setOne(event.target.value)} />
      </label>
      <label>
        B: {what}
        <input list={id} value={two} required onChange={(event) => setTwo(event.target.value)} />
      </label>
      <datalist id={id}>
        {all.map((each) => {
          const key = each.run_id ?? each.id ?? "";
          return (
            <option key={key} value={key}>
              {each.owner ? `${each.owner}, ${each.status}` : ""}
            </option>
          );
        })}
      </datalist>
      <button type="submit" className="primary">
        Compare
      </button>
      <button type="button" onClick={() => go(two.trim(), one.trim())}>
        Swap
      </button>
    </form>
  );
}
