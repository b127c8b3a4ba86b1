// Where the time went: of threads in the window, and of each process in the windows of the verdict.

import { durationMs, share } from "../format";
import type { LedgerCategory, LedgerRow } from "../generated/diagnosis";
import { type Panel, type PanelProps, PanelSection } from "../panel";
import { LedgerTable } from "./LedgerTable";
import { ThreadLedger } from "./ThreadLedger";

/** Colour and pattern of a category, the same in every bar; style/tables.css says how they look. */
function fill(category: LedgerCategory): string {
  if (category === "stopped-by-gc") return "gc";
  if (category === "stopped-to-reach") return "reach";
  if (category === "not-stopped") return "running";
  return category.startsWith("stopped") || category === "frozen" ? "vm" : "unknown";
}

export const ledger: Panel = {
  id: "ledger",
  title: "Where the time went",
  side: "show",
  digit: "5",
  shows: ({ diagnosis, lanes }) => diagnosis.ledger.length > 0 || lanes.ledger !== null,
  Component: Ledger,
};

function Ledger({ page }: PanelProps) {
  const { diagnosis, lanes } = page;
  const processes = [...new Map(diagnosis.ledger.map((r) => [r.process_id, r.process]))];
  const hasBase = diagnosis.windows.base.length > 0;
  return (
    <PanelSection panel={ledger}>
      {lanes.ledger && <ThreadLedger page={page} over={lanes.ledger} />}
      <div class="ledgers">
        {processes.map(([id, process]) => (
          <LedgerOf
            key={id}
            process={process}
            hasBase={hasBase}
            rows={diagnosis.ledger.filter((r) => r.process_id === id)}
          />
        ))}
      </div>
    </PanelSection>
  );
}

function LedgerOf({ process, rows, hasBase }: { process: string; rows: LedgerRow[]; hasBase: boolean }) {
  const sum = rows.filter((r) => r.in_sum);
  const bar = (label: string, of: (r: LedgerRow) => number | null) => (
    <div class="bar-row">
      <span>{label}</span>
      <span class="stack">
        {sum.map((r, i) => (
          <span key={i} class={`fill ${fill(r.category_id)}`} style={{ flexGrow: Math.max(0, of(r) ?? 0) }} />
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
        titles={hasBase ? ["Slow", "Baseline"] : ["Time"]}
        lines={rows.map((r) => ({
          category: r.category,
          swatch: <span class={r.in_sum ? `swatch fill ${fill(r.category_id)}` : "swatch"} aria-hidden="true" />,
          aside: r.in_sum ? "" : "(not in the sum)",
          spent: { time: durationMs(r.slow_ms), share: share(r.slow_share) },
          base: hasBase ? { time: durationMs(r.base_ms), share: share(r.base_share) } : null,
          grew: grew(r),
        }))}
      />
    </div>
  );
}

/**
 * Twice the share and at least a hundredth of the time: enough to be worth the eye. The
 * terminal says the same.
 */
function grew(row: LedgerRow): boolean {
  const { slow_share: slow, base_share: base } = row;
  return slow !== null && base !== null && slow > 2 * base && slow - base > 0.01;
}
