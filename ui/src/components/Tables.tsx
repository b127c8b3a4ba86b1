// Tables of what the window holds: frames, threads, and the spans of each lane by
// cause, file, peer, method.

import { useMemo } from "preact/hooks";

import type { Page } from "../context";
import { lowerBound } from "../decimate";
import { type FrameRow, frames } from "../flame/frames";
import { look } from "../flame/looks";
import { verdict, weight } from "../flame/words";
import { count, duration, quantity, share } from "../format";
import { useChoice } from "../hooks";
import type { SpanLane } from "../model";
import { type Panel, type PanelProps, PanelSection } from "../panel";
import type { SampleKind } from "../samples/table";
import { SpanIndex } from "../spans";
import { type CountRow, countRows, type GroupRow, groupings, groupRows, keyOf } from "../tables";
import type { Range } from "../view";
import { type Column, DataTable } from "./DataTable";
import { stacksOf } from "./Stacks";

const FRAMES = "frames";
const THREADS = "threads";
/** Begins the id of a table of counts. */
const COUNTED = "counted:";
const COUNTED_BY = ["name", "thread"];

export const tables: Panel = {
  id: "tables",
  title: "Tables",
  side: "show",
  digit: "4",
  shows: ({ samples, lanes }) =>
    samples.kinds.length > 0 ||
    lanes.counted.length > 0 ||
    lanes.groups.some((group) => group.lanes.some((lane) => lane.type === "spans")),
  Component: Tables,
};

function Tables({ page }: PanelProps) {
  const choice = useChoice(page);
  const lanes = useMemo(
    () =>
      page.lanes.groups.flatMap((g) =>
        g.lanes.filter((l): l is SpanLane => l.type === "spans").map((lane) => ({ lane, group: g.name })),
      ),
    [page],
  );
  const sampled = page.samples.kinds.length > 0;
  const several = page.lanes.groups.length > 2;
  const groups = useMemo(
    (): { label: string; tables: { id: string; title: string }[] }[] => [
      ...(sampled
        ? [
            {
              label: "Samples",
              tables: [
                { id: FRAMES, title: "Top frames" },
                { id: THREADS, title: "Threads by samples" },
              ],
            },
          ]
        : []),
      ...page.lanes.counted.map((c) => ({
        label: several ? `${c.process}: ${c.title}` : c.title,
        tables: COUNTED_BY.map((by) => ({ id: `${COUNTED}${c.id}|${by}`, title: `${c.title} by ${by}` })),
      })),
      ...lanes.map(({ lane, group }) => ({
        label: several ? `${group}: ${lane.title}` : lane.title,
        tables: groupings(lane).map((g) => ({ id: `${lane.id}|${g.id}`, title: `${lane.title} by ${g.title}` })),
      })),
    ],
    [page, lanes, sampled],
  );
  const all = groups.flatMap((g) => g.tables);
  const id = all.find((t) => t.id === choice.table)?.id ?? all[0]?.id;
  if (id === undefined) return null;
  return (
    <PanelSection
      panel={tables}
      head={
        <>
          <p class="quiet">
            of {page.inWords(page.windows())}
            {page.base().length > 0 && "; baseline scaled to the length of the window"}
          </p>
          <div class="tools">
            <label>
              Table{" "}
              <select
                class="wide"
                value={id}
                data-control="table"
                onChange={(e) => page.state.set({ table: e.currentTarget.value, sort: "", filter: "" })}
              >
                {groups.map((g) => (
                  <optgroup key={g.label} label={g.label}>
                    {g.tables.map((t) => (
                      <option key={t.id} value={t.id}>
                        {t.title}
                      </option>
                    ))}
                  </optgroup>
                ))}
              </select>
            </label>
          </div>
        </>
      }
    >
      {id === FRAMES ? (
        <FrameTable page={page} />
      ) : id === THREADS ? (
        <ThreadTable page={page} />
      ) : id.startsWith(COUNTED) ? (
        <CountTable key={id} page={page} id={id.slice(COUNTED.length)} />
      ) : (
        <SpanTable
          key={id}
          page={page}
          lane={lanes.find(({ lane }) => id.startsWith(`${lane.id}|`))?.lane ?? lanes[0].lane}
          by={id.slice(id.lastIndexOf("|") + 1)}
        />
      )}
    </PanelSection>
  );
}

function SpanTable({ page, lane, by }: { page: Page; lane: SpanLane; by: string }) {
  const index = SpanIndex.of(lane);
  const [windows, base] = [page.windows(), page.base()];
  const key = JSON.stringify([windows, base]);
  const rows = useMemo(
    () => groupRows(index, windows, base, keyOf(lane, by, page.lanes.strings, page.samples.threads)),
    [index, by, key],
  );
  const lasting = index.longestNs > 0;
  const time = (title: string, value: (r: GroupRow) => number): Column<GroupRow> => ({
    title,
    unit: "ns",
    value,
    text: (r) => (Number.isNaN(value(r)) ? "" : duration(value(r))),
  });
  const columns: Column<GroupRow>[] = [
    { title: groupings(lane).find((g) => g.id === by)?.title ?? by, value: (r) => r.key },
    { title: "count", value: (r) => r.count, text: (r) => count(r.count) },
    ...(lasting
      ? [
          time("total", (r) => r.totalNs),
          time("mean", (r) => r.meanNs),
          time("median", (r) => r.medianNs),
          time("p99", (r) => r.p99Ns),
        ]
      : []),
    ...(lasting
      ? [{ ...time("longest", (r) => r.maxNs), link: (r: GroupRow) => page.linkTo(r.longestAt + page.lanes.originNs) }]
      : []),
    ...(base.length > 0
      ? [
          {
            title: "baseline count",
            value: (r: GroupRow) => r.baseCount ?? NaN,
            text: (r: GroupRow) => quantity(Math.round((r.baseCount ?? 0) * 10) / 10, ""),
          },
        ]
      : []),
    ...(base.length > 0 && lasting
      ? [time("baseline total", (r) => r.baseTotalNs ?? NaN), time("more", (r) => r.totalNs - (r.baseTotalNs ?? 0))]
      : []),
  ];
  return (
    <>
      {lane.note !== "" && <p class="note">{lane.note}</p>}
      <DataTable page={page} columns={columns} rows={rows} label={`${lane.title} by ${by}`} sortBy={lasting ? 2 : 1} />
    </>
  );
}

function CountTable({ page, id }: { page: Page; id: string }) {
  const at = id.lastIndexOf("|");
  const [name, by] = [id.slice(0, at), id.slice(at + 1)];
  const table = page.lanes.counted.find((c) => c.id === name);
  const [windows, base] = [page.windows(), page.base()];
  const key = JSON.stringify([windows, base]);
  const rows = useMemo(() => {
    const { strings } = page.lanes;
    const nameOf =
      by === "thread"
        ? (i: number): string => page.samples.threads[(table?.thread[i] ?? 0) - 1]?.name ?? "threads with few"
        : (i: number): string => strings[table?.name[i] ?? -1] ?? "";
    return table ? countRows(table, windows, base, nameOf) : [];
  }, [table, by, key]);
  if (!table) return null;
  const times = (value: number): string => quantity(Math.round(value * 10) / 10, "");
  const columns: Column<CountRow>[] = [
    { title: by, value: (r) => r.key },
    { title: "count", value: (r) => r.count, text: (r) => times(r.count) },
    { title: "time", unit: "ns", value: (r) => r.timeNs, text: (r) => duration(r.timeNs) },
    {
      title: "mean",
      unit: "ns",
      value: (r) => r.timeNs / r.count,
      text: (r) => (r.count > 0 ? duration(r.timeNs / r.count) : ""),
    },
    ...(base.length > 0
      ? [
          {
            title: "baseline count",
            value: (r: CountRow) => r.baseCount ?? NaN,
            text: (r: CountRow) => times(r.baseCount ?? 0),
          },
          {
            title: "baseline time",
            unit: "ns",
            value: (r: CountRow) => r.baseTimeNs ?? NaN,
            text: (r: CountRow) => duration(r.baseTimeNs ?? 0),
          },
          {
            title: "more",
            unit: "ns",
            value: (r: CountRow) => r.timeNs - (r.baseTimeNs ?? 0),
            text: (r: CountRow) => duration(r.timeNs - (r.baseTimeNs ?? 0)),
          },
        ]
      : []),
  ];
  return (
    <>
      {table.note !== "" && <p class="note">{table.note}</p>}
      <DataTable page={page} columns={columns} rows={rows} label={`${table.title} by ${by}`} sortBy={2} />
    </>
  );
}

function FrameTable({ page }: { page: Page }) {
  const data = stacksOf(page);
  const rows = useMemo(() => (data ? frames(data).filter((r) => look(r.type).tag !== "") : []), [data]);
  if (!data) return null;
  const whole = data.total[0];
  const columns: Column<FrameRow>[] = [
    { title: "Frame", value: (r) => data.names[r.name] },
    { title: "type", value: (r) => look(r.type).tag },
    { title: "self", unit: data.unit, value: (r) => r.self, text: (r) => weight(data, r.self) },
    { title: "self %", unit: "share", value: (r) => r.self / whole, text: (r) => share(r.self / whole) },
    { title: "total", unit: data.unit, value: (r) => r.total, text: (r) => weight(data, r.total) },
    { title: "total %", unit: "share", value: (r) => r.total / whole, text: (r) => share(r.total / whole) },
    ...(data.base
      ? [
          {
            title: "self, baseline",
            unit: data.unit,
            value: (r: FrameRow) => r.selfChange?.base ?? NaN,
            text: (r: FrameRow) => weight(data, r.selfChange?.base ?? 0),
          },
          { title: "verdict", value: (r: FrameRow) => (r.selfChange ? verdict(r.selfChange) : "") },
        ]
      : []),
  ];
  return <DataTable page={page} columns={columns} rows={rows} label={`Frames of ${data.kind} samples`} sortBy={2} />;
}

interface ThreadRow {
  name: string;
  role: string;
  process: string;
  here: number;
  base: number;
  count: number;
}

function ThreadTable({ page }: { page: Page }) {
  const { samples } = page;
  const kind = samples.kinds.find((k) => k.kind === page.state.now.kind) ?? samples.kinds[0];
  const [windows, base] = [page.windows(), page.base()];
  const key = JSON.stringify([kind.kind, windows, base]);
  const rows = useMemo(() => threadRows(page, kind, windows, base), [page, key]);
  const whole = rows.reduce((sum, r) => sum + r.here, 0);
  const unit = kind.unit === "count" ? "" : kind.unit;
  const columns: Column<ThreadRow>[] = [
    { title: "Thread", value: (r) => r.name },
    { title: "role", value: (r) => r.role },
    { title: "process", value: (r) => r.process },
    { title: "samples", value: (r) => r.count, text: (r) => count(r.count) },
    { title: kind.kind, unit: kind.unit, value: (r) => r.here, text: (r) => quantity(r.here, unit) },
    { title: "share", value: (r) => r.here / whole, text: (r) => share(r.here / whole) },
    ...(base.length > 0
      ? [
          {
            title: "baseline",
            unit: kind.unit,
            value: (r: ThreadRow) => r.base,
            text: (r: ThreadRow) => quantity(r.base, unit),
          },
        ]
      : []),
  ];
  return <DataTable page={page} columns={columns} rows={rows} label={`Threads by ${kind.kind} samples`} sortBy={4} />;
}

function threadRows(page: Page, kind: SampleKind, windows: Range[], base: Range[]): ThreadRow[] {
  const n = page.samples.threads.length + 1;
  const sum = (ranges: Range[]): { weight: Float64Array; count: Float64Array } => {
    const out = { weight: new Float64Array(n), count: new Float64Array(n) };
    for (const { from, to } of ranges) {
      for (let i = lowerBound(kind.t, from), end = lowerBound(kind.t, to); i < end; i++) {
        out.weight[kind.thread[i]] += kind.weight[i];
        out.count[kind.thread[i]]++;
      }
    }
    return out;
  };
  const length = (ranges: Range[]): number => ranges.reduce((a, r) => a + r.to - r.from, 0);
  const [here, there] = [sum(windows), sum(base)];
  const scale = base.length > 0 ? length(windows) / length(base) : 0;
  const rows = page.samples.threads.map(
    (t, i): ThreadRow => ({
      name: t.name,
      role: t.role,
      process: t.process,
      here: here.weight[i + 1],
      base: there.weight[i + 1] * scale,
      count: here.count[i + 1],
    }),
  );
  rows.push({
    name: "no thread known",
    role: "",
    process: "",
    here: here.weight[0],
    base: there.weight[0] * scale,
    count: here.count[0],
  });
  return rows.filter((r) => r.count > 0 || r.base > 0);
}
