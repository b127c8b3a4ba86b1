// What the colours of a lane mean: next to it, or below it where the names of its
// rows stand next to it.

import { useMemo } from "preact/hooks";
import { categoryLook, swatchOf } from "../../categories";
import { duration } from "../../format";
import { classLook, lineInk, partLook } from "../../inks";
import type { Lane, SpanLane } from "../../model";
import { LAYER_INKS, LAYERS } from "../../samples/lane";
import { usedCategories } from "../../states";

/** Names that fit next to a lane. */
const BESIDE = 5;

interface Entry {
  name: string;
  /** CSS of the swatch. */
  fill: string;
  height: number;
  capped: boolean;
}

export function Legend({ lane }: { lane: Lane }) {
  const entries =
    lane.type === "lines"
      ? lane.lines.length > 1
        ? lane.lines.map(
            (l, i): Entry => ({
              name: l.name,
              fill: `var(--${l.main ? "ink" : lineInk(i)})`,
              height: 0.2,
              capped: false,
            }),
          )
        : []
      : lane.type === "spans"
        ? ofSpans(lane)
        : [];
  if (entries.length === 0) return null;
  return (
    <ul class="legend">
      {entries.slice(0, BESIDE).map((e) => (
        <li key={e.name} title={e.name}>
          <span
            class={e.capped ? "swatch capped" : "swatch"}
            style={{ background: e.fill, height: `${Math.max(2, e.height * 10)}px` }}
            aria-hidden="true"
          />
          <span class="cut">{e.name}</span>
        </li>
      ))}
      {entries.length > BESIDE && <li>{entries.length - BESIDE} more</li>}
    </ul>
  );
}

function ofSpans(lane: SpanLane): Entry[] {
  if (lane.parts.length > 0)
    return lane.parts.map((p) => ({
      name: p.name,
      fill: `var(--${partLook(p.name).ink})`,
      height: partLook(p.name).height,
      capped: false,
    }));
  if (lane.classes.length <= 1) return [];
  return lane.classes.map((name, i) => {
    const look = classLook(name, i);
    return {
      name,
      fill: categoryLook(name) ? swatchOf(name) : `var(--${look.ink})`,
      height: look.height,
      capped: look.capped ?? false,
    };
  });
}

/** Below the rows, because their names take the place next to them. */
export function BelowLegend({ lane }: { lane: Lane }) {
  const entries = useMemo((): [string, string][] => {
    if (lane.type === "samples") {
      return LAYERS.flatMap((name, l) =>
        lane.layer.includes(l) ? [[name, `var(--${LAYER_INKS[l]})`] as [string, string]] : [],
      );
    }
    if (lane.type === "states")
      return usedCategories(lane).map((h) => [lane.categories[h], swatchOf(lane.categories[h])]);
    return lane.type === "spans" ? ofSpans(lane).map((e) => [e.name, e.fill]) : [];
  }, [lane]);
  const scale =
    lane.type === "samples"
      ? lane.unit === "ns"
        ? "full height: all of the time"
        : "full height: the most in view"
      : lane.type === "states"
        ? `full height: all of the time; counted in slices of ${duration(lane.sliceNs)}`
        : "";
  return (
    <ul class="layer-legend">
      {entries.map(([name, fill]) => (
        <li key={name}>
          <span class="swatch" style={{ background: fill }} aria-hidden="true" />
          {name}
        </li>
      ))}
      {scale !== "" && <li>{scale}</li>}
    </ul>
  );
}
