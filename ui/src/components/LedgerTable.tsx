// Time by category, of a window and of what it is compared with: each time with its share, below it
// where there is little room.

import type { JSX } from "preact";

/** A time, and what it is of all, in words. */
export interface Spent {
  time: string;
  share: string;
}

export interface LedgerLine {
  category: string;
  swatch: JSX.Element;
  /** What is said next to the category. */
  aside?: string;
  spent: Spent;
  base: Spent | null;
  grew: boolean;
}

export function LedgerTable({ caption, titles, lines }: { caption: string; titles: string[]; lines: LedgerLine[] }) {
  return (
    <table class="ledger-table">
      <caption class="unseen">{caption}</caption>
      <thead>
        <tr>
          <th scope="col">Category</th>
          {titles.map((title) => (
            <th scope="col" class="number" key={title}>
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {lines.map((line, i) => (
          <tr key={i} class={line.grew ? "grew" : ""}>
            <th scope="row">
              {line.swatch}
              {line.category}
              {line.aside && <span class="quiet"> {line.aside}</span>}
              {line.grew && <span class="mark"> ▲ grew</span>}
            </th>
            <Cell {...line.spent} />
            {line.base && <Cell {...line.base} />}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Cell({ time, share }: Spent) {
  return (
    <td class="number">
      <span class="time">{time}</span> <span class="of">{share}</span>
    </td>
  );
}
