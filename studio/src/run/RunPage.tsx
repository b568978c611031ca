// The page of one run.
import { useCallback } from "react";

import { Empty, Problem } from "../ui/parts";
import { go, href, type PageProps } from "../ui/routes";
import { useLiveRun } from "./live";
import { RunView } from "./RunView";

export default function RunPage({ params, query }: PageProps) {
  const id = params.id!;
  const { live, error } = useLiveRun(id);
  const set = useCallback(
    (changes: Record<string, string | undefined>) => {
      const now = new URLSearchParams(location.hash.split("?")[1] ?? "");
      go(href("/runs/:id", { id }, { ...Object.fromEntries(now), ...changes }), { replace: true });
    },
    [id],
  );
  if (error?.status === 404)
    return (
      <Empty title="There is no such run">
        Runs that nothing keeps are forgotten when the server ends. <a href="#/runs">All runs</a>
      </Empty>
    );
  if (error) return <Problem error={error} />;
  if (!live)
    return (
      <p className="loading" role="status">
        Loading…
      </p>
    );
  return <RunView live={live} tab={query.get("tab") ?? "graph"} node={query.get("node")} set={set} />;
}
