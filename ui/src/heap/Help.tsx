// The help sheet of the picture.

import { useEffect, useRef } from "preact/hooks";

const KEYS: [string, string][] = [
  ["↓ ↑", "to the largest that it keeps; to what keeps it"],
  ["← →", "to the neighbour before, behind"],
  ["Enter", "zoom to the chosen box"],
  ["Esc", "back: search, one step out"],
  ["0", "the whole heap"],
  ["/", "search classes (a regular expression)"],
  ["n N", "next, previous match"],
  ["d", "dark, light, as the system"],
  ["?", "this sheet"],
];

export function HeapHelp({ open, onClose }: { open: boolean; onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (open && dialog.current && !dialog.current.open) dialog.current.showModal();
    if (!open) dialog.current?.close();
  }, [open]);
  return (
    <dialog ref={dialog} class="help" aria-labelledby="heap-help-title" onClose={onClose}>
      <h2 id="heap-help-title">The picture by hand</h2>
      <dl class="keys">
        {KEYS.map(([key, what]) => (
          <div key={key}>
            <dt><kbd>{key}</kbd></dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <p class="quiet">
        A box is an object, or all objects of one class that the box above keeps. It is as wide as what would go if it went; the largest
        stand left. What is hatched is small and counted as one. The room right of the boxes below is what the objects take themselves.
      </p>
      <button type="button" onClick={onClose}>Close</button>
    </dialog>
  );
}
