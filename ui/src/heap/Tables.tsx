// Everything of the dump as tables: classes, packages, loaders, threads, waste,
// references, buffers, roots.

import { useState } from "preact/hooks";

import { type Column, SortTable } from "../components/SortTable";
import { Tabs } from "../components/Tabs";
import { count } from "../format";
import type { Thread } from "../generated/heap";
import type { Group, Groups, HeapPage } from "./data";
import { bytes, objectsOf, part } from "./words";

type Id = "classes" | "packages" | "loaders" | "threads" | "waste" | "references" | "roots";

const TABS: { id: Id; title: string }[] = [
  { id: "classes", title: "Classes" },
  { id: "packages", title: "Packages" },
  { id: "loaders", title: "Class loaders" },
  { id: "threads", title: "Threads" },
  { id: "waste", title: "Waste" },
  { id: "references", title: "References and buffers" },
  { id: "roots", title: "Roots" },
];

const ABOUT: Record<Id, string> = {
  classes:
    "Shallow is what the objects take themselves; retained what would go with them, of several that keep one another once. What objects keep only together is in neither.",
  packages: "By what objects of their classes keep.",
  loaders: "By what objects of the classes keep that they defined.",
  threads: "Stack alone: held by local variables and by nothing else.",
  waste: "What the same content could do without.",
  references: "Reference objects and finalizers, and direct buffers, whose memory is outside of the heap.",
  roots: "Why an object is held at all.",
};

interface Props {
  page: HeapPage;
  onFind: (name: string) => void;
  onShow: (node: number) => void;
}

export function Tables({ page, onFind, onShow }: Props) {
  const [tab, setTab] = useState<Id>("classes");
  return (
    <section aria-labelledby="tables-title">
      <div class="panel-head">
        <h2 id="tables-title">Tables</h2>
        <Tabs label="Tables" prefix="heap" tabs={TABS} chosen={tab} onChoose={setTab} />
      </div>
      <div role="tabpanel" id="heap-panel" aria-labelledby={`heap-tab-${tab}`} key={tab} data-heap="table">
        <p class="quiet about-table">{ABOUT[tab]}</p>
        <Panel page={page} tab={tab} onFind={onFind} onShow={onShow} />
      </div>
    </section>
  );
}

function Panel({ page, tab, onFind, onShow }: Props & { tab: Id }) {
  switch (tab) {
    case "classes":
      return <GroupTable page={page} groups={page.classes} what="Class" many="classes" onFind={onFind} />;
    case "packages":
      return <GroupTable page={page} groups={page.packages} what="Package" many="packages" />;
    case "loaders":
      return <GroupTable page={page} groups={page.loaders} what="Class loader" many="class loaders" />;
    case "threads":
      return <Threads page={page} onShow={onShow} />;
    case "waste":
      return (
        <Plain
          label="Waste"
          sortBy={2}
          rows={page.waste}
          columns={[
            { title: "What", value: (row) => row.what },
            { title: "Count", value: (row) => row.count, text: (row) => count(row.count) },
            { title: "Bytes", value: (row) => row.bytes, text: (row) => bytes(row.bytes), unit: "bytes" },
            { title: "Meaning", value: (row) => row.meaning, words: true },
          ]}
        />
      );
    case "references":
      return (
        <>
          <Counted label="References and finalizers" rows={page.references} />
          {(page.buffers.owners.length > 0 || page.buffers.unreachable > 0) && (
            <>
              <h3 class="about-table">{page.buffers.title}</h3>
              {page.buffers.unreachable > 0 && (
                <p class="quiet">
                  {bytes(page.buffers.unreachable)} of buffers that nothing reaches, given back when these are collected
                </p>
              )}
              <Plain
                label="Direct buffers"
                sortBy={2}
                rows={page.buffers.owners}
                columns={[
                  { title: "Kept by", value: (row) => row.name },
                  { title: "Buffers", value: (row) => row.count, text: (row) => count(row.count) },
                  { title: "Capacity", value: (row) => row.bytes, text: (row) => bytes(row.bytes), unit: "bytes" },
                ]}
              />
            </>
          )}
        </>
      );
    case "roots":
      return <Counted label="Roots" rows={page.roots} />;
  }
}

/** A table that keeps its own order and filter. */
function Plain<Row>(table: { columns: Column<Row>[]; rows: Row[]; label: string; sortBy: number; showTitle?: string }) {
  const [sort, setSort] = useState("");
  const [filter, setFilter] = useState("");
  return <SortTable {...table} sort={sort} filter={filter} onSort={setSort} onFilter={setFilter} />;
}

function Counted({ rows, label }: { rows: { what: string; count: number }[]; label: string }) {
  return (
    <Plain
      label={label}
      sortBy={1}
      rows={rows}
      columns={[
        { title: "What", value: (row) => row.what },
        { title: "Count", value: (row) => row.count, text: (row) => count(row.count) },
      ]}
    />
  );
}

function GroupTable({
  page,
  groups,
  what,
  many,
  onFind,
}: {
  page: HeapPage;
  groups: Groups;
  what: string;
  many: string;
  onFind?: (name: string) => void;
}) {
  const whole = page.size.bytes;
  const columns: Column<Group>[] = [
    {
      title: what,
      value: (row) => row.name || "(no package)",
      ...(onFind ? { show: (row: Group) => () => onFind(row.name) } : {}),
    },
    { title: "Objects", value: (row) => row.objects, text: (row) => count(row.objects) },
    { title: "Shallow", value: (row) => row.shallow, text: (row) => bytes(row.shallow), unit: "bytes" },
    { title: "Retained", value: (row) => row.retained, text: (row) => bytes(row.retained), unit: "bytes" },
    { title: "Of the heap", value: (row) => row.retained / whole, text: (row) => part(row.retained, whole) },
  ];
  return (
    <>
      <Plain label={many} sortBy={3} rows={groups.rows} columns={columns} showTitle="find" />
      {groups.leftOut > 0 && (
        <p class="quiet">
          Not in this page: {count(groups.leftOut)} more {many} that keep less, with {objectsOf(groups.leftOutObjects)}{" "}
          in {bytes(groups.leftOutShallow)}.
        </p>
      )}
    </>
  );
}

function Threads({ page, onShow }: { page: HeapPage; onShow: (node: number) => void }) {
  const columns: Column<Thread>[] = [
    {
      title: "Thread",
      value: (row) => row.name,
      show: (row) => (row.node === null ? null : () => onShow(row.node as number)),
    },
    { title: "Retained", value: (row) => row.retained, text: (row) => bytes(row.retained), unit: "bytes" },
    { title: "Stack alone", value: (row) => row.stack, text: (row) => bytes(row.stack), unit: "bytes" },
    { title: "Frame that holds most", value: (row) => row.frame, words: true },
    {
      title: "Of it",
      value: (row) => row.frame_bytes,
      text: (row) => (row.frame === "" ? "" : bytes(row.frame_bytes)),
      unit: "bytes",
    },
    { title: "Top of its stack", value: (row) => row.top, words: true },
    { title: "Class", value: (row) => row.class, words: true },
  ];
  return (
    <>
      <Plain label="Threads" sortBy={1} rows={page.threads} columns={columns} showTitle="show" />
      {page.threads_left_out > 0 && (
        <p class="quiet">Not in this page: {count(page.threads_left_out)} more threads that keep less.</p>
      )}
    </>
  );
}
