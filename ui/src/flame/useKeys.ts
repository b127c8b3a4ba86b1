// The keyboard of a flame graph, while the focus is inside of it.

import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";

interface Keyboard {
  section: RefObject<HTMLElement | null>;
  /** Where the search is typed. */
  box: RefObject<HTMLInputElement | null>;
  /** What takes the focus when the search is left. */
  scroller: RefObject<HTMLElement | null>;
  /** Whether the page holds nothing else: then keys work while the focus is nowhere, too. */
  alone: boolean;
  /** What each key does. */
  actions: Record<string, () => void>;
  onSearch: (text: string) => void;
}

export function useKeys({ section, box, scroller, alone, actions, onSearch }: Keyboard): void {
  const keys = useRef(actions);
  keys.current = actions;
  const search = useRef(onSearch);
  search.current = onSearch;
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
      const focus = document.activeElement;
      const inside = focus !== null && (section.current?.contains(focus) ?? false);
      if (!inside && !(alone && (focus === document.body || focus === null))) return;
      if (focus instanceof HTMLInputElement || focus instanceof HTMLSelectElement) {
        if (focus !== box.current || (event.key !== "Escape" && event.key !== "Enter")) return;
        event.preventDefault();
        event.stopPropagation();
        if (event.key === "Escape") keys.current.Escape?.();
        else if (focus.value !== "") search.current(focus.value);
        scroller.current?.focus();
        return;
      }
      // Enter and the arrows mean something else on a button and in a table.
      if (event.key === "Enter" && focus instanceof HTMLButtonElement) return;
      if (event.key.startsWith("Arrow") && focus?.closest(".flame-frames")) return;
      const action = keys.current[event.key];
      if (!action) return;
      event.preventDefault();
      event.stopPropagation();
      action();
    };
    // Captured, so that a page with keys of its own does not act on the same press.
    window.addEventListener("keydown", onKey, true);
    return () => window.removeEventListener("keydown", onKey, true);
  }, [alone]);
}
