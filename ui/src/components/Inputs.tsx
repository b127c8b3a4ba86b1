// What was read, how much of it was understood, and how it was put on the clock.

import { count } from "../format";
import { type Panel, type PanelProps, PanelSection } from "../panel";

export const inputs: Panel = {
  id: "inputs",
  title: "Inputs",
  side: "show",
  shows: ({ diagnosis }) => diagnosis.inputs.length > 0,
  Component: Inputs,
};

function Inputs({ page: { diagnosis } }: PanelProps) {
  return (
    <PanelSection panel={inputs}>
      <div class="scroll" tabIndex={0} role="region" aria-labelledby="inputs-title">
        <table>
          <thead>
            <tr>
              <th scope="col">Input</th>
              <th scope="col">Format</th>
              <th scope="col">Process</th>
              <th scope="col" class="number">
                Records
              </th>
              <th scope="col" class="number">
                Not understood
              </th>
              <th scope="col" class="number">
                Missing
              </th>
              <th scope="col">On the clock by</th>
            </tr>
          </thead>
          <tbody>
            {diagnosis.inputs.map((input, i) => (
              <tr key={i}>
                <th scope="row">
                  <code>{input.name}</code>
                </th>
                <td>{input.format}</td>
                <td>{input.process ?? ""}</td>
                <td class="number">{count(input.records)}</td>
                <td class="number">{count(input.skipped)}</td>
                <td class="number">{count(input.lost)}</td>
                <td>{input.placed}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </PanelSection>
  );
}
