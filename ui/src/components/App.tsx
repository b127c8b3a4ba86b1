// The page: verdict first, then the timeline, then what stands behind both.

import { useCallback, useEffect, useState } from "preact/hooks";

import type { Page } from "../context";
import { read, write } from "../link";
import { ownPrintKey, printPage } from "../print";
import { isServed, refine } from "../served";
import { useTheme } from "../useTheme";
import type { Range } from "../view";
import { Inputs, Ledger, NotSeen, RuledOut } from "./Facts";
import { Heatmap } from "./Heatmap";
import { Help } from "./Help";
import { SelectionBar } from "./SelectionBar";
import { Stacks } from "./Stacks";
import { Tables } from "./Tables";
import { Timeline } from "./timeline/Timeline";
import { Verdict } from "./Verdict";

/** The address follows the view when it has come to rest. */
const REST_MS = 250;

export function App({ page, live }: { page: Page; live: boolean }) {
  const [help, setHelp] = useState(false);
  const [mark, setMark] = useState<number | null>(null);

  const { name: themeName, paint, next: nextTheme } = useTheme(useCallback(() => page.view.changed(), [page]));

  // Links move the timeline; the timeline writes its range into the address.
  useEffect(() => {
    const lane = (ranges: Range[] | null | undefined): Range[] | null =>
      ranges?.map((r) => ({ from: page.fromSeconds(r.from), to: page.fromSeconds(r.to) })) ?? null;
    const go = (): void => {
      const link = read(location.hash);
      if (!link) return;
      const { windows, base, ...rest } = link.choice;
      page.state.set({ ...rest, ...(windows ? { windows: lane(windows) } : {}), ...(base ? { base: lane(base) } : {}) });
      if (!link.view) return;
      page.view.show(page.fromSeconds(link.view.from), page.fromSeconds(link.view.to));
      setMark(link.at === null ? null : page.fromSeconds(link.at));
    };
    const goAndLook = (): void => {
      go();
      const timeline = document.getElementById("timeline");
      const box = timeline?.getBoundingClientRect();
      // Beside the verdict it is in sight already.
      if (timeline && box && (box.top > innerHeight * 0.6 || box.bottom < innerHeight * 0.2)) {
        const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
        timeline.scrollIntoView({ behavior: calm ? "auto" : "smooth", block: "start" });
      }
    };
    go();
    window.addEventListener("hashchange", goAndLook);
    let timer = 0;
    const remember = (): void => {
      clearTimeout(timer);
      timer = window.setTimeout(() => {
        const { from, to, home } = page.view;
        const whole = from <= home.from && to >= home.to;
        const told = (ranges: Range[] | null): Range[] | null =>
          ranges?.map((r) => ({ from: page.fromZero(r.from) / 1e9, to: page.fromZero(r.to) / 1e9 })) ?? null;
        const { now } = page.state;
        const hash = write({
          view: whole ? null : { from: page.fromZero(from) / 1e9, to: page.fromZero(to) / 1e9 },
          at: mark === null || whole ? null : page.fromZero(mark) / 1e9,
          choice: { ...now, windows: told(now.windows), base: told(now.base) },
        });
        try {
          history.replaceState(null, "", hash === "" ? location.pathname + location.search : hash);
        } catch {
          // Some browsers refuse this for pages from a file; links then work all the same.
        }
      }, REST_MS);
    };
    const stops = [page.view.subscribe(remember), page.state.subscribe(remember)];
    return () => {
      clearTimeout(timer);
      for (const stop of stops) stop();
      window.removeEventListener("hashchange", goAndLook);
    };
  }, [page, mark]);

  useEffect(ownPrintKey, []);
  useEffect(() => (isServed() ? refine(page) : undefined), [page]);

  return (
    <>
      <a class="skip" href="#timeline">To the timeline</a>
      <header class="top">
        <p class="brand">fathom <span>{page.diagnosis.version}</span>{live && <span class="live" role="status">● following the recording</span>}</p>
        <div class="tools">
          <button type="button" onClick={nextTheme}>Theme: {themeName}</button>
          <button type="button" onClick={() => void printPage()}>Print</button>
          <button type="button" onClick={() => setHelp(true)} aria-haspopup="dialog">Keys</button>
        </div>
      </header>
      <main>
        <div class="say">
          <Verdict page={page} />
          <RuledOut diagnosis={page.diagnosis} />
          <NotSeen diagnosis={page.diagnosis} />
        </div>
        <div class="show">
          <Timeline page={page} theme={paint} mark={mark} onTheme={nextTheme} onHelp={() => setHelp(true)} />
          <SelectionBar page={page} />
          <Stacks page={page} theme={paint} />
          <Heatmap page={page} theme={paint} />
          <Tables page={page} />
          <Ledger page={page} />
          <Inputs diagnosis={page.diagnosis} />
        </div>
      </main>
      <footer>
        Made by fathom {page.diagnosis.version}. {isServed() ? "Its data comes from this server alone." : "Everything is in this one file; nothing was loaded from anywhere."}
      </footer>
      <Help open={help} onClose={() => setHelp(false)} />
    </>
  );
}
