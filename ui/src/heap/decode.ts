// A dump as it is in its page, in the coding of ../payload.ts. Written by
// crates/render/src/heap/page.rs.

import { type Address, HEAP_SCHEMA, type Header, type Rows } from "../generated/heap";
import { inflate, readHeaderAndColumns } from "../payload";
import { children, type Groups, type HeapPage, type HeapTree, OTHERS, type Step, type Way } from "./data";

export async function decodeHeap(base64: string): Promise<HeapPage> {
  return readHeap(await inflate(base64));
}

export function readHeap(bytes: Uint8Array): HeapPage {
  const { header, columns } = readHeaderAndColumns<Header>(bytes, HEAP_SCHEMA);
  const { names, texts, tree: _tree, steps: raw, classes, packages, loaders, schema: _schema, ...described } = header;
  const address =
    ({ low, high }: Address) =>
    (i: number): string =>
      `0x${(BigInt(columns[high][i]) * 0x1_0000_0000n + BigInt(columns[low][i])).toString(16)}`;
  const groups = (rows: Rows): Groups => ({
    rows: Array.from(columns[rows.name], (name, i) => ({
      name: names[name],
      objects: columns[rows.objects][i],
      shallow: columns[rows.shallow][i],
      retained: columns[rows.retained][i],
    })),
    leftOut: rows.left_out,
    leftOutObjects: rows.left_out_objects,
    leftOutShallow: rows.left_out_shallow,
  });
  const stepAddress = address(raw.address);
  const step = (i: number): Step => {
    const edge = columns[raw.edge][i];
    return {
      class: names[columns[raw.name][i]],
      address: stepAddress(i),
      edge: edge === 0 ? "" : texts[edge - 1],
      weak: columns[raw.weak][i] === 1,
      leftOut: columns[raw.left_out][i],
    };
  };
  const way = (last: number): Way => {
    const steps: Step[] = [];
    let at = last;
    for (;;) {
      steps.push(step(at));
      const before = columns[raw.before][at];
      if (!(before >= 0)) break;
      at = before;
    }
    const root = columns[raw.root][at];
    return { root: root > 0 ? texts[root - 1] : "", steps: steps.reverse() };
  };
  return {
    ...described,
    tree: readTree(header, columns, address),
    way,
    classes: groups(classes),
    packages: groups(packages),
    loaders: groups(loaders),
  };
}

/** Of nodes that are one thread each, its name. */
function threadNames(header: Header, objects: Float64Array): Map<number, string> {
  const alone = header.threads.filter(({ node }) => node !== null && objects[node] === 1);
  return new Map(alone.map(({ node, name }) => [node as number, name]));
}

/** The tree with what is folded as nodes of their own, behind the others. */
function readTree(header: Header, columns: Float64Array[], address: (raw: Address) => (i: number) => string): HeapTree {
  const { tree: raw, names } = header;
  const written = columns[raw.parent].length;
  const foldedBytes = columns[raw.folded_bytes];
  const folding = Array.from(columns[raw.folded_objects].keys()).filter((i) => columns[raw.folded_objects][i] > 0);
  const n = written + folding.length;
  const filled = (column: number): Float64Array => {
    const values = new Float64Array(n);
    values.set(columns[column]);
    return values;
  };
  const parent = Int32Array.from(filled(raw.parent));
  const name = Int32Array.from(filled(raw.name));
  const sort = Uint8Array.from(filled(raw.sort));
  const [objects, chained, own] = [filled(raw.objects), filled(raw.chained), filled(raw.own)];
  const way = Int32Array.from(filled(raw.way), (step) => step - 1);
  const [classes, retained, depth] = [new Float64Array(n), own.slice(), new Int32Array(n)];
  folding.forEach((of, k) => {
    const i = written + k;
    parent[i] = of;
    name[i] = -1;
    sort[i] = OTHERS;
    objects[i] = columns[raw.folded_objects][of];
    classes[i] = columns[raw.folded_classes][of];
    retained[i] = foldedBytes[of];
  });
  for (let i = n - 1; i > 0; i--) retained[parent[i]] += retained[i];
  for (let i = 1; i < n; i++) depth[i] = depth[parent[i]] + 1;
  const known = address(raw.address);
  return {
    names,
    parent,
    name,
    sort,
    depth,
    threads: threadNames(header, objects),
    objects,
    chained,
    classes,
    own,
    retained,
    way,
    ...children(parent, retained, sort),
    address: (node) => (node > 0 && node < written ? known(node) : ""),
  };
}
