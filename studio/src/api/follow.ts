// Following a run: its events as they come, over a connection that may break, without a gap and without a double.
import { ApiError, path, send } from "./client";
import { readSse } from "./sse";
import type { RunEvent } from "./types";

export type FollowState =
  | { kind: "connecting" }
  | { kind: "live" }
  | { kind: "waiting"; attempt: number; seconds: number }
  | { kind: "ended" }
  | { kind: "failed"; error: ApiError };

export interface Follower {
  /** Look again now, not after the wait. */
  wake: () => void;
  stop: () => void;
}

// Seconds before the first, second, ... new attempt; from the last on always that.
const WAITS = [0.5, 1, 2, 4, 8, 15];
// Events that are worked on in one go: the page stays answering between.
const AT_ONCE = 400;

/**
 * Call *take* with the events of run *id* after seq *after*, each once and in order, and *tell* with how it goes.
 *
 * *over* says whether a run that has nothing more to tell has ended, or waits and may go on.
 */
export function follow(
  id: string,
  after: number,
  take: (events: RunEvent[]) => void,
  tell: (state: FollowState) => void,
  over: () => boolean,
): Follower {
  const gone = new AbortController();
  let last = after;
  let wake = () => {};

  async function once(heard: () => void): Promise<boolean> {
    const headers: Record<string, string> = { Accept: "text/event-stream" };
    if (last >= 0) headers["Last-Event-ID"] = String(last);
    const response = await send("GET", path`/api/runs/${id}/events`, undefined, { signal: gone.signal, headers });
    if (response.status === 204) return over();
    tell({ kind: "live" });
    let finished = false;
    await readSse(response, async (sent) => {
      const events: RunEvent[] = [];
      for (const each of sent) {
        let event: RunEvent;
        try {
          event = JSON.parse(each.data);
        } catch {
          continue; // cut in two by the end of the connection: it comes again
        }
        if (typeof event.seq !== "number" || event.seq <= last) continue;
        last = event.seq;
        finished = event.type === "run.finished";
        events.push(event);
      }
      if (events.length) heard();
      for (let start = 0; start < events.length; start += AT_ONCE) {
        if (start) await pause();
        if (gone.signal.aborted) return;
        take(events.slice(start, start + AT_ONCE));
      }
    });
    return finished;
  }

  async function run(): Promise<void> {
    let attempt = 0;
    tell({ kind: "connecting" });
    while (!gone.signal.aborted) {
      try {
        if (await once(() => (attempt = 0))) return tell({ kind: "ended" });
      } catch (error) {
        if (gone.signal.aborted) return;
        const known = error instanceof ApiError ? error : null;
        // The server said no: asking again would not change it, but another token may.
        if (known && known.status >= 400 && known.status < 500 && known.status !== 429 && known.status !== 408)
          return tell({ kind: "failed", error: known });
      }
      if (gone.signal.aborted) return;
      const seconds = WAITS[Math.min(attempt, WAITS.length - 1)]!;
      attempt += 1;
      tell({ kind: "waiting", attempt, seconds });
      // Not all who lost the same server come back at the same moment.
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, seconds * 1000 * (0.8 + 0.4 * Math.random()));
        wake = () => (clearTimeout(timer), resolve());
        gone.signal.addEventListener("abort", wake, { once: true });
      });
    }
  }

  void run();
  return { wake: () => wake(), stop: () => gone.abort() };
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
