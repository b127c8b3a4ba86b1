// What is known of the chosen frame, with what can be done with it.

import { useState } from "preact/hooks";

import type { FlameData } from "./data";
import { pathTo } from "./layout";
import { facts, stackText } from "./words";

/** Callers named in the line of the path; the stack that is copied has all. */
const MOST_CALLERS = 6;

interface Props {
  data: FlameData;
  node: number;
  shown: number;
  onZoom: () => void;
  onSearch: () => void;
}

export function Details({ data, node, shown, onZoom, onSearch }: Props) {
  const [copied, setCopied] = useState("");
  const name = data.names[data.name[node]];
  const callers = pathTo(data, node)
    .slice(1, -1)
    .map((i) => data.names[data.name[i]]);
  const copy = (what: string, text: string): void => {
    void copyText(text).then((done) => setCopied(done ? `${what} copied` : "the browser does not allow copying"));
  };
  return (
    <div class="flame-details">
      <p class="name" data-flame="name">
        {name}
      </p>
      <dl>
        {facts(data, node, shown).map(([key, value]) => (
          <div key={key}>
            <dt>{key}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {callers.length > 0 && (
        <p class="flame-path">
          {callers.length > MOST_CALLERS ? `… ${callers.length - MOST_CALLERS} more › ` : ""}
          {callers.slice(-MOST_CALLERS).map(short).join(" › ")} › this
        </p>
      )}
      <p class="flame-tools">
        <button type="button" onClick={onZoom}>
          Zoom in
        </button>
        <button type="button" onClick={onSearch}>
          Find everywhere
        </button>
        <button type="button" onClick={() => copy("name", name)}>
          Copy name
        </button>
        <button type="button" onClick={() => copy("stack", stackText(data, node))}>
          Copy stack
        </button>
        <span role="status">{copied}</span>
      </p>
    </div>
  );
}

function short(name: string): string {
  return name.length > 70 ? `${name.slice(0, 30)}…${name.slice(-38)}` : name;
}

/**
 * Puts a text on the clipboard; a page from a file may not use the new way, so
 * the old one is tried.
 */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    area.setAttribute("aria-hidden", "true");
    area.className = "unseen";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}
