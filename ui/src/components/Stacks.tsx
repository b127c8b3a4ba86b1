// The stacks of the window: flame graph, order in time, what came and what went.

import { useMemo } from "preact/hooks";

import type { Page } from "../context";
import { stackExports } from "../export";
import type { FlameData } from "../flame/data";
import { FlameGraph } from "../flame/FlameGraph";
import { count } from "../format";
import { useChoice } from "../hooks";
import { type Panel, type PanelProps, PanelSection } from "../panel";
import { poolOf } from "../pools";
import { aggregate, type Query } from "../samples/aggregate";
import type { Normalisation } from "../samples/significance";
import { filterOf } from "../samples/threadFilter";
import { STACK_VIEWS, type StackView } from "../state";
import { Changes } from "./Changes";
import { Tabs } from "./Tabs";
import { TimeOrder } from "./TimeOrder";

const TITLES: Record<StackView, string> = {
  flame: "Flame graph",
  order: "In order of time",
  changes: "What came, what went",
};
const NORMALISATIONS: [Normalisation, string][] = [
  ["wall", "per second"],
  ["share", "share of all"],
  ["operation", "per operation"],
];

export const stacks: Panel = {
  id: "stacks",
  title: "Stacks",
  side: "show",
  digit: "2",
  shows: (page) => page.samples.kinds.length > 0,
  exports: (page) => stackExports(page, () => stacksOf(page)),
  Component: Stacks,
};

function Stacks({ page, theme }: PanelProps) {
  const choice = useChoice(page);
  const { samples } = page;
  const at = Math.max(
    0,
    samples.kinds.findIndex((k) => k.kind === choice.kind),
  );
  const kind = samples.kinds[at];
  const base = page.base();
  const data = stacksOf(page);
  if (!kind || !data) return null;
  const set = page.state.set.bind(page.state);
  const view = choice.stackView === "changes" && !data.base ? "flame" : choice.stackView;
  return (
    <PanelSection
      panel={stacks}
      head={
        <>
          <Tabs
            label="View of the stacks"
            prefix="stacks"
            chosen={view}
            onChoose={(stackView) => set({ stackView })}
            tabs={STACK_VIEWS.filter((v) => v !== "changes" || data.base).map((id) => ({ id, title: TITLES[id] }))}
          />
          <div class="tools">
            <label>
              Samples{" "}
              <select
                value={at}
                data-control="kind"
                onChange={(e) => set({ kind: samples.kinds[Number(e.currentTarget.value)]?.kind ?? "" })}
              >
                {samples.kinds.map((k, i) => (
                  <option key={k.kind} value={i}>{`${k.kind} (${count(k.samples)})`}</option>
                ))}
              </select>
            </label>
            <ThreadChoice page={page} />
            <label>
              <input
                type="checkbox"
                checked={choice.perThread}
                onChange={(e) => set({ perThread: e.currentTarget.checked })}
              />{" "}
              per thread
            </label>
            {base.length > 0 && (
              <label>
                Compared{" "}
                <select
                  value={choice.normalisation}
                  data-control="normalisation"
                  onChange={(e) => set({ normalisation: e.currentTarget.value as Normalisation })}
                >
                  {NORMALISATIONS.filter(([n]) => n !== "operation" || page.countsOperations).map(([n, words]) => (
                    <option key={n} value={n}>
                      {words}
                    </option>
                  ))}
                </select>
              </label>
            )}
          </div>
        </>
      }
    >
      <p class="about quiet" data-about="stacks">
        {count(data.samples)} samples in {data.label}
        {data.base && `, compared with ${data.base.label}, ${data.base.normalised}; what is within noise is grey`}
      </p>
      <div role="tabpanel" id="stacks-panel" aria-labelledby={`stacks-tab-${view}`}>
        {data.samples === 0 && !data.base ? (
          <p class="nothing">No sample of this kind lies in the window.</p>
        ) : view === "order" ? (
          <TimeOrder page={page} theme={theme} kind={at} />
        ) : view === "changes" ? (
          <Changes data={data} />
        ) : (
          <FlameGraph data={data} theme={theme} inverted={choice.inverted} search={choice.search} onShown={set} />
        )}
      </div>
    </PanelSection>
  );
}

const LAST = new WeakMap<Page, { key: string; data: FlameData }>();

/** The call tree of what is chosen; the same as long as nothing else is chosen. */
export function stacksOf(page: Page): FlameData | null {
  const { now } = page.state;
  const table = page.chosenSamples();
  const wanted = page.samples.kinds.find((k) => k.kind === now.kind) ?? page.samples.kinds[0];
  const at = table.kinds.findIndex((k) => k.kind === wanted?.kind);
  if (at < 0) return null;
  const key = JSON.stringify([
    table === page.samples,
    at,
    page.windows(),
    page.base(),
    now.threads,
    now.perThread,
    now.normalisation,
  ]);
  let last = LAST.get(page);
  if (last?.key !== key) LAST.set(page, (last = { key, data: aggregate(table, query(page, at)) }));
  return last.data;
}

function query(page: Page, kind: number): Query {
  const { threads, perThread, normalisation } = page.state.now;
  const base = page.base();
  return {
    kind,
    windows: page.windows(),
    base,
    threads: filterOf(page),
    perThread,
    normalisation: normalisation === "operation" && !page.countsOperations ? "wall" : normalisation,
    operations: (from, to) => page.operations(from, to),
    label:
      page.inWords(page.windows()) +
      (threads.length > 0
        ? `, ${threads.length === 1 ? threadName(page, threads[0]) : `${threads.length} threads`}`
        : ""),
    baseLabel: page.inWords(base),
  };
}

export function threadName(page: Page, number: number): string {
  return page.samples.threads[number - 1]?.name ?? "no thread known";
}

/** All threads, one, or those of one name but for its numbers (a pool). */
function ThreadChoice({ page }: { page: Page }) {
  const { threads } = page.samples;
  const pools = useMemo(() => {
    const found = new Map<string, number[]>();
    threads.forEach((t, i) => {
      const pool = poolOf(t.name);
      found.set(pool, [...(found.get(pool) ?? []), i + 1]);
    });
    return [...found].filter(([, members]) => members.length > 1).sort((a, b) => b[1].length - a[1].length);
  }, [threads]);
  const value = page.state.now.threads.join(",");
  const known = value === "" || pools.some(([, members]) => members.join(",") === value) || /^\d+$/.test(value);
  return (
    <label>
      Threads{" "}
      <select
        class="threads"
        value={value}
        data-control="threads"
        onChange={(e) =>
          page.state.set({ threads: e.currentTarget.value === "" ? [] : e.currentTarget.value.split(",").map(Number) })
        }
      >
        <option value="">all {threads.length}</option>
        {!known && <option value={value}>{page.state.now.threads.length} threads</option>}
        {pools.length > 0 && (
          <optgroup label="Pools">
            {pools.map(([pool, members]) => (
              <option key={pool} value={members.join(",")}>{`${pool} (${members.length})`}</option>
            ))}
          </optgroup>
        )}
        <optgroup label="One">
          {threads.map((t, i) => (
            <option key={i} value={String(i + 1)}>
              {t.tid === null ? t.name : `${t.name} · ${t.tid}`}
            </option>
          ))}
        </optgroup>
      </select>
    </label>
  );
}
