// What the diagnoses of both sides find, and what became of it.

import { duration } from "../format";
import type { CauseCost, CauseState, Causes } from "../generated/compare";

const WORDS: Record<CauseState, string> = {
  gone: "gone in B",
  smaller: "smaller in B",
  same: "the same in B",
  larger: "larger in B",
  "not-known": "in A, of B not known",
};

export function CausesOfBoth({ causes }: { causes: Causes }) {
  const rows = [
    ...causes.of_first.map((c) => ({ ...c, became: WORDS[c.state], of: [c.before, c.after] })),
    ...causes.new.map((c) => ({
      ...c,
      became: c.before_saw ? "new in B" : "in B, of A not known",
      of: [null, c.ms_per_s === null ? null : { ms_per_s: c.ms_per_s, ms_per_operation: null, ms: 0 }],
    })),
  ];
  return (
    <section data-section="causes">
      <h2>Causes, by the diagnosis of each</h2>
      <dl class="cmp-means quiet">
        {(["A", "B"] as const).map((side, i) => (
          <div key={side}>
            <dt>{side}</dt>
            <dd>{causes.headlines[i]}</dd>
          </div>
        ))}
      </dl>
      {rows.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Causes of both sides">
          <table>
            <thead>
              <tr>
                <th scope="col">cause</th>
                <th scope="col">became</th>
                <th scope="col">A</th>
                <th scope="col">B</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr key={`${row.became} ${row.title} ${row.culprit}`}>
                  <th scope="row">
                    <code>{row.rule}</code> {row.title} <span class="quiet">{row.culprit}</span>
                  </th>
                  <td>{row.became}</td>
                  {row.of.map((cost, i) => (
                    <td key={i}>{cost ? shown(cost) : <span class="quiet">–</span>}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function shown(cost: CauseCost): string {
  const per = cost.ms_per_operation === null ? "" : `, ${duration(cost.ms_per_operation * 1e6)} an operation`;
  return `${duration(cost.ms_per_s * 1e6)} of each second${per}`;
}
