// What could not be seen, and what to switch on to see it.

import { type Panel, type PanelProps, PanelSection } from "../panel";

export const notSeen: Panel = {
  id: "not-seen",
  title: "Not seen",
  side: "say",
  shows: ({ diagnosis }) => diagnosis.blind_spots.length > 0,
  Component: NotSeen,
};

function NotSeen({ page: { diagnosis } }: PanelProps) {
  return (
    <PanelSection panel={notSeen}>
      <dl class="pairs">
        {diagnosis.blind_spots.map((b, i) => (
          <div key={i}>
            <dt>{b.what.text}</dt>
            <dd>
              {b.remedy.text}
              {b.rules.length > 0 && <span class="quiet"> Hides {b.rules.join(", ")}.</span>}
            </dd>
          </div>
        ))}
      </dl>
    </PanelSection>
  );
}
