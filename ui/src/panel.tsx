// A part of the report, as the page knows it: where it stands, when there is something to show,
// which keys and files it brings. The list of all is panels.ts.

import type { ComponentChildren, FunctionComponent } from "preact";

import type { Page } from "./context";
import type { Export } from "./export";

export interface Panel {
  /** Id of its element, and its name there for tests and styles (`data-panel`). */
  id: string;
  /** Its heading, and what the help sheet calls it. */
  title: string;
  /**
   * With the verdict, which is read from top to bottom, or with the timeline, which stays in sight.
   */
  side: "say" | "show";
  /** Whether a page has something for it; where not, it is left out. */
  shows: (page: Page) => boolean;
  Component: FunctionComponent<PanelProps>;
  /** The key that leads to it, a digit that no other panel has. */
  digit?: string;
  /** What keys and pointer do in it, for the help sheet. */
  keys?: [string, string][];
  gestures?: [string, string][];
  /** What of the window it hands out as files. */
  exports?: (page: Page) => Export[];
}

export interface PanelProps {
  page: Page;
  /** Changes when canvases have to be painted anew. */
  theme: string;
  /** The moment that the last link led to, and the id of its lane; empty: none. */
  mark: number | null;
  cited: string;
  /** What this page shows, in order. */
  panels: Panel[];
  onTheme: () => void;
  onHelp: () => void;
}

/** The element of a panel: its heading, with `head` next to it, over what it shows. */
export function PanelSection({
  panel,
  head,
  children,
}: {
  panel: Panel;
  head?: ComponentChildren;
  children: ComponentChildren;
}) {
  const title = <h2 id={`${panel.id}-title`}>{panel.title}</h2>;
  return (
    <section
      class={head === undefined ? "" : "panel"}
      id={panel.id}
      aria-labelledby={`${panel.id}-title`}
      data-panel={panel.id}
    >
      {head === undefined ? (
        title
      ) : (
        <header class="panel-head">
          {title}
          {head}
        </header>
      )}
      {children}
    </section>
  );
}
