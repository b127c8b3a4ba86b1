// The shortest way from a root to an object, a line a step.

import type { HeapPage } from "./data";

export function WayList({ page, step }: { page: HeapPage; step: number }) {
  const way = page.way(step);
  return (
    <ol class="way" data-heap="way">
      <li class="root">
        <span class="edge">root</span> {way.root || "of a kind that is not known"}
      </li>
      {way.steps.map((at, i) => (
        <li key={i}>
          {at.leftOut > 0 && (
            <p class="quiet">
              … {at.leftOut} {at.leftOut === 1 ? "step" : "steps"} in between
            </p>
          )}
          {at.edge !== "" && <span class="edge">{at.edge} →</span>} <code>{at.class}</code>{" "}
          <code class="quiet">{at.address}</code>
          {at.weak && (
            <span class="quiet">
              {" "}
              (the referent of a soft, weak, phantom or final reference: nothing else holds it)
            </span>
          )}
        </li>
      ))}
    </ol>
  );
}
