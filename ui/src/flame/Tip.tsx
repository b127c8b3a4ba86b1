// What a box is, next to the pointer.

import type { FlameData } from "./data";
import { facts } from "./words";

interface Props {
  data: FlameData;
  node: number;
  /** Weight of what is shown, of which the box is a part. */
  shown: number;
  x: number;
  y: number;
}

export function Tip({ data, node, shown, x, y }: Props) {
  const right = x > innerWidth * 0.6;
  const low = y > innerHeight * 0.65;
  const style = {
    ...(right ? { right: `${innerWidth - x + 14}px` } : { left: `${x + 14}px` }),
    ...(low ? { bottom: `${innerHeight - y + 14}px` } : { top: `${y + 16}px` }),
  };
  return (
    <div class="tooltip flame-tip" style={style}>
      <p class="name">{data.names[data.name[node]]}</p>
      <dl>
        {facts(data, node, shown).map(([key, value]) => (
          <div key={key}>
            <dt>{key}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
