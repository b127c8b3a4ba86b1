// The timeline: lanes over one another on one clock, and everything that moves them.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import type { Detail, Page } from "../context";
import { duration, moment, momentDigits, ticks } from "../format";
import { useChoice, useView } from "../hooks";
import { classLook, lineInk, partLook } from "../inks";
import type { Group, Lane, LineLane, SpanLane } from "../model";
import { LAYER_INKS, LAYERS, type SampleLane } from "../samples/lane";
import { SpanIndex } from "../spans";
import type { Range } from "../view";
import { Details } from "./Details";
import { LaneTable } from "./LaneTable";
import { LinePlot } from "./LineLane";
import { swap, zoomTo } from "./SelectionBar";
import { SAMPLE_ROW, SamplePlot } from "./SampleLane";
import { SpanPlot } from "./SpanLane";

/** A drag shorter than this is a click. */
const DRAG_PX = 4;
/** A wheel that was turning over the page goes on moving the page when a lane slides under the pointer. */
const WHEEL_LATCH_MS = 250;

/** Series at the top of a group that are open at first: a table of latencies brings many columns. */
const SERIES_OPEN = 3;

/** Parts of the page by their digit. */
const SECTIONS = ["timeline", "panel-stacks", "panel-heat", "panel-tables", "ledger"];

function goTo(id: string): void {
  const section = document.getElementById(id);
  section?.scrollIntoView({ block: "start" });
  section?.querySelector<HTMLElement>("[tabindex='0'], button, select")?.focus({ preventScroll: true });
}

interface Hover {
  x: number;
  y: number;
  t: number;
  detail: Detail | null;
}

export function Timeline({ page, theme, mark, onTheme, onHelp }: {
  page: Page;
  theme: string;
  mark: number | null;
  onTheme: () => void;
  onHelp: () => void;
}) {
  const [hover, showHover] = useState<Hover | null>(null);
  // What was stepped to, known to the next key before it is drawn.
  const latest = useRef<Hover | null>(null);
  const setHover = (to: Hover | null): void => showHover((latest.current = to));
  const [drag, setDrag] = useState<(Range & { side: "windows" | "base" }) | null>(null);
  const [said, setSaid] = useState("");
  const [kept, setKept] = useState<Detail | null>(null);
  const lanes = useRef<HTMLDivElement>(null);
  const busy = useMemo(() => new Set(page.diagnosis.findings.map((f) => f.process)), [page]);
  const few = page.lanes.groups.length <= 3;

  const plot = (): DOMRect | null => lanes.current?.querySelector(".overlay")?.getBoundingClientRect() ?? null;
  const timeAt = (clientX: number): number => {
    const box = plot();
    return box && box.width > 0 ? page.view.from + ((clientX - box.left) / box.width) * page.view.width : page.view.from;
  };

  // Wheel listeners have to be told that they may stop the page from scrolling, which JSX cannot say.
  useEffect(() => {
    const element = lanes.current;
    if (!element) return;
    let last = -Infinity;
    let over: "lanes" | "page" = "page";
    const note = (event: WheelEvent): void => {
      const inside = event.target instanceof Element && event.target.closest("[data-plot]") !== null;
      if (event.timeStamp - last > WHEEL_LATCH_MS) over = inside ? "lanes" : "page";
      last = event.timeStamp;
      if (!inside || over === "page") return;
      event.preventDefault();
      const sideways = event.shiftKey ? event.deltaY || event.deltaX : Math.abs(event.deltaX) > Math.abs(event.deltaY) ? event.deltaX : 0;
      if (sideways !== 0) page.view.pan(sideways / 800);
      else page.view.zoom(Math.exp(-event.deltaY / 400), timeAt(event.clientX));
    };
    window.addEventListener("wheel", note, { passive: false });
    return () => window.removeEventListener("wheel", note);
  }, [page]);

  useEffect(() => {
    const element = lanes.current;
    if (!element) return;
    const observer = new ResizeObserver(() => page.view.changed());
    observer.observe(element);
    return () => observer.disconnect();
  }, [page]);

  const showRanges = (ranges: Range[]): void => {
    const first = ranges[0];
    if (!first) return;
    const margin = (first.to - first.from) * 0.2;
    page.view.show(first.from - margin, first.to + margin);
  };

  /** Puts a lane before or behind its neighbour of the same group. */
  const moveLane = (id: string, by: 1 | -1): void => {
    const group = page.lanes.groups.find((g) => g.lanes.some((l) => l.id === id));
    if (!group) return;
    const ids = ordered(group.lanes, page.state.now.order).map((l) => l.id);
    const at = ids.indexOf(id);
    const to = at + by;
    if (to < 0 || to >= ids.length) return;
    [ids[at], ids[to]] = [ids[to], ids[at]];
    page.state.set({ order: [...page.state.now.order.filter((other) => !ids.includes(other)), ...ids] });
    setSaid(`${group.lanes.find((l) => l.id === id)?.title ?? ""} is now ${to + 1} of ${ids.length}`);
    requestAnimationFrame(() => lanes.current?.querySelector<HTMLElement>(`[data-plot="${CSS.escape(id)}"]`)?.focus());
  };

  const brush = (side: "windows" | "base", a: number, b: number): void => {
    const { from, to } = page.view.home;
    const clip = (t: number): number => Math.min(to, Math.max(from, t));
    const range = { from: clip(Math.min(a, b)), to: clip(Math.max(a, b)) };
    if (range.to > range.from) page.state.set(side === "base" ? { base: [range] } : { windows: [range] });
  };
  /** Moves one end of the window (or of the base) to the moment under the cross-hair. */
  const setEnd = (end: "from" | "to"): void => {
    const t = hover?.t ?? mark ?? (page.view.from + page.view.to) / 2;
    const windows = page.windows();
    const now = { from: windows[0]?.from ?? page.view.from, to: windows[windows.length - 1]?.to ?? page.view.to };
    const other = end === "from" ? (now.to > t ? now.to : page.view.to) : now.from < t ? now.from : page.view.from;
    brush("windows", t, other);
    setSaid(`Window ${page.told(page.windows())}`);
  };

  const onPointerDown = (event: PointerEvent): void => {
    const target = event.target as Element;
    if (event.button !== 0 || !target.closest("[data-plot]")) return;
    const startX = event.clientX;
    const start = { from: page.view.from, to: page.view.to };
    const startT = timeAt(startX);
    // The axis moves what is shown; lanes are brushed: the window, with Shift what it is held against.
    const panning = target.closest(".axis") !== null;
    const side = event.shiftKey ? "base" : "windows";
    const width = plot()?.width ?? 1;
    let moved = false;
    const move = (e: PointerEvent): void => {
      moved ||= Math.abs(e.clientX - startX) >= DRAG_PX;
      if (!moved) return;
      e.preventDefault();
      if (panning) {
        const by = ((startX - e.clientX) / width) * (start.to - start.from);
        page.view.show(start.from + by, start.to + by);
      } else setDrag({ from: startT, to: timeAt(e.clientX), side });
    };
    const stop = (): void => {
      window.removeEventListener("pointermove", move);
      window.removeEventListener("pointerup", up);
      window.removeEventListener("pointercancel", stop);
      window.removeEventListener("keydown", escape, true);
      setDrag(null);
    };
    const up = (e: PointerEvent): void => {
      stop();
      if (moved && !panning) brush(side, startT, timeAt(e.clientX));
      if (!moved) setKept(detailAt(e)?.detail ?? null);
    };
    const escape = (e: KeyboardEvent): void => {
      if (e.key !== "Escape") return;
      e.stopPropagation();
      stop();
    };
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", up);
    window.addEventListener("pointercancel", stop);
    window.addEventListener("keydown", escape, true);
  };

  const detailAt = (event: PointerEvent): Hover | null => {
    const cell = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-plot]") : null;
    const box = plot();
    if (!cell || !box || event.clientX < box.left) return null;
    const t = timeAt(event.clientX);
    const y = event.clientY - cell.getBoundingClientRect().top;
    const handle = page.handles.get(cell.dataset["plot"] ?? "");
    const detail = handle?.describe(t, y, page.view.width / Math.max(1, box.width)) ?? null;
    return { x: event.clientX, y: event.clientY, t, detail };
  };
  const onPointerMove = (event: PointerEvent): void => setHover(detailAt(event));

  const step = (id: string, direction: 1 | -1): void => {
    const box = plot();
    const from = hover?.t ?? (page.view.from + page.view.to) / 2;
    const next = page.handles.get(id)?.step(from, direction);
    if (!next || !box) return setSaid(direction === 1 ? "No later span." : "No earlier span.");
    if (next.t < page.view.from || next.t > page.view.to) {
      page.view.show(next.t - page.view.width / 2, next.t + page.view.width / 2);
    }
    const cell = lanes.current?.querySelector(`[data-plot="${CSS.escape(id)}"]`)?.getBoundingClientRect();
    const x = box.left + ((next.t - page.view.from) / page.view.width) * box.width;
    setHover({ x, y: cell ? cell.top + cell.height / 2 : box.top, t: next.t, detail: next.detail });
    setSaid(`${next.detail.title}. ${next.detail.facts.map(([k, v]) => `${k} ${v}`).join(", ")}`);
  };

  // Keys work while the focus is in the timeline or nowhere in particular.
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
      const focus = document.activeElement;
      const inside = focus !== null && lanes.current?.closest("section")?.contains(focus);
      if (!inside && focus !== document.body && focus !== null) return;
      const lane = focus?.closest<HTMLElement>("[data-lane]");
      const id = lane?.dataset["lane"];
      const middle = (page.view.from + page.view.to) / 2;
      const press = (name: string): void => lane?.querySelector<HTMLElement>(`[data-key="${name}"]`)?.click();
      const actions: Record<string, () => void> = {
        "+": () => page.view.zoom(1.6, hover?.t ?? middle),
        "=": () => page.view.zoom(1.6, hover?.t ?? middle),
        "-": () => page.view.zoom(1 / 1.6, hover?.t ?? middle),
        ArrowLeft: () => page.view.pan(event.shiftKey ? -0.8 : -0.15),
        ArrowRight: () => page.view.pan(event.shiftKey ? 0.8 : 0.15),
        "0": () => page.view.reset(),
        Escape: () => (kept ? setKept(null) : page.view.reset()),
        Enter: () => setKept(latest.current?.detail ?? null),
        "<": () => id && moveLane(id, -1),
        ">": () => id && moveLane(id, 1),
        s: () => showRanges(page.windows()),
        b: () => showRanges(page.base()),
        w: () => {
          brush("windows", page.view.from, page.view.to);
          setSaid(`Window ${page.told(page.windows())}`);
        },
        v: () => {
          brush("base", page.view.from, page.view.to);
          setSaid(`Base ${page.told(page.base())}`);
        },
        "[": () => setEnd("from"),
        "]": () => setEnd("to"),
        z: () => zoomTo(page),
        x: () => swap(page),
        c: () => page.state.set({ windows: null, base: null }),
        a: () => page.state.set({ windows: [] }),
        ...Object.fromEntries(SECTIONS.map((section, i) => [String(i + 1), () => goTo(section)])),
        d: onTheme,
        "?": onHelp,
        f: () => press("fold"),
        t: () => press("table"),
        n: () => id && step(id, 1),
        p: () => id && step(id, -1),
      };
      const action = actions[event.key];
      // Enter means something else on a button, and letters in a field.
      if (!action || (event.key === "Enter" && !focus?.matches("[data-plot]")) || focus instanceof HTMLInputElement) return;
      event.preventDefault();
      action();
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [page, hover, kept, onTheme, onHelp]);

  return (
    <section class="timeline" aria-labelledby="timeline-title" id="timeline">
      <header class="timeline-head">
        <h2 id="timeline-title">Timeline</h2>
        <RangeText page={page} />
        <div class="tools" role="toolbar" aria-label="Timeline">
          <button type="button" onClick={() => page.view.zoom(1.6, (page.view.from + page.view.to) / 2)} aria-label="Zoom in">+</button>
          <button type="button" onClick={() => page.view.zoom(1 / 1.6, (page.view.from + page.view.to) / 2)} aria-label="Zoom out">−</button>
          <button type="button" onClick={() => page.view.reset()}>Show all</button>
          <button type="button" onClick={onHelp} aria-label="Keys and gestures">?</button>
        </div>
      </header>
      <div
        class={drag ? "lanes dragging" : "lanes"}
        ref={lanes}
        onPointerDown={onPointerDown}
        onPointerMove={onPointerMove}
        onPointerLeave={() => setHover(null)}
        onDblClick={(e) => (e.target as Element).closest("[data-plot]") && page.view.reset()}
      >
        <Axis page={page} />
        {page.lanes.groups.map((group, i) => (
          <GroupLanes key={i} group={group} page={page} theme={theme} onMove={moveLane}
            open={few || i === 0 || group.name === "Threads" || busy.has(group.name) || (busy.size === 0 && i <= 2)} />
        ))}
        <Overlay page={page} hover={hover?.t ?? null} drag={drag} mark={mark} />
      </div>
      {kept && <Details detail={kept} page={page} onClose={() => setKept(null)} />}
      {hover?.detail && <Tooltip x={hover.x} y={hover.y} detail={hover.detail} />}
      <p class="unseen" role="status" aria-live="polite">{said}</p>
      {page.lanes.groups.length === 0 && <p class="nothing">The inputs hold nothing that lies in time.</p>}
    </section>
  );
}

function RangeText({ page }: { page: Page }) {
  useView(page);
  const { from, to, width } = page.view;
  const clock = page.clock(from);
  return (
    <p class="range" data-from={page.fromZero(from) / 1e9} data-to={page.fromZero(to) / 1e9}>
      {page.moment(from, width)} – {page.moment(to, width)}
      {clock !== "" && <span class="quiet"> from {clock}</span>}
    </p>
  );
}

function Axis({ page }: { page: Page }) {
  useView(page);
  const { from, width } = page.view;
  const start = page.fromZero(from);
  const steps = ticks(start, start + width, 9);
  const digits = Math.max(0, momentDigits(width) - 1);
  return (
    <div class="axis" aria-hidden="true">
      <div class="axis-plot" data-plot="">
        {steps.map((t) => (
          <span key={t} style={{ left: `${((t - start) / width) * 100}%` }}>
            {moment(t, Number.isInteger(t / 1e9) && width > 4e9 ? 0 : digits)}
          </span>
        ))}
      </div>
    </div>
  );
}

function Overlay({ page, hover, drag, mark }: {
  page: Page;
  hover: number | null;
  drag: (Range & { side: "windows" | "base" }) | null;
  mark: number | null;
}) {
  useView(page);
  useChoice(page);
  const { from, width } = page.view;
  const place = (a: number, b: number) => {
    const left = Math.max(0, (Math.min(a, b) - from) / width);
    const right = Math.min(1, (Math.max(a, b) - from) / width);
    return { left: `${left * 100}%`, width: `${Math.max(0, right - left) * 100}%` };
  };
  const shade = (ranges: Range[], name: string) =>
    ranges.map((r, i) => (r.to > from && r.from < from + width ? <div key={`${name}${i}`} class={`shade ${name}`} style={place(r.from, r.to)} /> : null));
  const line = (t: number, name: string) =>
    t >= from && t <= from + width ? <div class={name} style={{ left: `${((t - from) / width) * 100}%` }} /> : null;
  // A window that is the whole run needs no shade.
  const windows = page.windows();
  const { home } = page.view;
  const covered = windows.reduce((sum, r) => sum + r.to - r.from, 0);
  const whole = page.base().length === 0 && covered >= 0.98 * (home.to - home.from);
  return (
    <div class="overlay" aria-hidden="true">
      {shade(page.base(), "base")}
      {!whole && shade(windows, "slow")}
      {mark !== null && line(mark, "mark-line")}
      {hover !== null && line(hover, "crosshair")}
      {drag && <div class={drag.side === "base" ? "selection for-base" : "selection"} style={place(drag.from, drag.to)} />}
    </div>
  );
}

/** Lanes in the order that was chosen, those that it does not name where they were. */
function ordered(lanes: Lane[], order: string[]): Lane[] {
  const known = lanes.filter((l) => order.includes(l.id)).sort((a, b) => order.indexOf(a.id) - order.indexOf(b.id));
  return lanes.map((lane) => (order.includes(lane.id) ? (known.shift() ?? lane) : lane));
}

function GroupLanes({ group, page, theme, open: initially, onMove }: {
  group: Group;
  page: Page;
  theme: string;
  open: boolean;
  onMove: (id: string, by: 1 | -1) => void;
}) {
  const choice = useChoice(page);
  const [open, setOpen] = useFold(page, `group:${group.name}`, initially);
  const lanes = useMemo(() => ordered(group.lanes, choice.order), [group, choice.order]);
  return (
    <div class="group" role="group" aria-label={group.name}>
      <h3>
        <button type="button" class="fold" aria-expanded={open} onClick={() => setOpen(!open)}>
          <span class="chevron" aria-hidden="true" />
          {group.name}
        </button>
        <span class="quiet">{group.detail}</span>
      </h3>
      {open && lanes.map((lane, i) => (
        <LaneRow key={lane.id} lane={lane} page={page} theme={theme} onMove={onMove}
          open={(!lane.id.startsWith("series-") || i < SERIES_OPEN) && (lane.type !== "samples" || i === 0)} />
      ))}
    </div>
  );
}

/** Whether something is open: as it was folded by hand, else as it is at first. */
function useFold(page: Page, id: string, initially: boolean): [boolean, (open: boolean) => void] {
  const choice = useChoice(page);
  return [choice.folds[id] ?? initially, (open) => page.state.set({ folds: { ...page.state.now.folds, [id]: open } })];
}

function LaneRow({ lane, page, theme, open: initially, onMove }: {
  lane: Lane;
  page: Page;
  theme: string;
  open: boolean;
  onMove: (id: string, by: 1 | -1) => void;
}) {
  const [open, setOpen] = useFold(page, lane.id, initially);
  const [table, setTable] = useState(false);
  const longest = useMemo(() => {
    const index = lane.type === "spans" ? new SpanIndex(lane) : null;
    return index?.tall ? index.longestNs : 0;
  }, [lane]);
  const label = lane.type === "lines"
    ? `${lane.title}: ${lane.lines.length} ${lane.lines.length === 1 ? "line" : "lines"}`
    : lane.type === "samples" ? `${lane.title} of ${lane.rows.length} rows of threads, t shows a table`
    : `${lane.title}: ${lane.t0.length}. n and p step through them, t shows a table`;
  return (
    <div class={open ? "lane" : "lane folded"} data-lane={lane.id}>
      <div class="lane-label">
        <div class="lane-title">
          <button type="button" class="fold" aria-expanded={open} data-key="fold" onClick={() => setOpen(!open)}>
            <span class="chevron" aria-hidden="true" />
            {lane.title}
          </button>
          {lane.type === "lines" && !SPELT_OUT.has(lane.unit) && <span class="unit">{lane.unit}</span>}
          {longest > 0 && <span class="unit">up to {duration(longest)}</span>}
        </div>
        <div class="lane-tools">
          {open && (
            <button type="button" class="as-table" aria-pressed={table} data-key="table" onClick={() => setTable(!table)}>
              table
            </button>
          )}
          <button type="button" class="as-table" aria-label={`${lane.title} up`} onClick={() => onMove(lane.id, -1)}>▲</button>
          <button type="button" class="as-table" aria-label={`${lane.title} down`} onClick={() => onMove(lane.id, 1)}>▼</button>
        </div>
        {open && lane.type !== "samples" && <Legend lane={lane} />}
        {open && lane.type === "samples" && (
          <ul class="rows">{lane.rows.map((row, r) => <li key={r} style={{ height: `${SAMPLE_ROW}px` }} title={row.name}>{row.name}</li>)}</ul>
        )}
      </div>
      {open && (
        <div class="lane-plot" data-plot={lane.id} tabIndex={0} role="group" aria-label={label}>
          {lane.type === "lines" ? <LinePlot lane={lane} page={page} theme={theme} />
            : lane.type === "spans" ? <SpanPlot lane={lane} page={page} theme={theme} /> : <SamplePlot lane={lane} page={page} theme={theme} />}
          {lane.type === "samples" && <LayerLegend lane={lane} />}
          {lane.note !== "" && <p class="note">{lane.note}</p>}
        </div>
      )}
      {open && table && <LaneTable lane={lane} page={page} />}
    </div>
  );
}

/** Units that each figure of the axis carries itself. */
const SPELT_OUT = new Set(["", "bytes", "ns", "ms", "s"]);
/** Names that fit beside a lane. */
const LEGEND = 5;

/** Below the rows, because their names take the place beside them. */
function LayerLegend({ lane }: { lane: SampleLane }) {
  const present = useMemo(() => new Set(lane.layer), [lane]);
  return (
    <ul class="layer-legend">
      {LAYERS.map((name, l) => present.has(l) && (
        <li key={name}><span class="swatch" style={{ background: `var(--${LAYER_INKS[l]})` }} aria-hidden="true" />{name}</li>
      ))}
      <li>{lane.unit === "ns" ? "full height: all of the time" : "full height: the most in view"}</li>
    </ul>
  );
}

function Legend({ lane }: { lane: LineLane | SpanLane }) {
  const entries = lane.type === "lines"
    ? lane.lines.length > 1
      ? lane.lines.map((l, i) => ({ name: l.name, ink: l.main ? "ink" : lineInk(i), height: 0.2 }))
      : []
    : lane.parts.length > 0
      ? lane.parts.map((p) => ({ name: p.name, ...partLook(p.name) }))
      : lane.classes.length > 1
        ? lane.classes.map((c, i) => ({ name: c, ...classLook(c, i) }))
        : [];
  if (entries.length === 0) return null;
  return (
    <ul class="legend">
      {entries.slice(0, LEGEND).map((e) => (
        <li key={e.name}>
          <span class={"capped" in e && e.capped ? "swatch capped" : "swatch"} style={{ background: `var(--${e.ink})`, height: `${Math.max(2, e.height * 10)}px` }} aria-hidden="true" />
          {e.name}
        </li>
      ))}
      {entries.length > LEGEND && <li>{entries.length - LEGEND} more</li>}
    </ul>
  );
}

function Tooltip({ x, y, detail }: { x: number; y: number; detail: Detail }) {
  // On the side with more room, so that it never leaves the window.
  const left = x > window.innerWidth / 2;
  const above = y > window.innerHeight / 2;
  return (
    <div
      class="tooltip"
      aria-hidden="true"
      style={{
        ...(left ? { right: `${window.innerWidth - x + 14}px` } : { left: `${x + 14}px` }),
        ...(above ? { bottom: `${window.innerHeight - y + 14}px` } : { top: `${y + 14}px` }),
      }}
    >
      <strong>{detail.title}</strong>
      <dl>
        {detail.facts.map(([name, value], i) => (
          <div key={i}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
