// Every event as it was told, found by type, by place and by any word of it.
import { useDeferredValue, useMemo, useRef, useState } from "react";

import type { RunEvent } from "../api/types";
import { JsonView } from "../ui/JsonView";
import { Empty } from "../ui/parts";
import { Rows } from "../ui/Rows";
import { visible } from "../ui/visible";
import { count, duration } from "../ui/words";
import type { LiveRun } from "./live";

const HEIGHT = 28;

export function EventLog({ live }: { live: LiveRun }) {
  const { events, version, fold } = live;
  const [type, setType] = useState("");
  const [words, setWords] = useState("");
  const [active, setActive] = useState(-1);
  const [picked, setPicked] = useState<RunEvent | null>(null);
  const [follow, setFollow] = useState(false);
  const wanted = useDeferredValue(words.trim().toLowerCase());
  const texts = useRef(new Map<number, string>());

  const types = useMemo(() => [...new Set(events.map((event) => event.type))].sort(), [events, version]);
  const shown = useMemo(() => {
    const text = (event: RunEvent): string => {
      let made = texts.current.get(event.seq);
      if (made === undefined) {
        made = `${event.node_path} ${event.node_id ?? ""} ${JSON.stringify(event.payload)}`.toLowerCase();
        texts.current.set(event.seq, made);
      }
      return made;
    };
    return events.filter((event) => (!type || event.type === type) && (!wanted || text(event).includes(wanted)));
  }, [events, version, type, wanted]);

  if (!events.length) return <Empty title="No events yet">They appear here as the run goes on.</Empty>;
  return (
    <div className="log">
      <div className="filters" role="search">
        <label>
          Type
          <select value={type} onChange={(event) => setType(event.target.value)}>
            <option value="">all</option>
            {types.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
        <label className="grow">
          Words in it
          <input type="search" value={words} onChange={(event) => setWords(event.target.value)} placeholder="a path, a text, a value" />
        </label>
        <label className="check">
          <input type="checkbox" checked={follow} onChange={(event) => setFollow(event.target.checked)} /> stay at the end
        </label>
        <p className="faint push" role="status">
          {count(shown.length)} of {count(events.length)}
          {fold.missing > 0 && `; ${count(fold.missing)} are no longer kept`}
        </p>
      </div>
      <div className="log-body">
        <Rows count={shown.length} height={HEIGHT} label="Events" active={active} onActive={setActive} onOpen={(index) => setPicked(shown[index] ?? null)} follow={follow}>
          {(index) => {
            const event = shown[index]!;
            return (
              <>
                <span className="log-seq">{event.seq}</span>
                <span className="log-time">{since(event.ts, fold.started)}</span>
                <span className="log-type">{visible(event.type)}</span>
                <span className="log-path">{visible(event.node_path)}</span>
              </>
            );
          }}
        </Rows>
        {picked && (
          <aside className="panel" aria-label={`Event ${picked.seq}`} onKeyDown={(event) => event.key === "Escape" && setPicked(null)}>
            <div className="panel-head">
              <h2>
                {picked.seq}: {visible(picked.type)}
              </h2>
              <button type="button" className="quiet" onClick={() => setPicked(null)} aria-label="Close the event">
                ×
              </button>
            </div>
            <JsonView key={picked.seq} value={picked} depth={3} />
          </aside>
        )}
      </div>
    </div>
  );
}

function since(ts: number, started: number | null): string {
  return started === null || ts <= started ? "0" : `+${duration(ts - started)}`;
}
