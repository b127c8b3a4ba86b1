// Figures as people read them. Units always stand with them; a narrow no-break space
// keeps both on one line.

const NB = "\u202f";

/** One sign for all that is below nothing; what rounds to nothing is not. */
function signed(text: string): string {
  return text.replace(/^-(?=[0.]+$)/, "").replace(/^-/, "−");
}

function digits(value: number): string {
  const size = Math.abs(value);
  return signed(value.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2));
}

/** A duration in nanoseconds: "312 ms", "7.12 s", "19 min 52 s". */
export function duration(ns: number): string {
  const size = Math.abs(ns);
  if (!Number.isFinite(ns)) return "unknown";
  if (size >= 600e9) {
    const total = Math.round(ns / 1e9);
    return `${signed(String(Math.trunc(total / 60)))}${NB}min ${Math.abs(total % 60)}${NB}s`;
  }
  if (size >= 999.5e6) return `${digits(ns / 1e9)}${NB}s`;
  if (size >= 999.5e3) return `${digits(ns / 1e6)}${NB}ms`;
  if (size >= 999.5) return `${digits(ns / 1e3)}${NB}µs`;
  return `${signed(String(Math.round(ns)))}${NB}ns`;
}

/** A duration in milliseconds that may be unknown. */
export function durationMs(ms: number | null): string {
  return ms === null ? "not seen" : ms === 0 ? `0${NB}s` : duration(ms * 1e6);
}

/** A share of one: "0.3%", "92%". */
export function share(value: number | null): string {
  if (value === null || !Number.isFinite(value)) return "";
  const percent = value * 100;
  if (percent === 0) return "0%";
  if (Math.abs(percent) < 0.1) return `<${NB}0.1%`;
  // 99.96% is not 100%.
  if (percent > 99 && percent < 100) return `${Math.min(percent, 99.9).toFixed(1)}%`;
  return `${signed(percent.toFixed(Math.abs(percent) < 9.95 ? 1 : 0))}%`;
}

/** A count with its digits in threes: "1,234,567". */
export function count(value: number): string {
  return signed(Math.round(value).toString()).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

/**
 * A value of a line or a fact with its unit. Bytes become MB and GB as the JVM means them (1024s).
 */
export function quantity(value: number, unit: string): string {
  if (!Number.isFinite(value)) return "–";
  if (unit === "share") return share(value);
  // A rate of what has a unit of its own: "1.2 MB/s"; of what is counted: "12/s".
  if (unit.endsWith("/s"))
    return `${unit === "1/s" || unit === "/s" ? quantity(value, "") : unit === "bytes/s" ? quantity(value, "bytes") : `${quantity(value, "")}${NB}${unit.slice(0, -2)}`}/s`;
  if (unit === "bytes") {
    const units = ["B", "kB", "MB", "GB", "TB"];
    let scaled = value;
    let i = 0;
    while (Math.abs(scaled) >= 1023.5 && i + 1 < units.length) {
      scaled /= 1024;
      i++;
    }
    return `${i === 0 ? signed(scaled.toFixed(0)) : digits(scaled)}${NB}${units[i]}`;
  }
  if (unit === "ns") return duration(value);
  if (unit === "s") return duration(value * 1e9);
  if (unit === "ms") return duration(value * 1e6);
  const text = Number.isInteger(value) || Math.abs(value) >= 1000 ? count(value) : digits(value);
  return unit === "" ? text : `${text}${NB}${unit}`;
}

/** The same, short enough for an axis. */
export function axisQuantity(value: number, unit: string): string {
  if (unit === "share") return value === 0 ? "0" : `${+(value * 100).toPrecision(3)}${NB}%`;
  if (unit === "bytes/s") return value === 0 ? "0" : `${quantity(value, "bytes")}/s`;
  if (unit === "bytes" || unit === "ns" || unit === "s" || unit === "ms")
    return value === 0 ? "0" : quantity(value, unit);
  const size = Math.abs(value);
  if (size > 0 && size < 1e-3) return value.toExponential(1).replace(".0e", "e").replace("-", "−");
  if (size >= 1e6) return `${+(value / 1e6).toPrecision(3)}${NB}M`;
  if (size >= 1e4) return `${+(value / 1e3).toPrecision(3)}${NB}k`;
  return `${+value.toPrecision(3)}`;
}

/** Decimals of seconds that distinguish moments in a view of `widthNs`. */
export function momentDigits(widthNs: number): number {
  if (!(widthNs > 0)) return 3;
  return Math.min(9, Math.max(1, Math.ceil(3 - Math.log10(widthNs / 1e9))));
}

/** A moment, nanoseconds from the diagnosis' zero, as "145.2 s". */
export function moment(ns: number, decimals = 1): string {
  return `${signed((ns / 1e9).toFixed(decimals))}${NB}s`;
}

/** Both ends of a window with as many decimals as its length calls for: "93.812 s – 93.840 s". */
export function between(from: number, to: number): string {
  const length = to - from;
  const decimals = length >= 1e9 ? 1 : length >= 1e7 ? 3 : length >= 1e4 ? 6 : 9;
  return `${moment(from, decimals)} – ${moment(to, decimals)}`;
}

/** A moment on the wall clock (UTC): "2026-11-20 14:03:12.345 UTC". */
export function wallClock(epochNs: number): string {
  const date = new Date(epochNs / 1e6);
  if (Number.isNaN(date.getTime())) return "";
  return date.toISOString().replace("T", " ").replace("Z", " UTC");
}

/** Steps of an axis over a range: round numbers, about `wanted` of them. */
export function ticks(from: number, to: number, wanted: number): number[] {
  const width = to - from;
  if (!(width > 0) || !(wanted > 0)) return [];
  const rough = width / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough) ?? rough;
  const first = Math.ceil(from / step);
  const last = Math.floor(to / step);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => (first + i) * step);
}

/** A rate of progress that may be unknown: "396 ops/s". */
export function progress(value: number | null, unit: string): string {
  return value === null ? "not seen" : `${value >= 999.5 ? count(value) : digits(value)}${NB}${unit}`;
}
