// A conversation with an agent: asking, reading the answer as it comes, stopping it.
import { useCallback, useEffect, useRef, useState } from "react";

import { ApiError, path, send } from "../api/client";
import { readSse } from "../api/sse";
import type { Agent, JsonObject } from "../api/types";
import { history, newId, newTurn, takeChunk, type Turn } from "./turns";

// How often the page is drawn while an answer comes, in milliseconds.
const DRAWN_EVERY = 60;

export interface Where {
  thread: string;
  resource: string;
}

export function useChat(agent: Agent, where: Where) {
  const turns = useRef<Turn[]>([]);
  const [, setVersion] = useState(0);
  const [busy, setBusy] = useState(false);
  const stopping = useRef<AbortController | null>(null);
  const draw = useCallback(() => setVersion((before) => before + 1), []);
  useEffect(() => () => stopping.current?.abort(), []);

  const ask = useCallback(
    async (text: string) => {
      if (stopping.current) return; // an answer is coming
      const gone = (stopping.current = new AbortController());
      const earlier = history(turns.current);
      const turn = newTurn(newId(), text);
      turns.current = [...turns.current, turn];
      setBusy(true);
      draw();
      let timer: ReturnType<typeof setTimeout> | null = null;
      try {
        const body: JsonObject = { messages: agent.memory ? text : [...earlier, { role: "user", content: text }], run_id: turn.id };
        if (agent.memory) Object.assign(body, where);
        const response = await send("POST", path`/api/agents/${agent.id}/stream`, body, { signal: gone.signal, headers: { Accept: "text/event-stream" } });
        await readSse(response, async (events) => {
          for (const event of events) takeChunk(turn, event.event, JSON.parse(event.data));
          timer ??= setTimeout(() => ((timer = null), draw()), DRAWN_EVERY);
        });
        if (turn.status === "running") Object.assign(turn, { status: "failed", trouble: "The connection ended before the answer did." });
      } catch (error) {
        const stopped = gone.signal.aborted;
        turn.status = stopped ? "aborted" : "failed";
        turn.trouble = stopped ? "Stopped." : error instanceof ApiError ? [error.message, error.hint].filter(Boolean).join(" ") : String(error);
      } finally {
        if (timer !== null) clearTimeout(timer);
        stopping.current = null;
        setBusy(false);
        draw();
      }
    },
    [agent, where, draw],
  );
  const stop = useCallback(() => stopping.current?.abort(), []);
  const clear = useCallback(() => {
    turns.current = [];
    draw();
  }, [draw]);
  return { turns: turns.current, busy, ask, stop, clear };
}
