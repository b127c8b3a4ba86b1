// The data of a page that came from `fathom serve`: asked for in parts, and again while
// the recording grows.

import type { Page } from "./context";
import type { Diagnosis } from "./generated/diagnosis";
import type { ServerState } from "./generated/served";
import type { Lanes } from "./model";
import { readLanes, unpack } from "./payload";
import { parsePrintable } from "./printable";
import { readSamples, type SampleTable } from "./samples/table";
import type { Range } from "./view";

/** How often a recording that grows is asked after. */
const ASK_EVERY_MS = 3000;
/** The samples of a window are asked for when the brush has come to rest. */
const REST_MS = 60;

export function isServed(): boolean {
  return document.getElementById("fathom-served") !== null;
}

export interface Parts {
  diagnosis: Diagnosis;
  lanes: Lanes;
  samples: SampleTable;
}

async function get(path: string): Promise<Response> {
  const response = await fetch(path, { cache: "no-store" });
  if (!response.ok) throw new Error(`the server answers ${response.status} to ${path}`);
  return response;
}

async function bytes(path: string): Promise<Uint8Array> {
  return unpack(new Uint8Array(await (await get(path)).arrayBuffer()));
}

export async function serverState(): Promise<ServerState> {
  return (await (await get("state")).json()) as ServerState;
}

export async function fetchParts(): Promise<Parts> {
  const [diagnosis, lanes, samples] = await Promise.all([
    get("diagnosis").then((r) => r.text()),
    bytes("lanes"),
    bytes("samples"),
  ]);
  return { diagnosis: parsePrintable(diagnosis) as Diagnosis, lanes: readLanes(lanes), samples: readSamples(samples) };
}

/** Looks that in a row get no answer before the server counts as gone: it may be busy reading. */
const GONE_AFTER = 3;

/**
 * Calls back with each version of the data that there is after the first, until the recording is
 * finished, and with whether the server still answers whenever that changes.
 */
export function follow(
  first: ServerState,
  onState: (state: ServerState) => Promise<void>,
  reached: (answers: boolean) => void,
): void {
  let known = first.version;
  let silent = 0;
  const ask = async (): Promise<void> => {
    try {
      const state = await serverState();
      if (silent >= GONE_AFTER) reached(true);
      silent = 0;
      if (state.version !== known) {
        known = state.version;
        await onState(state);
      }
      if (!state.live) return;
    } catch {
      // The server was ended, or is busy reading: it may come back.
      silent += 1;
      if (silent === GONE_AFTER) reached(false);
    }
    setTimeout(() => void ask(), ASK_EVERY_MS);
  };
  if (first.live) setTimeout(() => void ask(), ASK_EVERY_MS);
}

/** Fetches the samples of what is chosen in full, where the page holds thinned ones. */
export function refine(page: Page): () => void {
  if (!page.samples.kinds.some((kind) => kind.note !== "")) return () => {};
  let timer = 0;
  const ask = async (): Promise<void> => {
    const key = page.rangesKey();
    if (page.exact?.key === key) return;
    const origin = BigInt(page.lanes.originNs);
    const bounds = (r: Range): string => `${origin + BigInt(Math.floor(r.from))}..${origin + BigInt(Math.ceil(r.to))}`;
    try {
      const table = readSamples(await bytes(`samples/${[...page.windows(), ...page.base()].map(bounds).join(",")}`));
      if (page.rangesKey() !== key) return;
      page.exact = { key, table };
      page.state.set({});
      // What the measurements wait for: two frames on, everything has been drawn with it.
      requestAnimationFrame(() => requestAnimationFrame(() => performance.mark("fathom-exact")));
    } catch {
      // What the page holds is shown: thinned, and it says so.
    }
  };
  const stop = page.state.subscribe(() => {
    clearTimeout(timer);
    timer = window.setTimeout(() => void ask(), REST_MS);
  });
  void ask();
  return () => {
    clearTimeout(timer);
    stop();
  };
}
