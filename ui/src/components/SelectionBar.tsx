// What everything is about and what it is compared with, in words, with what can be done
// about it. Stays in sight.

import type { Page } from "../context";
import { useChoice } from "../hooks";
import type { Panel, PanelProps } from "../panel";
import { ExportMenu } from "./ExportMenu";

export const selection: Panel = {
  id: "selection",
  title: "Window and baseline",
  side: "show",
  shows: () => true,
  Component: SelectionBar,
};

function SelectionBar({ page, panels }: PanelProps) {
  const choice = useChoice(page);
  const base = page.base();
  const windows = page.windows();
  const { slow } = page.diagnosis.windows;
  const origin =
    choice.windows === null
      ? slow.length > 0
        ? "the verdict's"
        : "the whole run"
      : choice.windows.length === 0
        ? "the whole run"
        : "selected";
  return (
    <div class="chosen" id={selection.id} role="region" aria-label={selection.title} data-panel={selection.id}>
      <p>
        <span class="key slow" aria-hidden="true" /> <span class="lead">Window</span>{" "}
        <span data-chosen="window">{page.inWords(windows)}</span> <span class="quiet">{origin}</span>
      </p>
      <p>
        <span class="key base" aria-hidden="true" /> <span class="lead">Baseline</span>{" "}
        {base.length > 0 ? (
          <span>
            <span data-chosen="base">{page.inWords(base)}</span>{" "}
            <span class="quiet">{choice.base === null ? "the verdict's" : "selected"}</span>
          </span>
        ) : (
          <span class="quiet" data-chosen="base">
            none: drag with Shift to compare
          </span>
        )}
      </p>
      <div class="tools" role="toolbar" aria-label={selection.title}>
        <button type="button" onClick={() => zoomTo(page)}>
          Zoom to window
        </button>
        <button type="button" onClick={() => page.state.set({ windows: [] })}>
          Whole run
        </button>
        {base.length > 0 && (
          <button type="button" onClick={() => swap(page)}>
            Swap
          </button>
        )}
        {base.length > 0 && (
          <button type="button" onClick={() => page.state.set({ base: [] })}>
            No base
          </button>
        )}
        {(choice.windows !== null || choice.base !== null) && (
          <button type="button" onClick={() => page.state.set({ windows: null, base: null })}>
            As the verdict
          </button>
        )}
        <ExportMenu page={page} panels={panels} />
      </div>
    </div>
  );
}

export function zoomTo(page: Page): void {
  const windows = page.windows();
  const from = windows[0]?.from ?? page.view.opening.from;
  const to = windows[windows.length - 1]?.to ?? page.view.opening.to;
  const margin = (to - from) * 0.1;
  page.view.show(from - margin, to + margin);
}

export function swap(page: Page): void {
  const [windows, base] = [page.windows(), page.base()];
  if (base.length > 0) page.state.set({ windows: base, base: windows });
}
