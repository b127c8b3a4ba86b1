// The page of `fathom heap --html`: reads the dump that is in it and shows who keeps what.

import { render } from "preact";
import { useCallback, useState } from "preact/hooks";

import "../style.css";
import "../flame/flame.css";
import "./heap.css";
import { exactly } from "../flame/search";
import { count } from "../format";
import { applyTheme, storedTheme } from "../theme";
import { useTheme } from "../useTheme";
import type { HeapPage } from "./data";
import { decodeHeap } from "./decode";
import { Holders } from "./Holders";
import { Picture } from "./Picture";
import { Tables } from "./Tables";
import { bytes, objectsOf } from "./words";

/** Characters of a headline that is still set large. */
const LONG = 90;

function Page({ page }: { page: HeapPage }) {
  const { name: themeName, next: nextTheme } = useTheme();
  const [root, setRoot] = useState(0);
  const [chosen, setChosen] = useState(0);
  const [query, setQuery] = useState("");
  const toPicture = (): void => document.querySelector(".picture")?.scrollIntoView({ block: "start" });
  const show = useCallback((node: number): void => {
    setRoot(node);
    setChosen(node);
    toPicture();
  }, []);
  const find = useCallback((name: string): void => {
    setQuery(exactly(name));
    setRoot(0);
    toPicture();
  }, []);
  const { size } = page;
  return (
    <>
      <a class="skip" href="#picture-title">
        To the picture
      </a>
      <header class="top">
        <p class="brand">
          fathom <span>{page.version}</span>
        </p>
        <div class="tools">
          <button type="button" onClick={nextTheme}>
            Theme: {themeName}
          </button>
        </div>
      </header>
      <main>
        <h1 class={page.headline.length > LONG ? "long" : ""} data-heap="headline">
          {page.headline}
        </h1>
        <dl class="windows" data-heap="totals">
          <div>
            <dt>Can be reached</dt>
            <dd>
              <strong>{bytes(size.bytes)}</strong> <span>{objectsOf(size.objects)}</span>
            </dd>
          </div>
          <div>
            <dt>Not counted: nothing reaches them</dt>
            <dd>
              <strong>{bytes(size.unreachable_bytes)}</strong> <span>{objectsOf(size.unreachable_objects)}</span>
            </dd>
          </div>
          <div>
            <dt>Suspects</dt>
            <dd>
              <strong>{count(page.holders.filter((holder) => holder.suspect).length)}</strong>{" "}
              <span>of {count(page.holders.length)} holders of 5% and more</span>
            </dd>
          </div>
        </dl>
        <ul class="heap-notes" data-heap="notes">
          <li>{page.about}</li>
          {page.notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
        <Picture
          page={page}
          root={root}
          chosen={chosen}
          query={query}
          onRoot={setRoot}
          onChoose={setChosen}
          onQuery={setQuery}
          onTheme={nextTheme}
        />
        <Holders page={page} onShow={show} />
        <Tables page={page} onFind={find} onShow={show} />
      </main>
      <footer>
        Made by fathom {page.version}. Names, counts and sizes are in this file, and no value of a text, a field or an
        array. Nothing was loaded from anywhere.
      </footer>
    </>
  );
}

async function start(): Promise<void> {
  applyTheme(storedTheme());
  const app = document.getElementById("app");
  if (!app) return;
  document.body.classList.add("heap-page");
  try {
    const page = await decodeHeap(document.getElementById("fathom-heap")?.textContent ?? "");
    document.title = `fathom: ${page.file}`;
    render(<Page page={page} />, app);
    // Two frames on, everything has been painted: what the browser test measures.
    requestAnimationFrame(() => requestAnimationFrame(() => performance.mark("fathom-ready")));
  } catch (error) {
    app.textContent = `This page cannot be shown: ${error instanceof Error ? error.message : String(error)}`;
    app.className = "broken";
    throw error;
  }
}

void start();
