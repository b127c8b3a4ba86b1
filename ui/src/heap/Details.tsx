// What is known of the chosen node: figures, what keeps it, the shortest way from a root.

import { useState } from "preact/hooks";

import { copyText } from "../flame/Details";
import { pathTo } from "../flame/layout";
import type { HeapPage } from "./data";
import { WayList } from "./Way";
import { facts, labelOf, nameOf } from "./words";

interface Props {
  page: HeapPage;
  node: number;
  root: number;
  onChoose: (node: number) => void;
  onZoom: (node: number) => void;
  onSearch: (name: string) => void;
}

export function Details({ page, node, root, onChoose, onZoom, onSearch }: Props) {
  const { tree } = page;
  const [copied, setCopied] = useState("");
  const address = tree.address(node);
  // Where it has no way of its own, that of the nearest one above it.
  let held = node;
  while (held > 0 && tree.way[held] < 0) held = tree.parent[held];
  const above = pathTo(tree, node).slice(1, -1);
  const copy = (what: string, text: string): void => {
    void copyText(text).then((done) => setCopied(done ? `${what} copied` : "the browser does not allow copying"));
  };
  return (
    <div class="heap-details" data-heap="details" role="region" aria-label="Chosen box" tabIndex={0}>
      <p class="name" data-heap="name">
        {nameOf(tree, node)}
      </p>
      <dl>
        {facts(tree, node, tree.retained[root]).map(([key, value]) => (
          <div key={key}>
            <dt>{key}</dt>
            <dd>{value}</dd>
          </div>
        ))}
        {address !== "" && (
          <div>
            <dt>{tree.objects[node] > 1 ? "the largest" : "address"}</dt>
            <dd>
              <code>{address}</code>
            </dd>
          </div>
        )}
      </dl>
      {node > 0 && (
        <p class="flame-tools">
          {node !== root && tree.name[node] >= 0 && (
            <button type="button" onClick={() => onZoom(node)}>
              Zoom in
            </button>
          )}
          {tree.name[node] >= 0 && (
            <button type="button" onClick={() => onSearch(nameOf(tree, node))}>
              Find its class
            </button>
          )}
          {address !== "" && (
            <button type="button" onClick={() => copy("address", address)}>
              Copy address
            </button>
          )}
          <span role="status">{copied}</span>
        </p>
      )}
      {above.length > 0 && (
        <>
          <h3>Kept by</h3>
          <p class="kept-by">
            {above.map((at, i) => (
              <span key={at}>
                {i > 0 && " › "}
                <button type="button" class="as-link" title={nameOf(tree, at)} onClick={() => onChoose(at)}>
                  {labelOf(tree, at)}
                </button>
              </span>
            ))}
          </p>
        </>
      )}
      {held > 0 && (
        <>
          <h3>
            {held !== node
              ? `The shortest way from a root to what keeps it, ${labelOf(tree, held)}`
              : tree.objects[held] > 1
                ? "The shortest way from a root to the largest of them"
                : "The shortest way from a root"}
          </h3>
          <WayList page={page} step={tree.way[held]} />
        </>
      )}
      {node === 0 && (
        <p class="quiet">
          Click a box for its figures and the way to it; what was clicked fills the width. Below each box stands what it
          keeps alone: what would go if it went.
        </p>
      )}
    </div>
  );
}
