// Tabs as screen readers and keys know them (WAI-ARIA tabs pattern): one stop for Tab, arrows
// walk, Home and End jump.

import { useRef } from "preact/hooks";

export interface Tab<Id extends string> {
  id: Id;
  title: string;
}

/** The list of tabs; what it shows is an element `<prefix>-panel` with role tabpanel. */
export function Tabs<Id extends string>({
  label,
  prefix,
  tabs,
  chosen,
  onChoose,
}: {
  label: string;
  prefix: string;
  tabs: Tab<Id>[];
  chosen: Id;
  onChoose: (id: Id) => void;
}) {
  const list = useRef<HTMLDivElement>(null);
  const at = Math.max(
    0,
    tabs.findIndex((tab) => tab.id === chosen),
  );
  const onKey = (event: KeyboardEvent): void => {
    const to: Record<string, number> = {
      ArrowLeft: at - 1,
      ArrowUp: at - 1,
      ArrowRight: at + 1,
      ArrowDown: at + 1,
      Home: 0,
      End: tabs.length - 1,
    };
    const wanted = to[event.key];
    if (wanted === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const next = (wanted + tabs.length) % tabs.length;
    onChoose(tabs[next].id);
    list.current?.querySelectorAll<HTMLElement>("[role=tab]")[next]?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label={label} ref={list} onKeyDown={onKey}>
      {tabs.map((tab, i) => (
        <button
          key={tab.id}
          type="button"
          role="tab"
          id={`${prefix}-tab-${tab.id}`}
          aria-controls={`${prefix}-panel`}
          aria-selected={i === at}
          tabIndex={i === at ? 0 : -1}
          onClick={() => onChoose(tab.id)}
        >
          {tab.title}
        </button>
      ))}
    </div>
  );
}
