// Light and dark. Colours live in style/base.css; canvases ask for them here, resolved for the
// theme of the moment.

export type Theme = "auto" | "light" | "dark";

const KEY = "fathom-theme";
const cache = new Map<string, string>();
let probe: HTMLElement | null = null;

/** The value of a colour of style/base.css ("c1", "faint") as the browser resolves it now. */
export function ink(name: string): string {
  const known = cache.get(name);
  if (known !== undefined) return known;
  if (!probe) {
    probe = document.createElement("span");
    probe.hidden = true;
    document.body.append(probe);
  }
  probe.style.color = `var(--${name})`;
  const colour = getComputedStyle(probe).color;
  cache.set(name, colour);
  return colour;
}

export function storedTheme(): Theme {
  try {
    const stored = localStorage.getItem(KEY);
    return stored === "light" || stored === "dark" ? stored : "auto";
  } catch {
    return "auto"; // A page from a file may not have storage.
  }
}

/**
 * Sets the theme on the page; `changed` is called when the colours are others than
 * before, also by the system.
 */
export function applyTheme(theme: Theme): void {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  cache.clear();
}

export function storeTheme(theme: Theme): void {
  try {
    if (theme === "auto") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, theme);
  } catch {
    // Then it holds for this visit.
  }
}
