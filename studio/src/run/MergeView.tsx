// How the branches of a group became one: by which policy, what each of them changed, and what did not fit together.
import { Status } from "../ui/status";
import { visible } from "../ui/visible";
import { HookChanges } from "./Changes";
import type { RunFold } from "./fold";
import type { Merge } from "./model";

interface Props {
  merge: Merge;
  /** The path of the group. */
  path: string;
  fold: RunFold;
  onRecord: (path: string) => void;
}

export function MergeView({ merge, path, fold, onRecord }: Props) {
  const conflicts = names(merge.conflicts);
  const level = path.slice(0, path.lastIndexOf("/") + 1);
  return (
    <>
      <p>
        Policy: <code>{visible(merge.policy || "none")}</code>
      </p>
      <p className={conflicts.length ? "tone-bad note strong" : "faint"}>
        {conflicts.length ? `These could not be put together: ${conflicts.map(visible).join(", ")}` : "No conflict."}
      </p>
      <p>What each branch gave:</p>
      {names(merge.branches).map((branch) => {
        const node = fold.nodes.get(level + branch);
        return (
          <div key={branch} className="stack">
            <p className="row">
              {node ? (
                <button type="button" className="quiet" onClick={() => onRecord(node.path)}>
                  {visible(branch)}
                </button>
              ) : (
                <span>{visible(branch)}</span>
              )}
              {node && <Status status={node.status} />}
              {conflicts.includes(branch) && <span className="strong">✗ in conflict</span>}
            </p>
            {node && node.changes.length > 0 ? <HookChanges changes={node.changes} /> : <p className="faint">It is not known what it changed.</p>}
          </div>
        );
      })}
    </>
  );
}

function names(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
