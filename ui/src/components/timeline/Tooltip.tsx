// What lies under the pointer, in words.

import type { Detail } from "../../context";

export function Tooltip({ x, y, detail }: { x: number; y: number; detail: Detail }) {
  // On the side with more room, so that it never leaves the window.
  const left = x > window.innerWidth / 2;
  const above = y > window.innerHeight / 2;
  return (
    <div
      class="tooltip"
      aria-hidden="true"
      style={{
        ...(left ? { right: `${window.innerWidth - x + 14}px` } : { left: `${x + 14}px` }),
        ...(above ? { bottom: `${window.innerHeight - y + 14}px` } : { top: `${y + 14}px` }),
      }}
    >
      <strong>{detail.title}</strong>
      <dl>
        {detail.facts.map(([name, value], i) => (
          <div key={i}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
