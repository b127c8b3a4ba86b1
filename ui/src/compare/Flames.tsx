// The differential flame graphs: what is wider in B is more, and coloured where
// it is more than noise.

import { useState } from "preact/hooks";

import type { FlamePage } from "../flame/decode";
import { FlameGraph } from "../flame/FlameGraph";
import { weight } from "../flame/words";

export function Flames({ page, theme }: { page: FlamePage | null; theme: string }) {
  const [at, setAt] = useState(0);
  const graphs = page?.graphs ?? [];
  const graph = graphs[at];
  return (
    <section data-section="flame">
      <h2>Flame graph of B, compared with A</h2>
      {!graph ? (
        <p class="quiet">
          Not known: there is no kind of sample with stacks that both sides have. A flight recording or fathom record of
          both has them.
        </p>
      ) : (
        <>
          <p class="about quiet">
            {[graph.label && `B: ${graph.label}`, graph.base && `A: ${graph.base.label}`, graph.base?.normalised]
              .filter(Boolean)
              .join(" · ")}
          </p>
          {graphs.length > 1 && (
            <label class="flame-tools">
              Samples{" "}
              <select value={at} onChange={(event) => setAt(Number(event.currentTarget.value))}>
                {graphs.map((g, i) => (
                  <option key={g.kind} value={i}>{`${g.kind}: ${weight(g, g.total[0])}`}</option>
                ))}
              </select>
            </label>
          )}
          <FlameGraph key={at} data={graph} theme={theme} />
        </>
      )}
    </section>
  );
}
