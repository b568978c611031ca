// Something that is read from the server for a page: its value, or why not.
import { useCallback, useEffect, useState } from "react";

import { ApiError } from "../api/client";

export interface Loaded<T> {
  value: T | null;
  error: ApiError | null;
  loading: boolean;
  reload: () => void;
}

/** Read with *load* now and whenever *deps* change; what was read stays while it is read again. */
export function useLoad<T>(load: (signal: AbortSignal) => Promise<T>, deps: readonly unknown[]): Loaded<T> {
  const [state, setState] = useState<{ value: T | null; error: ApiError | null; loading: boolean }>({
    value: null,
    error: null,
    loading: true,
  });
  const [round, setRound] = useState(0);
  const reload = useCallback(() => setRound((before) => before + 1), []);
  useEffect(() => {
    const gone = new AbortController();
    setState((before) => ({ ...before, loading: true }));
    load(gone.signal).then(
      (value) => gone.signal.aborted || setState({ value, error: null, loading: false }),
      (error: unknown) => {
        if (gone.signal.aborted) return;
        const known = error instanceof ApiError ? error : new ApiError(0, "page", String(error));
        setState((before) => ({ value: before.value, error: known, loading: false }));
      },
    );
    window.addEventListener("procession:token", reload);
    return () => {
      gone.abort();
      window.removeEventListener("procession:token", reload);
    };
  }, [...deps, round]);
  return { ...state, reload };
}
