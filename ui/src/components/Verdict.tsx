// What took the time, what to do and how to check that it helped, the proof, how sure.

import type { Page } from "../context";
import { between, durationMs, moment, progress, share } from "../format";
import type { Fact, Finding, Window } from "../generated/diagnosis";
import { began } from "../marks";
import type { Panel, PanelProps } from "../panel";
import { Account } from "./Account";
import { StopParts, WaitChain } from "./Chain";
import { When } from "./When";

const WORDS = { proven: "proven", likely: "likely", "consistent-with": "consistent with" } as const;
/** Shapes say the same as the words, colour says nothing of its own. */
const SHAPES = { proven: "●", likely: "◐", "consistent-with": "○" } as const;

/**
 * Letters from which on a headline is set smaller: in large type it would take the place of
 * all that it is about.
 */
const LONG = 110;
/** Windows that are listed at once. */
const LISTED = 3;

/** Several statements as one sentence. */
function joined(statements: Fact[]): string {
  return statements.map(({ text }) => text).join("; ");
}

/**
 * What a finding is called below the headline: by its culprit, where the headline has
 * said its title already.
 */
function called(finding: Finding, headline: Fact): string | null {
  const { title } = headline.details;
  const isSaid = title !== undefined && "parts" in title && title.parts[0]?.text === finding.title.text;
  return finding.culprit.text !== "" && isSaid ? finding.culprit.text : null;
}

export const verdict: Panel = {
  id: "verdict",
  title: "Verdict",
  side: "say",
  shows: () => true,
  Component: Verdict,
};

function Verdict({ page }: PanelProps) {
  const { diagnosis } = page;
  return (
    <section class="verdict" id={verdict.id} aria-labelledby="headline" data-panel={verdict.id}>
      <h1 id="headline" class={diagnosis.headline.text.length > LONG ? "long" : ""}>
        {diagnosis.headline.text}
      </h1>
      <When page={page} />
      <Windows page={page} />
      <Account page={page} />
      {diagnosis.warnings.length > 0 && (
        <ul class="warnings" aria-label="Warnings">
          {diagnosis.warnings.map((w) => (
            <li key={w.text}>{w.text}</li>
          ))}
        </ul>
      )}
      {diagnosis.findings.length === 0 ? (
        <p class="nothing">
          {diagnosis.ruled_out.length > 0
            ? `No cause was found. ${diagnosis.ruled_out.length} were looked for; the metrics that rule them out are below.`
            : "No cause was found."}
        </p>
      ) : (
        <ol class="findings" aria-label="Findings, the one that explains most first">
          {diagnosis.findings.map((f, i) => (
            <li key={i}>
              <FindingCard finding={f} rank={i + 1} page={page} />
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

function Windows({ page }: { page: Page }) {
  const { windows, loss, zero_ns: zero } = page.diagnosis;
  const links = (all: Window[]) =>
    all.map((w, i) => (
      <a key={i} class="place" href={page.linkToWindow(w)}>
        {between(w.from_ns - zero, w.to_ns - zero)}
      </a>
    ));
  const list = (all: Window[]) => (
    <>
      {links(all.slice(0, LISTED))}
      {all.length > LISTED && (
        <details class="more-windows">
          <summary>{all.length - LISTED} more</summary>
          <span>{links(all.slice(LISTED))}</span>
        </details>
      )}
    </>
  );
  const clock = windows.slow[0] ? page.clock(page.toLane(windows.slow[0].from_ns)).replace(/\.\d+ /, " ") : "";
  const rates = loss.slow_rate !== null && loss.base_rate !== null;
  return (
    <dl class="windows">
      <div>
        <dt>
          {windows.base.length > 0 && <span class="key slow" aria-hidden="true" />}
          {windows.base.length > 0 ? "Slow" : "Looked at"}
          {clock !== "" && `, from ${clock}`}
        </dt>
        <dd>{list(windows.slow)}</dd>
      </div>
      {windows.base.length > 0 && (
        <div>
          <dt>
            <span class="key base" aria-hidden="true" />
            Compared with
          </dt>
          <dd>{list(windows.base)}</dd>
        </div>
      )}
      {page.marks().length > 0 && (
        <div>
          <dt>
            <span class="key done-key" aria-hidden="true" />
            Marks
          </dt>
          <dd>
            <ul class="marks">
              {page.marks().map((m, i) => (
                <li key={i}>
                  <a class="place" href={page.linkTo(m.at_ns)}>
                    {moment(m.at_ns - zero, m.precision_ns < 1e9 ? 3 : 0)}
                  </a>{" "}
                  {began(m)}
                </li>
              ))}
            </ul>
          </dd>
        </div>
      )}
      {loss.lost_ms > 0 && (
        <div>
          <dt>Lost</dt>
          <dd>
            <strong>
              {windows.slow[0] ? (
                <a href={page.linkToWindow(windows.slow[0])}>{durationMs(loss.lost_ms)}</a>
              ) : (
                durationMs(loss.lost_ms)
              )}
            </strong>
            {rates && (
              <>
                {" "}
                <span class="quiet">
                  {progress(loss.slow_rate, loss.unit)} instead of {progress(loss.base_rate, loss.unit)}
                </span>
              </>
            )}
          </dd>
        </div>
      )}
      {(loss.measured_on !== "" || windows.how.length > 0) && (
        <div>
          <dt>Measured by</dt>
          <dd class="quiet measured">{[loss.measured_on, joined(windows.how)].filter((s) => s !== "").join(" · ")}</dd>
        </div>
      )}
    </dl>
  );
}

function FindingCard({ finding, rank, page }: { finding: Finding; rank: number; page: Page }) {
  const culprit = rank === 1 ? called(finding, page.diagnosis.headline) : null;
  const explained = Math.min(1, Math.max(0, finding.share ?? 0));
  const id = `finding-${rank}`;
  // A failure is a finding of its own; what it cost may be nothing that can be counted.
  const cost = finding.cost_ms === null ? (finding.windows[0] ? "when" : "") : durationMs(finding.cost_ms);
  return (
    <article class={`finding ${finding.confidence}`} aria-labelledby={id}>
      <header>
        <p class="confidence">
          <span aria-hidden="true">{SHAPES[finding.confidence]}</span> {WORDS[finding.confidence]}
        </p>
        <h2 id={id}>{culprit === null ? finding.title.text : <code>{culprit}</code>}</h2>
        <div class="cost">
          <strong>{finding.windows[0] ? <a href={page.linkToWindow(finding.windows[0])}>{cost}</a> : cost}</strong>
          {finding.share !== null && (
            <>
              <span class="meter" aria-hidden="true">
                <span style={{ width: `${explained * 100}%` }} />
              </span>
              <span class="quiet">{share(finding.share)} of the loss</span>
            </>
          )}
        </div>
      </header>
      <p class="culprit">
        {culprit === null && <code>{finding.culprit.text}</code>}
        {finding.process !== "" && !finding.culprit.text.includes(finding.process) && (
          <span> in {finding.process}</span>
        )}
        {finding.windows.slice(0, 3).map((w, i) => (
          <a key={i} class="place" href={page.linkToWindow(w)}>
            {between(w.from_ns - page.diagnosis.zero_ns, w.to_ns - page.diagnosis.zero_ns)}
          </a>
        ))}
      </p>
      {finding.meaning.text !== "" && <p class="meaning">{finding.meaning.text}</p>}
      {finding.remedies.length > 0 && (
        <>
          <h3>What to do</h3>
          <ul class="remedies">
            {finding.remedies.map((r, i) => (
              <li key={i}>
                <span>{r.change.text}</span>
                {(r.applies_to !== "" || r.risk !== "") && (
                  <span class="quiet">{[r.applies_to, r.risk].filter((s) => s !== "").join(" · ")}</span>
                )}
              </li>
            ))}
          </ul>
        </>
      )}
      {finding.verify.length > 0 && (
        <>
          <h3>How to check that it helped</h3>
          <ul class="verify">
            {finding.verify.map((v, i) => (
              <li key={i}>{v.text}</li>
            ))}
          </ul>
        </>
      )}
      <h3>Proof</h3>
      <ul class="evidence">
        {finding.evidence.map((e, i) => (
          <li key={i}>
            <span>{e.text}</span>
            <span class="where">
              {e.source !== "" && <code>{e.source}</code>}
              {e.at_ns !== null && (
                <a class="place" href={page.linkTo(e.at_ns, e.source)}>
                  at {moment(e.at_ns - page.diagnosis.zero_ns)}
                </a>
              )}
            </span>
          </li>
        ))}
      </ul>
      {finding.chain && <WaitChain chain={finding.chain} page={page} />}
      {finding.stop && <StopParts stop={finding.stop} page={page} />}
      {finding.why_confidence.length > 0 && (
        <p class="why">
          <span class="lead">How sure:</span> {joined(finding.why_confidence)}
        </p>
      )}
    </article>
  );
}
