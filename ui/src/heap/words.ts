// Nodes in words: for boxes, tooltip, details and screen reader.

import { count, quantity, share } from "../format";
import { type HeapTree, SORTS, type Sort } from "./data";

export const bytes = (n: number): string => quantity(n, "bytes");

/** A share as a person reads it, never "" for nothing. */
export const part = (value: number, of: number): string => (of > 0 ? share(value / of) : "–");

const plural = (n: number, one: string, many: string): string => `${count(n)} ${n === 1 ? one : many}`;
export const objectsOf = (n: number): string => plural(n, "object", "objects");

export const SORT_WORDS: Record<Sort, string> = {
  all: "all that can be reached",
  application: "class of the application",
  jdk: "class of the JDK",
  data: "arrays of primitive values, texts",
  class: "class with its static fields",
  loader: "class loader",
  thread: "thread",
  others: "many small ones",
};

export const sortOf = (tree: HeapTree, node: number): Sort => SORTS[tree.sort[node]] ?? "others";

/** The whole name, without a number. */
export function nameOf(tree: HeapTree, node: number): string {
  if (node === 0) return "All that can be reached";
  if (tree.name[node] < 0) return `${count(tree.objects[node])} others`;
  return tree.names[tree.name[node]];
}

/**
 * The name without packages, with how many there are: "60,000 × Session"; of a
 * thread with its name.
 */
export function labelOf(tree: HeapTree, node: number): string {
  const name = nameOf(tree, node);
  if (node === 0 || tree.name[node] < 0) return name;
  const isClass = name.startsWith("class ");
  const whole = isClass ? name.slice(6) : name;
  const short = whole.slice(whole.lastIndexOf(".") + 1);
  const number = tree.objects[node] > 1 ? `${count(tree.objects[node])} × ` : "";
  const thread = tree.threads.get(node);
  return `${number}${isClass ? "class " : ""}${short}${thread === undefined ? "" : ` "${thread}"`}`;
}

/** Facts of a node, each with its unit. `shown` is what the zoomed node retains. */
export function facts(tree: HeapTree, node: number, shown: number): [string, string][] {
  const whole = tree.retained[0];
  const retained = tree.retained[node];
  const shares =
    shown < whole && shown > 0
      ? `${part(retained, whole)} of the heap, ${part(retained, shown)} of what is shown`
      : `${part(retained, whole)} of the heap`;
  const rows: [string, string][] = [["retained", `${bytes(retained)}, ${shares}`]];
  if (node === 0) return rows;
  if (tree.name[node] < 0) {
    return [
      ...rows,
      [
        "objects",
        `${count(tree.objects[node])} of ${plural(tree.classes[node], "class", "classes")}, each group too small to be seen`,
      ],
    ];
  }
  const n = tree.objects[node];
  const thread = tree.threads.get(node);
  if (thread !== undefined) rows.push(["thread", thread]);
  const chained = tree.chained[node] > 0 ? `; ${count(tree.chained[node])} of them are kept by others of them` : "";
  rows.push(["objects", `${count(n)}${chained}`]);
  rows.push(["shallow", `${bytes(tree.own[node])}${n > 1 ? `, ${bytes(tree.own[node] / n)} each` : ""}`]);
  if (n > 1) rows.push(["retained each", bytes(retained / n)]);
  rows.push(["sort", SORT_WORDS[sortOf(tree, node)]]);
  return rows;
}

/** A node in one sentence, as a screen reader says it. */
export function said(tree: HeapTree, node: number): string {
  const number = node > 0 && tree.name[node] >= 0 ? `, ${objectsOf(tree.objects[node])}` : "";
  const thread = tree.threads.get(node);
  return `${nameOf(tree, node).slice(0, 300)}${thread === undefined ? "" : ` "${thread}"`}${number}, retains ${bytes(tree.retained[node])}, ${part(tree.retained[node], tree.retained[0])} of the heap`;
}
