// The flame graph as one component: canvas, search, keyboard, details, table.
//
// `data` is a call tree in typed arrays (data.ts). Keys work while the focus is inside; with
// `alone`, for a page that holds nothing else, also while it is nowhere in particular.

import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

import { onPaper } from "../print";
import { ink } from "../theme";
import { copyText, Details } from "./Details";
import type { FlameData } from "./data";
import { FrameTable } from "./FrameTable";
import { FlameHelp } from "./Help";
import { invert } from "./invert";
import { Legend } from "./Legend";
import { layout, nodeAt, pathTo, type Side } from "./layout";
import { forgetPatterns, paint, placeOf, ROW, type Scene } from "./paint";
import { expression, search } from "./search";
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

  const draw = useCallback(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context || width === 0) return;
    const ratio = devicePixelRatio || 1;
    if (element.width !== Math.round(width * ratio) || element.height !== Math.round(visible * ratio)) {
      element.width = Math.round(width * ratio);
      element.height = Math.round(visible * ratio);
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    setRows(paint(context, scene()));
  }, [scene, width, visible]);

  useLayoutEffect(() => {
    forgetPatterns();
    draw();
  }, [draw, theme]);

  useEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    let frame = 0;
    const onScroll = (): void => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(draw);
    };
    element.addEventListener("scroll", onScroll, { passive: true });
    const offPaper = onPaper(() => setWidth(element.clientWidth));
    return () => {
      offPaper();
      observer.disconnect();
      cancelAnimationFrame(frame);
      element.removeEventListener("scroll", onScroll);
    };
  }, [draw]);

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

  const neighbour = (node: number, direction: 1 | -1): number | null => {
    const up = data.parent[node];
    if (up < 0) return null;
    const siblings = Array.from(laid.child.subarray(laid.first[up], laid.first[up + 1])).filter(
      (c) => laid.width[c] > 0,
    );
    return siblings[siblings.indexOf(node) + direction] ?? null;
  };
  const widest = (node: number): number | null => {
    let best: number | null = null;
    for (let c = laid.first[node]; c < laid.first[node + 1]; c++) {
      const child = laid.child[c];
      if (laid.width[child] > 0 && (best === null || laid.width[child] > laid.width[best])) best = child;
    }
    return best;
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
    ArrowDown: () => choose(chosen === null ? current : (widest(current) ?? current)),
    ArrowLeft: () => choose(neighbour(current, -1) ?? current),
    ArrowRight: () => choose(neighbour(current, 1) ?? current),
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
  const keys = useRef(actions);
  keys.current = actions;
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
      const focus = document.activeElement;
      const inside = focus !== null && (section.current?.contains(focus) ?? false);
      if (!inside && !(alone && (focus === document.body || focus === null))) return;
      if (focus instanceof HTMLInputElement || focus instanceof HTMLSelectElement) {
        if (focus !== box.current || (event.key !== "Escape" && event.key !== "Enter")) return;
        event.preventDefault();
        event.stopPropagation();
        if (event.key === "Escape") keys.current.Escape?.();
        else if (focus.value !== "") setQuery(focus.value);
        scroller.current?.focus();
        return;
      }
      // Enter and the arrows mean something else on a button and in a table.
      if (event.key === "Enter" && focus instanceof HTMLButtonElement) return;
      if (event.key.startsWith("Arrow") && focus?.closest(".flame-frames")) return;
      const action = keys.current[event.key];
      if (!action) return;
      event.preventDefault();
      event.stopPropagation();
      action();
    };
    // Captured, so that a page with keys of its own does not act on the same press.
    window.addEventListener("keydown", onKey, true);
    return () => window.removeEventListener("keydown", onKey, true);
  }, [alone]);

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
      <div class="flame-tools" role="toolbar" aria-label="Flame graph">
        <label>
          <span class="unseen">Search frames (a regular expression)</span>
          <input
            ref={box}
            type="search"
            placeholder="Search: regular expression"
            value={typed}
            class={query !== "" && !pattern ? "wrong" : ""}
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
        </label>
        <span class="flame-found" role="status" data-flame="found">
          {found}
        </span>
        <div class="end">
          <button type="button" aria-pressed={inverted} onClick={turn}>
            Callers
          </button>
          {given.base && (
            <button
              type="button"
              aria-pressed={colours === "change"}
              onClick={() => setColours(colours === "type" ? "change" : "type")}
            >
              Comparison
            </button>
          )}
          {given.base && (
            <button
              type="button"
              aria-pressed={side === "base"}
              onClick={() => setSide(side === "here" ? "base" : "here")}
            >
              Widths of the baseline
            </button>
          )}
          <button type="button" aria-pressed={table} onClick={() => setTable(!table)}>
            Table
          </button>
          <button type="button" disabled={root === 0} onClick={() => setRoot(0)}>
            Whole graph
          </button>
          <button type="button" aria-haspopup="dialog" onClick={() => setHelp(true)}>
            Keys
          </button>
        </div>
      </div>
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

function Tip({ data, node, shown, x, y }: { data: FlameData; node: number; shown: number; x: number; y: number }) {
  const right = x > innerWidth * 0.6;
  const low = y > innerHeight * 0.65;
  const style = {
    ...(right ? { right: `${innerWidth - x + 14}px` } : { left: `${x + 14}px` }),
    ...(low ? { bottom: `${innerHeight - y + 14}px` } : { top: `${y + 16}px` }),
  };
  return (
    <div class="tooltip flame-tip" style={style}>
      <p class="name">{data.names[data.name[node]]}</p>
      <dl>
        {facts(data, node, shown).map(([key, value]) => (
          <div key={key}>
            <dt>{key}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

function boxStyle({ x, y, w }: { x: number; y: number; w: number }): Record<string, string> {
  return { left: `${x}px`, top: `${y}px`, width: `${Math.max(w, 2)}px`, height: `${ROW - 1}px` };
}

/** An expression for one name, or for its beginning where it is too long to be typed. */
function exactly(name: string): string {
  const LONGEST = 300;
  const text = name.slice(0, LONGEST).replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return name.length > LONGEST ? `^${text}` : `^${text}$`;
}
