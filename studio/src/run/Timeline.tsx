// When what ran: a bar for each attempt, side by side where branches were.
import { useMemo, useState } from "react";

import { Empty } from "../ui/parts";
import { Rows } from "../ui/Rows";
import { sign, tone } from "../ui/status";
import { visible } from "../ui/visible";
import { duration } from "../ui/words";
import type { LiveRun } from "./live";
import { barsOf, type Bar } from "./spans";

const HEIGHT = 30;

export function Timeline({ live, onRecord }: { live: LiveRun; onRecord: (path: string) => void }) {
  const [active, setActive] = useState(-1);
  const { fold, version } = live;
  const now = fold.ended ?? (fold.events.at(-1)?.ts || 0);
  const bars = useMemo(() => barsOf(fold, now), [fold, version, now]);
  const [from, to] = useMemo(() => {
    const start = bars.reduce((least, bar) => Math.min(least, bar.span.started), fold.started ?? Infinity);
    const end = bars.reduce((most, bar) => Math.max(most, bar.end), fold.ended ?? -Infinity);
    return [start, Math.max(end, start + 0.001)];
  }, [bars, fold]);
  if (!bars.length) return <Empty title="Nothing has run yet">Each step that begins becomes a bar here.</Empty>;
  const place = (bar: Bar) => ({ left: `${(100 * (bar.span.started - from)) / (to - from)}%`, width: `${(100 * (bar.end - bar.span.started)) / (to - from)}%` });
  return (
    <div className="timeline">
      <div className="timeline-legend faint">
        <span>
          <i className="bar tone-ok is-critical" /> on the critical path ◆
        </span>
        <span>
          <i className="bar tone-idle is-cancelled" /> cancelled
        </span>
        {fold.gaps.length > 0 && (
          <span>
            <i className="gap" /> waited for an answer
          </span>
        )}
        <span className="push">{duration(to - from)} in all</span>
      </div>
      <div className="timeline-axis" aria-hidden="true">
        <span />
        <span className="timeline-scale">
          {[0, 0.25, 0.5, 0.75, 1].map((part) => (
            <i key={part} style={{ left: `${part * 100}%` }}>
              {part === 0 ? "0" : duration(part * (to - from))}
            </i>
          ))}
        </span>
      </div>
      <Rows count={bars.length} height={HEIGHT} label="Timeline" active={active} onActive={setActive} onOpen={(index) => onRecord(bars[index]!.node.path)}>
        {(index) => {
          const bar = bars[index]!;
          const { node, span } = bar;
          const words = `${span.status}, ${duration(bar.end - span.started)}${bar.critical ? ", on the critical path" : ""}${span.attempt > 1 ? `, attempt ${span.attempt}` : ""}`;
          return (
            <>
              <span className="timeline-name" style={{ paddingLeft: 8 + bar.depth * 14 }} title={`${node.path}: ${words}`}>
                {visible(node.path.slice(node.path.lastIndexOf("/") + 1))}
                {span.attempt > 1 && <span className="faint"> · attempt {span.attempt}</span>}
                <span className="sr">, {words}</span>
              </span>
              <span className="timeline-track" aria-hidden="true">
                {fold.gaps.map((gap) => (
                  <i key={gap.from} className="gap" style={{ left: `${(100 * (gap.from - from)) / (to - from)}%`, width: `${(100 * ((gap.to ?? to) - gap.from)) / (to - from)}%` }} />
                ))}
                <i className={`bar tone-${tone(span.status)} is-${span.status}${bar.critical ? " is-critical" : ""}`} style={place(bar)} />
                <span className="bar-text" style={textPlace(bar, from, to)}>
                  {bar.critical ? "◆ " : ""}
                  {sign(span.status)} {duration(bar.end - span.started)}
                </span>
              </span>
            </>
          );
        }}
      </Rows>
    </div>
  );
}

/** Beside the bar, on the side on which there is room, or else in its middle. */
function textPlace(bar: Bar, from: number, to: number): React.CSSProperties {
  const start = (bar.span.started - from) / (to - from);
  const end = (bar.end - from) / (to - from);
  if (end < 0.82) return { left: `calc(${end * 100}% + 6px)` };
  return start > 0.18 ? { right: `calc(${100 * (1 - start)}% + 6px)` } : { left: `${50 * (start + end)}%`, transform: "translateX(-50%)" };
}
