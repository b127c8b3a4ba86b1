// What lies over and above all lanes: the range in words, the axis, windows, cross-hair.

import type { Page } from "../../context";
import { moment, momentDigits, ticks } from "../../format";
import { useChoice, useView } from "../../hooks";
import type { Range } from "../../view";
import type { Brush } from "./gestures";

export function RangeText({ page }: { page: Page }) {
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

export function Axis({ page }: { page: Page }) {
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

export function Overlay({
  page,
  hover,
  drag,
  mark,
}: {
  page: Page;
  hover: number | null;
  drag: Brush | null;
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
    ranges.map((r, i) =>
      r.to > from && r.from < from + width ? (
        <div key={`${name}${i}`} class={`shade ${name}`} style={place(r.from, r.to)} />
      ) : null,
    );
  const line = (t: number, name: string) =>
    t >= from && t <= from + width ? <div class={name} style={{ left: `${((t - from) / width) * 100}%` }} /> : null;
  // A window that is the whole run needs no shade.
  const windows = page.windows();
  const { opening } = page.view;
  const covered = windows.reduce((sum, r) => sum + r.to - r.from, 0);
  const whole = page.base().length === 0 && covered >= 0.98 * (opening.to - opening.from);
  return (
    <div class="overlay" aria-hidden="true">
      {shade(page.base(), "base")}
      {!whole && shade(windows, "slow")}
      {page.marks().map((m, i) => {
        const t = page.toLane(m.at_ns);
        if (t < from || t > from + width) return null;
        return (
          <div key={`done${i}`} class="done" style={{ left: `${((t - from) / width) * 100}%` }}>
            <span>{m.text}</span>
          </div>
        );
      })}
      {mark !== null && line(mark, "mark-line")}
      {hover !== null && line(hover, "crosshair")}
      {drag && (
        <div class={drag.side === "base" ? "selection for-base" : "selection"} style={place(drag.from, drag.to)} />
      )}
    </div>
  );
}
