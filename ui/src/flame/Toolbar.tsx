// The row above a flame graph: what is searched for, and what is shown.

import type { RefObject } from "preact";

import type { Side } from "./layout";
import type { Scene } from "./paint";

interface Props {
  box: RefObject<HTMLInputElement | null>;
  typed: string;
  /** Whether what is typed is no regular expression. */
  wrong: boolean;
  /** What was found, in words. */
  found: string;
  inverted: boolean;
  /** Whether there is a baseline. */
  compared: boolean;
  colours: Scene["colours"];
  side: Side;
  table: boolean;
  zoomed: boolean;
  onType: (text: string) => void;
  onInvert: () => void;
  onColours: (colours: Scene["colours"]) => void;
  onSide: (side: Side) => void;
  onTable: () => void;
  onWhole: () => void;
  onHelp: () => void;
}

export function Toolbar({
  box,
  typed,
  wrong,
  found,
  inverted,
  compared,
  colours,
  side,
  table,
  zoomed,
  onType,
  onInvert,
  onColours,
  onSide,
  onTable,
  onWhole,
  onHelp,
}: Props) {
  return (
    <div class="flame-tools" role="toolbar" aria-label="Flame graph">
      <label>
        <span class="unseen">Search frames (a regular expression)</span>
        <input
          ref={box}
          type="search"
          placeholder="Search: regular expression"
          value={typed}
          class={wrong ? "wrong" : ""}
          onInput={(event) => onType(event.currentTarget.value)}
        />
      </label>
      <span class="flame-found" role="status" data-flame="found">
        {found}
      </span>
      <div class="end">
        <button type="button" aria-pressed={inverted} onClick={onInvert}>
          Callers
        </button>
        {compared && (
          <button
            type="button"
            aria-pressed={colours === "change"}
            onClick={() => onColours(colours === "type" ? "change" : "type")}
          >
            Comparison
          </button>
        )}
        {compared && (
          <button
            type="button"
            aria-pressed={side === "base"}
            onClick={() => onSide(side === "here" ? "base" : "here")}
          >
            Widths of the baseline
          </button>
        )}
        <button type="button" aria-pressed={table} onClick={onTable}>
          Table
        </button>
        <button type="button" disabled={!zoomed} onClick={onWhole}>
          Whole graph
        </button>
        <button type="button" aria-haspopup="dialog" onClick={onHelp}>
          Keys
        </button>
      </div>
    </div>
  );
}
