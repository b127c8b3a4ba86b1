// A table that is sorted by a click on a head, and copied as CSV.

import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";

import { copyText } from "../flame/Details";

export interface Column<Row> {
  title: string;
  value: (row: Row) => number | string;
  show?: (row: Row) => ComponentChildren;
  /** Not a figure: aligned to the left. */
  words?: boolean;
}

interface Props<Row> {
  columns: Column<Row>[];
  rows: Row[];
  label: string;
  id?: string;
  /** The column that rows are sorted by at first; left out, they stand as they come. */
  sortBy?: number;
}

export function SortTable<Row>({ columns, rows, label, id, sortBy }: Props<Row>) {
  const [sort, setSort] = useState<{ column: number; down: boolean } | null>(
    sortBy === undefined ? null : { column: sortBy, down: true },
  );
  const [said, setSaid] = useState("");
  const sorted = useMemo(() => {
    if (!sort) return rows;
    const { value } = columns[sort.column];
    const known = (row: Row): number => (Number.isNaN(value(row)) ? 0 : 1);
    const order = (a: Row, b: Row): number => {
      const [x, y] = [value(a), value(b)];
      const by = typeof x === "string" || typeof y === "string" ? String(x).localeCompare(String(y)) : x - y;
      // What is not known comes last, whichever way.
      return known(b) - known(a) || (sort.down ? -by : by);
    };
    return rows.slice().sort(order);
  }, [rows, columns, sort]);
  const csv = (): string => {
    const quoted = (text: string): string => `"${(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replace(/"/g, '""')}"`;
    const cell = (value: number | string): string =>
      typeof value === "string" ? quoted(value) : Number.isFinite(value) ? String(value) : "";
    const lines = sorted.map((row) => columns.map((c) => cell(c.value(row))).join(","));
    return `${[columns.map((c) => quoted(c.title)).join(","), ...lines].join("\n")}\n`;
  };
  return (
    <div class="sort-table" data-table={id}>
      <div class="scroll" tabIndex={0} role="region" aria-label={label}>
        <table>
          <thead>
            <tr>
              {columns.map((c, i) => (
                <th
                  key={c.title}
                  scope="col"
                  class={c.words || i === 0 ? "" : "number"}
                  aria-sort={sort?.column === i ? (sort.down ? "descending" : "ascending") : "none"}
                >
                  <button
                    type="button"
                    class="sorter"
                    onClick={() =>
                      setSort({ column: i, down: sort?.column === i ? !sort.down : !(c.words || i === 0) })
                    }
                  >
                    {c.title}
                    {sort?.column === i ? (sort.down ? " ▾" : " ▴") : ""}
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {sorted.map((row, r) => (
              <tr key={r}>
                {columns.map((c, i) => {
                  const content = c.show?.(row) ?? String(c.value(row));
                  return i === 0 ? (
                    <th key={c.title} scope="row">
                      {content}
                    </th>
                  ) : (
                    <td key={c.title} class={c.words ? "" : "number"}>
                      {content}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="flame-tools">
        <button
          type="button"
          onClick={() =>
            void copyText(csv()).then((done) =>
              setSaid(done ? `${rows.length} rows copied` : "the browser does not allow copying"),
            )
          }
        >
          Copy as CSV
        </button>
        <span role="status">{said}</span>
      </p>
    </div>
  );
}
