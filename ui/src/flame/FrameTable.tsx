// Every frame once: self and total, sortable; what was added and what is gone with a comparison.

import { useMemo, useState } from "preact/hooks";
import { copyText } from "./Details";
import type { FlameData } from "./data";
import { type FrameRow, frames } from "./frames";
import { look } from "./looks";
import { difference, part, verdict, weight } from "./words";

const MOST_ROWS = 200;

type Column = "name" | "self" | "total" | "change";

const ORDER: Record<Column, (a: FrameRow, b: FrameRow) => number> = {
  name: () => 0,
  self: (a, b) => b.self - a.self || b.total - a.total,
  total: (a, b) => b.total - a.total || b.self - a.self,
  change: (a, b) => rank(b) - rank(a) || size(b) - size(a),
};

/** What is beyond noise stands before what is not. */
function rank(row: FrameRow): number {
  return row.selfChange?.verdict === "more" || row.selfChange?.verdict === "less" ? 1 : 0;
}

function size(row: FrameRow): number {
  return Math.abs(row.selfChange?.difference ?? 0);
}

interface Props {
  data: FlameData;
  matches: Uint8Array | null;
  onFind: (name: string) => void;
}

export function FrameTable({ data, matches, onFind }: Props) {
  const [by, setBy] = useState<Column>(data.base ? "change" : "self");
  const [said, setSaid] = useState("");
  const all = useMemo(() => frames(data).filter((row) => look(row.type).tag !== ""), [data]);
  const rows = useMemo(() => {
    const kept = matches ? all.filter((row) => matches[row.name] === 1) : all.slice();
    if (by === "name") kept.sort((a, b) => (data.names[a.name] < data.names[b.name] ? -1 : 1));
    else kept.sort(ORDER[by]);
    return kept;
  }, [all, by, matches, data]);
  const whole = data.total[0];
  const head = (column: Column, text: string) => (
    <th
      scope="col"
      class={column === "name" ? "" : "number"}
      aria-sort={by === column ? (column === "name" ? "ascending" : "descending") : "none"}
    >
      <button type="button" onClick={() => setBy(column)}>
        {text}
        {by === column ? (column === "name" ? " ▴" : " ▾") : ""}
      </button>
    </th>
  );
  const csv = (): string => {
    const quote = (text: string): string => `"${text.replace(/"/g, '""')}"`;
    const lines = rows.map((row) =>
      [
        quote(data.names[row.name]),
        quote(data.modules[row.name]),
        quote(look(row.type).means),
        row.self,
        row.total,
        ...(data.base
          ? [
              row.selfChange?.base ?? "",
              row.selfChange?.verdict ?? "",
              row.totalChange?.base ?? "",
              row.totalChange?.verdict ?? "",
            ]
          : []),
      ].join(","),
    );
    const header = `frame,module,type,self_${data.unit},total_${data.unit}${data.base ? ",self_base_scaled,self_verdict,total_base_scaled,total_verdict" : ""}`;
    return `${[header, ...lines].join("\n")}\n`;
  };
  return (
    <div>
      <p class="flame-tools">
        <button
          type="button"
          onClick={() =>
            void copyText(csv()).then((done) =>
              setSaid(done ? `${rows.length} frames copied` : "the browser does not allow copying"),
            )
          }
        >
          Copy as CSV
        </button>
        <span role="status">{said}</span>
      </p>
      <div class="flame-frames" tabIndex={0} role="region" aria-label="Frames">
        <table>
          <caption>
            {rows.length > MOST_ROWS
              ? `The first ${MOST_ROWS} of ${rows.length} frames; all are copied as CSV.`
              : `${rows.length} frames.`}
          </caption>
          <thead>
            <tr>
              {head("name", "Frame")}
              <th scope="col">Type</th>
              {head("self", "Self")}
              <th scope="col" class="number">
                %
              </th>
              {head("total", "Total")}
              <th scope="col" class="number">
                %
              </th>
              {data.base && head("change", "Self against the baseline")}
              {data.base && <th scope="col">Verdict</th>}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, MOST_ROWS).map((row) => (
              <tr key={row.name} class={matches ? "matched" : ""}>
                <th scope="row">
                  {data.names[row.name]}{" "}
                  <button
                    type="button"
                    class="as-table"
                    onClick={() => onFind(data.names[row.name])}
                    aria-label={`Find ${data.names[row.name].slice(0, 120)} in the graph`}
                  >
                    find
                  </button>
                </th>
                <td>{look(row.type).tag}</td>
                <td class="number">{weight(data, row.self)}</td>
                <td class="number">{part(row.self, whole)}</td>
                <td class="number">{weight(data, row.total)}</td>
                <td class="number">{part(row.total, whole)}</td>
                {data.base && <td class="number">{row.selfChange && difference(data, row.selfChange)}</td>}
                {data.base && (
                  <td class={row.selfChange?.verdict ?? ""}>{row.selfChange && verdict(row.selfChange)}</td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}
