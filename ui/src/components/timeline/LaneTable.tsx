// A lane as a table: for those who do not look at pictures, and for those who want the figures.

import { useEffect, useState } from "preact/hooks";

import type { Page } from "../../context";
import { lowerBound } from "../../decimate";
import { duration, quantity } from "../../format";
import type { Lane, LineLane, SpanLane } from "../../model";
import { LAYERS, layersIn, type SampleLane } from "../../samples/lane";
import { SpanIndex } from "../../spans";
import { type StateLane, statesIn, usedCategories } from "../../states";

/** Rows that a person still reads. */
const ROWS = 100;

export function LaneTable({ lane, page }: { lane: Lane; page: Page }) {
  const [, redraw] = useState(0);
  useEffect(() => page.view.subscribe(() => redraw((n) => n + 1)), [page]);
  return (
    <div class="lane-table scroll" tabIndex={0} role="region" aria-label={`${lane.title} as a table`}>
      {lane.type === "spans" ? (
        <SpanRows lane={lane} page={page} />
      ) : lane.type === "lines" ? (
        <LineRows lane={lane} page={page} />
      ) : lane.type === "states" ? (
        <StateRows lane={lane} page={page} />
      ) : (
        <SampleRows lane={lane} page={page} />
      )}
    </div>
  );
}

function SpanRows({ lane, page }: { lane: SpanLane; page: Page }) {
  const { indices, total } = SpanIndex.of(lane).longest(page.view.from, page.view.to, ROWS);
  const { strings, sources } = page.lanes;
  const facts = lane.facts.filter((f) => indices.some((i) => !Number.isNaN(f.values[i])));
  const labels = lane.labels.filter((l) => indices.some((i) => l.values[i] > 0));
  return (
    <table>
      <caption>{total > ROWS ? `The ${ROWS} longest of ${total} in view` : `${total} in view`}</caption>
      <thead>
        <tr>
          <th scope="col" class="number">
            At
          </th>
          <th scope="col" class="number">
            Lasted
          </th>
          <th scope="col">What</th>
          <th scope="col">Kind</th>
          {lane.parts.map((p) => (
            <th scope="col" class="number" key={p.name}>
              {p.name}
            </th>
          ))}
          {labels.map((l) => (
            <th scope="col" key={l.name}>
              {l.name}
            </th>
          ))}
          {facts.map((f) => (
            <th scope="col" class="number" key={f.name}>
              {f.name}
            </th>
          ))}
          <th scope="col">Source</th>
        </tr>
      </thead>
      <tbody>
        {indices.map((i) => (
          <tr key={i}>
            <td class="number">{page.moment(lane.t0[i])}</td>
            <td class="number">{lane.duration[i] > 0 ? duration(lane.duration[i]) : ""}</td>
            <td>{strings[lane.name[i]]}</td>
            <td>{lane.classes[lane.cls[i]]}</td>
            {lane.parts.map((p) => (
              <td class="number" key={p.name}>
                {p.values[i] > 0 ? duration(p.values[i]) : ""}
              </td>
            ))}
            {labels.map((l) => (
              <td key={l.name}>{l.values[i] > 0 ? strings[l.values[i] - 1] : ""}</td>
            ))}
            {facts.map((f) => (
              <td class="number" key={f.name}>
                {Number.isNaN(f.values[i]) ? "" : quantity(f.values[i], f.unit)}
              </td>
            ))}
            <td>
              <code>{lane.line[i] > 0 ? `${sources[lane.source[i]]}:${lane.line[i]}` : sources[lane.source[i]]}</code>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function SampleRows({ lane, page }: { lane: SampleLane; page: Page }) {
  const unit = lane.unit === "count" ? "" : lane.unit;
  return (
    <table>
      <caption>Samples in view, by layer</caption>
      <thead>
        <tr>
          <th scope="col">Thread</th>
          {LAYERS.map((l) => (
            <th scope="col" class="number" key={l}>
              {l}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {lane.rows.map((row, r) => (
          <tr key={r}>
            <th scope="row">{row.name}</th>
            {Array.from(layersIn(lane, r, page.view.from, page.view.to), (v, l) => (
              <td class="number" key={l}>
                {v > 0 ? quantity(v, unit) : ""}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function StateRows({ lane, page }: { lane: StateLane; page: Page }) {
  const used = usedCategories(lane);
  return (
    <table>
      <caption>What threads did in view</caption>
      <thead>
        <tr>
          <th scope="col">Thread</th>
          {used.map((h) => (
            <th scope="col" class="number" key={h}>
              {lane.categories[h]}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {lane.rows.map((row, r) => {
          const spent = statesIn(lane, r, page.view.from, page.view.to);
          return (
            <tr key={r}>
              <th scope="row">{row.name}</th>
              {used.map((h) => (
                <td class="number" key={h}>
                  {spent[h] > 0 ? duration(spent[h]) : ""}
                </td>
              ))}
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function LineRows({ lane, page }: { lane: LineLane; page: Page }) {
  const main = lane.lines.find((l) => l.main) ?? lane.lines[0];
  if (!main) return null;
  const first = lowerBound(main.t, page.view.from);
  const last = lowerBound(main.t, page.view.to);
  const step = Math.max(1, Math.ceil((last - first) / ROWS));
  const rows: number[] = [];
  for (let i = first; i < last; i += step) rows.push(i);
  return (
    <table>
      <caption>
        {step > 1 ? `Every ${step}th of ${last - first} points in view` : `${last - first} points in view`}
      </caption>
      <thead>
        <tr>
          <th scope="col" class="number">
            At
          </th>
          {lane.lines.map((l) => (
            <th scope="col" class="number" key={l.name}>
              {l.name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((i) => (
          <tr key={i}>
            <td class="number">{page.moment(main.t[i])}</td>
            {lane.lines.map((l) => {
              const k = lowerBound(l.t, main.t[i]);
              return (
                <td class="number" key={l.name}>
                  {l.t[k] === main.t[i] && !Number.isNaN(l.v[k]) ? quantity(l.v[k], lane.unit) : ""}
                </td>
              );
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
