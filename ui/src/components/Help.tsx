// The help sheet: every key and every gesture.

import { useEffect, useRef } from "preact/hooks";

const KEYS: [string, string][] = [
  ["+ −", "zoom in, zoom out"],
  ["← →", "move earlier, later (Shift: farther)"],
  ["0 or Esc", "the whole run"],
  ["s b", "the slow window, the base window"],
  ["Tab", "to the next lane"],
  ["n p", "next, previous span of the lane that has the focus, read out"],
  ["f", "fold or unfold that lane"],
  ["t", "that lane as a table"],
  ["d", "dark, light, as the system"],
  ["?", "this sheet"],
];

const GESTURES: [string, string][] = [
  ["Wheel", "zoom at the pointer; sideways or with Shift: move"],
  ["Drag", "zoom to what was dragged over"],
  ["Shift + drag", "move"],
  ["Double-click", "the whole run"],
  ["Point", "details of what is there"],
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
      <p class="quiet">The address of the page holds the range that is shown: copy it to link to a view.</p>
      <button type="button" onClick={onClose}>
        Close
      </button>
    </dialog>
  );
}
