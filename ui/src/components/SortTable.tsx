// A table that can be sorted, filtered and copied. How it is sorted and filtered is
// kept by who shows it.

import { useMemo, useState } from "preact/hooks";

import { copyText } from "../flame/Details";
import { count } from "../format";

export interface Column<Row> {
  title: string;
  /** For sorting and for CSV: raw figures. */
  value: (row: Row) => number | string;
  /** As it is shown, with its unit; left out: the value. */
  text?: (row: Row) => string;
  /** Unit of the raw figure, for the head of a CSV. */
  unit?: string;
  /** Whether it is a text to be read, and no figure. */
  words?: boolean;
  /** The address of the place that it comes from. */
  link?: (row: Row) => string;
  /** What a button behind the text does, where there is one. */
  show?: (row: Row) => (() => void) | null;
}

/** Rows that a person still reads; all are copied. */
const MOST = 60;

export interface SortTableProps<Row> {
  columns: Column<Row>[];
  rows: Row[];
  label: string;
  /** The column that is sorted by at first, the largest first. */
  sortBy: number;
  /** "2d": by the third column, the largest first; "2a": the smallest. Empty: as at first. */
  sort: string;
  filter: string;
  onSort: (sort: string) => void;
  onFilter: (filter: string) => void;
  /** What a row is called by the button that shows it. */
  showTitle?: string;
}

export function SortTable<Row>({
  columns,
  rows,
  label,
  sortBy,
  sort: chosen,
  filter: wanted,
  onSort,
  onFilter,
  showTitle = "show",
}: SortTableProps<Row>) {
  const sort =
    chosen === ""
      ? { column: sortBy, down: true }
      : { column: Math.min(Number.parseInt(chosen, 10), columns.length - 1), down: chosen.endsWith("d") };
  const setSort = (to: { column: number; down: boolean }): void => onSort(`${to.column}${to.down ? "d" : "a"}`);
  const [said, setSaid] = useState("");
  const sorted = useMemo(() => {
    const column = columns[Math.min(sort.column, columns.length - 1)];
    const needle = wanted.toLowerCase();
    const kept =
      needle === "" ? rows.slice() : rows.filter((row) => String(columns[0].value(row)).toLowerCase().includes(needle));
    const order = (a: Row, b: Row): number => {
      const [x, y] = [column.value(a), column.value(b)];
      if (typeof x === "string" || typeof y === "string") return String(x) < String(y) ? -1 : 1;
      // What is not known comes last, whichever way.
      return ((Number.isNaN(x) ? 1 : 0) - (Number.isNaN(y) ? 1 : 0)) * (sort.down ? -1 : 1) || x - y;
    };
    kept.sort(order);
    return sort.down ? kept.reverse() : kept;
  }, [rows, columns, sort.column, sort.down, wanted]);
  const copy = (what: string, separator: string, quote: (text: string) => string): void => {
    const head = columns.map((c) => quote(c.unit ? `${c.title} (${c.unit})` : c.title)).join(separator);
    const body = sorted.map((row) =>
      columns
        .map((c) => {
          const value = what === "CSV" ? c.value(row) : (c.text?.(row) ?? c.value(row));
          return typeof value === "number" ? (Number.isNaN(value) ? "" : String(value)) : quote(value);
        })
        .join(separator),
    );
    void copyText(`${[head, ...body].join("\n")}\n`).then((done) =>
      setSaid(done ? `${count(sorted.length)} rows copied as ${what}` : "the browser does not allow copying"),
    );
  };
  return (
    <div class="data-table">
      <p class="flame-tools">
        <label>
          <span class="unseen">Filter {label}</span>
          <input
            type="search"
            placeholder={`Filter: ${columns[0].title.toLowerCase()}`}
            value={wanted}
            onInput={(e) => onFilter(e.currentTarget.value)}
          />
        </label>
        <button type="button" onClick={() => copy("text", "\t", (t) => t.replace(/[\t\n]/g, " "))}>
          Copy as text
        </button>
        <button type="button" onClick={() => copy("CSV", ",", (t) => `"${guarded(t).replace(/"/g, '""')}"`)}>
          Copy as CSV
        </button>
        <span role="status">{said}</span>
      </p>
      <div class="scroll" tabIndex={0} role="region" aria-label={label}>
        <table>
          <caption>
            {sorted.length > MOST
              ? `The first ${MOST} of ${count(sorted.length)}; all are copied.`
              : `${count(sorted.length)} rows.`}
          </caption>
          <thead>
            <tr>
              {columns.map((c, i) => (
                <th
                  key={c.title}
                  scope="col"
                  class={i === 0 || c.words ? "" : "number"}
                  aria-sort={sort.column === i ? (sort.down ? "descending" : "ascending") : "none"}
                >
                  <button
                    type="button"
                    class="sorter"
                    onClick={() =>
                      setSort({
                        column: i,
                        down: sort.column === i ? !sort.down : rows.length > 0 && typeof c.value(rows[0]) === "number",
                      })
                    }
                  >
                    {c.title}
                    {sort.column === i ? (sort.down ? " ▾" : " ▴") : ""}
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {sorted.slice(0, MOST).map((row, r) => (
              <tr key={r}>
                {columns.map((c, i) => {
                  const text = c.text?.(row) ?? String(c.value(row));
                  const show = c.show?.(row);
                  const content =
                    c.link && text !== "" ? (
                      <a class="place" href={c.link(row)}>
                        {text}
                      </a>
                    ) : (
                      text
                    );
                  const button = show && (
                    <>
                      {" "}
                      <button
                        type="button"
                        class="as-table"
                        aria-label={`${showTitle}: ${text.slice(0, 120)}`}
                        onClick={show}
                      >
                        {showTitle}
                      </button>
                    </>
                  );
                  return i === 0 ? (
                    <th key={c.title} scope="row">
                      <code>{content}</code>
                      {button}
                    </th>
                  ) : (
                    <td key={c.title} class={c.words ? "" : "number"}>
                      {content}
                      {button}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}

/** A text that a spreadsheet would run as a formula is kept a text. */
function guarded(text: string): string {
  return /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
}
