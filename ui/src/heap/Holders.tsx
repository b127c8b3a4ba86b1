// The largest holders, as the terminal lists them, each with its way from a root.

import type { HeapPage } from "./data";
import { WayList } from "./Way";

export function Holders({ page, onShow }: { page: HeapPage; onShow: (node: number) => void }) {
  if (page.holders.length === 0) return null;
  return (
    <section aria-labelledby="holders-title">
      <h2 id="holders-title">
        Largest holders <span class="quiet">what would go if they went</span>
      </h2>
      <ol class="holders">
        {page.holders.map((holder, i) => (
          <li key={i} class={holder.suspect ? "holder suspect" : "holder"} data-heap="holder">
            <div class="holder-head">
              <p class="lead">{holder.sentence}</p>
              {holder.node !== null && (
                <button
                  type="button"
                  onClick={() => onShow(holder.node as number)}
                  aria-label={`Show in the picture: ${holder.sentence.slice(0, 120)}`}
                >
                  Show in the picture
                </button>
              )}
            </div>
            <p class="why-held">
              {holder.judged}
              {holder.accumulates_in ? `. Memory accumulates in its ${holder.accumulates_in}` : ""}
            </p>
            {holder.way !== null && (
              <details open={i === 0}>
                <summary>
                  {holder.objects > 1
                    ? "The shortest way from a root to the one of them that keeps most"
                    : "The shortest way from a root"}
                </summary>
                <WayList page={page} step={holder.way} />
              </details>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}
