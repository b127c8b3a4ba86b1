// A group of lanes, and one lane with its label, its tools and its plot.

import { useMemo } from "preact/hooks";

import type { Page } from "../../context";
import { duration } from "../../format";
import { useChoice } from "../../hooks";
import type { Group, Lane } from "../../model";
import { SpanIndex } from "../../spans";
import { LaneTable } from "./LaneTable";
import { BelowLegend, Legend } from "./Legend";
import { LinePlot } from "./LineLane";
import { ordered } from "./order";
import { SAMPLE_ROW, SamplePlot } from "./SampleLane";
import { SPAN_ROW, SpanPlot } from "./SpanLane";
import { StatePlot } from "./StateLane";

/** Units that each figure of the axis carries itself. */
const SPELT_OUT = new Set(["", "bytes", "bytes/s", "share", "ns", "ms", "s"]);

export function GroupLanes({
  group,
  page,
  theme,
  cited,
  onMove,
}: {
  group: Group;
  page: Page;
  theme: string;
  cited: string;
  onMove: (id: string, by: 1 | -1) => void;
}) {
  const choice = useChoice(page);
  const [open, setOpen] = useFold(page, `group:${group.name}`, group.open);
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
      {open &&
        lanes.map((lane) => (
          <LaneRow key={lane.id} lane={lane} page={page} theme={theme} cited={lane.id === cited} onMove={onMove} />
        ))}
    </div>
  );
}

/** Whether something is open: as it was folded by hand, else as it is at first. */
function useFold(page: Page, id: string, initially: boolean): [boolean, (open: boolean) => void] {
  const choice = useChoice(page);
  return [choice.folds[id] ?? initially, (open) => page.state.set({ folds: { ...page.state.now.folds, [id]: open } })];
}

/**
 * Of a lane whose rows have names of their own: how high a row is, and where the first
 * begins below the title.
 */
export function rowHeight(lane: Lane): number | null {
  if (lane.type === "samples" || lane.type === "states") return SAMPLE_ROW;
  return lane.type === "spans" && lane.rows.length > 1 ? SPAN_ROW : null;
}

const rowNames = (lane: Lane): string[] =>
  lane.type === "lines" ? [] : lane.type === "spans" ? lane.rows : lane.rows.map((row) => row.name);

function described(lane: Lane): string {
  if (lane.type === "lines") return `${lane.title}: ${lane.lines.length} ${lane.lines.length === 1 ? "line" : "lines"}`;
  if (lane.type === "spans") return `${lane.title}: ${lane.t0.length}. n and p step through them, t shows a table`;
  return `${lane.title} of ${lane.rows.length} rows of threads, t shows a table`;
}

function LaneRow({
  lane,
  page,
  theme,
  cited,
  onMove,
}: {
  lane: Lane;
  page: Page;
  theme: string;
  /** Whether the last link led here. */
  cited: boolean;
  onMove: (id: string, by: 1 | -1) => void;
}) {
  const [open, setOpen] = useFold(page, lane.id, lane.type === "lines" || lane.type === "samples" ? lane.open : true);
  const [table, setTable] = useFold(page, `table:${lane.id}`, false);
  const index = lane.type === "spans" ? SpanIndex.of(lane) : null;
  const longest = index?.tall ? index.longestNs : 0;
  const row = rowHeight(lane);
  return (
    <div class={`lane${open ? "" : " folded"}${cited ? " cited" : ""}`} data-lane={lane.id}>
      <div class="lane-label">
        <div class="lane-title">
          <button type="button" class="fold" aria-expanded={open} data-key="fold" onClick={() => setOpen(!open)}>
            <span class="chevron" aria-hidden="true" />
            {lane.title}
          </button>
          {lane.type === "lines" && !SPELT_OUT.has(lane.unit) && (
            <span class="unit">{lane.unit === "1/s" ? "/s" : lane.unit}</span>
          )}
          {longest > 0 && <span class="unit">up to {duration(longest)}</span>}
        </div>
        <div class="lane-tools">
          {open && (
            <button
              type="button"
              class="as-table"
              aria-pressed={table}
              data-key="table"
              onClick={() => setTable(!table)}
            >
              table
            </button>
          )}
          <button type="button" class="as-table" aria-label={`${lane.title} up`} onClick={() => onMove(lane.id, -1)}>
            ▲
          </button>
          <button type="button" class="as-table" aria-label={`${lane.title} down`} onClick={() => onMove(lane.id, 1)}>
            ▼
          </button>
        </div>
        {open && row === null && <Legend lane={lane} />}
        {open && row !== null && (
          <ul class="rows">
            {rowNames(lane).map((name, r) => (
              <li key={r} style={{ height: `${row}px`, lineHeight: `${row}px` }} title={name}>
                {name}
              </li>
            ))}
          </ul>
        )}
      </div>
      {open && (
        <div class="lane-plot" data-plot={lane.id} tabIndex={0} role="group" aria-label={described(lane)}>
          {lane.type === "lines" ? (
            <LinePlot lane={lane} page={page} theme={theme} />
          ) : lane.type === "spans" ? (
            <SpanPlot lane={lane} page={page} theme={theme} />
          ) : lane.type === "states" ? (
            <StatePlot lane={lane} page={page} theme={theme} />
          ) : (
            <SamplePlot lane={lane} page={page} theme={theme} />
          )}
          {row !== null && <BelowLegend lane={lane} />}
          {lane.note !== "" && <p class="note">{lane.note}</p>}
        </div>
      )}
      {open && table && <LaneTable lane={lane} page={page} />}
    </div>
  );
}
