// Two recordings: the verdict, whether they can be compared, and what changed.

import type { FlamePage } from "../flame/decode";
import { duration } from "../format";
import type { Condition, KnownChange, RecordingsReport } from "../generated/compare";
import { CausesOfBoth } from "./CausesOfBoth";
import { Flames } from "./Flames";
import { FrameChanges } from "./FrameChanges";
import { Ledger, SideBySide } from "./Measures";
import { RatioPlot, Word } from "./VerdictHead";

export function RecordingsPage({
  report,
  flames,
  theme,
}: {
  report: RecordingsReport;
  flames: FlamePage | null;
  theme: string;
}) {
  const { verdict } = report;
  return (
    <>
      <div class="say">
        <p>
          <Word verdict={verdict.verdict} />
        </p>
        <h1 class="long">{verdict.sentence}</h1>
        <p class="about quiet">{verdict.estimate ? `By ${report.verdict_of}.` : ""}</p>
        <RatioPlot comparison={verdict} margin={null} />
        <dl class="windows">
          {(["A", "B"] as const).map((side, i) => (
            <div key={side}>
              <dt>
                <span class={`cmp-swatch ${side.toLowerCase()}`} /> {side}
              </dt>
              <dd>
                <strong>{report.of[i]}</strong> <span class="quiet">{duration(report.covers_s[i] * 1e9)}</span>
              </dd>
            </div>
          ))}
        </dl>
        <Conditions conditions={report.conditions} />
      </div>
      <div class="show">
        <Ledger measures={report.measures} />
        <FrameChanges costs={report.costs} shares={report.frames} />
        <Flames page={flames} theme={theme} />
        <SideBySide measures={report.measures} />
        {report.causes && <CausesOfBoth causes={report.causes} />}
        <Changes changes={report.known_changes} conditions={report.conditions} />
        <section>
          <p class="quiet">
            This is of these two runs. How much runs differ by themselves only more runs show: fathom compare --
            'COMMAND A' -- 'COMMAND B'. Figures are tested between intervals of equal length of both; of what is called
            different 5% may be wrong.
          </p>
        </section>
      </div>
    </>
  );
}

function Conditions({ conditions }: { conditions: Condition[] }) {
  const rank = (c: Condition): number => (c.same === false ? 0 : c.same === null ? 1 : 2);
  const sorted = conditions.slice().sort((a, b) => rank(a) - rank(b));
  const differ = conditions.filter((c) => c.same === false).length;
  const unknown = conditions.filter((c) => c.same === null).length;
  return (
    <section data-section="conditions">
      <h2>Can they be compared?</h2>
      <p class="about quiet">
        {differ === 0 ? "Nothing is known to differ" : `${differ} of ${conditions.length} differ`}
        {unknown > 0 ? `; ${unknown} not known on a side` : ""}.
      </p>
      <div class="scroll" tabIndex={0} role="region" aria-label="What runs depend on">
        <table>
          <thead>
            <tr>
              <th scope="col">of the run</th>
              <th scope="col">A</th>
              <th scope="col">B</th>
              <th scope="col">same</th>
            </tr>
          </thead>
          <tbody>
            {sorted.map((c) => (
              <tr key={c.what} class={c.same === false ? "differs" : ""} data-condition={c.what}>
                <th scope="row">{c.what === "flags" && c.same !== null ? "flags of one side alone" : c.what}</th>
                {[c.first, c.second].map((side, i) => (
                  <td key={i}>
                    {side ?? <span class="quiet">{c.what === "flags" && c.same !== null ? "none" : "not known"}</span>}
                  </td>
                ))}
                <td>{c.same === null ? <span class="quiet">not known</span> : c.same ? "yes" : "no"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Changes({ changes, conditions }: { changes: KnownChange[]; conditions: Condition[] }) {
  const switched = changes.filter((c) => c.in_both);
  const touching = changes.filter((c) => c.touches.length > 0 && !c.in_both);
  const others = changes.filter((c) => c.touches.length === 0);
  const known = conditions.find((c) => c.what === "JDK")?.same ?? null;
  const none =
    known === null
      ? "Not known: of one side the JDK was not recorded."
      : known
        ? "Both run on the same JDK."
        : "None of the list lies between the two releases.";
  const one = (c: KnownChange) => (
    <li key={c.id}>
      <a href={c.url} rel="noreferrer">
        {c.id}
      </a>{" "}
      ({c.in_both ? "in both" : c.second_has_it ? "in B" : "in A"}, since {c.since.join(", ")}): {c.what}.
      {c.touches.length > 0 && (
        <>
          {" "}
          Seen here: <code>{c.touches.join(", ")}</code>.
        </>
      )}
    </li>
  );
  return (
    <section data-section="changes">
      <h2>Changes of the JDK between the two</h2>
      {touching.length + others.length === 0 && <p class="quiet">{none}</p>}
      {switched.length > 0 && (
        <>
          <h3>In both, and switched by flags that differ</h3>
          <ul class="cmp-list">{switched.map(one)}</ul>
        </>
      )}
      {touching.length > 0 && (
        <>
          <h3>That touch what changed</h3>
          <ul class="cmp-list">{touching.map(one)}</ul>
        </>
      )}
      {others.length > 0 && (
        <details>
          <summary>{others.length} with nothing seen of them here</summary>
          <ul class="cmp-list">{others.map(one)}</ul>
        </details>
      )}
    </section>
  );
}
