// Which colour and height each class of span has. The colours are those of Okabe and Ito, which
// people with any kind of colour vision distinguish; heights, caps and the words in legend and
// details say the same without colour.

import { categoryLook, isQuiet } from "./categories";

export interface Look {
  /** A colour of style/base.css. */
  ink: string;
  /** Share of the row's height, where height does not show the duration. */
  height: number;
  /** Wears a dark cap, so that it stands out without its colour. */
  capped?: boolean;
}

const LOOKS: Record<string, Look> = {
  young: { ink: "c1", height: 0.62 },
  mixed: { ink: "c4", height: 0.8 },
  full: { ink: "c2", height: 1, capped: true },
  "other pause": { ink: "c5", height: 0.42 },
  concurrent: { ink: "c3", height: 0.5 },
  stall: { ink: "c2", height: 1, capped: true },
  C1: { ink: "c5", height: 0.6 },
  C2: { ink: "c1", height: 1 },
  "compiler unknown": { ink: "quiet", height: 0.8 },
  "made not entrant": { ink: "c1", height: 0.6 },
  "uncommon trap": { ink: "c2", height: 1 },
  "dependency broken": { ink: "c4", height: 0.8 },
  "compile failed": { ink: "c6", height: 0.9 },
  monitor: { ink: "c4", height: 0.85 },
  "Object.wait": { ink: "c5", height: 0.5 },
  park: { ink: "c1", height: 0.5 },
  "native lock": { ink: "c2", height: 0.85 },
};

const PARTS: Record<string, Look> = {
  "reaching the safepoint": { ink: "c2", height: 1 },
  "clean-up": { ink: "c6", height: 0.8 },
  "at the safepoint": { ink: "c1", height: 0.7 },
  leaving: { ink: "c4", height: 0.8 },
};

const REST: Look = { ink: "quiet", height: 0.6 };
const ORDER = ["c1", "c2", "c3", "c4", "c5", "c6"];

export function classLook(name: string, index: number): Look {
  const category = categoryLook(name);
  // Where rows are thin, waiting for work is a line and what a thread had to wait for is tall.
  if (category) return { ink: category.ink, height: isQuiet(name) ? 0.3 : 0.85 };
  return LOOKS[name] ?? { ink: ORDER[index % ORDER.length], height: 0.7 };
}

export function partLook(name: string | undefined): Look {
  return (name === undefined ? undefined : PARTS[name]) ?? REST;
}

export function lineInk(index: number): string {
  return ORDER[index % ORDER.length];
}
