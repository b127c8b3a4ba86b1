// Figures of both sides, section by section, and the ledger of threads.

import { useState } from "preact/hooks";
import type { Measure } from "../generated/compare";
import { BarsKey, DifferenceBar, reach, SideBars } from "./Bars";
import { chance, figure, interval, judged, type LedgerGroup, ledger, ratio, sections, signed } from "./figures";

/** Rows that are shown before all are asked for. */
const FIRST = 12;

function differences(rows: Measure[]): { value: number; between: [number, number] | null }[] {
  return rows.map((m) => ({ value: m.second - m.first, between: m.held?.difference ?? null }));
}

function Rows({ rows, label, scaleTogether }: { rows: Measure[]; label: string; scaleTogether: boolean }) {
  const [all, setAll] = useState(false);
  // Of many that do not differ the first say enough.
  const shown = all ? rows : rows.filter((m, i) => m.differs || i < FIRST);
  const mostOf = (m: Measure): number =>
    Math.max(...(scaleTogether ? rows : [m]).flatMap((row) => [row.first, row.second]));
  const furthest = reach(differences(rows));
  return (
    <>
      <div class="scroll" tabIndex={0} role="region" aria-label={label}>
        <table>
          <thead>
            <tr>
              <th scope="col">{label}</th>
              <th scope="col" class="number">
                A
              </th>
              <th scope="col" class="number">
                B
              </th>
              <th scope="col">
                <span class="unseen">A and B as bars</span>
              </th>
              <th scope="col" class="number">
                B − A
              </th>
              <th scope="col">
                <span class="unseen">The difference as a bar</span>
              </th>
              <th scope="col">lies between</th>
              <th scope="col" class="number">
                B / A
              </th>
              <th scope="col" class="number">
                p
              </th>
              <th scope="col">verdict</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((m) => {
              const value = m.second - m.first;
              const between = m.held?.difference ?? null;
              return (
                <tr
                  key={m.id}
                  class={m.differs ? "differs" : ""}
                  data-measure={m.id}
                  data-first={m.first}
                  data-second={m.second}
                >
                  <th scope="row">{m.name}</th>
                  <td class="number">{figure(m.first, m.unit)}</td>
                  <td class="number">{figure(m.second, m.unit)}</td>
                  <td>
                    <SideBars first={m.first} second={m.second} most={mostOf(m)} />
                  </td>
                  <td class="number">{signed(value, m.unit)}</td>
                  <td>
                    <DifferenceBar
                      value={value}
                      between={between}
                      most={scaleTogether ? furthest : reach(differences([m]))}
                      differs={m.differs}
                    />
                  </td>
                  <td class="interval">{interval(between, m.unit)}</td>
                  <td class="number">{m.first > 0 ? ratio(m.second / m.first) : "–"}</td>
                  <td class="number">{m.held ? chance(m.held.p_value) : "–"}</td>
                  <td>{judged(m)}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      {rows.length > shown.length && (
        <button type="button" onClick={() => setAll(true)}>{`Show ${rows.length - shown.length} more`}</button>
      )}
    </>
  );
}

function Group({ group }: { group: LedgerGroup }) {
  return (
    <article class="cmp-group" data-ledger={group.name} data-first={group.first} data-second={group.second}>
      <h3>
        {group.name}:{" "}
        <span class="quiet">
          {figure(group.first, group.unit)} of thread time in A, {figure(group.second, group.unit)} in B
        </span>
      </h3>
      <Rows rows={group.rows} label="spent on" scaleTogether />
    </article>
  );
}

export function Ledger({ measures }: { measures: Measure[] }) {
  const groups = ledger(measures);
  const unit = groups[0]?.unit ?? "";
  const per = unit === "ms/op" ? "for each operation" : "in each second: operations are not counted on both sides";
  return (
    <section data-section="ledger">
      <h2>What threads spent their time on</h2>
      {groups.length === 0 ? (
        <p class="quiet">Not known: a side has no thread whose time was seen. fathom record of both shows it.</p>
      ) : (
        <>
          <p class="about quiet">Time of threads {per}, by the role of the thread, without overlap.</p>
          <BarsKey />
          {groups.map((group) => (
            <Group key={group.name} group={group} />
          ))}
        </>
      )}
    </section>
  );
}

export function SideBySide({ measures }: { measures: Measure[] }) {
  return (
    <>
      {sections(measures).map((section) => (
        <section key={section.id} data-section={section.id}>
          <h2>{section.title}</h2>
          {section.measures.length === 0 ? (
            <p class="quiet">Not known of both sides, or not seen to happen. What would show it: {section.shownBy}.</p>
          ) : (
            <Rows rows={section.measures} label={section.title.toLowerCase()} scaleTogether={false} />
          )}
        </section>
      ))}
    </>
  );
}
