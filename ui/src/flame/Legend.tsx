// Which colour, letters and pattern mean what; only what is in the graph.

import { useEffect, useMemo, useRef } from "preact/hooks";

import { ink } from "../theme";
import { type FlameData, FRAME_TYPES } from "./data";
import { look, type Pattern } from "./looks";
import { swatch } from "./paint";

interface Entry {
  ink: string;
  pattern: Pattern;
  tag: string;
  means: string;
}

const CHANGES: Entry[] = [
  { ink: "f-more", pattern: "plain", tag: "+", means: "more than in the baseline" },
  { ink: "f-more", pattern: "diagonal", tag: "new", means: "not in the baseline" },
  { ink: "f-less", pattern: "plain", tag: "−", means: "less than in the baseline" },
  { ink: "f-noise", pattern: "plain", tag: "=", means: "within noise" },
  { ink: "f-noise", pattern: "plain", tag: "", means: "too few samples to judge" },
];

export function Legend({ data, colours, theme }: { data: FlameData; colours: "type" | "change"; theme: string }) {
  const entries = useMemo(() => {
    if (colours === "change") return CHANGES;
    const below = data.type.subarray(1);
    return FRAME_TYPES.map((_, i) => i)
      .filter((i) => below.includes(i))
      .map((i): Entry => look(i));
  }, [data, colours]);
  return (
    <ul class="flame-legend" aria-label="Legend">
      {entries.map((entry) => (
        <li key={entry.means}>
          <Swatch ink={entry.ink} pattern={entry.pattern} theme={theme} />
          {entry.tag !== "" && <span class="tag">{entry.tag}</span>}
          {entry.means}
        </li>
      ))}
    </ul>
  );
}

function Swatch({ ink: name, pattern, theme }: { ink: string; pattern: Pattern; theme: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (context) swatch(context, 18, 12, ink(name), pattern, ink);
  }, [name, pattern, theme]);
  return <canvas ref={canvas} width={18} height={12} aria-hidden="true" />;
}
