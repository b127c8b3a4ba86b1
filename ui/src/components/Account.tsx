// The account of the loss: one bar of all of it, cut among the findings and what
// none of them explains.

import type { Page } from "../context";
import { durationMs, share } from "../format";
import type { Charge } from "../generated/diagnosis";

/** What a charge is called: a culprit, or what grew and no finding explains. */
function words({ to, kind, finding }: Charge): string {
  if (finding !== null) return `${finding + 1}. ${to.text}`;
  return kind === "not-known" ? "not explained, and nothing recorded shows it" : `not explained: ${to.text}`;
}

export function Account({ page }: { page: Page }) {
  const { account } = page.diagnosis;
  if (account.every((charge) => charge.finding === null)) return null;
  return (
    <figure class="account" aria-label="What the lost time is attributed to">
      <div class="account-bar" aria-hidden="true">
        {account.map((charge, i) => (
          <span
            key={i}
            class={charge.finding === null ? "left" : ""}
            style={{ flexGrow: charge.share }}
            title={words(charge)}
          />
        ))}
      </div>
      <ol>
        {account.map((charge, i) => (
          <li key={i} class={charge.finding === null ? "quiet" : ""}>
            <span class={`account-key ${charge.finding === null ? "left" : ""}`} aria-hidden="true" />
            <strong>{share(charge.share)}</strong> <span class="quiet">{durationMs(charge.ms)}</span>{" "}
            {charge.finding === null ? (
              words(charge)
            ) : (
              <a href={`#finding-${charge.finding + 1}`} onClick={(event) => show(event, charge.finding ?? 0)}>
                {words(charge)}
              </a>
            )}
          </li>
        ))}
      </ol>
    </figure>
  );
}

/**
 * The address of the page holds what is shown on it, so a finding is scrolled to without
 * changing the address.
 */
function show(event: Event, finding: number) {
  event.preventDefault();
  document.getElementById(`finding-${finding + 1}`)?.scrollIntoView({ block: "start" });
}
