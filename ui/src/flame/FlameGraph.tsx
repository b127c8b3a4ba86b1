// The flame graph as one component: canvas, search, keyboard, details, table.
//
// `data` is a call tree in typed arrays (data.ts). Keys work while the focus is inside; with
// `alone`, for a page that holds nothing else, also while it is nowhere in particular.

import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";

import { onPaper } from "../print";
import { ink } from "../theme";
import { copyText, Details } from "./Details";
import type { FlameData } from "./data";
import { FrameTable } from "./FrameTable";
import { FlameHelp } from "./Help";
import { invert } from "./invert";
import { Legend } from "./Legend";
import { layout, neighbour, nodeAt, pathTo, type Side, widest } from "./layout";
import { placeOf, ROW, type Scene } from "./paint";
import { exactly, expression, search } from "./search";
import { Tip } from "./Tip";
import { Toolbar } from "./Toolbar";
import { useCanvas } from "./useCanvas";
import { useKeys } from "./useKeys";
import { facts, part, stackText, weight } from "./words";
import "./flame.css";

export interface FlameGraphProps {
  data: FlameData;
  /** Changes when the colours do. */
  theme: string;
  /** Of the graph's window, CSS pixels; as much as is there when left out. */
  height?: number;
  /** Whether the page holds nothing else. */
  alone?: boolean;
  /**
   * Whether the callers' tree is shown, and what is searched for: at first, and when
   * the address says so.
   */
  inverted?: boolean;
  search?: string;
  /** Called when either is changed by hand. */
  onShown?: (shown: { inverted: boolean; search: string }) => void;
  /** Asked for by the key d. */
  onTheme?: () => void;
}

const FONT = "12px Inter, ui-sans-serif, system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";
/** What fits a sheet of A4 together with the rest of its section, CSS pixels. */
const PAPER_HEIGHT = 860;
/** The search runs when typing has come to rest. */
const REST_MS = 120;

export function FlameGraph({
  data: given,
  theme,
  height,
  alone = false,
  inverted: askedInverted = false,
  search: asked = "",
  onShown,
  onTheme,
}: FlameGraphProps) {
  const [inverted, setInverted] = useState(askedInverted);
  const [side, setSide] = useState<Side>("here");
  const [colours, setColours] = useState<"type" | "change">(given.base ? "change" : "type");
  const [root, setRoot] = useState(0);
  const [chosen, setChosen] = useState<number | null>(null);
  const [hover, setHover] = useState<{ node: number; x: number; y: number } | null>(null);
  const [typed, setTyped] = useState(asked);
  const [query, setQuery] = useState(asked);
  const [table, setTable] = useState(false);
  const [help, setHelp] = useState(false);
  const [width, setWidth] = useState(0);
  const [rows, setRows] = useState(1);
  const paper = usePaper();
  const section = useRef<HTMLElement>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const box = useRef<HTMLInputElement>(null);

  const data = useMemo(() => (inverted ? invert(given) : given), [given, inverted]);
  const laid = useMemo(() => layout(data, side), [data, side]);
  const pattern = useMemo(() => expression(query), [query]);
  const matches = useMemo(
    () => (pattern ? search(data, pattern, Math.min(root, data.parent.length - 1)) : null),
    [data, pattern, root],
  );
  const shown = data.total[root] ?? 0;

  // Another graph: nothing of the old one is chosen.
  useEffect(() => {
    setRoot(0);
    setChosen(null);
    setHover(null);
  }, [data]);
  useEffect(() => {
    if (!given.base) {
      setColours("type");
      setSide("here");
    }
  }, [given]);
  useEffect(() => {
    const timer = window.setTimeout(() => setQuery(typed), REST_MS);
    return () => clearTimeout(timer);
  }, [typed]);

  useEffect(() => setInverted(askedInverted), [askedInverted]);
  useEffect(() => {
    setTyped(asked);
    setQuery(asked);
  }, [asked]);
  useEffect(() => {
    if (query !== asked || inverted !== askedInverted) onShown?.({ inverted, search: query });
  }, [query, inverted]);

  const visible = paper
    ? Math.min(rows * ROW + 2, PAPER_HEIGHT)
    : (height ??
      Math.max(
        240,
        Math.min(rows * ROW + 2, (typeof innerHeight === "number" ? innerHeight : 800) - (alone ? 330 : 260)),
      ));
  const scene = useCallback(
    (): Scene => ({
      data,
      laid,
      root: Math.min(root, data.parent.length - 1),
      matches: matches?.names ?? null,
      colours,
      top: scroller.current?.scrollTop ?? 0,
      width,
      height: visible,
      ink,
      font: FONT,
    }),
    [data, laid, root, matches, colours, width, visible],
  );

  useCanvas({ canvas, scroller, scene, width, visible, theme, onWidth: setWidth, onRows: setRows });

  const choose = (node: number): void => {
    setChosen(node);
    setHover(null);
    const element = scroller.current;
    const y = laid.depth[node] * ROW;
    if (!element) return;
    if (y < element.scrollTop) element.scrollTop = y;
    else if (y + ROW > element.scrollTop + element.clientHeight) element.scrollTop = y + ROW - element.clientHeight;
  };
  const zoom = (node: number): void => {
    if (!(laid.width[node] > 0)) return;
    setRoot(node);
    setHover(null);
    const element = scroller.current;
    const y = laid.depth[node] * ROW;
    if (element && (y < element.scrollTop || y > element.scrollTop + element.clientHeight - 4 * ROW))
      element.scrollTop = Math.max(0, y - 4 * ROW);
  };
  /** Shows a frame that lies outside of the zoomed part or is too narrow to be seen. */
  const reveal = (node: number): void => {
    const place = placeOf(scene(), node);
    if (!place || place.w < 3) {
      let up = node;
      while (up > 0 && laid.width[up] < laid.width[node] * 20 && data.parent[up] >= 0) up = data.parent[up];
      setRoot(up);
    }
    choose(node);
  };
  const under = (event: MouseEvent): number | null => {
    const area = canvas.current?.getBoundingClientRect();
    if (!area || width === 0) return null;
    const now = scene();
    const value = laid.x[now.root] + ((event.clientX - area.left) / width) * laid.width[now.root];
    return nodeAt(
      laid,
      now.root,
      pathTo(data, now.root),
      value,
      Math.floor((event.clientY - area.top + now.top) / ROW),
    );
  };

  const stepMatch = (direction: 1 | -1): void => {
    const nodes = matches?.nodes.filter((i) => laid.width[i] > 0) ?? [];
    if (nodes.length === 0) return;
    const at = chosen === null ? -1 : nodes.indexOf(chosen);
    const next = at < 0 ? (direction === 1 ? 0 : nodes.length - 1) : (at + direction + nodes.length) % nodes.length;
    reveal(nodes[next]);
  };
  const turn = (): void => setInverted((now) => !now);
  const onEscape = (): void => {
    if (typed !== "") {
      setTyped("");
      setQuery("");
    } else if (root !== 0) setRoot(0);
    else setChosen(null);
  };
  const current = chosen ?? root;
  const actions: Record<string, () => void> = {
    ArrowUp: () => choose(Math.max(0, data.parent[current])),
    ArrowDown: () => choose(chosen === null ? current : (widest(laid, current) ?? current)),
    ArrowLeft: () => choose(neighbour(data, laid, current, -1) ?? current),
    ArrowRight: () => choose(neighbour(data, laid, current, 1) ?? current),
    Enter: () => zoom(current),
    Escape: onEscape,
    "0": () => setRoot(0),
    "/": () => box.current?.focus(),
    n: () => stepMatch(1),
    N: () => stepMatch(-1),
    i: turn,
    t: () => setTable((now) => !now),
    c: () => void copyText(stackText(data, current)),
    "?": () => setHelp(true),
    ...(given.base
      ? {
          m: () => setColours((now) => (now === "type" ? "change" : "type")),
          b: () => setSide((now) => (now === "here" ? "base" : "here")),
        }
      : {}),
    ...(onTheme ? { d: onTheme } : {}),
  };
  useKeys({ section, box, scroller, alone, actions, onSearch: setQuery });

  const now = width > 0 ? scene() : null;
  const chosenPlace = now && chosen !== null ? placeOf(now, chosen) : null;
  const hoverPlace = now && hover ? placeOf(now, hover.node) : null;
  const found =
    pattern && matches
      ? `${part(matches.weight, shown)} in ${matches.nodes.length} boxes of ${matches.count} ${matches.count === 1 ? "frame" : "frames"}`
      : query !== "" && !pattern
        ? "not a regular expression"
        : "";
  const named = (node: number): string => data.names[data.name[node]];

  return (
    <section
      class="flame"
      ref={section}
      aria-label={`Flame graph: ${given.kind}`}
      data-flame="graph"
      data-root={root}
      data-inverted={String(inverted)}
    >
      <Toolbar
        box={box}
        typed={typed}
        wrong={query !== "" && !pattern}
        found={found}
        inverted={inverted}
        compared={given.base !== undefined && given.base !== null}
        colours={colours}
        side={side}
        table={table}
        zoomed={root !== 0}
        onType={setTyped}
        onInvert={turn}
        onColours={setColours}
        onSide={setSide}
        onTable={() => setTable(!table)}
        onWhole={() => setRoot(0)}
        onHelp={() => setHelp(true)}
      />
      <Legend data={data} colours={colours} theme={theme} />
      <div
        class="flame-scroll"
        ref={scroller}
        tabIndex={0}
        role="application"
        data-flame="plot"
        aria-label="Flame graph; arrow keys move from frame to frame, Enter zooms, question mark lists the keys"
        style={{ height: `${visible}px` }}
        onPointerMove={(event) => {
          const node = under(event);
          setHover(node === null ? null : { node, x: event.clientX, y: event.clientY });
        }}
        onPointerLeave={() => setHover(null)}
        onClick={(event) => {
          const node = under(event);
          if (node !== null) setChosen(node);
        }}
        onDblClick={(event) => {
          const node = under(event);
          if (node !== null) zoom(node);
        }}
      >
        <canvas
          ref={canvas}
          class="flame-canvas"
          style={{ height: `${visible}px`, marginBottom: `${-visible}px` }}
          aria-hidden="true"
        />
        <div style={{ height: `${rows * ROW}px` }} />
        {hoverPlace && <div class="flame-mark" style={boxStyle(hoverPlace)} />}
        {chosenPlace && <div class="flame-mark chosen" style={boxStyle(chosenPlace)} />}
      </div>
      {hover && hover.node !== chosen && <Tip data={data} node={hover.node} shown={shown} x={hover.x} y={hover.y} />}
      <p class="unseen" role="status" data-flame="said">
        {chosen !== null
          ? `${named(chosen).slice(0, 300)}. ${facts(data, chosen, shown)
              .map(([k, v]) => `${k} ${v}`)
              .join(", ")}`
          : ""}
      </p>
      {chosen !== null && chosen < data.parent.length ? (
        <Details
          data={data}
          node={chosen}
          shown={shown}
          onZoom={() => zoom(chosen)}
          onSearch={() => setTyped(exactly(named(chosen)))}
        />
      ) : (
        <p class="flame-details quiet">
          {weight(data, shown)} in all. Click a box for its figures, double-click to zoom, ? for the keys.
        </p>
      )}
      {table && (
        <FrameTable
          data={given}
          matches={pattern ? search(given, pattern).names : null}
          onFind={(name) => setTyped(exactly(name))}
        />
      )}
      {given.notes.length > 0 && (
        <ul class="flame-notes">
          {given.notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      )}
      <FlameHelp open={help} onClose={() => setHelp(false)} />
    </section>
  );
}

/** Whether the page is laid out for paper, where nothing can be scrolled. */
function usePaper(): boolean {
  const [paper, setPaper] = useState(false);
  useEffect(() => onPaper(setPaper), []);
  return paper;
}

function boxStyle({ x, y, w }: { x: number; y: number; w: number }): Record<string, string> {
  return { left: `${x}px`, top: `${y}px`, width: `${Math.max(w, 2)}px`, height: `${ROW - 1}px` };
}
