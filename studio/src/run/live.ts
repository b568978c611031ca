// A run as it is looked at: its record, its graph and its events, from the server or from a bundle.
import { useCallback, useEffect, useMemo, useRef, useState } from "react";

import { ApiError, get, path } from "../api/client";
import { follow, type Follower, type FollowState } from "../api/follow";
import type { Agent, Bundle, Graph, Run, RunEvent } from "../api/types";
import { RunFold } from "./fold";

/** How the events come: "following" is live, "ended" is all of them. */
export type LinkState = "loading" | "following" | "reconnecting" | "ended" | "failed" | "offline";

export interface LiveRun {
  run: Run;
  /** Null where the server has none, undefined until that is known. */
  graph: Graph | null | undefined;
  /** What the events told, put together; the same object all along, so read `version` to notice that it grew. */
  fold: RunFold;
  version: number;
  events: readonly RunEvent[];
  /** The run's status as far as is known: from the events, else from the record. */
  status: string;
  link: LinkState;
  /** In words, for whoever looks. */
  linkText: string;
  /** Read the run's record again, and look for events: after something was done to it. */
  reload: () => void;
  /** Whether it came from a file: nothing can be done to it. */
  offline: boolean;
}

// How often the page is drawn while events pour in, in milliseconds.
const DRAWN_EVERY = 120;

// Statuses after which more may come.
const GOES_ON = new Set(["running", "pending", "suspended", "waiting"]);

/** Follow run *id*; null until its record is there. */
export function useLiveRun(id: string): { live: LiveRun | null; error: ApiError | null } {
  const [run, setRun] = useState<Run | null>(null);
  const [graph, setGraph] = useState<Graph | null>();
  const [error, setError] = useState<ApiError | null>(null);
  const [state, setState] = useState<FollowState>({ kind: "connecting" });
  const [version, setVersion] = useState(0);
  const [round, setRound] = useState(0);
  const fold = useMemo(() => new RunFold(), [id]);
  const follower = useRef<Follower | null>(null);
  const known = useRef<Run | null>(null);
  known.current = run;

  // The record: first, again after something was done, and again when the run has stopped.
  const stopped = fold.status !== "" && fold.status !== "running" ? fold.lastSeq : 0;
  useEffect(() => {
    const gone = new AbortController();
    get<Run>(path`/api/runs/${id}`, { signal: gone.signal }).then(
      (record) => {
        setRun(record);
        setError(null);
      },
      (problem: unknown) => gone.signal.aborted || setError(asApiError(problem)),
    );
    return () => gone.abort();
  }, [id, round, stopped]);

  useEffect(() => {
    if (!run || run.run_id !== id) return;
    const gone = new AbortController();
    setGraph(undefined);
    graphOf(run, gone.signal).then(setGraph, () => gone.signal.aborted || setGraph(null));
    return () => gone.abort();
  }, [id, run?.owner, run?.kind]);

  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | null = null;
    const draw = () => {
      timer = null;
      setVersion(fold.version);
    };
    const mine = follow(
      id,
      fold.lastSeq,
      (events) => {
        if (fold.take(events) && timer === null) timer = setTimeout(draw, DRAWN_EVERY);
      },
      setState,
      () => !GOES_ON.has(fold.status || (known.current?.status ?? "running")),
    );
    follower.current = mine;
    return () => {
      mine.stop();
      if (timer !== null) clearTimeout(timer);
    };
  }, [id, fold, round]);

  const reload = useCallback(() => {
    follower.current?.wake();
    setRound((before) => before + 1);
  }, []);
  useEffect(() => {
    window.addEventListener("procession:token", reload);
    return () => window.removeEventListener("procession:token", reload);
  }, [reload]);

  const live = useMemo<LiveRun | null>(() => {
    if (!run || run.run_id !== id) return null;
    if (state.kind === "ended" || state.kind === "failed") fold.fill(run);
    return {
      run, graph, fold, version: fold.version, events: fold.events, status: fold.status || run.status,
      ...inWords(state, fold.status || run.status), reload, offline: false,
    };
  }, [id, run, graph, fold, version, state, reload]);
  return { live, error: live ? null : error };
}

/** A run from a bundle, as it was when it was saved. */
export function offlineRun(bundle: Bundle): LiveRun {
  const fold = new RunFold();
  fold.take(bundle.events);
  fold.fill(bundle.run);
  return {
    run: bundle.run, graph: bundle.graph, fold, version: fold.version, events: fold.events,
    status: fold.status || bundle.run.status, link: "offline", linkText: "from a file", reload: () => {}, offline: true,
  };
}

async function graphOf(run: Run, signal: AbortSignal): Promise<Graph> {
  const workflow = run.kind === "agent" ? (await get<Agent>(path`/api/agents/${run.owner}`, { signal })).loop : run.owner;
  return get<Graph>(path`/api/workflows/${workflow}/graph`, { signal });
}

function inWords(state: FollowState, status: string): { link: LinkState; linkText: string } {
  switch (state.kind) {
    case "connecting":
      return { link: "loading", linkText: "connecting" };
    case "live":
      return { link: "following", linkText: "live" };
    case "ended":
      return { link: "ended", linkText: "ended: all events are here" };
    case "failed":
      return { link: "failed", linkText: `no events: ${state.error.message}` };
    case "waiting": {
      // The server has told all until somebody answers: it is asked now and then whether somebody has.
      if (status === "suspended") return { link: "following", linkText: "waits for an answer" };
      return { link: "reconnecting", linkText: `connection lost; trying again in ${state.seconds} s (attempt ${state.attempt})` };
    }
  }
}

function asApiError(problem: unknown): ApiError {
  return problem instanceof ApiError ? problem : new ApiError(0, "page", String(problem));
}
