// What stands behind the verdict: the ledger, what was ruled out, what was not seen, what was read.

import type { Page } from "../context";
import { count, durationMs, share } from "../format";
import type { Diagnosis, LedgerRow } from "../generated/diagnosis";
import { LedgerTable } from "./LedgerTable";
import { ThreadLedger } from "./ThreadLedger";

export function RuledOut({ diagnosis }: { diagnosis: Diagnosis }) {
  if (diagnosis.ruled_out.length === 0) return null;
  return (
    <section aria-labelledby="ruled-out">
      <h2 id="ruled-out">Ruled out</h2>
      <dl class="pairs">
        {diagnosis.ruled_out.map((r, i) => (
          <div key={i}>
            <dt>
              <code>{r.rule}</code>
            </dt>
            <dd>
              {r.figure} {r.source !== "" && <code class="where">{r.source}</code>}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

export function NotSeen({ diagnosis }: { diagnosis: Diagnosis }) {
  if (diagnosis.blind_spots.length === 0) return null;
  return (
    <section aria-labelledby="not-seen">
      <h2 id="not-seen">Not seen</h2>
      <dl class="pairs">
        {diagnosis.blind_spots.map((b, i) => (
          <div key={i}>
            <dt>{b.what}</dt>
            <dd>
              {b.remedy}
              {b.rules.length > 0 && <span class="quiet"> Hides {b.rules.join(", ")}.</span>}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

export function Inputs({ diagnosis }: { diagnosis: Diagnosis }) {
  if (diagnosis.inputs.length === 0) return null;
  return (
    <section aria-labelledby="inputs">
      <h2 id="inputs">Inputs</h2>
      <div class="scroll" tabIndex={0} role="region" aria-labelledby="inputs">
        <table>
          <thead>
            <tr>
              <th scope="col">Input</th>
              <th scope="col">Format</th>
              <th scope="col">Process</th>
              <th scope="col" class="number">
                Records
              </th>
              <th scope="col" class="number">
                Not understood
              </th>
              <th scope="col" class="number">
                Missing
              </th>
              <th scope="col">On the clock by</th>
            </tr>
          </thead>
          <tbody>
            {diagnosis.inputs.map((input, i) => (
              <tr key={i}>
                <th scope="row">
                  <code>{input.name}</code>
                </th>
                <td>{input.format}</td>
                <td>{input.process ?? ""}</td>
                <td class="number">{count(input.records)}</td>
                <td class="number">{count(input.skipped)}</td>
                <td class="number">{count(input.lost)}</td>
                <td>{input.placed}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

/** Colour and pattern of a category, the same in every bar; style/tables.css says how they look. */
function fill(category: string): string {
  if (category.includes("GC")) return "gc";
  if (category.includes("waiting for a safepoint")) return "reach";
  if (category.startsWith("stopped")) return "vm";
  if (category === "not stopped") return "running";
  return "unknown";
}

export function Ledger({ page }: { page: Page }) {
  const { diagnosis, lanes } = page;
  const processes = [...new Set(diagnosis.ledger.map((r) => r.process))];
  if (processes.length === 0 && !lanes.ledger) return null;
  const hasBase = diagnosis.windows.base.length > 0;
  return (
    <section aria-labelledby="ledger">
      <h2 id="ledger">Where the time went</h2>
      {lanes.ledger && <ThreadLedger page={page} over={lanes.ledger} />}
      <div class="ledgers">
        {processes.map((process) => (
          <LedgerOf
            key={process}
            process={process}
            hasBase={hasBase}
            rows={diagnosis.ledger.filter((r) => r.process === process)}
          />
        ))}
      </div>
    </section>
  );
}

function LedgerOf({ process, rows, hasBase }: { process: string; rows: LedgerRow[]; hasBase: boolean }) {
  const sum = rows.filter((r) => r.in_sum);
  const bar = (label: string, of: (r: LedgerRow) => number | null) => (
    <div class="bar-row">
      <span>{label}</span>
      <span class="stack">
        {sum.map((r, i) => (
          <span key={i} class={`fill ${fill(r.category)}`} style={{ flexGrow: Math.max(0, of(r) ?? 0) }} />
        ))}
      </span>
    </div>
  );
  return (
    <div class="ledger">
      <h3>{process}</h3>
      {sum.length > 0 && (
        <div class="bars" aria-hidden="true">
          {bar(hasBase ? "slow" : "all", (r) => r.slow_share)}
          {hasBase && bar("base", (r) => r.base_share)}
        </div>
      )}
      <LedgerTable
        caption={`Time of ${process} by category`}
        titles={hasBase ? ["Slow", "Base"] : ["Time"]}
        lines={rows.map((r) => ({
          category: r.category,
          swatch: <span class={r.in_sum ? `swatch fill ${fill(r.category)}` : "swatch"} aria-hidden="true" />,
          aside: r.in_sum ? "" : "(beside the sum)",
          spent: { time: durationMs(r.slow_ms), share: share(r.slow_share) },
          base: hasBase ? { time: durationMs(r.base_ms), share: share(r.base_share) } : null,
          grew: grew(r),
        }))}
      />
    </div>
  );
}

/** Twice the share and at least a hundredth of the time: enough to be worth the eye. The terminal says the same. */
function grew(row: LedgerRow): boolean {
  const { slow_share: slow, base_share: base } = row;
  return slow !== null && base !== null && slow > 2 * base && slow - base > 0.01;
}
