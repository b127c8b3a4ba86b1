// What keys do on the timeline. They work while the focus is in it or nowhere in particular.

import { useEffect } from "preact/hooks";

import type { Page } from "../../context";
import type { Panel } from "../../panel";
import type { Range } from "../../view";
import { swap, zoomTo } from "../SelectionBar";
import { brush } from "./gestures";

/** For the help sheet. */
export const KEYS: [string, string][] = [
  ["+ −", "zoom in, zoom out"],
  ["← →", "move earlier, later (Shift: farther)"],
  ["0 or Esc", "show the whole recording"],
  ["s b", "show the window, the base"],
  ["z", "zoom to the window"],
  ["w v", "what is shown becomes the window, the base"],
  ["[ ]", "the window begins, ends at the cross-hair"],
  ["a", "the window is the whole run"],
  ["x", "swap window and baseline"],
  ["c", "window and baseline as the verdict has them"],
  ["Tab", "to the next track"],
  ["n p", "next, previous span of the track that has the focus, read out"],
  ["Enter", "keep the details of that span, with its stack"],
  ["f", "fold or unfold that track"],
  ["t", "that track as a table"],
  ["< >", "that track up, down"],
];

function goTo(id: string): void {
  const section = document.getElementById(id);
  section?.scrollIntoView({ block: "start" });
  section?.querySelector<HTMLElement>("[tabindex='0'], button, select")?.focus({ preventScroll: true });
}

function showRanges(page: Page, ranges: Range[]): void {
  const first = ranges[0];
  if (!first) return;
  const margin = (first.to - first.from) * 0.2;
  page.view.show(first.from - margin, first.to + margin);
}

export interface KeyActions {
  /** Those that digits lead to, among others. */
  panels: Panel[];
  /** The section within which keys work. */
  section: () => Element | null | undefined;
  /** The moment under the cross-hair. */
  moment: () => number | null;
  say: (text: string) => void;
  /** Whether something is kept in sight, and how to let go of it. */
  kept: boolean;
  letGo: () => void;
  keep: () => void;
  step: (lane: string, direction: 1 | -1) => void;
  move: (lane: string, by: 1 | -1) => void;
  onTheme: () => void;
  onHelp: () => void;
}

/** Listens as long as the timeline is there. */
export function useKeys(page: Page, act: KeyActions): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
      const focus = document.activeElement;
      const inside = focus !== null && act.section()?.contains(focus);
      if (!inside && focus !== document.body && focus !== null) return;
      const lane = focus?.closest<HTMLElement>("[data-lane]") ?? null;
      const action = actionsOf(page, act, lane, event.shiftKey)[event.key];
      // Enter means something else on a button, and letters in a field.
      if (!action || (event.key === "Enter" && !focus?.matches("[data-plot]")) || focus instanceof HTMLInputElement)
        return;
      event.preventDefault();
      action();
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  });
}

function actionsOf(page: Page, act: KeyActions, lane: HTMLElement | null, far: boolean): Record<string, () => void> {
  const { view } = page;
  const id = lane?.dataset.lane;
  const middle = (view.from + view.to) / 2;
  const press = (name: string): void => lane?.querySelector<HTMLElement>(`[data-key="${name}"]`)?.click();
  const zoom = (factor: number) => (): void => view.zoom(factor, act.moment() ?? middle);
  const choose = (side: "windows" | "base") => (): void => {
    brush(page, side, view.from, view.to);
    act.say(side === "base" ? `Baseline ${page.inWords(page.base())}` : `Window ${page.inWords(page.windows())}`);
  };
  /** Moves one end of the window to the moment under the cross-hair. */
  const setEnd = (end: "from" | "to") => (): void => {
    const t = act.moment() ?? middle;
    const windows = page.windows();
    const now = { from: windows[0]?.from ?? view.from, to: windows[windows.length - 1]?.to ?? view.to };
    const other = end === "from" ? (now.to > t ? now.to : view.to) : now.from < t ? now.from : view.from;
    brush(page, "windows", t, other);
    act.say(`Window ${page.inWords(page.windows())}`);
  };
  return {
    "+": zoom(1.6),
    "=": zoom(1.6),
    "-": zoom(1 / 1.6),
    ArrowLeft: () => view.pan(far ? -0.8 : -0.15),
    ArrowRight: () => view.pan(far ? 0.8 : 0.15),
    "0": () => view.reset(),
    Escape: () => (act.kept ? act.letGo() : view.reset()),
    Enter: act.keep,
    "<": () => id && act.move(id, -1),
    ">": () => id && act.move(id, 1),
    s: () => showRanges(page, page.windows()),
    b: () => showRanges(page, page.base()),
    w: choose("windows"),
    v: choose("base"),
    "[": setEnd("from"),
    "]": setEnd("to"),
    z: () => zoomTo(page),
    x: () => swap(page),
    c: () => page.state.set({ windows: null, base: null }),
    a: () => page.state.set({ windows: [] }),
    ...Object.fromEntries(act.panels.flatMap(({ digit, id }) => (digit ? [[digit, () => goTo(id)]] : []))),
    d: act.onTheme,
    "?": act.onHelp,
    f: () => press("fold"),
    t: () => press("table"),
    n: () => id && act.step(id, 1),
    p: () => id && act.step(id, -1),
  };
}
