// Commands that were run in turns, or JMH results: verdicts, a plot of all runs, a table.

import { share } from "../format";
import type { Comparison, Report, Row } from "../generated/compare";
import { figure, ratio } from "./figures";
import { RunsPlot } from "./RunsPlot";
import { type Column, SortTable } from "./SortTable";
import { RatioPlot, Word } from "./VerdictHead";

/** Verdicts shown as sentences; of more the table says it. */
const MOST_SENTENCES = 4;

export function RunsPage({ report }: { report: Report }) {
  const figures = [...new Set(report.commands.map((row) => row.figure))];
  const [first] = report.comparisons;
  const alone = first !== undefined && report.comparisons.length === 1;
  const few = !alone && report.comparisons.length <= MOST_SENTENCES;
  const what = figures.length > 1 ? `${figures.length} benchmarks` : `${report.commands.length} commands`;
  return (
    <div class="cmp-runs">
      {alone && (
        <p>
          <Word verdict={first.verdict} />
        </p>
      )}
      <h1 class="long">{alone ? first.sentence : `${what}, by ${report.metric}`}</h1>
      <p class="about quiet">{notes(report)}</p>
      {alone && <RatioPlot comparison={first} margin={report.margin} />}
      {few && (
        <ul class="cmp-list">
          {report.comparisons.map((c, i) => (
            <li key={i}>
              <Word verdict={c.verdict} /> {c.sentence}
            </li>
          ))}
        </ul>
      )}
      {figures.map((name) => (
        <OfFigure key={name} report={report} name={name} />
      ))}
    </div>
  );
}

interface Line {
  row: Row;
  /** Against the baseline; null for the baseline itself. */
  comparison: Comparison | null;
}

function OfFigure({ report, name }: { report: Report; name: string }) {
  const rows = report.commands.filter((row) => row.figure === name);
  const lines: Line[] = rows.map((row) => ({
    row,
    comparison: report.comparisons.find((c) => c.figure === name && c.other === row.label) ?? null,
  }));
  const many = rows.length > 2;
  const { unit } = rows[0];
  const cpu = rows.some((row) => row.cpu_s !== null);
  const columns: Column<Line>[] = [
    {
      title: "Command",
      value: (l) => l.row.label,
      show: (l) => (
        <>
          <strong>{l.row.label}</strong>
          {l.row.text !== l.row.label && (
            <>
              {" "}
              <code>{l.row.text}</code>
            </>
          )}
        </>
      ),
    },
    { title: "Runs", value: (l) => l.row.runs },
    { title: "Mean", value: (l) => l.row.mean, show: (l) => figure(l.row.mean, unit) },
    {
      title: "Mean lies between",
      value: (l) => l.row.interval?.[0] ?? NaN,
      words: true,
      show: (l) =>
        l.row.interval ? `${figure(l.row.interval[0], unit)} to ${figure(l.row.interval[1], unit)}` : "not known",
    },
    { title: "Smallest", value: (l) => l.row.min, show: (l) => figure(l.row.min, unit) },
    { title: "Largest", value: (l) => l.row.max, show: (l) => figure(l.row.max, unit) },
    {
      title: "Spread",
      value: (l) => l.row.spread ?? NaN,
      show: (l) => (l.row.spread === null ? "not known" : share(l.row.spread)),
    },
    ...(cpu
      ? [{ title: "CPU", value: (l: Line) => l.row.cpu_s ?? NaN, show: (l: Line) => figure(l.row.cpu_s, "s") }]
      : []),
    {
      title: "Ratio to the first",
      value: (l) => l.comparison?.estimate?.ratio ?? NaN,
      show: (l) => (l.comparison ? ratio(l.comparison.estimate?.ratio ?? null) : "1"),
    },
    {
      title: "Ratio lies between",
      value: (l) => l.comparison?.estimate?.low ?? NaN,
      words: true,
      show: (l) => between(l.comparison),
    },
    {
      title: "Verdict",
      value: (l) => l.comparison?.verdict ?? "",
      words: true,
      show: (l) => (l.comparison ? <Word verdict={l.comparison.verdict} /> : <span class="quiet">the baseline</span>),
    },
    ...(many ? [{ title: "Not distinguished", value: (l: Line) => l.row.letters, words: true }] : []),
  ];
  return (
    <section data-section="runs">
      <h2>{name === "" ? report.metric : name}</h2>
      <RunsPlot rows={rows} />
      <p class="cmp-key quiet">
        A dot is a run, the diamond the mean, the line its 95% interval by these runs alone. Verdicts rest on ratios of
        runs of one block, whose interval is in the table.
        {many &&
          " Commands on one line at the right, which share a letter, cannot be distinguished; that does not say that they are equal."}
      </p>
      <SortTable id="runs" label="Commands" columns={columns} rows={lines} />
    </section>
  );
}

function between(c: Comparison | null): string {
  if (!c) return "";
  return c.estimate ? `${ratio(c.estimate.low)} to ${ratio(c.estimate.high)}` : "not known";
}

function notes(report: Report): string {
  const { host } = report;
  const texts = [
    `Intervals of verdicts are wrong at most ${share(report.alpha)} of the time, all together; less than ${share(report.margin)} is no difference.`,
    report.warmup > 0 ? `The first ${report.warmup} of each not counted.` : "",
    report.looks.length > 1 ? `It could end after ${report.looks.map((l) => l.blocks).join(", ")} runs of each.` : "",
    report.ended_early ? "It was ended by hand." : "",
    ...(report.differing ?? []).map((what) => `Not the same: ${what}.`),
    report.not_compared?.length ? `In one file only: ${report.not_compared.join(", ")}.` : "",
    host.kernel !== "" ? `On ${host.name} with ${host.cpus} CPUs, Linux ${host.kernel}.` : "",
    ...report.commands
      .filter((row) => row.warming_up[0] > 0)
      .map(
        (row) =>
          `${row.label}: ${row.warming_up[0]} of ${row.runs} runs warm up; up to ${row.warming_up[1]} values before that are left out.`,
      ),
    ...report.commands
      .filter((row) => row.never_steady > 0)
      .map((row) => `${row.label}: ${row.never_steady} of ${row.runs} runs never get steady.`),
  ];
  return texts.filter((text) => text !== "").join(" ");
}
