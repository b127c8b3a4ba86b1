// The help sheet: every key and every gesture.

import { useEffect, useRef } from "preact/hooks";

const KEYS: [string, string][] = [
  ["+ −", "zoom in, zoom out"],
  ["← →", "move earlier, later (Shift: farther)"],
  ["0 or Esc", "show the whole recording"],
  ["s b", "show the window, the base"],
  ["z", "zoom to the window"],
  ["w v", "what is shown becomes the window, the base"],
  ["[ ]", "the window begins, ends at the cross-hair"],
  ["a", "the window is the whole run"],
  ["x", "swap window and base"],
  ["c", "window and base as the verdict has them"],
  ["Tab", "to the next lane"],
  ["n p", "next, previous span of the lane that has the focus, read out"],
  ["Enter", "keep the details of that span, with its stack"],
  ["f", "fold or unfold that lane"],
  ["t", "that lane as a table"],
  ["< >", "that lane up, down"],
  ["1 – 5", "to timeline, stacks, heatmap, tables, ledger"],
  ["← → on a tab", "the other tabs"],
  ["Ctrl P", "print, as a postmortem page"],
  ["d", "dark, light, as the system"],
  ["?", "this sheet"],
];

const GESTURES: [string, string][] = [
  ["Drag", "brush: the window that everything is about"],
  ["Shift + drag", "brush what it is held against"],
  ["Wheel", "zoom at the pointer; sideways or with Shift: move"],
  ["Drag the axis", "move"],
  ["Double-click", "show the whole recording"],
  ["Point", "details of what is there"],
  ["Click", "keep these details, with the whole stack"],
];

export function Help({ open, onClose }: { open: boolean; onClose: () => void }) {
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
      {table("Keys", KEYS)}
      {table("Pointer", GESTURES)}
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
