// The theme of a page as a hook: chosen by hand, followed from the system, and light on paper.

import { useCallback, useEffect, useState } from "preact/hooks";

import { applyTheme, storedTheme, storeTheme, type Theme } from "./theme";

const NEXT: Record<Theme, Theme> = { auto: "light", light: "dark", dark: "auto" };
const NAMES: Record<Theme, string> = { auto: "as the system", light: "light", dark: "dark" };

/** Its name, what changes whenever colours do, and the step to the next. `changed` is told when canvases have to draw again. */
export function useTheme(changed?: () => void): { name: string; paint: string; next: () => void } {
  const [theme, setTheme] = useState<Theme>(storedTheme);
  const [painted, setPainted] = useState(0);
  const repaint = useCallback((to: Theme) => {
    applyTheme(to);
    setPainted((n) => n + 1);
    changed?.();
  }, [changed]);
  const next = useCallback(() => {
    const to = NEXT[theme];
    setTheme(to);
    storeTheme(to);
    repaint(to);
  }, [theme, repaint]);
  useEffect(() => {
    const system = matchMedia("(prefers-color-scheme: dark)");
    const follow = (): void => repaint(theme);
    const before = (): void => repaint("light");
    system.addEventListener("change", follow);
    window.addEventListener("beforeprint", before);
    window.addEventListener("fathom-print", before);
    window.addEventListener("afterprint", follow);
    return () => {
      system.removeEventListener("change", follow);
      window.removeEventListener("beforeprint", before);
      window.removeEventListener("fathom-print", before);
      window.removeEventListener("afterprint", follow);
    };
  }, [theme, repaint]);
  return { name: NAMES[theme], paint: `${theme}-${painted}`, next };
}
