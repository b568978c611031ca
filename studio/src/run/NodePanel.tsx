// The panel of one node of a run: what went in and came out, what it changed, and why it ended as it did.
import { useState, type ReactNode } from "react";

import { JsonView } from "../ui/JsonView";
import { Tag } from "../ui/parts";
import { inSlot } from "../ui/slots";
import { Status } from "../ui/status";
import { visible } from "../ui/visible";
import { clock, count, duration } from "../ui/words";
import { ChunkChanges, HookChanges } from "./Changes";
import { usageOf } from "./fold";
import { ItemGrid } from "./ItemGrid";
import type { LiveRun } from "./live";
import { MergeView } from "./MergeView";
import { secondsOf, type Decision, type ModelCall, type NodeState } from "./model";

export function NodePanel({ live, records, title, onRecord, onClose }: {
  live: LiveRun;
  /** The records of the node, one for each round; empty where it has not begun. */
  records: NodeState[];
  title: string;
  /** Look at the node of this path instead. */
  onRecord: (path: string) => void;
  onClose: () => void;
}) {
  const [picked, setPicked] = useState<string | null>(null);
  const record = records.find((each) => each.path === picked) ?? records.at(-1);
  return (
    <aside className="panel" aria-label={`Details of ${title}`} onKeyDown={(event) => event.key === "Escape" && onClose()}>
      <div className="panel-head">
        <h2>{visible(title)}</h2>
        <button type="button" className="quiet" onClick={onClose} aria-label="Close the details">
          ×
        </button>
      </div>
      {records.length > 1 && (
        <label className="row-label">
          Round
          <select value={record?.path} onChange={(event) => setPicked(event.target.value)}>
            {records.map((each, index) => (
              <option key={each.path} value={each.path}>
                {index + 1} of {records.length}: {visible(each.path)} ({each.status})
              </option>
            ))}
          </select>
        </label>
      )}
      {record ? <Record live={live} node={record} onRecord={onRecord} /> : <p className="faint">It has not begun in this run.</p>}
    </aside>
  );
}

function Record({ live, node, onRecord }: { live: LiveRun; node: NodeState; onRecord: (path: string) => void }) {
  const usage = usageOf([node]);
  const now = live.fold.ended ?? Date.now() / 1000;
  return (
    <>
      <p className="row">
        <Status status={node.status} />
        {node.kind && <Tag>{node.kind}</Tag>}
        <span className="faint">{duration(secondsOf(node, now))}</span>
        {node.reason && <span className="faint">{visible(node.reason)}</span>}
      </p>
      <p className="faint mono">{visible(node.path)}</p>
      {node.tripwire && (
        <Section title="Blocked, because" tone="warn">
          <p className="strong">{visible(String(node.tripwire.reason ?? ""))}</p>
          <JsonView value={node.tripwire} depth={1} />
        </Section>
      )}
      {node.error && (
        <Section title="Error" tone="bad">
          <p className="strong">{visible(String(node.error.message ?? node.error.name ?? ""))}</p>
          <JsonView value={node.error} depth={1} />
        </Section>
      )}
      {node.question && (
        <Section title="It waits for an answer" tone="wait">
          {node.question.label && <p>from: {visible(node.question.label)}</p>}
          <JsonView value={node.question.payload} />
        </Section>
      )}
      {inSlot("node.section", { run: live, path: node.path }).map(({ id, title, component: Part }) => (
        <Section key={id} title={title}>
          <Part run={live} path={node.path} />
        </Section>
      ))}
      {node.changes.length > 0 && (
        <Section title="What it changed" open>
          <HookChanges changes={node.changes} />
        </Section>
      )}
      {node.chunks.length > 0 && (
        <Section title="What it changed in the stream" open>
          <ChunkChanges changes={node.chunks} />
        </Section>
      )}
      {node.decisions.length > 0 && (
        <Section title="Decisions">
          <Decisions decisions={node.decisions} />
        </Section>
      )}
      {node.merges.map((merge) => (
        <Section key={merge.seq} title="Merge">
          <MergeView merge={merge} path={node.path} fold={live.fold} onRecord={onRecord} />
        </Section>
      ))}
      {node.total !== null && (
        <Section title="Items">
          <ItemGrid node={node} fold={live.fold} onRecord={onRecord} />
        </Section>
      )}
      {node.calls.map((call) => (
        <Section key={call.seq} title="Model call">
          <CallView call={call} />
        </Section>
      ))}
      {node.input !== undefined && (
        <Section title="Input">
          <JsonView value={node.input} />
        </Section>
      )}
      {node.output !== undefined && (
        <Section title="Output">
          <JsonView value={node.output} />
        </Section>
      )}
      {node.emittedCount > 0 && (
        <Section title={`Sent while it ran (${count(node.emittedCount)})`}>
          <JsonView value={node.emitted} depth={1} />
        </Section>
      )}
      {node.spans.length > 0 && (
        <Section title={node.spans.length === 1 ? "Attempt" : `Attempts (${node.spans.length})`} open={node.spans.length > 1}>
          <Attempts node={node} from={live.fold.started} />
        </Section>
      )}
      {usage && (
        <Section title="Used">
          <JsonView value={usage} />
        </Section>
      )}
    </>
  );
}

function Section({ title, children, tone, open = true }: { title: ReactNode; children: ReactNode; tone?: string; open?: boolean }) {
  return (
    <details className={`section${tone ? ` tone-${tone}` : ""}`} open={open}>
      <summary>
        <h3>{title}</h3>
      </summary>
      {children}
    </details>
  );
}

function Attempts({ node, from }: { node: NodeState; from: number | null }) {
  return (
    <table className="compact">
      <thead>
        <tr>
          <th>No.</th>
          <th>Ended</th>
          <th>Took</th>
          <th>Began after</th>
        </tr>
      </thead>
      <tbody>
        {node.spans.slice(-50).map((span, index) => (
          <tr key={index}>
            <td>{span.attempt}</td>
            <td>
              <Status status={span.status} />
              {span.error?.message && <p className="faint">{visible(String(span.error.message))}</p>}
            </td>
            <td className="number">{duration(span.ended === null ? null : span.ended - span.started)}</td>
            <td className="number" title={clock(span.started)}>
              {duration(from === null ? null : span.started - from)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Decisions({ decisions }: { decisions: Decision[] }) {
  return (
    <table className="compact">
      <thead>
        <tr>
          <th>Condition</th>
          <th>Answer</th>
          <th>So</th>
        </tr>
      </thead>
      <tbody>
        {decisions.slice(-100).flatMap((each) =>
          each.round !== undefined
            ? [
                <tr key={each.seq}>
                  <td>after round {each.round + 1}</td>
                  <td>{String(each.condition)}</td>
                  <td>{each.again ? "once more" : "on"}</td>
                </tr>,
              ]
            : [...new Set([...Object.keys(each.conditions ?? {}), ...(each.chosen ?? []), ...(each.skipped ?? [])])].map((arm) => (
                <tr key={`${each.seq} ${arm}`} className={each.chosen?.includes(arm) ? "" : "is-off"}>
                  <td>{visible(arm)}</td>
                  <td>{each.conditions && arm in each.conditions ? String(each.conditions[arm]) : "not asked"}</td>
                  <td>{each.chosen?.includes(arm) ? "taken" : "left out"}</td>
                </tr>
              )),
        )}
      </tbody>
    </table>
  );
}

function CallView({ call }: { call: ModelCall }) {
  return (
    <>
      {call.asked && (
        <>
          <p className="faint">asked</p>
          <JsonView value={call.asked} depth={1} />
        </>
      )}
      {call.answered ? (
        <>
          <p className="faint">answered</p>
          <JsonView value={call.answered} depth={2} />
        </>
      ) : (
        <p className="faint">no answer yet</p>
      )}
    </>
  );
}
