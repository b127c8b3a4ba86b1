// On paper: light, as wide as a sheet, with every canvas drawn for that width before the browser lays its pages out.

/** Frames in which observers of widths and what they change have been drawn. */
const FRAMES = 4;

const frame = (): Promise<void> => new Promise((drawn) => requestAnimationFrame(() => drawn()));

/** Lays the page out as paper does, waits until everything is drawn so, and prints. */
export async function printPage(): Promise<void> {
  const root = document.documentElement;
  root.classList.add("printing");
  window.dispatchEvent(new Event("fathom-print"));
  for (let i = 0; i < FRAMES; i++) await frame();
  // Heatmaps follow the view when it has come to rest.
  await new Promise((rested) => setTimeout(rested, 200));
  const after = (): void => {
    root.classList.remove("printing");
    window.removeEventListener("afterprint", after);
  };
  window.addEventListener("afterprint", after);
  window.print();
}

/** Takes the browser's own key for printing, so that it prints what `printPage` prepares. */
export function ownPrintKey(): () => void {
  const onKey = (event: KeyboardEvent): void => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey || event.key.toLowerCase() !== "p") return;
    event.preventDefault();
    void printPage();
  };
  window.addEventListener("keydown", onKey);
  return () => window.removeEventListener("keydown", onKey);
}
