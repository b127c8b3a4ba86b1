// Reads the data that is in the page, or that its server has, and shows it.

import { render } from "preact";
import "uplot/dist/uPlot.min.css";

import "./style.css";
import { App } from "./components/App";
import { Page } from "./context";
import type { Diagnosis } from "./generated/diagnosis";
import type { Lanes } from "./model";
import { decodeLanes } from "./payload";
import { parsePrintable } from "./printable";
import { homeOf, openingOf } from "./run";
import { sampleLane } from "./samples/lane";
import { decodeSamples, type SampleTable } from "./samples/table";
import { fetchParts, follow, isServed, type Parts, serverState } from "./served";
import { stateLane } from "./states";
import { applyTheme, storedTheme } from "./theme";
import { View } from "./view";

function text(id: string): string {
  const element = document.getElementById(id);
  if (!element) throw new Error(`this page holds no ${id}`);
  return element.textContent ?? "";
}

/** What threads did, by the ledger and as samples saw it, behind what the application got done. */
function addThreadLanes(lanes: Lanes, samples: SampleTable): void {
  const states = stateLane(lanes.ledger);
  const kinds = samples.kinds.filter((kind) => kind.t.length > 0);
  const shown = [
    ...(states ? [states] : []),
    ...kinds.map((kind, i) => sampleLane(samples, kind, lanes.from, lanes.to, i === 0)),
  ];
  if (shown.length === 0) return;
  const at = lanes.groups.findIndex((group) => group.name === "Application");
  lanes.groups.splice(at + 1, 0, { name: "Threads", detail: "", open: true, lanes: shown });
}

function pageOf({ diagnosis, lanes, samples }: Parts): Page {
  addThreadLanes(lanes, samples);
  return new Page(diagnosis, lanes, samples, new View(homeOf(diagnosis, lanes), openingOf(diagnosis, lanes)));
}

async function standing(): Promise<Parts> {
  const diagnosis = parsePrintable(text("fathom-diagnosis")) as Diagnosis;
  const [lanes, samples] = await Promise.all([
    decodeLanes(text("fathom-lanes")),
    decodeSamples(text("fathom-samples")),
  ]);
  return { diagnosis, lanes, samples };
}

/** The same view and choice on newer data: what was the end of the run stays the end. */
function takeOver(from: Page, to: Page): void {
  const { view } = from;
  const later = from.lanes.originNs - to.lanes.originNs;
  if (!view.isOpening) to.view.show(view.from + later, view.to + later);
  const moved = (ranges: { from: number; to: number }[] | null) =>
    ranges?.map((r) => ({ from: r.from + later, to: r.to + later })) ?? null;
  to.state.set({ ...from.state.now, windows: moved(from.state.now.windows), base: moved(from.state.now.base) });
}

async function start(): Promise<void> {
  applyTheme(storedTheme());
  const app = document.getElementById("app");
  if (!app) return;
  try {
    const served = isServed() ? await serverState() : null;
    let page = pageOf(served ? await fetchParts() : await standing());
    let shown = { version: served?.version ?? 0, live: served?.live ?? false, answers: true };
    const show = (change: Partial<typeof shown>): void => {
      shown = { ...shown, ...change };
      document.title = `fathom: ${page.diagnosis.headline.text}`;
      const following = !shown.answers ? "unanswered" : shown.live ? "live" : "no";
      render(<App key={shown.version} page={page} following={following} />, app);
    };
    show({});
    if (served) {
      follow(
        served,
        async ({ version, live }) => {
          const newer = pageOf(await fetchParts());
          takeOver(page, newer);
          page = newer;
          show({ version, live });
        },
        (answers) => show({ answers }),
      );
    }
    // In the first frame observers report which lanes are in sight; two on, everything there has
    // been painted: what the browser test measures.
    const frames = (n: number, then: () => void): void =>
      void requestAnimationFrame(() => (n > 1 ? frames(n - 1, then) : then()));
    frames(3, () => performance.mark("fathom-ready"));
  } catch (error) {
    app.textContent = `This report cannot be shown: ${error instanceof Error ? error.message : String(error)}`;
    app.className = "broken";
    throw error;
  }
}

void start();
