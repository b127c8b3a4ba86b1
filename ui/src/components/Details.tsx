// What was clicked, kept in sight: all that is known of a span, with its stack
// and who it waited for.

import { useState } from "preact/hooks";

import { chain } from "../chain";
import type { Detail, Page } from "../context";
import { copyText } from "../flame/Details";
import { look } from "../flame/looks";

/** Frames shown; all are copied. */
const MOST_FRAMES = 60;

export function Details({ detail, page, onClose }: { detail: Detail; page: Page; onClose: () => void }) {
  const [said, setSaid] = useState("");
  const steps = detail.ref ? chain(page, detail.ref.lane, detail.ref.index) : [];
  const frames = detail.stack ? framesOf(page, detail.stack) : [];
  const text = [
    detail.title,
    ...detail.facts.map(([k, v]) => `${k}: ${v}`),
    ...frames.map((f) => `    at ${f.name}`),
  ].join("\n");
  return (
    <aside class="kept" aria-label={`Details: ${detail.title.slice(0, 120)}`} data-panel="details">
      <header>
        <h3>{detail.title}</h3>
        <div class="tools">
          {detail.range && (
            <button type="button" onClick={() => detail.range && page.state.set({ windows: [detail.range] })}>
              As window
            </button>
          )}
          <button
            type="button"
            onClick={() =>
              void copyText(text).then((done) => setSaid(done ? "copied" : "the browser does not allow copying"))
            }
          >
            Copy
          </button>
          <button type="button" data-key="close" onClick={onClose}>
            Close
          </button>
          <span role="status">{said}</span>
        </div>
      </header>
      <dl>
        {detail.facts.map(([name, value], i) => (
          <div key={i}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {steps.length > 0 && (
        <>
          <h4>Who waited for whom</h4>
          <ol class="chain">
            {steps.map((step, i) => (
              <li key={i}>{step}</li>
            ))}
          </ol>
        </>
      )}
      {frames.length > 0 && (
        <>
          <h4>Stack</h4>
          <ol class="frames" tabIndex={0} aria-label="Stack, the innermost frame first">
            {frames.slice(0, MOST_FRAMES).map((f, i) => (
              <li key={i}>
                <code>{f.name}</code>{" "}
                <span class="quiet">
                  {f.type}
                  {f.module && ` in ${f.module}`}
                </span>
              </li>
            ))}
            {frames.length > MOST_FRAMES && <li class="quiet">{frames.length - MOST_FRAMES} more</li>}
          </ol>
        </>
      )}
    </aside>
  );
}

/** The frames of a stack, the innermost first. */
function framesOf(page: Page, stack: number): { name: string; module: string; type: string }[] {
  const { parent, name, type, names, modules } = page.samples.stacks;
  const out = [];
  for (let node = stack - 1; node >= 0; node = parent[node])
    out.push({ name: names[name[node]], module: modules[name[node]], type: look(type[node]).tag });
  return out;
}
