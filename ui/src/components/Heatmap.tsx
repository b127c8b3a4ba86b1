// A heatmap of samples or spans over the range that is shown; selecting in it brushes the timeline.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

import type { Page } from "../context";
import { count, duration } from "../format";
import { useChoice } from "../hooks";
import type { SpanLane } from "../model";
import { type Panel, type PanelProps, PanelSection } from "../panel";
import { onPaper } from "../print";
import { between, type Heat, latencies, offsets } from "../samples/heat";
import { filterOf } from "../samples/threadFilter";
import { ink } from "../theme";

/** The heatmap follows the view when it has come to rest. */
const REST_MS = 120;
const ROW = 4;
const AXIS = 74;

interface Cell {
  column: number;
  row: number;
}

/** What a heatmap can be of, by its word in the address. */
function sources(page: Page): { id: string; title: string }[] {
  const lanes = page.lanes.groups
    .flatMap((g) => g.lanes.map((lane) => ({ lane, group: g.name })))
    .filter(({ lane }) => lane.type === "spans");
  const many = page.lanes.groups.length > 2;
  const named = (lane: { title: string }, group: string): string => (many ? `${group}: ${lane.title}` : lane.title);
  const kinds = page.samples.kinds.map((k) => ({ id: `s:${k.kind}`, title: `${k.kind} samples, offset` }));
  const spans = lanes.flatMap(({ lane, group }) => {
    const lasting = lane.type === "spans" && lane.duration.some((d) => d > 0);
    return [
      ...(lasting ? [{ id: `l:${lane.id}`, title: `${named(lane, group)}, how long` }] : []),
      { id: `o:${lane.id}`, title: `${named(lane, group)}, offset` },
    ];
  });
  return [...kinds, ...spans];
}

function compute(page: Page, id: string, range: { from: number; to: number }): Heat | null {
  const zero = page.toLane(page.diagnosis.zero_ns);
  const [what, name] = [id.slice(0, 1), id.slice(2)];
  if (what === "s") {
    const kind = page.samples.kinds.find((k) => k.kind === name);
    if (!kind) return null;
    const filter = filterOf(page);
    return offsets(kind.t, filter && ((i) => filter[kind.thread[i]] === 1), range, zero);
  }
  const lane = page.lanes.groups
    .flatMap((g) => g.lanes)
    .find((l): l is SpanLane => l.id === name && l.type === "spans");
  if (!lane) return null;
  return what === "l" ? latencies(lane.t0, lane.duration, range, zero) : offsets(lane.t0, null, range, zero);
}

export const heatmap: Panel = {
  id: "heat",
  title: "Heatmap",
  side: "show",
  digit: "3",
  shows: (page) => sources(page).length > 0,
  Component: Heatmap,
};

function Heatmap({ page, theme }: PanelProps) {
  const choice = useChoice(page);
  const all = useMemo(() => sources(page), [page]);
  const [range, setRange] = useState({ from: page.view.from, to: page.view.to });
  const [cursor, setCursor] = useState<Cell | null>(null);
  const [anchor, setAnchor] = useState<{ cell: Cell; base: boolean } | null>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const host = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const id = all.find((s) => s.id === choice.heat)?.id ?? all[0]?.id ?? "";
  useEffect(() => {
    let timer = 0;
    const stop = page.view.subscribe(() => {
      clearTimeout(timer);
      timer = window.setTimeout(() => setRange({ from: page.view.from, to: page.view.to }), REST_MS);
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [page]);
  useEffect(() => {
    const element = host.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    const offPaper = onPaper(() => setWidth(element.clientWidth));
    return () => {
      offPaper();
      observer.disconnect();
    };
  }, [id]);
  const heat = useMemo(() => (id === "" ? null : compute(page, id, range)), [page, id, range, choice.threads]);
  const plotWidth = Math.max(0, width - AXIS);
  const cellWidth = heat ? plotWidth / heat.columns : 0;
  const windows = page.windows();
  const base = page.base();
  useLayoutEffect(() => {
    if (canvas.current && heat && plotWidth > 0) draw(canvas.current, heat, plotWidth);
  }, [heat, plotWidth, theme]);
  if (!heat) return null;

  const cellAt = (event: PointerEvent): Cell | null => {
    const box = canvas.current?.getBoundingClientRect();
    if (!box || cellWidth === 0) return null;
    const column = Math.floor((event.clientX - box.left) / cellWidth);
    const row = heat.rows - 1 - Math.floor((event.clientY - box.top) / ROW);
    return { column: Math.min(heat.columns - 1, Math.max(0, column)), row: Math.min(heat.rows - 1, Math.max(0, row)) };
  };
  const brush = (a: Cell, b: Cell, isBase: boolean): void => {
    const chosen = between(heat, a, b);
    const { home } = page.view;
    const clipped = { from: Math.max(home.from, chosen.from), to: Math.min(home.to, chosen.to) };
    if (clipped.to > clipped.from) page.state.set(isBase ? { base: [clipped] } : { windows: [clipped] });
  };
  const onKey = (event: KeyboardEvent): void => {
    const now = cursor ?? { column: Math.floor(heat.columns / 2), row: 0 };
    const move = (column: number, row: number): void =>
      setCursor({
        column: Math.min(heat.columns - 1, Math.max(0, now.column + column)),
        row: Math.min(heat.rows - 1, Math.max(0, now.row + row)),
      });
    const far = event.shiftKey ? 10 : 1;
    const actions: Record<string, () => void> = {
      ArrowLeft: () => move(-far, 0),
      ArrowRight: () => move(far, 0),
      ArrowUp: () => move(0, far),
      ArrowDown: () => move(0, -far),
      Enter: () => {
        if (!anchor) return setAnchor({ cell: now, base: event.shiftKey });
        brush(anchor.cell, now, anchor.base);
        setAnchor(null);
      },
      Escape: () => (anchor ? setAnchor(null) : setCursor(null)),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  };
  const shown = anchor && cursor ? between(heat, anchor.cell, cursor) : null;
  const cellText = cursor ? describe(page, heat, cursor) : "";
  return (
    <PanelSection
      panel={heatmap}
      head={
        <>
          <p class="quiet">
            {heat.latency ? "how long over when" : `each column is ${duration(heat.columnNs)}, from bottom to top`}
            {"; drag to select"}
          </p>
          <div class="tools">
            <Ramp least={leastOf(heat)} max={heat.max} />
            <label>
              Of{" "}
              <select value={id} data-control="heat" onChange={(e) => page.state.set({ heat: e.currentTarget.value })}>
                {all.map((s) => (
                  <option key={s.id} value={s.id}>
                    {s.title}
                  </option>
                ))}
              </select>
            </label>
          </div>
        </>
      }
    >
      <div
        class="heat"
        ref={host}
        tabIndex={0}
        role="application"
        onKeyDown={onKey}
        aria-label={`Heatmap, ${count(heat.total)} in the range that is shown. Arrow keys move a cell, Enter sets one end of the window and then the other, with Shift of the baseline.`}
      >
        <div class="heat-axis" aria-hidden="true" style={{ height: `${heat.rows * ROW}px`, width: `${AXIS}px` }}>
          {rowMarks(heat).map(([row, text]) => (
            <span key={row} style={{ bottom: `${row * ROW}px` }}>
              {text}
            </span>
          ))}
        </div>
        <div
          class="heat-plot"
          style={{ width: `${plotWidth}px`, height: `${heat.rows * ROW}px` }}
          onPointerDown={(e) => {
            const cell = e.button === 0 ? cellAt(e) : null;
            if (!cell) return;
            e.currentTarget.setPointerCapture(e.pointerId);
            setAnchor({ cell, base: e.shiftKey });
            setCursor(cell);
          }}
          onPointerMove={(e) => setCursor(cellAt(e))}
          onPointerUp={(e) => {
            const cell = cellAt(e);
            if (anchor && cell) brush(anchor.cell, cell, anchor.base);
            setAnchor(null);
          }}
          onPointerCancel={() => setAnchor(null)}
          onPointerLeave={() => !anchor && setCursor(null)}
        >
          <canvas ref={canvas} style={{ width: `${plotWidth}px`, height: `${heat.rows * ROW}px` }} aria-hidden="true" />
          {[...windows.map((r) => ["slow", r] as const), ...base.map((r) => ["base", r] as const)].map(
            ([name, r], i) => {
              const [a, b] = [(r.from - heat.from) / heat.columnNs, (r.to - heat.from) / heat.columnNs];
              return b > 0 && a < heat.columns && b - a < heat.columns * 0.98 ? (
                <div
                  key={i}
                  class={`heat-window ${name}`}
                  style={{
                    left: `${Math.max(0, a) * cellWidth}px`,
                    width: `${Math.max(2, (Math.min(heat.columns, b) - Math.max(0, a)) * cellWidth)}px`,
                  }}
                />
              ) : null;
            },
          )}
          {shown &&
            cells(heat, shown).map(([column, low, high]) => (
              <div
                key={column}
                class="heat-selected"
                style={{
                  left: `${column * cellWidth}px`,
                  width: `${cellWidth}px`,
                  bottom: `${low * ROW}px`,
                  height: `${(high - low) * ROW}px`,
                }}
              />
            ))}
          {cursor && (
            <div
              class="heat-cursor"
              style={{
                left: `${cursor.column * cellWidth}px`,
                bottom: `${cursor.row * ROW}px`,
                width: `${Math.max(3, cellWidth)}px`,
                height: `${ROW}px`,
              }}
            />
          )}
        </div>
        <div class="heat-times" style={{ marginLeft: `${AXIS}px` }} aria-hidden="true">
          {Array.from({ length: 6 }, (_, i) => (
            <span key={i}>
              {page.moment(heat.from + (i / 5) * heat.columns * heat.columnNs, heat.columns * heat.columnNs)}
            </span>
          ))}
        </div>
      </div>
      <p class="note" role="status" data-about="heat">
        {cellText === "" ? `${count(heat.total)} in the range that is shown` : cellText}
      </p>
    </PanelSection>
  );
}

/** Which cells of each column lie in a range: `[column, first row, row behind the last]`. */
function cells(heat: Heat, range: { from: number; to: number }): [number, number, number][] {
  const first = Math.floor((range.from - heat.from) / heat.columnNs + 1e-9);
  const last = Math.ceil((range.to - heat.from) / heat.columnNs - 1e-9);
  const row = (t: number, column: number): number =>
    Math.min(heat.rows, Math.max(0, ((t - heat.from) / heat.columnNs - column) * heat.rows));
  return Array.from({ length: Math.max(0, last - first) }, (_, i) =>
    heat.latency ? [first + i, 0, heat.rows] : [first + i, row(range.from, first + i), row(range.to, first + i)],
  );
}

function describe(page: Page, heat: Heat, cell: Cell): string {
  const n = heat.cells[cell.column * heat.rows + cell.row];
  const range = between(heat, cell, cell);
  const when = `${page.moment(range.from, range.to - range.from)} – ${page.moment(range.to, range.to - range.from)}`;
  const lasted = heat.latency
    ? `, lasting ${duration(latencyOf(heat.latency, cell.row, heat.rows))} to ${duration(latencyOf(heat.latency, cell.row + 1, heat.rows))}`
    : "";
  return `${count(n)} in ${when}${lasted}`;
}

function latencyOf({ low, high }: { low: number; high: number }, row: number, rows: number): number {
  return low * (high / low) ** (row / rows);
}

function rowMarks(heat: Heat): [number, string][] {
  const { latency, rows, columnNs } = heat;
  if (latency) {
    const decades = Math.round(Math.log10(latency.high / latency.low));
    return Array.from({ length: decades + 1 }, (_, i) => [
      Math.round((i / decades) * rows),
      duration(latency.low * 10 ** i),
    ]);
  }
  return [0, 0.25, 0.5, 0.75, 1].map((share) => [Math.round(share * rows), `+${duration(share * columnNs)}`]);
}

/** Strength of a cell: the square root, so that single ones are seen next to a thousand. */
const STEPS = [0, 0.2, 0.4, 0.6, 0.8, 1];

function draw(canvas: HTMLCanvasElement, heat: Heat, width: number): void {
  const ratio = devicePixelRatio || 1;
  const height = heat.rows * ROW;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext("2d");
  if (!context) return;
  const [sr, sg, sb] = channels(ink("sheet"));
  const [hr, hg, hb] = channels(ink("heat"));
  const least = leastOf(heat);
  const image = new ImageData(heat.columns, heat.rows);
  for (let column = 0; column < heat.columns; column++) {
    for (let row = 0; row < heat.rows; row++) {
      const n = heat.cells[column * heat.rows + row];
      const strength = n === 0 ? 0 : 0.12 + 0.88 * Math.sqrt((n - least) / Math.max(1, heat.max - least));
      const at = ((heat.rows - 1 - row) * heat.columns + column) * 4;
      image.data[at] = sr + (hr - sr) * strength;
      image.data[at + 1] = sg + (hg - sg) * strength;
      image.data[at + 2] = sb + (hb - sb) * strength;
      image.data[at + 3] = 255;
    }
  }
  const small = document.createElement("canvas");
  small.width = heat.columns;
  small.height = heat.rows;
  small.getContext("2d")?.putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(small, 0, 0, canvas.width, canvas.height);
}

/** What every cell has at least: where all are busy, the differences are what is to be seen. */
function leastOf(heat: Heat): number {
  let least = heat.max;
  // The last column may be cut.
  const whole = Math.max(1, heat.columns - 1) * heat.rows;
  for (let i = 0; i < whole; i++) if (heat.cells[i] < least) least = heat.cells[i];
  return least;
}

/** Red, green and blue of a resolved colour. */
export function channels(colour: string): [number, number, number] {
  const [r = 0, g = 0, b = 0] = (colour.match(/[\d.]+/g) ?? []).map(Number);
  return [r, g, b];
}

function Ramp({ least, max }: { least: number; max: number }) {
  return (
    <span class="ramp" aria-hidden="true">
      {count(least)}
      {STEPS.slice(1).map((s) => (
        <span
          key={s}
          style={{
            background: `color-mix(in srgb, var(--heat) ${Math.round((0.12 + 0.88 * s) * 100)}%, var(--sheet))`,
          }}
        />
      ))}
      {count(max)} in a cell
    </span>
  );
}
