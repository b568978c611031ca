// A difference, shown: what went is struck through, what came is underlined, both are named for whoever listens.
import { useMemo } from "react";

import { difference } from "./diff";
import { visible } from "./visible";

export function Diff({ before, after }: { before: string; after: string }) {
  const pieces = useMemo(() => difference(before, after), [before, after]);
  if (!pieces.length) return <p className="faint">empty, before and after</p>;
  return (
    <pre className="diff">
      {pieces.map((piece, index) =>
        piece.kind === "same" ? (
          <span key={index}>{visible(shorten(piece.text, index === 0, index === pieces.length - 1))}</span>
        ) : piece.kind === "gone" ? (
          <del key={index}>
            <span className="sr">removed: </span>
            {visible(piece.text)}
          </del>
        ) : (
          <ins key={index}>
            <span className="sr">added: </span>
            {visible(piece.text)}
          </ins>
        ),
      )}
    </pre>
  );
}

// Of what stayed, only what stands beside a change is of interest.
const AROUND = 240;

function shorten(text: string, first: boolean, last: boolean): string {
  if (text.length <= 2 * AROUND + 40) return text;
  const head = first ? "" : text.slice(0, AROUND);
  const tail = last ? "" : text.slice(-AROUND);
  return `${head} … ${text.length - head.length - tail.length} characters … ${tail}`;
}
