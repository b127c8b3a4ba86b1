// The page of `fathom compare --html`: reads the report and the flame graphs that stand in it.

import { render } from "preact";

import "../style.css";
import "../flame/flame.css";
import "./compare.css";
import { decodeFlame, type FlamePage } from "../flame/decode";
import type { Page as ComparePage } from "../generated/compare";
import { applyTheme, storedTheme } from "../theme";
import { useTheme } from "../useTheme";
import { readPage } from "./model";
import { RecordingsPage } from "./RecordingsPage";
import { RunsPage } from "./RunsPage";

function Page({ page, flames }: { page: ComparePage; flames: FlamePage | null }) {
  const { name, paint, next } = useTheme();
  return (
    <>
      <header class="top">
        <p class="brand">
          fathom <span>{page.version}</span>
        </p>
        <div class="tools">
          <button type="button" onClick={next}>
            Theme: {name}
          </button>
        </div>
      </header>
      <main>
        {page.recordings && <RecordingsPage report={page.recordings} flames={flames} theme={paint} />}
        {page.runs && <RunsPage report={page.runs} />}
      </main>
      <footer>Made by fathom {page.version}. Everything is in this one file; nothing was loaded from anywhere.</footer>
    </>
  );
}

async function start(): Promise<void> {
  applyTheme(storedTheme());
  const app = document.getElementById("app");
  if (!app) return;
  document.body.classList.add("compare-page");
  try {
    const page = readPage(document.getElementById("fathom-compare")?.textContent ?? "");
    const flame = document.getElementById("fathom-flame")?.textContent;
    const flames = flame ? await decodeFlame(flame) : null;
    const of = page.recordings ? `${page.recordings.of[0]} and ${page.recordings.of[1]}` : "commands";
    document.title = `fathom compare: ${of}`;
    render(<Page page={page} flames={flames} />, app);
    // Two frames on, everything has been painted: what the browser test waits for.
    requestAnimationFrame(() => requestAnimationFrame(() => performance.mark("fathom-ready")));
  } catch (error) {
    app.textContent = `This comparison cannot be shown: ${error instanceof Error ? error.message : String(error)}`;
    app.className = "broken";
    throw error;
  }
}

void start();
