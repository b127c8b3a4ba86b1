// How the page bears large recordings, compared with its goals and with other viewers: node
// test/bench.mjs [page] [serve] [rivals]
//
// Three parts, all of them when none is named; each says how loaded the machine is, because what
// the clock measures is measured of the machine as well:
//   page    1 000 000 samples and 200 000 spans in a file
//   serve   10 000 000 samples and 200 000 spans through `fathom serve`
//   rivals  a recording of async-profiler in fathom's report, in speedscope and in async-profiler's own heatmap (rivals.mjs)
// Builds what it measures in release mode; FATHOM names a binary, REPORT a page that is
// there, SAMPLES and SPANS other sizes. Fails on the size of the page alone: the others
// depend on the machine.

import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { findChromium, launch } from "../scripts/chromium.mjs";
import { recordWithAsyncProfiler } from "./async-profiler.mjs";
import { measure } from "./bench-page.mjs";
import { compareViewers } from "./rivals.mjs";

/** A page of a million samples and 200 000 spans is to be an attachment. */
const MOST_MB = 6;

const executable = findChromium();
if (!executable) {
  console.error("SKIPPED: no Chromium here (apt-get install chromium, or set CHROMIUM)");
  process.exit(0);
}
const named = process.argv.slice(2);
const parts = new Set(named.length > 0 ? named : ["page", "serve", "rivals"]);
const folder = mkdtempSync(join(tmpdir(), "fathom-bench-"));
const root = fileURLToPath(new URL("../..", import.meta.url));
const spans = process.env.SPANS ?? "200000";
const count = (n) => Number(n).toLocaleString("en").replaceAll(",", " ");
const head = (text) => console.log(`\n${text} (load ${loadavg()[0].toFixed(1)} on ${cpus().length} CPUs)`);
const missed = [];
let goals = 0;

/** Prints a figure next to its goal. */
function figure({ what, goal = null, unit = "ms", values, more = "" }) {
  const sorted = values.slice().sort((a, b) => a - b);
  const [least, middle, most] = [sorted[0], sorted[Math.floor(sorted.length / 2)], sorted[sorted.length - 1]];
  const digits = unit === "ms" ? (middle < 100 && what.includes("frame") ? 1 : 0) : 2;
  const figure = `${middle.toFixed(digits)} ${unit}${values.length > 1 ? ` (${least.toFixed(digits)} to ${most.toFixed(digits)})` : ""}`;
  if (goal !== null) goals++;
  if (goal !== null && middle > goal) missed.push(`${what}: ${figure}, goal ${goal} ${unit}`);
  const verdict = goal === null ? "" : middle > goal ? "MISSED" : "met";
  console.log(
    `  ${what.padEnd(52)} ${(goal === null ? "" : `goal ${goal} ${unit}`).padEnd(13)} ${figure.padEnd(26)} ${verdict.padEnd(7)} ${more}`.trimEnd(),
  );
}

const cargo = (...args) =>
  execFileSync("cargo", args, { cwd: root, maxBuffer: 1 << 30, stdio: ["ignore", "pipe", "inherit"] });
const synthetic = (samples, ...out) =>
  cargo(
    "run",
    "--quiet",
    "--release",
    "--package",
    "fathom-render",
    "--example",
    "synthetic_report",
    "--",
    spans,
    "100000",
    samples,
    ...out,
  );
let fathom = process.env.FATHOM;
if (!fathom && (parts.has("serve") || parts.has("rivals"))) {
  cargo("build", "--quiet", "--release", "--package", "fathom", "--bin", "fathom");
  fathom = join(root, "target/release/fathom");
}
const browser = await launch(executable);
let tooLarge = false;

if (parts.has("page")) {
  const samples = process.env.SAMPLES ?? "1000000";
  const report = process.env.REPORT ? resolve(process.env.REPORT) : join(folder, "report.html");
  if (!process.env.REPORT) writeFileSync(report, synthetic(samples));
  head(`A page of ${count(samples)} samples and ${count(spans)} spans, opened from its file`);
  const megabytes = statSync(report).size / 1e6;
  const size = samples === "1000000" && spans === "200000" ? MOST_MB : null;
  tooLarge = size !== null && megabytes > size;
  figure({ what: "size", goal: size, unit: "MB", values: [megabytes] });
  await measure(browser, pathToFileURL(report).href, figure);
}

if (parts.has("serve")) {
  const samples = process.env.SAMPLES ?? "10000000";
  const recording = join(folder, "large.fathom");
  synthetic(samples, recording);
  head(`A recording of ${count(samples)} samples and ${count(spans)} spans through fathom serve`);
  const before = performance.now();
  const server = spawn(fathom, ["serve", recording, "--port", "0", "--slow", "300s..330s", "--base", "30s..270s"], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const address = await new Promise((found, failed) => {
    let said = "";
    server.stderr.on("data", (chunk) => {
      said += chunk;
      const match = /open (http:\/\/\S+)/.exec(said);
      if (match) found(match[1]);
    });
    server.on("exit", () => failed(new Error(said)));
  });
  figure({ what: "read, diagnosed and listening", unit: "s", values: [(performance.now() - before) / 1000] });
  await measure(browser, address, figure, { served: true });
  server.kill();
  rmSync(recording, { recursive: true });
}

if (parts.has("rivals")) {
  const made = recordWithAsyncProfiler(folder, fathom);
  if (typeof made === "string") console.error(`\nSKIPPED: other viewers: ${made}`);
  else {
    head(
      `${count(made.samples)} samples of async-profiler (wall clock, ${made.times} × ${made.seconds} s of Orders.java) in each viewer`,
    );
    await compareViewers({
      browser,
      fathom,
      folder,
      recording: made.jfr,
      converter: made.converter,
      print: (line) => console.log(`  ${line}`),
    });
  }
}

await browser.close();
rmSync(folder, { recursive: true });
if (goals > 0)
  console.log(
    `\n${goals - missed.length} of ${goals} goals met (load ${loadavg()[0].toFixed(1)})${missed.map((line) => `\n  missed: ${line}`).join("")}`,
  );
process.exit(tooLarge ? 1 : 0);
