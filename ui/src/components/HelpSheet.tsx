// The sheet that lists the keys of a picture.

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

/** Keys with what they do, and in `children` what the picture shows. */
export function HelpSheet({
  id,
  title,
  keys,
  open,
  onClose,
  children,
}: {
  id: string;
  title: string;
  keys: [string, string][];
  open: boolean;
  onClose: () => void;
  children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (open && dialog.current && !dialog.current.open) dialog.current.showModal();
    if (!open) dialog.current?.close();
  }, [open]);
  return (
    <dialog ref={dialog} class="help" aria-labelledby={id} onClose={onClose}>
      <h2 id={id}>{title}</h2>
      <dl class="keys">
        {keys.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <p class="quiet">{children}</p>
      <button type="button" onClick={onClose}>
        Close
      </button>
    </dialog>
  );
}
