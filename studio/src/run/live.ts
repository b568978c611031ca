// A run as it is looked at: its record, its graph and its events, from the server or from a bundle.
import type { Graph, Run, RunEvent } from "../api/types";

/** How the events come: "following" is live, "ended" is all of them. */
export type LinkState = "loading" | "following" | "reconnecting" | "ended" | "failed" | "offline";

export interface LiveRun {
  run: Run;
  graph: Graph | null;
  events: readonly RunEvent[];
  link: LinkState;
  /** In words, for whoever looks. */
  linkText: string;
  /** Read the run's record again: after something was done to it. */
  reload: () => void;
  /** Whether it came from a file: nothing can be done to it. */
  offline: boolean;
}
