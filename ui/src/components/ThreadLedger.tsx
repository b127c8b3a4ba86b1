// What threads spent the window on, compared with the baseline: one bar for each group,
// cut into categories.

import { useMemo } from "preact/hooks";
import { isQuiet, swatchOf } from "../categories";
import type { Page } from "../context";
import { duration, share } from "../format";
import { useChoice } from "../hooks";
import { cutsSlices, type LedgerGroup, ledgerOf } from "../ledger";
import type { LedgerOverTime } from "../model";
import { usualSlice } from "../states";
import { type LedgerLine, LedgerTable } from "./LedgerTable";
import { Tabs } from "./Tabs";

const MOST = 12;
const NAMES: Record<string, string> = { role: "role", pool: "pool", thread: "thread" };
/** Categories that the group spent time on. */
function linesOf(categories: string[], group: LedgerGroup, base: LedgerGroup | null): LedgerLine[] {
  const lines = categories.map((category, h): LedgerLine | null => {
    const [here, there] = [group.spent[h], base?.spent[h] ?? 0];
    if (here <= 0 && there <= 0) return null;
    const [hereShare, baseShare] = [here / group.total, there / (base?.total || 1)];
    return {
      category,
      swatch: <span class="swatch" style={{ background: swatchOf(category) }} aria-hidden="true" />,
      spent: { time: duration(here), share: share(hereShare) },
      base: base && { time: duration(there), share: share(baseShare) },
      grew: base !== null && !isQuiet(category) && grew(hereShare, baseShare),
    };
  });
  return lines.filter((line) => line !== null);
}

/** Twice the share and at least a hundredth of the time, as in the terminal. */
const grew = (here: number, base: number): boolean => here > 2 * base && here - base > 0.01;

export function ThreadLedger({ page, over }: { page: Page; over: LedgerOverTime }) {
  const choice = useChoice(page);
  const by = over.groupings.find((g) => g.by === choice.ledger)?.by ?? over.groupings[0]?.by ?? "role";
  const quiet = choice.ledgerQuiet;
  const [windows, base] = [page.windows(), page.base()];
  const key = JSON.stringify([windows, base, by]);
  const here = useMemo(() => ledgerOf(over, by, windows), [over, key]);
  const there = useMemo(() => (base.length > 0 ? ledgerOf(over, by, base) : null), [over, key]);
  const shown = here
    .map((group, i) => ({ group, base: there?.[i] ?? null }))
    .filter(({ group, base: b }) => group.busy > 0 || (b?.busy ?? 0) > 0 || (quiet && group.total > 0))
    .sort((a, b) => b.group.busy - a.group.busy);
  const used = over.categories
    .map((_, h) => h)
    .filter(
      (h) =>
        (quiet || !isQuiet(over.categories[h])) &&
        shown.some(({ group, base: b }) => group.spent[h] > 0 || (b?.spent[h] ?? 0) > 0),
    );
  const whole = (g: LedgerGroup): number => (quiet ? g.total : g.busy);
  // Bars of a group are as long as its busy time is a share of the busiest group's, window and base
  // on one scale of time.
  const length = (ranges: { from: number; to: number }[]): number =>
    ranges.reduce((sum, r) => sum + r.to - r.from, 0) || 1;
  const [hereNs, baseNs] = [length(windows), length(base)];
  const most = Math.max(
    1e-9,
    ...shown.flatMap(({ group, base: b }) => [whole(group) / hereNs, b ? whole(b) / baseNs : 0]),
  );
  const bar = (label: string, group: LedgerGroup, ns: number) => (
    <div class="bar-row">
      <span>{label}</span>
      <span class="stack" style={{ width: `${Math.max(0.3, (whole(group) / ns / most) * 100)}%` }}>
        {used.map(
          (h) =>
            group.spent[h] > 0 && (
              <span
                key={h}
                class="fill"
                style={{ flexGrow: group.spent[h], background: swatchOf(over.categories[h]) }}
                title={`${over.categories[h]}: ${duration(group.spent[h])}`}
              />
            ),
        )}
      </span>
    </div>
  );
  return (
    <div class="thread-ledger">
      <div class="panel-head">
        <h3>Threads, by</h3>
        <Tabs
          label="Grouping of threads"
          prefix="ledger"
          chosen={by}
          onChoose={(ledger) => page.state.set({ ledger })}
          tabs={over.groupings.map((g) => ({ id: g.by, title: NAMES[g.by] ?? g.by }))}
        />
        <label class="tools">
          <input
            type="checkbox"
            checked={quiet}
            onChange={(e) => page.state.set({ ledgerQuiet: e.currentTarget.checked })}
          />{" "}
          with idle and unseen time
        </label>
      </div>
      <p class="note">
        Threads × time in {page.inWords(windows)}
        {base.length > 0 && `, compared with ${page.inWords(base)}; bars are per second`}.
        {cutsSlices(over, [...windows, ...base]) &&
          ` Ends that lie within a slice of ${duration(usualSlice(over.edges))} take a share of it.`}
      </p>
      <ul class="layer-legend">
        {used.map((h) => (
          <li key={h}>
            <span class="swatch" style={{ background: swatchOf(over.categories[h]) }} aria-hidden="true" />
            {over.categories[h]}
          </li>
        ))}
      </ul>
      <div role="tabpanel" id="ledger-panel" aria-labelledby={`ledger-tab-${by}`}>
        {shown.slice(0, MOST).map(({ group, base: b }) => (
          <details key={`${group.process_id}/${group.name}`} class="ledger-group">
            <summary>
              <span class="name">
                {group.name} <span class="quiet">{group.process}</span>
              </span>
              <span class="bars" aria-hidden="true">
                {bar(b ? "window" : "", group, hereNs)}
                {b && bar("base", b, baseNs)}
              </span>
              <span class="number">
                {duration(group.busy)}
                {b && (
                  <span class="quiet"> {(group.busy / hereNs / Math.max(1e-12, b.busy / baseNs)).toFixed(1)}×</span>
                )}
              </span>
            </summary>
            <LedgerTable
              caption={`Time of ${group.name} by category`}
              titles={b ? ["Window, of its time", "Baseline, of its time"] : ["Window, of its time"]}
              lines={linesOf(over.categories, group, b)}
            />
          </details>
        ))}
      </div>
      {shown.length > MOST && <p class="note">{shown.length - MOST} more groups did or waited less.</p>}
      {shown.length === 0 && <p class="nothing">No source shows what threads did in this window.</p>}
    </div>
  );
}
