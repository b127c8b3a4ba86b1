// Every run as a point, the mean of each command with its interval, and which commands do not
// differ significantly.

import { useEffect, useRef, useState } from "preact/hooks";

import { axisQuantity } from "../format";
import type { Row } from "../generated/compare";
import { figure } from "./figures";
import { groups, jitter, scale } from "./scale";

const ROW = 34;
const TOP = 8;
const AXIS = 26;
const LETTER = 14;

export function RunsPlot({ rows }: { rows: Row[] }) {
  const [holder, width] = useWidth(900);
  const longest = Math.max(...rows.map((row) => row.label.length));
  // As wide as its labels, up to a third of the plot.
  const gutter = Math.min(Math.max(30, longest * 7.2 + 12), width / 3);
  const fits = Math.max(3, Math.floor((gutter - 12) / 7.2));
  const alike = rows.length > 2 ? groups(rows.map((row) => row.letters)).filter((g) => g.rows.length > 1) : [];
  const right = 16 + alike.length * LETTER;
  const to = scale(
    rows.flatMap((row) => [...row.values, ...(row.interval ?? [])]),
    Math.max(60, width - gutter - right),
    Math.max(3, Math.round((width - gutter) / 130)),
  );
  const at = (value: number): number => gutter + to.at(value);
  const y = (i: number): number => TOP + i * ROW + ROW / 2;
  const height = TOP + rows.length * ROW + AXIS;
  const { unit } = rows[0];
  return (
    <div ref={holder} class="cmp-plot">
      <svg
        viewBox={`0 0 ${width} ${height}`}
        width={width}
        height={height}
        role="img"
        data-plot="runs"
        aria-label={`Each run as a point, means with their intervals; the table below has the values`}
      >
        {to.ticks.map((tick) => (
          <g key={tick}>
            <line class="cmp-grid" x1={at(tick)} x2={at(tick)} y1={TOP} y2={height - AXIS} />
            <text class="cmp-tick" x={at(tick)} y={height - 8} text-anchor="middle">
              {axisQuantity(tick, unit)}
            </text>
          </g>
        ))}
        {rows.map((row, i) => (
          <g key={row.label} data-row={row.label}>
            <text class="cmp-label" x={gutter - 10} y={y(i) + 4} text-anchor="end">
              <title>{row.text}</title>
              {row.label.length > fits ? `${row.label.slice(0, fits - 1)}…` : row.label}
            </text>
            {row.values.map((value, n) => (
              <circle key={n} class="cmp-run" cx={at(value)} cy={y(i) + jitter(n) * 9} r={2.4}>
                <title>{`${row.label}, run ${n + 1}: ${figure(value, unit)}`}</title>
              </circle>
            ))}
            {row.interval && (
              <line class="cmp-interval" x1={at(row.interval[0])} x2={at(row.interval[1])} y1={y(i)} y2={y(i)} />
            )}
            {row.interval?.map((end, n) => (
              <line key={n} class="cmp-interval" x1={at(end)} x2={at(end)} y1={y(i) - 7} y2={y(i) + 7} />
            ))}
            <path class="cmp-point" d={`M${at(row.mean)} ${y(i) - 6} l6 6 l-6 6 l-6 -6 z`}>
              <title>{`${row.label}: mean ${figure(row.mean, unit)}`}</title>
            </path>
          </g>
        ))}
        {alike.map((group, g) => {
          const x = width - right + 16 + g * LETTER;
          return (
            <g key={group.letter} data-alike={group.letter}>
              <title>{`no significant difference: ${group.rows.map((r) => rows[r].label).join(", ")}`}</title>
              <line class="cmp-alike" x1={x} x2={x} y1={y(Math.min(...group.rows))} y2={y(Math.max(...group.rows))} />
              {group.rows.map((r) => (
                <circle key={r} class="cmp-alike-end" cx={x} cy={y(r)} r={3.5} />
              ))}
              <text class="cmp-tick" x={x} y={height - 8} text-anchor="middle">
                {group.letter}
              </text>
            </g>
          );
        })}
      </svg>
    </div>
  );
}

/** An element and how wide it is. */
function useWidth(first: number) {
  const element = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(first);
  useEffect(() => {
    if (!element.current) return;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.max(320, Math.floor(entry.contentRect.width))));
    observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return [element, width] as const;
}
