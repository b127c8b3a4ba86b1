// The help sheet: every key and every gesture.

import { useEffect, useRef } from "preact/hooks";

import type { Panel } from "../panel";

/** Keys that belong to no panel. */
const KEYS: [string, string][] = [
  ["← → on a tab", "the other tabs"],
  ["Ctrl P", "print, as a postmortem page"],
  ["d", "dark, light, as the system"],
  ["?", "this sheet"],
];

/** Every key of the panels of a page, and those that lead to them. */
export function keysOf(panels: Panel[]): [string, string][] {
  const reached = panels.filter((panel) => panel.digit !== undefined);
  return [
    ...panels.flatMap((panel) => panel.keys ?? []),
    [
      reached.map((panel) => panel.digit).join(" "),
      `to ${reached.map(({ title }) => title.charAt(0).toLowerCase() + title.slice(1)).join(", ")}`,
    ],
    ...KEYS,
  ];
}

export function Help({ panels, open, onClose }: { panels: Panel[]; open: boolean; onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (open && dialog.current && !dialog.current.open) dialog.current.showModal();
    if (!open) dialog.current?.close();
  }, [open]);
  const table = (title: string, rows: [string, string][]) => (
    <>
      <h3>{title}</h3>
      <dl class="keys">
        {rows.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </>
  );
  return (
    <dialog ref={dialog} class="help" aria-labelledby="help-title" onClose={onClose}>
      <h2 id="help-title">The timeline by hand</h2>
      {table("Keys", keysOf(panels))}
      {table(
        "Pointer",
        panels.flatMap((panel) => panel.gestures ?? []),
      )}
      <p class="quiet">
        The address of the page holds what is shown and what was chosen: copy it to link to a view. The flame graph has
        keys of its own; ? there lists them.
      </p>
      <button type="button" onClick={onClose}>
        Close
      </button>
    </dialog>
  );
}
