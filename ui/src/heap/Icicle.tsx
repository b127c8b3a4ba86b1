// The picture of the dominator tree: a row of boxes for each step down, as wide
// as what they retain.
//
// Boxes are elements and no canvas: they are few hundred, and so they are a tree for screen readers
// and keys (WAI-ARIA tree pattern, one stop for Tab), and move when something is zoomed.

import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

import { onPaper } from "../print";
import { type HeapTree, SORTS } from "./data";
import { type Box, layout, reading } from "./layout";
import { bytes, facts, labelOf, nameOf, part, said } from "./words";

const ROW = 26;
/** Rows that are in sight at once, before the picture is scrolled. */
const MOST_ROWS = 22;
/** Narrower boxes have no room for a name, for a name and a size. */
const NAME_PX = 30;
const SIZE_PX = 190;

interface Props {
  tree: HeapTree;
  root: number;
  chosen: number;
  /** By node, or null when nothing is searched for. */
  matches: Uint8Array | null;
  suspects: Set<number>;
  onRoot: (node: number) => void;
  onChoose: (node: number) => void;
  /** Keys that are not of the tree. */
  onKey: (event: KeyboardEvent) => void;
}

export function Icicle({ tree, root, chosen, matches, suspects, onRoot, onChoose, onKey }: Props) {
  const frame = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const [hover, setHover] = useState<{ node: number; smaller: number; x: number; y: number } | null>(null);
  /** Whether the chosen box takes the focus when it is drawn. */
  const follow = useRef(false);
  useLayoutEffect(() => {
    const element = frame.current;
    if (!element) return;
    const measure = (): void => setWidth(element.clientWidth);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    const offPaper = onPaper(measure);
    return () => {
      offPaper();
      observer.disconnect();
    };
  }, []);
  const boxes = useMemo(() => reading(tree, layout(tree, root, width)), [tree, root, width]);
  const drawn = useMemo(() => new Set(boxes.filter((box) => box.smaller === 0).map((box) => box.node)), [boxes]);
  const rows = boxes.reduce((most, box) => Math.max(most, box.row + 1), 1);
  const stop = drawn.has(chosen) ? chosen : root;

  useEffect(() => {
    if (!follow.current) return;
    follow.current = false;
    frame.current?.querySelector<HTMLElement>(`[data-node="${stop}"]`)?.focus();
  }, [stop, boxes]);

  /** Chooses a node, and shows a wider part or a narrower one where it is not in sight. */
  const go = useCallback(
    (node: number): void => {
      follow.current = true;
      if (!drawn.has(node)) onRoot(isBelow(tree, node, root) ? tree.parent[node] : node);
      onChoose(node);
    },
    [drawn, tree, root, onRoot, onChoose],
  );
  const sibling = (direction: 1 | -1): number => {
    const up = tree.parent[stop];
    if (up < 0) return stop;
    const all = Array.from(tree.child.subarray(tree.first[up], tree.first[up + 1]));
    return all[all.indexOf(stop) + direction] ?? stop;
  };
  const keys: Record<string, () => void> = {
    ArrowDown: () => tree.first[stop] < tree.first[stop + 1] && go(tree.child[tree.first[stop]]),
    ArrowUp: () => tree.parent[stop] >= 0 && go(tree.parent[stop]),
    ArrowLeft: () => go(sibling(-1)),
    ArrowRight: () => go(sibling(1)),
    Enter: () => {
      follow.current = true;
      onRoot(stop);
      onChoose(stop);
    },
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const key = keys[event.key === " " ? "Enter" : event.key];
    if (!key) {
      follow.current = true;
      onKey(event);
      return;
    }
    event.preventDefault();
    event.stopPropagation();
    setHover(null);
    key();
  };
  const under = (event: Event): { node: number; smaller: number } | null => {
    const element = (event.target as HTMLElement).closest<HTMLElement>("[data-node], [data-smaller]");
    if (!element) return null;
    const { node, smaller, of } = element.dataset;
    return { node: Number(node ?? of), smaller: Number(smaller ?? 0) };
  };
  return (
    <div
      class="icicle"
      ref={frame}
      style={{ maxHeight: `${MOST_ROWS * ROW + 2}px` }}
      data-heap="picture"
      data-root={root}
      onPointerMove={(event) => {
        const at = under(event);
        setHover(at && { ...at, x: event.clientX, y: event.clientY });
      }}
      onPointerLeave={() => setHover(null)}
      onClick={(event) => {
        const at = under(event);
        if (!at) return;
        setHover(null);
        follow.current = at.smaller === 0;
        onRoot(tree.sort[at.node] === SORTS.indexOf("others") ? tree.parent[at.node] : at.node);
        onChoose(at.node);
      }}
      onKeyDown={onKeyDown}
    >
      <div
        role="tree"
        aria-label="Who keeps what: each object below the one that keeps it; arrow keys walk, Enter zooms"
        class="icicle-boxes"
        style={{ height: `${rows * ROW}px` }}
      >
        {boxes.map((box) =>
          box.smaller > 0 ? (
            <Smaller key={`s${box.node}`} box={box} width={width} />
          ) : (
            <Item
              key={box.node}
              tree={tree}
              box={box}
              width={width}
              chosen={box.node === chosen}
              stop={box.node === stop}
              matched={matches ? matches[box.node] === 1 : null}
              suspect={suspects.has(box.node)}
            />
          ),
        )}
      </div>
      {hover && <Tip tree={tree} root={root} {...hover} />}
    </div>
  );
}

function place({ x, w, row }: Box, width: number): Record<string, string> {
  return { left: `${x * width}px`, width: `${Math.max(1, w * width - 1)}px`, top: `${row * ROW}px` };
}

function Smaller({ box, width }: { box: Box; width: number }) {
  return (
    <div
      class="box smaller"
      aria-hidden="true"
      data-smaller={box.smaller}
      data-of={box.node}
      style={place(box, width)}
    />
  );
}

function Item({
  tree,
  box,
  width,
  chosen,
  stop,
  matched,
  suspect,
}: {
  tree: HeapTree;
  box: Box;
  width: number;
  chosen: boolean;
  stop: boolean;
  matched: boolean | null;
  suspect: boolean;
}) {
  const { node } = box;
  const px = box.w * width;
  const has = tree.first[node] < tree.first[node + 1];
  // What is seen begins what is read out, so that who asks for a box by its text finds it.
  const label = `${suspect ? "! " : ""}${labelOf(tree, node)}`;
  const size = `${bytes(tree.retained[node])} · ${part(tree.retained[node], tree.retained[0])}`;
  const seen = `${px >= NAME_PX ? `${label} ` : ""}${px >= SIZE_PX ? `${size}: ` : ""}`;
  return (
    <div
      role="treeitem"
      class={`box ${SORTS[tree.sort[node]]}${matched === true ? " match" : matched === false ? " dim" : ""}`}
      data-node={node}
      style={place(box, width)}
      tabIndex={stop ? 0 : -1}
      aria-level={box.row + 1}
      aria-selected={chosen}
      {...(has ? { "aria-expanded": true } : {})}
      aria-label={`${seen}${said(tree, node)}${suspect ? ", suspect" : ""}${matched ? ", matches" : ""}`}
    >
      {px >= NAME_PX && <span class="label">{label}</span>} {px >= SIZE_PX && <span class="size">{size}</span>}
    </div>
  );
}

function Tip({
  tree,
  root,
  node,
  smaller,
  x,
  y,
}: {
  tree: HeapTree;
  root: number;
  node: number;
  smaller: number;
  x: number;
  y: number;
}) {
  const style = {
    ...(x > innerWidth * 0.6 ? { right: `${innerWidth - x + 14}px` } : { left: `${x + 14}px` }),
    ...(y > innerHeight * 0.6 ? { bottom: `${innerHeight - y + 14}px` } : { top: `${y + 18}px` }),
  };
  const rows = smaller > 0 ? [] : facts(tree, node, tree.retained[root]);
  return (
    <div class="tooltip heap-tip" style={style}>
      <p class="name">
        {smaller > 0
          ? `${smaller} smaller, too narrow to be drawn: click to see what ${labelOf(tree, node)} keeps`
          : nameOf(tree, node)}
      </p>
      <dl>
        {rows.map(([key, value]) => (
          <div key={key}>
            <dt>{key}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

/** Whether a node is another one or below it. */
export function isBelow(tree: HeapTree, node: number, root: number): boolean {
  for (let at = node; at >= 0; at = tree.parent[at]) if (at === root) return true;
  return false;
}
