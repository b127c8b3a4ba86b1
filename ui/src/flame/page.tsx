// The page of `fathom flame`: reads the graphs that stand in it and shows one of them.

import { render } from "preact";
import { useState } from "preact/hooks";

import "../style.css";
import { applyTheme, storedTheme } from "../theme";
import { useTheme } from "../useTheme";
import { decodeFlame, type FlamePage } from "./decode";
import { FlameGraph } from "./FlameGraph";
import { weight } from "./words";

function Page({ page }: { page: FlamePage }) {
  const { name: themeName, paint, next: nextTheme } = useTheme();
  const [at, setAt] = useState(0);
  const graph = page.graphs[at];
  return (
    <>
      <header class="top">
        <p class="brand">
          fathom <span>{page.version}</span>
        </p>
        <div class="tools">
          {page.graphs.length > 1 && (
            <label class="flame-tools">
              Samples{" "}
              <select value={at} onChange={(event) => setAt(Number(event.currentTarget.value))}>
                {page.graphs.map((g, i) => (
                  <option key={g.kind} value={i}>{`${g.kind}: ${weight(g, g.total[0])}`}</option>
                ))}
              </select>
            </label>
          )}
          <button type="button" onClick={nextTheme}>
            Theme: {themeName}
          </button>
        </div>
      </header>
      <main>
        <h1>{page.title}</h1>
        <p class="about">
          {[page.about, graph?.label, graph?.base ? `compared with ${graph.base.label}, ${graph.base.normalised}` : ""]
            .filter(Boolean)
            .join(" · ")}
        </p>
        {graph ? (
          <FlameGraph key={at} data={graph} theme={paint} alone inverted={page.inverted} onTheme={nextTheme} />
        ) : (
          <p>There is no sample in it.</p>
        )}
      </main>
      <footer>Made by fathom {page.version}. Everything is in this one file; nothing was loaded from anywhere.</footer>
    </>
  );
}

async function start(): Promise<void> {
  applyTheme(storedTheme());
  const app = document.getElementById("app");
  if (!app) return;
  document.body.classList.add("flame-page");
  try {
    const page = await decodeFlame(document.getElementById("fathom-flame")?.textContent ?? "");
    document.title = `fathom: ${page.title}`;
    render(<Page page={page} />, app);
    // Two frames on, everything has been painted: what the browser test measures.
    requestAnimationFrame(() => requestAnimationFrame(() => performance.mark("fathom-ready")));
  } catch (error) {
    app.textContent = `This flame graph cannot be shown: ${error instanceof Error ? error.message : String(error)}`;
    app.className = "broken";
    throw error;
  }
}

void start();
