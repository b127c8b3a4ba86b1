// The picture with what belongs to it: search, the way down to what is shown, legend, details.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { pathTo } from "../flame/layout";
import { exactly, expression } from "../flame/search";
import { count } from "../format";
import { Details } from "./Details";
import { type HeapPage, SORTS } from "./data";
import { HeapHelp } from "./Help";
import { Icicle, isBelow } from "./Icicle";
import { search } from "./search";
import { bytes, labelOf, nameOf, objectsOf, part, SORT_WORDS, said } from "./words";

/** The search runs when typing has come to rest. */
const REST_MS = 120;

interface Props {
  page: HeapPage;
  /** Node that fills the width, and the one whose details are shown. */
  root: number;
  chosen: number;
  query: string;
  onRoot: (node: number) => void;
  onChoose: (node: number) => void;
  onQuery: (query: string) => void;
  onTheme: () => void;
}

export function Picture({ page, root, chosen, query, onRoot, onChoose, onQuery, onTheme }: Props) {
  const { tree } = page;
  const box = useRef<HTMLInputElement>(null);
  const section = useRef<HTMLElement>(null);
  const [typed, setTyped] = useState(query);
  const [help, setHelp] = useState(false);
  const pattern = useMemo(() => expression(query), [query]);
  const matches = useMemo(() => (pattern ? search(tree, pattern, root) : null), [tree, pattern, root]);
  const suspects = useMemo(
    () => new Set(page.holders.filter((h) => h.suspect && h.node !== null).map((h) => h.node as number)),
    [page],
  );
  const sorts = useMemo(() => SORTS.filter((_, code) => code > 0 && tree.sort.includes(code)), [tree]);

  useEffect(() => setTyped(query), [query]);
  useEffect(() => {
    const timer = window.setTimeout(() => onQuery(typed), REST_MS);
    return () => clearTimeout(timer);
  }, [typed]);

  /** Chooses a node and zooms so that it is in sight. */
  const show = (node: number): void => {
    if (!isBelow(tree, node, root) || tree.retained[node] * 40 < tree.retained[root]) {
      let up = node;
      while (up > 0 && tree.retained[up] < tree.retained[node] * 20) up = tree.parent[up];
      onRoot(up);
    }
    onChoose(node);
  };
  const step = (direction: 1 | -1): void => {
    const nodes = matches?.nodes ?? [];
    if (nodes.length === 0) return;
    const at = nodes.indexOf(chosen);
    show(nodes[at < 0 ? (direction === 1 ? 0 : nodes.length - 1) : (at + direction + nodes.length) % nodes.length]);
  };
  const onEscape = (): void => {
    if (typed !== "") {
      setTyped("");
      onQuery("");
    } else if (root > 0) {
      onChoose(root);
      onRoot(tree.parent[root]);
    } else onChoose(0);
  };
  const actions: Record<string, () => void> = {
    Escape: onEscape,
    "0": () => {
      onRoot(0);
      onChoose(0);
    },
    "/": () => box.current?.focus(),
    n: () => step(1),
    N: () => step(-1),
    d: onTheme,
    "?": () => setHelp(true),
  };
  const onKey = (event: KeyboardEvent): void => {
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  };
  // Keys work also while the focus is nowhere in particular.
  const keys = useRef(onKey);
  keys.current = onKey;
  useEffect(() => {
    const anywhere = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
      if (document.activeElement !== document.body && document.activeElement !== null) return;
      const down = event.key === "ArrowDown" || event.key === "Enter";
      if (down) {
        event.preventDefault();
        section.current?.querySelector<HTMLElement>("[role=treeitem][tabindex='0']")?.focus();
      } else keys.current(event);
    };
    window.addEventListener("keydown", anywhere);
    return () => window.removeEventListener("keydown", anywhere);
  }, []);

  const found =
    pattern && matches
      ? matches.nodes.length === 0
        ? "no box matches"
        : `${bytes(matches.retained)} (${part(matches.retained, tree.retained[root])}${root > 0 ? " of what is shown" : ""}) retained by ${count(matches.inside)} ${matches.inside === 1 ? "box" : "boxes"}, ${objectsOf(matches.objects)}`
      : query !== "" && !pattern
        ? "not a regular expression"
        : "";
  const all = useMemo(() => {
    if (!pattern) return "";
    const rows = page.classes.rows.filter((row) => pattern.test(row.name));
    const [objects, shallow] = rows.reduce(([n, b], row) => [n + row.objects, b + row.shallow], [0, 0]);
    return rows.length === 0
      ? ""
      : `wherever they are: ${count(rows.length)} ${rows.length === 1 ? "class" : "classes"}, ${objectsOf(objects)} that take ${bytes(shallow)} themselves`;
  }, [pattern, page]);

  return (
    <section class="picture" ref={section} aria-labelledby="picture-title">
      <div class="panel-head">
        <h2 id="picture-title">Who keeps what</h2>
        <div class="flame-tools" role="toolbar" aria-label="Picture">
          <label>
            <span class="unseen">Search classes (a regular expression)</span>
            <input
              ref={box}
              type="search"
              placeholder="Search classes: regular expression"
              value={typed}
              class={query !== "" && !pattern ? "wrong" : ""}
              onInput={(event) => setTyped(event.currentTarget.value)}
              onKeyDown={(event) => {
                if (event.key === "Escape") onEscape();
                if (event.key === "Enter") onQuery(event.currentTarget.value);
                if (event.key === "Escape" || event.key === "Enter")
                  section.current?.querySelector<HTMLElement>("[role=treeitem][tabindex='0']")?.focus();
              }}
            />
          </label>
          <button
            type="button"
            disabled={!matches || matches.nodes.length === 0}
            onClick={() => step(-1)}
            aria-label="Previous match"
          >
            ‹
          </button>
          <button
            type="button"
            disabled={!matches || matches.nodes.length === 0}
            onClick={() => step(1)}
            aria-label="Next match"
          >
            ›
          </button>
          <div class="end">
            <button type="button" disabled={root === 0} onClick={() => onRoot(tree.parent[root])}>
              One step out
            </button>
            <button type="button" disabled={root === 0} onClick={() => onRoot(0)}>
              Whole heap
            </button>
            <button type="button" aria-haspopup="dialog" onClick={() => setHelp(true)}>
              Keys
            </button>
          </div>
        </div>
      </div>
      <p class="heap-found" role="status" data-heap="found">
        {[found, all].filter(Boolean).join("; ")}
      </p>
      <nav class="crumbs" aria-label="Way down to what is shown" data-heap="crumbs">
        <ol>
          {pathTo(tree, root).map((at) => (
            <li key={at}>
              {at === root ? (
                <span aria-current="location" title={nameOf(tree, at)}>
                  {labelOf(tree, at)}
                </span>
              ) : (
                <button type="button" class="as-link" title={nameOf(tree, at)} onClick={() => onRoot(at)}>
                  {labelOf(tree, at)}
                </button>
              )}
            </li>
          ))}
        </ol>
      </nav>
      <div class="picture-parts">
        <div>
          <Icicle
            tree={tree}
            root={root}
            chosen={chosen}
            matches={matches?.is ?? null}
            suspects={suspects}
            onRoot={onRoot}
            onChoose={onChoose}
            onKey={onKey}
          />
          <ul class="heap-legend">
            {sorts.map((sort) => (
              <li key={sort}>
                <span class={`swatch box ${sort}`} />
                {SORT_WORDS[sort]}
              </li>
            ))}
            {suspects.size > 0 && (
              <li>
                <strong>!</strong> suspect
              </li>
            )}
          </ul>
          <p class="note">
            Each box is as wide as what would go if it went: shares are of all that can be reached. Groups that keep
            less than {bytes(page.least_bytes)} are hatched and counted as one.
          </p>
        </div>
        <Details
          page={page}
          node={chosen}
          root={root}
          onChoose={show}
          onZoom={(node) => {
            onRoot(node);
            onChoose(node);
          }}
          onSearch={(name) => onQuery(exactly(name))}
        />
      </div>
      <p class="unseen" role="status" data-heap="said">
        {said(tree, chosen)}
      </p>
      <HeapHelp open={help} onClose={() => setHelp(false)} />
    </section>
  );
}
