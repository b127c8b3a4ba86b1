// The help sheet of the flame graph.

import { HelpSheet } from "../components/HelpSheet";

const KEYS: [string, string][] = [
  ["↑ ↓", "to the caller; to the widest callee"],
  ["← →", "to the neighbour before, behind"],
  ["Enter", "zoom to the chosen frame"],
  ["Esc", "back: search, zoom"],
  ["0", "the whole graph"],
  ["/", "search (a regular expression)"],
  ["n N", "next, previous match"],
  ["i", "callers instead of callees, and back"],
  ["m", "colours: types of frames, comparison"],
  ["b", "widths of the baseline instead of the window"],
  ["t", "all frames as a table"],
  ["c", "copy the chosen frame's stack"],
  ["Page ↑ ↓", "scroll"],
  ["d", "dark, light, as the system"],
  ["?", "this sheet"],
];

export function FlameHelp({ open, onClose }: { open: boolean; onClose: () => void }) {
  return (
    <HelpSheet id="flame-help-title" title="The flame graph by hand" keys={KEYS} open={open} onClose={onClose}>
      Each box is a frame, its callers above it; its width is what it took with all that it called. Order from left to
      right is by name, not by time. Click to choose, double-click to zoom.
    </HelpSheet>
  );
}
