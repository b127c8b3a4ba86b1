// The theme of a page as a hook: chosen by hand, followed from the system, and light on paper.

import { useCallback, useEffect, useState } from "preact/hooks";

import { paintForPaper } from "./print";
import { applyTheme, storedTheme, storeTheme, type Theme } from "./theme";

const NEXT: Record<Theme, Theme> = { auto: "light", light: "dark", dark: "auto" };
const NAMES: Record<Theme, string> = { auto: "as the system", light: "light", dark: "dark" };

/**
 * Its name, what changes whenever colours do, and the step to the next. `changed` is called when
 * canvases have to draw again.
 */
export function useTheme(changed?: () => void): { name: string; paint: string; next: () => void } {
  const [theme, setTheme] = useState<Theme>(storedTheme);
  const [painted, setPainted] = useState(0);
  const repaint = useCallback(
    (to: Theme) => {
      applyTheme(to);
      setPainted((n) => n + 1);
      changed?.();
    },
    [changed],
  );
  const next = useCallback(() => {
    const to = NEXT[theme];
    setTheme(to);
    storeTheme(to);
    repaint(to);
  }, [theme, repaint]);
  useEffect(() => {
    const system = matchMedia("(prefers-color-scheme: dark)");
    const follow = (): void => repaint(theme);
    system.addEventListener("change", follow);
    const stop = paintForPaper((asSheet) => repaint(asSheet ? "light" : theme));
    return () => {
      system.removeEventListener("change", follow);
      stop();
    };
  }, [theme, repaint]);
  return { name: NAMES[theme], paint: `${theme}-${painted}`, next };
}
