// Which node the arrow keys lead to.
import type { PlacedNode } from "./layout";

/** The nearest of *nodes* from *from* in a direction: "up", "down", "left" or "right". */
export function nearest(nodes: readonly PlacedNode[], from: PlacedNode, towards: string): PlacedNode | null {
  const upright = towards === "up" || towards === "down";
  const sign = towards === "up" || towards === "left" ? -1 : 1;
  const start = middle(from);
  let best: PlacedNode | null = null;
  let least = Infinity;
  for (const node of nodes) {
    if (node === from) continue;
    const there = middle(node);
    const along = sign * (upright ? there.y - start.y : there.x - start.x);
    const aside = Math.abs(upright ? there.x - start.x : there.y - start.y);
    if (along <= 4) continue;
    const distance = along + 2 * aside;
    if (distance < least) [best, least] = [node, distance];
  }
  return best;
}

function middle(node: PlacedNode): { x: number; y: number } {
  // What is open is where its head is: its middle is inside of it.
  return { x: node.x + node.width / 2, y: node.y + (node.open ? 20 : node.height / 2) };
}
