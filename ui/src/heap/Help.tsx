// The help sheet of the picture.

import { HelpSheet } from "../components/HelpSheet";

const KEYS: [string, string][] = [
  ["↓ ↑", "to the largest that it keeps; to what keeps it"],
  ["← →", "to the neighbour before, behind"],
  ["Enter", "zoom to the chosen box"],
  ["Esc", "back: search, one step out"],
  ["0", "the whole heap"],
  ["/", "search classes (a regular expression)"],
  ["n N", "next, previous match"],
  ["d", "dark, light, as the system"],
  ["?", "this sheet"],
];

export function HeapHelp({ open, onClose }: { open: boolean; onClose: () => void }) {
  return (
    <HelpSheet id="heap-help-title" title="The picture by hand" keys={KEYS} open={open} onClose={onClose}>
      A box is an object, or all objects of one class that the box above keeps. It is as wide as what would go if it
      went; the largest stand left. What is hatched is small and counted as one. The room right of the boxes below is
      what the objects take themselves.
    </HelpSheet>
  );
}
