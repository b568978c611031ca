// Something that is done once: a second press while it goes on does nothing.
import { useCallback, useRef, useState } from "react";

import { ApiError } from "../api/client";

export interface Action<A extends unknown[]> {
  busy: boolean;
  error: ApiError | null;
  run: (...args: A) => void;
  clear: () => void;
}

/** Do *act* when asked to; what it raises is kept until it is done again. */
export function useAction<A extends unknown[]>(act: (...args: A) => Promise<void>): Action<A> {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  // A state would be too late for the second of two clicks.
  const going = useRef(false);
  const latest = useRef(act);
  latest.current = act;
  const run = useCallback((...args: A) => {
    if (going.current) return;
    going.current = true;
    setBusy(true);
    setError(null);
    latest
      .current(...args)
      .catch((problem: unknown) => setError(problem instanceof ApiError ? problem : new ApiError(0, "page", String(problem))))
      .finally(() => {
        going.current = false;
        setBusy(false);
      });
  }, []);
  return { busy, error, run, clear: useCallback(() => setError(null), []) };
}
