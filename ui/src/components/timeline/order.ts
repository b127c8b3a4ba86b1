// The order in which the lanes of a group stand.

import type { Page } from "../../context";
import type { Lane } from "../../model";

/** Lanes in the order that was chosen, those that it does not name where they were. */
export function ordered(lanes: Lane[], order: string[]): Lane[] {
  const known = lanes.filter((l) => order.includes(l.id)).sort((a, b) => order.indexOf(a.id) - order.indexOf(b.id));
  return lanes.map((lane) => (order.includes(lane.id) ? (known.shift() ?? lane) : lane));
}

/** Puts a lane before or behind its neighbour of the same group; says where it is now. */
export function moveLane(page: Page, id: string, by: 1 | -1): string {
  const group = page.lanes.groups.find((g) => g.lanes.some((l) => l.id === id));
  if (!group) return "";
  const ids = ordered(group.lanes, page.state.now.order).map((l) => l.id);
  const at = ids.indexOf(id);
  const to = at + by;
  if (to < 0 || to >= ids.length) return "";
  [ids[at], ids[to]] = [ids[to], ids[at]];
  page.state.set({ order: [...page.state.now.order.filter((other) => !ids.includes(other)), ...ids] });
  return `${group.lanes.find((l) => l.id === id)?.title ?? ""} is now ${to + 1} of ${ids.length}`;
}
