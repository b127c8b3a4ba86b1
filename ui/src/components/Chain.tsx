// Below a finding: what was waited for, link by link, and the longest stop cut into its parts. Each
// time is a link to its place.

import type { Page } from "../context";
import { durationMs, share } from "../format";
import type { Chain, ChainLink, Stop } from "../generated/diagnosis";

/** A link must be as much of its chain to be shown. */
const SHOWN_SHARE = 0.01;
/** Links next to one another, the longest. */
const MOST = 4;
/** Why a chain ends, where the link does not say it itself. */
const ENDS: Record<string, string> = {
  hardware: "the disk was at work",
  outside: "outside of what was recorded",
  deadlock: "a deadlock",
  circle: "back at a thread of this chain: the lock changed hands meanwhile",
  unknown: "what for is not known",
};
const PART_INKS: Record<string, string> = { reach: "c2", operation: "c1", "log-write": "c4", leave: "c6" };

export function WaitChain({ chain, page }: { chain: Chain; page: Page }) {
  if (chain.links.length === 0) return null;
  return (
    <>
      <h3>Who waited for whom</h3>
      <p class="chain-head">
        <code>{chain.thread}</code>
        {chain.tid !== null && <span class="quiet"> {chain.tid}</span>} did not get on for{" "}
        <a class="place" href={page.linkToWindow(chain)}>
          {durationMs(chain.ms)}
        </a>
        :
      </p>
      <Links links={chain.links} before={chain.thread} page={page} />
    </>
  );
}

/** The longest way is open to its end; what else there was is folded below its link. */
function Links({ links, before, page }: { links: ChainLink[]; before: string; page: Page }) {
  const shown = links.filter((link) => link.share >= SHOWN_SHARE).slice(0, MOST);
  const rest = links.filter((link) => !shown.includes(link));
  return (
    <ul class="chain-links">
      {shown.map((link, i) => (
        <li key={i}>
          <span class="chain-cost">
            <a class="place" href={page.linkToWindow(link)}>
              {durationMs(link.ms)}
            </a>{" "}
            <span class="quiet">{share(link.share)}</span>
          </span>
          <span class="chain-what">
            {link.kind === "holders" && "its holders, in turn: "}
            {link.thread !== null && link.thread !== "" && link.thread !== before && (
              <>
                <code>{link.thread}</code>:{" "}
              </>
            )}
            {link.what.text}
            {link.times > 1 && <span class="quiet">, {link.times} times</span>}
            {link.end !== null && ENDS[link.end] && <span class="quiet"> ({ENDS[link.end]})</span>}
            {link.next.length === 0 && link.stack.length > 0 && <Stack frames={link.stack} />}
          </span>
          {link.next.length > 0 &&
            (i === 0 ? (
              <Links links={link.next} before={link.thread ?? before} page={page} />
            ) : (
              <details class="chain-more">
                <summary>what it waited for in turn</summary>
                <Links links={link.next} before={link.thread ?? before} page={page} />
              </details>
            ))}
        </li>
      ))}
      {rest.length > 0 && (
        <li class="chain-rest quiet">
          {durationMs(rest.reduce((sum, link) => sum + link.ms, 0))} in {rest.length} more that took less
        </li>
      )}
    </ul>
  );
}

/** Innermost first, as stacks are read. */
function Stack({ frames }: { frames: string[] }) {
  return (
    <details class="chain-stack">
      <summary>
        at <code>{frames[0]}</code>
        {frames.length > 1 && (
          <span class="quiet">
            {" "}
            and {frames.length - 1} {frames.length === 2 ? "caller" : "callers"}
          </span>
        )}
      </summary>
      <ol>
        {frames.slice(1).map((frame, i) => (
          <li key={i}>
            <code>{frame}</code>
          </li>
        ))}
      </ol>
    </details>
  );
}

export function StopParts({ stop, page }: { stop: Stop; page: Page }) {
  if (stop.parts.length <= 1 && stop.parts.every((part) => part.links.length === 0)) return null;
  return (
    <>
      <h3>The longest stop</h3>
      <p class="chain-head">
        {stop.operation},{" "}
        <a class="place" href={page.linkToWindow(stop)}>
          {durationMs(stop.ms)}
        </a>
        {stop.asked_by !== null && (
          <>
            , asked by <code>{stop.asked_by}</code>
          </>
        )}
        {stop.last_in !== null && (
          <>
            ; last in: <code>{stop.last_in}</code>
            {stop.last_in_how !== null && <span class="quiet"> ({stop.last_in_how.text})</span>}
          </>
        )}
        {stop.source !== "" && (
          <>
            {" "}
            <code class="quiet">{stop.source}</code>
          </>
        )}
      </p>
      {stop.last_in_stack.length > 0 && <Stack frames={stop.last_in_stack} />}
      <div class="stop-bar" aria-hidden="true">
        {stop.parts.map((part, i) => (
          <span
            key={i}
            style={{ flexGrow: part.ms, background: `var(--${PART_INKS[part.part] ?? "quiet"})` }}
            title={`${part.words}: ${durationMs(part.ms)}`}
          />
        ))}
      </div>
      <ul class="stop-parts">
        {stop.parts.map((part, i) => (
          <li key={i}>
            <span
              class="swatch"
              style={{ background: `var(--${PART_INKS[part.part] ?? "quiet"})` }}
              aria-hidden="true"
            />
            {part.words} <strong>{durationMs(part.ms)}</strong>
            {part.links.length > 0 && <Links links={part.links} before="" page={page} />}
          </li>
        ))}
      </ul>
    </>
  );
}
