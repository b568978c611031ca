// What a run was given and what came of it.
import { Card } from "../ui/parts";
import { JsonView } from "../ui/JsonView";
import { visible } from "../ui/visible";
import type { LiveRun } from "./live";

const TOLD = ["text", "usage", "outcomes", "violations", "rejected", "warnings"] as const;
const TITLES: Record<(typeof TOLD)[number], string> = {
  text: "Answer", usage: "Used", outcomes: "Outcomes", violations: "What processors found", rejected: "Rejected", warnings: "Warnings",
};

export function Outcome({ live }: { live: LiveRun }) {
  const { run, fold } = live;
  const finish = fold.finish ?? {};
  const input = run.input ?? fold.events.find((event) => event.type === "run.started")?.payload.input;
  const output = run.output ?? finish.output;
  const error = run.error ?? finish.error;
  const tripwire = run.tripwire ?? finish.tripwire;
  return (
    <div>
      {tripwire ? (
        <Card title="Blocked, because">
          <JsonView value={tripwire} />
        </Card>
      ) : null}
      {error ? (
        <Card title="Error">
          <JsonView value={error} />
        </Card>
      ) : null}
      <Card title="Input">{input === undefined || input === null ? <p className="faint">none</p> : <JsonView value={input} depth={3} />}</Card>
      {TOLD.filter((name) => isSomething(finish[name])).map((name) => (
        <Card key={name} title={TITLES[name]}>
          {typeof finish[name] === "string" ? <p className="answer">{visible(finish[name])}</p> : <JsonView value={finish[name]} depth={3} />}
        </Card>
      ))}
      <Card title="Output">{output === undefined || output === null ? <p className="faint">{live.status === "running" || live.status === "suspended" ? "none yet" : "none"}</p> : <JsonView value={output} depth={3} />}</Card>
    </div>
  );
}

function isSomething(value: unknown): boolean {
  if (value === undefined || value === null || value === "") return false;
  // The name of its type alone says nothing.
  return typeof value !== "object" || Object.keys(value).some((key) => key !== "$type");
}
