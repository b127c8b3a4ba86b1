// Frames whose own cost differs, with interval and significance, and whether cost
// came, went or moved.

import type { Frames, MovedFrame } from "../generated/compare";
import { DifferenceBar, reach } from "./Bars";
import { CHANGES, chance, figure, interval, signed } from "./figures";
import { type Column, SortTable } from "./SortTable";

const ORDER = ["new", "more", "moved", "less", "gone"];

export function FrameChanges({ costs, shares }: { costs: Frames | null; shares: Frames | null }) {
  const frames = costs ?? shares;
  if (!frames) {
    return (
      <section data-section="frames">
        <h2>Frames whose cost differs</h2>
        <p class="quiet">Not known: a side has no CPU samples. A flight recording or fathom record of both has them.</p>
      </section>
    );
  }
  const { unit } = frames;
  const most = reach(frames.moved.map((f) => ({ value: f.second - f.first, between: f.difference })));
  const columns: Column<MovedFrame>[] = [
    {
      title: "Frame",
      value: (f) => f.name,
      show: (f) => (
        <>
          <code>{f.name}</code>
          {f.module !== "" && <span class="quiet"> {f.module}</span>}
        </>
      ),
    },
    { title: "A", value: (f) => f.first, show: (f) => figure(f.first, unit) },
    { title: "B", value: (f) => f.second, show: (f) => figure(f.second, unit) },
    { title: "Difference", value: (f) => Math.abs(f.second - f.first), show: (f) => signed(f.second - f.first, unit) },
    {
      title: "As a bar",
      value: (f) => f.second - f.first,
      words: true,
      show: (f) => <DifferenceBar value={f.second - f.first} between={f.difference} most={most} differs />,
    },
    {
      title: "Lies between",
      value: (f) => f.difference[0],
      words: true,
      show: (f) => <span class="interval">{interval(f.difference, unit)}</span>,
    },
    {
      title: "With callees",
      value: (f) => f.total[1] - f.total[0],
      show: (f) => (
        <span title={`between ${interval(f.total_difference, unit)}`}>{signed(f.total[1] - f.total[0], unit)}</span>
      ),
    },
    { title: "p", value: (f) => f.p_value, show: (f) => chance(f.p_value) },
    {
      title: "Cost",
      value: (f) => ORDER.indexOf(f.change),
      words: true,
      show: (f) => (
        <span class={`cmp-change ${f.change}`} title={CHANGES[f.change].means}>
          {CHANGES[f.change].word}
        </span>
      ),
    },
  ];
  const per = costs
    ? "Their own cost for each operation"
    : "Their own share of all samples: operations are not counted on both sides, so what an operation costs is not known";
  return (
    <section data-section="frames">
      <h2>
        Frames whose cost differs: {frames.differ} of {frames.judged}
      </h2>
      <p class="about quiet">
        {per}; samples of kind {frames.kind}, {frames.samples[0]} and {frames.samples[1]}.
        {frames.operations &&
          ` ${figure(frames.operations[0], "count")} and ${figure(frames.operations[1], "count")} operations.`}
        {frames.differ > frames.moved.length && ` The ${frames.moved.length} that differ most are shown.`} Of these 5%
        may be wrong.
      </p>
      {frames.moved.length === 0 ? (
        <p class="quiet">None differs by more than noise.</p>
      ) : (
        <SortTable id="frames" label="Frames whose cost differs" columns={columns} rows={frames.moved} />
      )}
      {frames.moved.length > 0 && (
        <dl class="cmp-means quiet">
          {ORDER.map((c) => CHANGES[c as keyof typeof CHANGES]).map(({ word, means }) => (
            <div key={word}>
              <dt>{word}</dt>
              <dd>{means}</dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  );
}
