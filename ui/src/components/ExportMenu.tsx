// Takes the window along: as files of other programs, made in the page.

import { useRef, useState } from "preact/hooks";

import type { Page } from "../context";
import { download, exportsOf } from "../export";
import type { Panel } from "../panel";

export function ExportMenu({ page, panels }: { page: Page; panels: Panel[] }) {
  const [said, setSaid] = useState("");
  const menu = useRef<HTMLDetailsElement>(null);
  const close = (): void => {
    if (menu.current) menu.current.open = false;
  };
  return (
    <details
      class="menu"
      ref={menu}
      onKeyDown={(e) => {
        if (e.key !== "Escape" || !menu.current?.open) return;
        e.stopPropagation();
        close();
        menu.current.querySelector("summary")?.focus();
      }}
    >
      <summary>Export</summary>
      <div class="menu-list">
        <p class="quiet">The window as a file, made in this page</p>
        {exportsOf(panels, page).map(({ id, title, file, mime, make }) => (
          <button
            key={id}
            type="button"
            data-export={id}
            onClick={() => {
              const pieces = make();
              if (pieces) download(file, mime, pieces);
              setSaid(pieces ? `${file} is handed to the browser` : "the window holds none of it");
              if (pieces) close();
            }}
          >
            {title}
          </button>
        ))}
      </div>
      <span role="status">{said}</span>
    </details>
  );
}
