// Reads the data that stands in the page and shows it.

import { render } from "preact";
import "uplot/dist/uPlot.min.css";

import "./style.css";
import { App } from "./components/App";
import { Page } from "./context";
import type { Diagnosis, Lanes } from "./model";
import { decodeLanes } from "./payload";
import { parsePrintable } from "./printable";
import { applyTheme, storedTheme } from "./theme";
import { decodeSamples } from "./samples/table";
import { View } from "./view";

function text(id: string): string {
  const element = document.getElementById(id);
  if (!element) throw new Error(`this page holds no ${id}`);
  return element.textContent ?? "";
}

/** The whole run; where inputs that could not be placed lie years apart, the windows that were looked at. */
function home(diagnosis: Diagnosis, lanes: Lanes): { from: number; to: number } {
  const { from, to } = lanes;
  const windows = [...diagnosis.windows.slow, ...diagnosis.windows.base];
  const MONTH_NS = 30 * 86_400e9;
  if (to - from < MONTH_NS || windows.length === 0) return { from, to: Math.max(to, from + 1e6) };
  const first = Math.min(...windows.map((w) => w.from_ns)) - lanes.originNs;
  const last = Math.max(...windows.map((w) => w.to_ns)) - lanes.originNs;
  const margin = (last - first) * 0.2;
  return { from: first - margin, to: last + margin };
}

async function start(): Promise<void> {
  applyTheme(storedTheme());
  const app = document.getElementById("app");
  if (!app) return;
  try {
    const diagnosis = parsePrintable(text("fathom-diagnosis")) as Diagnosis;
    document.title = `fathom: ${diagnosis.headline}`;
    const [lanes, samples] = await Promise.all([decodeLanes(text("fathom-lanes")), decodeSamples(text("fathom-samples"))]);
    const page = new Page(diagnosis, lanes, samples, new View(home(diagnosis, lanes)));
    render(<App page={page} />, app);
    // Two frames on, everything has been painted: what the browser test measures.
    requestAnimationFrame(() => requestAnimationFrame(() => performance.mark("fathom-ready")));
  } catch (error) {
    app.textContent = `This report cannot be shown: ${error instanceof Error ? error.message : String(error)}`;
    app.className = "broken";
    throw error;
  }
}

void start();
