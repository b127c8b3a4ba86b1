// How the page bears a large recording: node test/bench.mjs [SAMPLES [SPANS]]
//
// Prints size, time to open, time from the end of a brush until everything is drawn, and CPU of a frame while panning.
// Fails on the size alone: the others depend on the machine. Set REPORT to measure a page that is there.

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { findChromium, launch } from "../scripts/chromium.mjs";

/** A page of a million samples and 200 000 spans is to be an attachment. */
const MOST_MB = 6;
const ROUNDS = 5;

const executable = findChromium();
if (!executable) {
  console.error("SKIPPED: no Chromium here (apt-get install chromium, or set CHROMIUM)");
  process.exit(0);
}
const [samples = "1000000", spans = "200000"] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "fathom-bench-"));
const report = process.env["REPORT"] ? resolve(process.env["REPORT"]) : join(folder, "report.html");
if (!process.env["REPORT"]) {
  const root = fileURLToPath(new URL("../..", import.meta.url));
  const args = ["run", "--quiet", "--release", "--package", "fathom-render", "--example", "synthetic_report", "--", spans, "100000", samples];
  writeFileSync(report, execFileSync("cargo", args, { cwd: root, maxBuffer: 1 << 30, stdio: ["ignore", "pipe", "inherit"] }));
}
const megabytes = statSync(report).size / 1e6;
console.log(`${samples} samples, ${spans} spans: page of ${megabytes.toFixed(2)} MB`);

const median = (all) => all.sort((a, b) => a - b)[Math.floor(all.length / 2)];
const told = (all) => `${median(all).toFixed(0)} ms (${Math.min(...all).toFixed(0)} to ${Math.max(...all).toFixed(0)})`;
const browser = await launch(executable);
const opens = [];
let page;
for (let i = 0; i < ROUNDS; i++) {
  await page?.close();
  page = await browser.newPage({ viewport: { width: 1600, height: 1000 } });
  page.on("pageerror", (e) => console.error(e));
  await page.goto(pathToFileURL(report).href);
  await page.waitForFunction(() => performance.getEntriesByName("fathom-ready").length > 0);
  opens.push(await page.evaluate(() => performance.getEntriesByName("fathom-ready")[0].startTime));
}
console.log(`opens from its file in ${told(opens)}`);

const plot = page.locator("[data-plot]:not(.axis-plot)").first();
await plot.scrollIntoViewIfNeeded();
await page.waitForTimeout(500);
const box = await plot.boundingBox();
const drawn = (action, ...args) =>
  page.evaluate(
    ([name, list]) =>
      new Promise((done) => {
        const start = performance.now();
        globalThis.bench[name](...list);
        requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
      }),
    [action, args],
  );
await page.evaluate(() => {
  const at = (type, x, y, shiftKey) => new PointerEvent(type, { clientX: x, clientY: y, button: 0, bubbles: true, shiftKey });
  globalThis.bench = {
    brush(x0, x1, y, shift) {
      const target = document.elementFromPoint(x0, y);
      target.dispatchEvent(at("pointerdown", x0, y, shift));
      window.dispatchEvent(at("pointermove", (x0 + x1) / 2, y, shift));
      window.dispatchEvent(at("pointermove", x1, y, shift));
      window.dispatchEvent(at("pointerup", x1, y, shift));
    },
  };
});
const y = box.y + box.height / 2;
for (const [what, from, to, shift] of [["a twentieth of the run", 0.5, 0.55, false], ["half of the run", 0.2, 0.7, false], ["a base of a third", 0.1, 0.43, true], ["a twentieth, held against it", 0.5, 0.55, false]]) {
  const times = [];
  for (let i = 0; i < ROUNDS; i++) times.push(await drawn("brush", box.x + box.width * from + i, box.x + box.width * to + i, y, shift));
  console.log(`a brush of ${what}: everything drawn after ${told(times)}`);
}

const session = await page.context().newCDPSession(page);
await session.send("Performance.enable");
const cpu = async () => (await session.send("Performance.getMetrics")).metrics.find((m) => m.name === "ThreadTime").value * 1000;
const FRAMES = 120;
for (const [what, zoom] of [["the whole run", 1], ["a hundredth", 10]]) {
  const before = { cpu: await cpu(), wall: performance.now() };
  await page.evaluate(async ([zoom, frames]) => {
    document.querySelector(".lane-plot").focus();
    const press = (key) => dispatchEvent(new KeyboardEvent("keydown", { key }));
    press("0");
    for (let i = 0; i < zoom; i++) press("+");
    for (let i = 0; i < frames; i++) {
      press(i % 20 < 10 ? "ArrowRight" : "ArrowLeft");
      await new Promise((done) => requestAnimationFrame(done));
    }
  }, [zoom, FRAMES]);
  console.log(`a frame while panning over ${what}: ${((await cpu() - before.cpu) / FRAMES).toFixed(1)} ms of CPU, ${((performance.now() - before.wall) / FRAMES).toFixed(1)} ms by the clock`);
}
const heap = await page.evaluate(() => performance.memory?.usedJSHeapSize ?? 0);
console.log(`${(heap / 1e6).toFixed(0)} MB of JavaScript heap`);
await browser.close();
rmSync(folder, { recursive: true });
if (megabytes > MOST_MB && samples === "1000000" && spans === "200000") {
  console.error(`FAILED: more than ${MOST_MB} MB`);
  process.exit(1);
}
