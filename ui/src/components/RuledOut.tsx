// Causes that were looked for and not found, each with the figure that says so.

import { type Panel, type PanelProps, PanelSection } from "../panel";

export const ruledOut: Panel = {
  id: "ruled-out",
  title: "Ruled out",
  side: "say",
  shows: ({ diagnosis }) => diagnosis.ruled_out.length > 0,
  Component: RuledOut,
};

function RuledOut({ page: { diagnosis } }: PanelProps) {
  return (
    <PanelSection panel={ruledOut}>
      <dl class="pairs">
        {diagnosis.ruled_out.map((r, i) => (
          <div key={i}>
            <dt>
              <code>{r.rule}</code>
            </dt>
            <dd>
              {r.figure.text} {r.source !== "" && <code class="where">{r.source}</code>}
            </dd>
          </div>
        ))}
      </dl>
    </PanelSection>
  );
}
