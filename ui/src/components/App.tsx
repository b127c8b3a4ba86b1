// The page: verdict first, then the timeline, then what stands behind both.

import { useCallback, useEffect, useMemo, useState } from "preact/hooks";

import type { Page } from "../context";
import { read, write } from "../link";
import type { Panel } from "../panel";
import { panelsOf } from "../panels";
import { isServed, refine } from "../served";
import { useTheme } from "../useTheme";
import type { Range } from "../view";
import { Help } from "./Help";

/** The address follows the view when it has come to rest. */
const REST_MS = 250;

/** What became of a recording that was still being written when the page was opened. */
type Following = "no" | "live" | "unanswered";

const FOLLOWING = {
  no: "",
  live: "● following the recording",
  unanswered: "○ fathom serve does not answer any more: this is the last state",
};

const motion = (): ScrollBehavior => (matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth");

/** The folds that show a lane: its group's and its own. */
function unfolded(page: Page, lane: string): Record<string, boolean> {
  const group = page.lanes.groups.find((g) => g.lanes.some((l) => l.id === lane));
  return group ? { [`group:${group.name}`]: true, [lane]: true } : {};
}

/** Brings a lane into sight once it is drawn: above it may lie more than a screen of others. */
function lookAt(lane: string): void {
  requestAnimationFrame(() =>
    requestAnimationFrame(() =>
      document
        .querySelector(`[data-lane="${CSS.escape(lane)}"]`)
        ?.scrollIntoView({ behavior: motion(), block: "center" }),
    ),
  );
}

export function App({ page, following }: { page: Page; following: Following }) {
  const [help, setHelp] = useState(false);
  const [mark, setMark] = useState<number | null>(null);
  const [cited, setCited] = useState("");

  const { name: themeName, paint, next: nextTheme } = useTheme(useCallback(() => page.view.changed(), [page]));

  // Links move the timeline; the timeline writes its range into the address.
  useEffect(() => {
    const lane = (ranges: Range[] | null | undefined): Range[] | null =>
      ranges?.map((r) => ({ from: page.fromSeconds(r.from), to: page.fromSeconds(r.to) })) ?? null;
    const go = (): string | undefined => {
      const link = read(location.hash);
      if (!link) return undefined;
      const { windows, base, ...rest } = link.choice;
      if (link.lane) rest.folds = { ...(rest.folds ?? page.state.now.folds), ...unfolded(page, link.lane) };
      page.state.set({
        ...rest,
        ...(windows ? { windows: lane(windows) } : {}),
        ...(base ? { base: lane(base) } : {}),
      });
      if (!link.view) return undefined;
      page.view.show(page.fromSeconds(link.view.from), page.fromSeconds(link.view.to));
      setMark(link.at === null ? null : page.fromSeconds(link.at));
      setCited(link.lane ?? "");
      return link.lane;
    };
    const goAndLook = (): void => {
      const lane = go();
      if (lane) {
        lookAt(lane);
        return;
      }
      const timeline = document.getElementById("timeline");
      const box = timeline?.getBoundingClientRect();
      // Next to the verdict it is in sight already.
      if (timeline && box && (box.top > innerHeight * 0.6 || box.bottom < innerHeight * 0.2)) {
        timeline.scrollIntoView({ behavior: motion(), block: "start" });
      }
    };
    const first = go();
    if (first) lookAt(first);
    window.addEventListener("hashchange", goAndLook);
    // A link to where the address is already changes nothing, and is followed all the same: its
    // lane may be out of sight.
    const again = (event: MouseEvent): void => {
      const link = event.target instanceof Element ? event.target.closest("a") : null;
      if (link && link.hash !== "" && link.hash === location.hash) goAndLook();
    };
    document.addEventListener("click", again);
    let timer = 0;
    const remember = (): void => {
      clearTimeout(timer);
      timer = window.setTimeout(() => {
        const { from, to, isOpening } = page.view;
        const inSeconds = (ranges: Range[] | null): Range[] | null =>
          ranges?.map((r) => ({ from: page.fromZero(r.from) / 1e9, to: page.fromZero(r.to) / 1e9 })) ?? null;
        const { now } = page.state;
        const hash = write({
          view: isOpening ? null : { from: page.fromZero(from) / 1e9, to: page.fromZero(to) / 1e9 },
          at: mark === null || isOpening ? null : page.fromZero(mark) / 1e9,
          ...(cited === "" ? {} : { lane: cited }),
          choice: { ...now, windows: inSeconds(now.windows), base: inSeconds(now.base) },
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
      document.removeEventListener("click", again);
    };
  }, [page, mark, cited]);

  useEffect(() => (isServed() ? refine(page) : undefined), [page]);

  const panels = useMemo(() => panelsOf(page), [page]);
  const standing = (side: Panel["side"]) =>
    panels
      .filter((panel) => panel.side === side)
      .map(({ id, Component }) => (
        <Component
          key={id}
          page={page}
          theme={paint}
          mark={mark}
          cited={cited}
          panels={panels}
          onTheme={nextTheme}
          onHelp={() => setHelp(true)}
        />
      ));
  return (
    <>
      <a class="skip" href="#timeline">
        To the timeline
      </a>
      <header class="top">
        <p class="brand">
          fathom <span>{page.diagnosis.version}</span>
          {following !== "no" && (
            <span class="live" role="status">
              {FOLLOWING[following]}
            </span>
          )}
        </p>
        <div class="tools">
          <button type="button" onClick={nextTheme}>
            Theme: {themeName}
          </button>
          <button type="button" onClick={() => window.print()}>
            Print
          </button>
          <button type="button" onClick={() => setHelp(true)} aria-haspopup="dialog">
            Keys
          </button>
        </div>
      </header>
      <main>
        <div class="say">{standing("say")}</div>
        <div class="show">{standing("show")}</div>
      </main>
      <footer>
        Made by fathom {page.diagnosis.version}.{" "}
        {isServed()
          ? "Its data comes from this server alone."
          : "Everything is in this one file; nothing was loaded from anywhere."}
      </footer>
      <Help panels={panels} open={help} onClose={() => setHelp(false)} />
    </>
  );
}
