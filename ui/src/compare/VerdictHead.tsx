// The verdict: its word, its sentence, and the interval of the ratio next to 1 and the margin.

import type { Comparison } from "../generated/compare";
import { ratio, WORDS } from "./figures";
import { ratioScale } from "./scale";

const WIDTH = 420;
const LEFT = 10;

export function Word({ verdict }: { verdict: Comparison["verdict"] }) {
  return (
    <span class={`cmp-word ${verdict}`} data-verdict={verdict}>
      {WORDS[verdict]}
    </span>
  );
}

/** The interval of one ratio. */
export function RatioPlot({ comparison, margin }: { comparison: Comparison; margin: number | null }) {
  const { estimate } = comparison;
  if (!estimate) return <p class="quiet">The ratio is not known.</p>;
  const high = estimate.high ?? Infinity;
  const around = margin === null ? [] : [1 / (1 + margin), 1 + margin];
  const to = ratioScale([estimate.low, estimate.ratio, high, ...around], WIDTH - 2 * LEFT);
  const at = (value: number): number => LEFT + (Number.isFinite(value) ? to.at(value) : WIDTH - 2 * LEFT);
  const interval = `${ratio(estimate.ratio)}, between ${ratio(estimate.low)} and ${ratio(estimate.high)}`;
  return (
    <figure class="cmp-ratio">
      <svg
        viewBox={`0 0 ${WIDTH} 54`}
        width={WIDTH}
        role="img"
        aria-label={`${comparison.other} / ${comparison.base}: ${interval}`}
      >
        {margin !== null && (
          <rect class="cmp-margin" x={at(around[0])} width={at(around[1]) - at(around[0])} y={4} height={30} />
        )}
        <line class="cmp-zero" x1={at(1)} x2={at(1)} y1={2} y2={36} />
        <line class="cmp-interval" x1={at(estimate.low)} x2={at(high)} y1={19} y2={19} />
        {[estimate.low, high].map((end, i) => (
          <line key={i} class="cmp-interval" x1={at(end)} x2={at(end)} y1={13} y2={25} />
        ))}
        <circle class="cmp-point" cx={at(estimate.ratio)} cy={19} r={4.5} />
        {to.ticks.map((tick) => (
          <text key={tick} class="cmp-tick" x={at(tick)} y={49} text-anchor="middle">
            {ratio(tick)}
          </text>
        ))}
      </svg>
      <figcaption class="quiet">
        {comparison.other} / {comparison.base}: {interval}
        {margin !== null ? "; the band is what does not matter" : ""}
      </figcaption>
    </figure>
  );
}
