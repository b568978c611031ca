// What a run asks of a person: a form for each question, and the answer is given once.
import { useState } from "react";

import { ApiError, path, post } from "../api/client";
import type { Json, JsonObject, Question } from "../api/types";
import type { LiveRun } from "../run/live";
import { JsonView } from "../ui/JsonView";
import { Card, Problem } from "../ui/parts";
import { useAction } from "../ui/useAction";
import { visible } from "../ui/visible";
import { initial, isForm } from "./schema";
import { SchemaForm } from "./SchemaForm";

export function SuspendedPanel({ run }: { run: LiveRun }) {
  const [answered, setAnswered] = useState<Record<string, Json>>({});
  const questions = run.run.suspended;
  return (
    <div className="stack" role="region" aria-label="Questions of this run">
      {questions.map((question) => (
        <Ask
          key={question.question_id ?? question.path}
          run={run}
          question={question}
          waiting={questions.length > 1 && run.run.kind === "agent" ? questions.filter((one) => one !== question && !(one.question_id in answered)).length : 0}
          done={question.question_id in answered}
          earlier={answered}
          keep={(value) => setAnswered((before) => ({ ...before, [question.question_id]: value }))}
        />
      ))}
    </div>
  );
}

interface AskProps {
  run: LiveRun;
  question: Question;
  /** How many others the agent waits for: it goes on once all are answered. */
  waiting: number;
  done: boolean;
  earlier: Record<string, Json>;
  keep: (value: Json) => void;
}

function Ask({ run, question, waiting, done, earlier, keep }: AskProps) {
  const schema = question.schema;
  const [answer, setAnswer] = useState<Json>(() => (isForm(schema) ? initial(schema, schema) : ""));
  const [wrong, setWrong] = useState(false);
  const [told, setTold] = useState("");
  const give = useAction(async (value: Json) => {
    if (waiting > 0) return keep(value);
    const body: JsonObject = question.question_id
      ? { answers: { ...earlier, [question.question_id]: value } }
      : { ...(question.label ? { label: question.label } : { step: question.path }), answer: value };
    try {
      await post(path`/api/runs/${run.run.run_id}/resume`, body);
      setTold("Answered: the run goes on.");
    } catch (error) {
      // Somebody was faster, or the button was pressed in another window: the run is what it is.
      if (!(error instanceof ApiError && error.status === 409)) throw error;
      setTold(`Answered already. ${error.message}`);
    }
    run.reload();
  });
  const title = question.tool ? `tool ${question.tool}` : (question.label ?? question.path);
  return (
    <Card
      title={
        <>
          <span aria-hidden="true">‖ </span>Waits for an answer: {visible(title)}
        </>
      }
      aside={question.label && question.path ? <span className="faint mono">{visible(question.path)}</span> : undefined}
    >
      <form
        className="stack form-wide"
        onSubmit={(event) => {
          event.preventDefault();
          give.run(answer);
        }}
      >
        {question.tool && (
          <div>
            <h3>It is to be called with</h3>
            <JsonView value={question.args ?? null} bare />
          </div>
        )}
        {question.payload !== null && question.payload !== undefined && (
          <div>
            <h3>It asks about</h3>
            <JsonView value={question.payload} bare />
          </div>
        )}
        <SchemaForm schema={schema} value={answer} change={setAnswer} name="Answer" faults={give.error?.faults} told={setWrong} />
        {give.error && <Problem error={give.error} />}
        <div className="form-foot">
          <button type="submit" className="primary" disabled={give.busy || wrong || done || told !== ""}>
            {give.busy ? "Answering…" : waiting > 0 ? "Keep this answer" : "Answer and go on"}
          </button>
          {done && <span role="status">Kept; {waiting} more to answer.</span>}
          {told && <span role="status">{told}</span>}
        </div>
      </form>
    </Card>
  );
}
