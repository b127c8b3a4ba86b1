// The timeline: lanes over one another on one clock, and everything that moves them.

import { useRef, useState } from "preact/hooks";

import type { Detail } from "../../context";
import { laneExports } from "../../export";
import type { Panel, PanelProps } from "../../panel";
import { Details } from "../Details";
import { GESTURES, type Hover, useGestures } from "./gestures";
import { KEYS, useKeys } from "./keys";
import { GroupLanes } from "./LaneRow";
import { Axis, Overlay, RangeText } from "./Overlay";
import { moveLane } from "./order";
import { Tooltip } from "./Tooltip";

export const timeline: Panel = {
  id: "timeline",
  title: "Timeline",
  side: "show",
  digit: "1",
  keys: KEYS,
  gestures: GESTURES,
  shows: () => true,
  exports: laneExports,
  Component: Timeline,
};

function Timeline({ page, theme, mark, cited, panels, onTheme, onHelp }: PanelProps) {
  const [hover, showHover] = useState<Hover | null>(null);
  // What was stepped to, known to the next key before it is drawn.
  const latest = useRef<Hover | null>(null);
  const setHover = (to: Hover | null): void => showHover((latest.current = to));
  const [said, setSaid] = useState("");
  const [kept, setKept] = useState<Detail | null>(null);
  const { lanes, drag, plot, placeOf, onPointerDown } = useGestures(page, setKept);
  const cellOf = (id: string): HTMLElement | null =>
    lanes.current?.querySelector<HTMLElement>(`[data-plot="${CSS.escape(id)}"]`) ?? null;

  const move = (id: string, by: 1 | -1): void => {
    const where = moveLane(page, id, by);
    if (where === "") return;
    setSaid(where);
    requestAnimationFrame(() => cellOf(id)?.focus());
  };

  const step = (id: string, direction: 1 | -1): void => {
    const box = plot();
    const from = latest.current?.t ?? (page.view.from + page.view.to) / 2;
    const next = page.handles.get(id)?.step(from, direction);
    if (!next || !box) {
      setSaid(direction === 1 ? "No later span." : "No earlier span.");
      return;
    }
    if (next.t < page.view.from || next.t > page.view.to) {
      page.view.show(next.t - page.view.width / 2, next.t + page.view.width / 2);
    }
    const cell = cellOf(id)?.getBoundingClientRect();
    const x = box.left + ((next.t - page.view.from) / page.view.width) * box.width;
    setHover({ x, y: cell ? cell.top + cell.height / 2 : box.top, t: next.t, detail: next.detail });
    setSaid(`${next.detail.title}. ${next.detail.facts.map(([k, v]) => `${k} ${v}`).join(", ")}`);
  };

  useKeys(page, {
    panels,
    section: () => lanes.current?.closest("section"),
    moment: () => latest.current?.t ?? mark,
    say: setSaid,
    kept: kept !== null,
    letGo: () => setKept(null),
    keep: () => setKept(latest.current?.detail ?? null),
    step,
    move,
    onTheme,
    onHelp,
  });

  // Some of the data may lie outside of what was recorded.
  const isPart = page.view.home.from < page.view.opening.from || page.view.home.to > page.view.opening.to;
  const middle = (): number => (page.view.from + page.view.to) / 2;
  return (
    <section class="timeline" id={timeline.id} aria-labelledby="timeline-title" data-panel={timeline.id}>
      <header class="timeline-head">
        <h2 id="timeline-title">{timeline.title}</h2>
        <RangeText page={page} />
        <div class="tools" role="toolbar" aria-label={timeline.title}>
          <button type="button" onClick={() => page.view.zoom(1.6, middle())} aria-label="Zoom in">
            +
          </button>
          <button type="button" onClick={() => page.view.zoom(1 / 1.6, middle())} aria-label="Zoom out">
            −
          </button>
          <button type="button" onClick={() => page.view.reset()}>
            {isPart ? "As recorded" : "Show all"}
          </button>
          {isPart && (
            <button type="button" onClick={() => page.view.showAll()}>
              Show all
            </button>
          )}
          <button type="button" onClick={onHelp} aria-label="Keys and gestures">
            ?
          </button>
        </div>
      </header>
      <div
        class={drag ? "lanes dragging" : "lanes"}
        ref={lanes}
        onPointerDown={onPointerDown}
        onPointerMove={(event) => setHover(placeOf(event))}
        onPointerLeave={() => setHover(null)}
        onDblClick={(e) => (e.target as Element).closest("[data-plot]") && page.view.reset()}
      >
        <Axis page={page} />
        {page.lanes.groups.map((group, i) => (
          <GroupLanes key={i} group={group} page={page} theme={theme} cited={cited} onMove={move} />
        ))}
        <Overlay page={page} hover={hover?.t ?? null} drag={drag} mark={mark} />
      </div>
      {kept && <Details detail={kept} page={page} onClose={() => setKept(null)} />}
      {hover?.detail && <Tooltip x={hover.x} y={hover.y} detail={hover.detail} />}
      <p class="unseen" role="status" aria-live="polite">
        {said}
      </p>
      {page.lanes.groups.length === 0 && <p class="nothing">The inputs hold nothing that lies in time.</p>}
    </section>
  );
}
