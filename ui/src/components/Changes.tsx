// Frames that only one side of a comparison has, and those that changed beyond noise.

import { useMemo } from "preact/hooks";

import type { FlameData } from "../flame/data";
import { type FrameRow, frames } from "../flame/frames";
import { look } from "../flame/looks";
import { difference, weight } from "../flame/words";

const MOST = 25;

export function Changes({ data }: { data: FlameData }) {
  const lists = useMemo(() => {
    const rows = frames(data).filter((row) => look(row.type).tag !== "" && row.totalChange);
    const size = (row: FrameRow): number => Math.abs(row.totalChange?.difference ?? 0);
    const pick = (test: (row: FrameRow) => boolean): FrameRow[] => rows.filter(test).sort((a, b) => size(b) - size(a));
    const beyond = (row: FrameRow): boolean =>
      row.totalChange?.verdict === "more" || row.totalChange?.verdict === "less";
    return [
      ["Came", "in the window and not in the baseline", pick((r) => r.totalChange?.added === true)],
      ["Went", "in the baseline and not in the window", pick((r) => r.totalChange?.vanished === true)],
      [
        "More",
        "in the window than in the baseline, beyond noise",
        pick((r) => beyond(r) && !r.totalChange?.added && size(r) > 0 && r.totalChange?.verdict === "more"),
      ],
      [
        "Less",
        "in the window than in the baseline, beyond noise",
        pick((r) => beyond(r) && !r.totalChange?.vanished && r.totalChange?.verdict === "less"),
      ],
    ] as const;
  }, [data]);
  return (
    <div class="changes">
      {lists.map(([title, about, rows]) => (
        <div key={title}>
          <h3>
            {title}{" "}
            <span class="quiet">{rows.length === 0 ? `none: nothing ${about}` : `${rows.length}: ${about}`}</span>
          </h3>
          {rows.length > 0 && (
            <div class="scroll" tabIndex={0} role="region" aria-label={title}>
              <table>
                <thead>
                  <tr>
                    <th scope="col">Frame</th>
                    <th scope="col">Type</th>
                    <th scope="col" class="number">
                      Window
                    </th>
                    <th scope="col" class="number">
                      Base
                    </th>
                    <th scope="col" class="number">
                      Difference
                    </th>
                    <th scope="col">Verdict</th>
                  </tr>
                </thead>
                <tbody>
                  {rows.slice(0, MOST).map((row) => (
                    <tr key={row.name}>
                      <th scope="row">
                        <code>{data.names[row.name]}</code>
                      </th>
                      <td>{look(row.type).tag}</td>
                      <td class="number">{weight(data, row.total)}</td>
                      <td class="number">{row.totalChange && weight(data, row.totalChange.base)}</td>
                      <td class="number">{row.totalChange && difference(data, row.totalChange)}</td>
                      <td>
                        {row.totalChange?.verdict === "more" || row.totalChange?.verdict === "less"
                          ? "beyond noise"
                          : row.totalChange?.verdict === "noise"
                            ? "within noise"
                            : "too few samples"}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )}
          {rows.length > MOST && <p class="note">{rows.length - MOST} more; the flame graph's table has all.</p>}
        </div>
      ))}
    </div>
  );
}
