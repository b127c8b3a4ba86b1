// The panels of the report, in the order in which they stand on the page. A new one is a
// file and a line here.

import { heatmap } from "./components/Heatmap";
import { inputs } from "./components/Inputs";
import { ledger } from "./components/Ledger";
import { notSeen } from "./components/NotSeen";
import { ruledOut } from "./components/RuledOut";
import { selection } from "./components/SelectionBar";
import { stacks } from "./components/Stacks";
import { tables } from "./components/Tables";
import { timeline } from "./components/timeline/Timeline";
import { verdict } from "./components/Verdict";
import type { Page } from "./context";
import type { Panel } from "./panel";

export const PANELS: readonly Panel[] = [
  verdict,
  ruledOut,
  notSeen,
  timeline,
  selection,
  stacks,
  heatmap,
  tables,
  ledger,
  inputs,
];

/** Those that a page has something for. */
export function panelsOf(page: Page, all: readonly Panel[] = PANELS): Panel[] {
  return all.filter((panel) => panel.shows(page));
}
