// Small pictures next to a figure: A above B, and the difference with its interval around zero.

import type { Two } from "./model";

const WIDTH = 150;
const HEIGHT = 22;
const MIDDLE = HEIGHT / 2;

/** A and B as bars of one scale. */
export function SideBars({ first, second, most }: { first: number; second: number; most: number }) {
  const width = (value: number): number => (most > 0 && value > 0 ? Math.max(1, (value / most) * WIDTH) : 0);
  return (
    <svg class="cmp-bars" width={WIDTH} height={HEIGHT} aria-hidden="true">
      <rect class="cmp-a" x={0} y={2} width={width(first)} height={8} rx={1} />
      <rect class="cmp-b" x={0} y={12} width={width(second)} height={8} rx={1} />
    </svg>
  );
}

/**
 * A difference: a bar from zero, its interval as a line. `most`: what the half of
 * the width stands for.
 */
export function DifferenceBar({
  value,
  between,
  most,
  differs,
}: {
  value: number;
  between: Two | null;
  most: number;
  differs: boolean;
}) {
  const at = (amount: number): number =>
    WIDTH / 2 + Math.max(-1, Math.min(1, most > 0 ? amount / most : 0)) * (WIDTH / 2 - 3);
  const [from, to] = [Math.min(at(0), at(value)), Math.max(at(0), at(value))];
  return (
    <svg
      class={`cmp-bars ${differs ? (value > 0 ? "more" : "less") : "same"}`}
      width={WIDTH}
      height={HEIGHT}
      aria-hidden="true"
    >
      <line class="cmp-zero" x1={WIDTH / 2} x2={WIDTH / 2} y1={1} y2={HEIGHT - 1} />
      <rect class="cmp-difference" x={from} y={MIDDLE - 4} width={Math.max(to - from, 1)} height={8} />
      {between && (
        <>
          <line class="cmp-interval" x1={at(between[0])} x2={at(between[1])} y1={MIDDLE} y2={MIDDLE} />
          {between.map((end, i) => (
            <line key={i} class="cmp-interval" x1={at(end)} x2={at(end)} y1={MIDDLE - 4} y2={MIDDLE + 4} />
          ))}
        </>
      )}
    </svg>
  );
}

/** What the widest of some differences with their intervals reaches to. */
export function reach(rows: { value: number; between: Two | null }[]): number {
  return Math.max(
    0,
    ...rows.map((row) => Math.abs(row.value)),
    ...rows.map((row) =>
      Math.min(Math.max(0, ...(row.between ?? []).map(Math.abs)), 4 * Math.abs(row.value) || Infinity),
    ),
  );
}

/** What colours and lines mean. */
export function BarsKey() {
  return (
    <p class="cmp-key quiet">
      <span class="cmp-swatch a" /> A <span class="cmp-swatch b" /> B
      <span class="cmp-swatch more" /> more in B <span class="cmp-swatch less" /> less in B{" "}
      <span class="cmp-swatch same" /> within what varies, or without a test; the line is the interval of the difference
    </p>
  );
}
