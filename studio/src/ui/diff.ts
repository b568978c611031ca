// The difference between two texts, word by word.

export interface Piece {
  kind: "same" | "gone" | "new";
  text: string;
}

// Beyond this many words on a side the difference is told by what both begin and end with.
const MOST_WORDS = 1_500;

/** Split into words, runs of blanks, and single signs: what a reader sees as one. */
function words(text: string): string[] {
  return text.match(/[\p{L}\p{M}\p{N}_]+|\s+|[^\p{L}\p{M}\p{N}_\s]/gu) ?? [];
}

/** What has to be taken away from *before* and added to get *after*. */
export function difference(before: string, after: string): Piece[] {
  if (before === after) return before ? [{ kind: "same", text: before }] : [];
  const a = words(before);
  const b = words(after);
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  const middle = between(a.slice(start, a.length - end), b.slice(start, b.length - end));
  return joined([
    { kind: "same", text: a.slice(0, start).join("") },
    ...middle,
    { kind: "same", text: a.slice(a.length - end).join("") },
  ]);
}

/** By the longest common sequence of words. */
function between(a: string[], b: string[]): Piece[] {
  if (!a.length || !b.length || a.length > MOST_WORDS || b.length > MOST_WORDS)
    return [{ kind: "gone", text: a.join("") }, { kind: "new", text: b.join("") }];
  const wide = b.length + 1;
  const longest = new Uint16Array((a.length + 1) * wide);
  for (let i = a.length - 1; i >= 0; i -= 1)
    for (let j = b.length - 1; j >= 0; j -= 1)
      longest[i * wide + j] =
        a[i] === b[j] ? longest[(i + 1) * wide + j + 1]! + 1 : Math.max(longest[(i + 1) * wide + j]!, longest[i * wide + j + 1]!);
  const pieces: Piece[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      pieces.push({ kind: "same", text: a[i]! });
      i += 1;
      j += 1;
    } else if (i < a.length && (j === b.length || longest[(i + 1) * wide + j]! >= longest[i * wide + j + 1]!)) {
      pieces.push({ kind: "gone", text: a[i]! });
      i += 1;
    } else {
      pieces.push({ kind: "new", text: b[j]! });
      j += 1;
    }
  }
  return pieces;
}

function joined(pieces: Piece[]): Piece[] {
  const made: Piece[] = [];
  for (const piece of pieces) {
    const last = made.at(-1);
    if (!piece.text) continue;
    if (last?.kind === piece.kind) last.text += piece.text;
    else made.push({ ...piece });
  }
  return made;
}
