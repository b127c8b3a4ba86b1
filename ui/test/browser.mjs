// Drives the real page in a real browser: node test/browser.mjs
//
// Builds a report of a made-up recording (200 000 spans, 100 000 points, 200 000 samples, hostile names), opens it from its file, and
// checks what no unit test can: that it loads nothing, that it can be moved by mouse, keys and links, that axe finds
// nothing serious in light and dark, and how long it takes. Skips, loudly, where there is no Chromium.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { findChromium, launch } from "../scripts/chromium.mjs";

/** Opening is to feel immediate on a laptop; a loaded CI machine of two cores is given three times that. */
const OPEN_MS = 1500 * 3;
/** Sixty frames a second leave the page's thread this much of its own CPU time, however busy the machine is. */
const FRAME_CPU_MS = 16.7;

const executable = findChromium();
if (!executable) {
  console.error("SKIPPED: browser test of the report: no Chromium here (apt-get install chromium, or set CHROMIUM)");
  process.exit(0);
}

const root = fileURLToPath(new URL("../..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "fathom-report-"));
// REPORT names a page that was made before, for a quicker round while the page is changed.
const report = process.env["REPORT"] ?? join(folder, "report.html");
const args = ["run", "--quiet", "--release", "--package", "fathom-render", "--example", "synthetic_report", "--", "200000", "100000", "200000"];
if (!process.env["REPORT"]) writeFileSync(report, execFileSync("cargo", args, { cwd: root, maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "inherit"] }));
const address = pathToFileURL(report).href;
const axe = readFileSync(fileURLToPath(new URL("../node_modules/axe-core/axe.min.js", import.meta.url)), "utf8");

const browser = await launch(executable);
const problems = [];
const requests = [];

async function open(options = {}, hash = "") {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.on("console", (m) => m.type() === "error" && problems.push(m.text()));
  page.on("pageerror", (e) => problems.push(String(e)));
  page.on("request", (r) => requests.push(r.url()));
  const before = performance.now();
  await page.goto(address + hash);
  await page.waitForFunction(() => performance.getEntriesByName("fathom-ready").length > 0);
  page.openMs = performance.now() - before;
  return page;
}

/** The visible range, seconds, once it has stopped changing. */
async function range(page) {
  const read = () => page.$eval(".range", (e) => [Number(e.dataset.from), Number(e.dataset.to)]);
  // What was asked for is drawn in the next frame, and a busy machine lets frames wait.
  await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
  let last = await read();
  for (;;) {
    await page.waitForTimeout(60);
    const now = await read();
    if (now[0] === last[0] && now[1] === last[1]) return { from: now[0], to: now[1], width: now[1] - now[0] };
    last = now;
  }
}

const THROUGHPUT = "[data-plot='series-all-throughput-tx/s']";

/** Drags over a share of the timeline, with Shift for the base. */
async function brush(page, from, to, shift = false) {
  const plot = page.locator(THROUGHPUT);
  await plot.scrollIntoViewIfNeeded();
  await page.waitForTimeout(200);
  const box = await plot.boundingBox();
  if (shift) await page.keyboard.down("Shift");
  await page.mouse.move(box.x + box.width * from, box.y + 30);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * to, box.y + 30, { steps: 5 });
  await page.mouse.up();
  if (shift) await page.keyboard.up("Shift");
  await page.waitForTimeout(100);
}

const tests = {
  async "opens from its file without a request, an error or a name that breaks out"() {
    const page = await open();
    const text = await page.innerText("body");
    for (const expected of ["A made-up burst of JIT compilation", "proven", "-XX:TieredStopAtLevel=1", "CPU of the machine"]) {
      assert.ok(text.includes(expected), expected);
    }
    assert.ok(text.includes("</script><img"), "the hostile name is shown as it is");
    assert.ok(text.includes("\\u{202e}\\u{1b}"), "and its marks as their codes");
    assert.equal(await page.locator("img").count(), 0);
    assert.notEqual(await page.title(), "owned");
    assert.deepEqual(requests.filter((url) => !url.startsWith(address)), []);
    console.log(`  open: ${page.openMs.toFixed(0)} ms, page ${(statSync(report).size / 1e6).toFixed(2)} MB`);
    assert.ok(page.openMs < OPEN_MS, `opened in ${page.openMs} ms`);
  },

  async "zooms by wheel, pans by the axis, and goes back by double-click"() {
    const page = await open();
    const whole = await range(page);
    const plot = page.locator(THROUGHPUT);
    await plot.scrollIntoViewIfNeeded();
    await page.waitForTimeout(400);
    const box = await plot.boundingBox();
    const middle = { x: box.x + box.width / 2, y: box.y + box.height / 2 };
    await page.mouse.move(middle.x, middle.y);
    await page.mouse.wheel(0, -400);
    const wheeled = await range(page);
    assert.ok(wheeled.width < whole.width * 0.6, `${wheeled.width} of ${whole.width}`);
    const axis = await page.locator(".axis-plot").boundingBox();
    await page.mouse.move(axis.x + axis.width * 0.6, axis.y + 5);
    await page.mouse.down();
    await page.mouse.move(axis.x + axis.width * 0.3, axis.y + 5, { steps: 5 });
    await page.mouse.up();
    const panned = await range(page);
    assert.ok(panned.from > wheeled.from && Math.abs(panned.width - wheeled.width) < 1e-6);
    await page.waitForTimeout(400);
    assert.match(new URL(page.url()).hash, /^#t=[\d.]+\.\.[\d.]+$/, "the address holds the range");
    await page.mouse.dblclick(middle.x, middle.y);
    assert.deepEqual(await range(page), whole);
  },

  async "a brush sets the window of everything, a second one the base, and the address holds both"() {
    const page = await open();
    const whole = await range(page);
    assert.match(await page.innerText("[data-chosen=window]"), /300.*330/, "at first the verdict's");
    await brush(page, 0.2, 0.3);
    assert.deepEqual(await range(page), whole, "what is shown stays");
    assert.match(await page.innerText("[data-chosen=window]"), /^1[12]\d\.\d+\ss – 1[78]\d\.\d+\ss/);
    const told = await page.innerText("[data-told=stacks]");
    assert.match(told, /samples in 1[12]\d/);
    await brush(page, 0.5, 0.55, true);
    assert.match(await page.innerText("[data-chosen=base]"), /^(29|30)\d\.\d+\ss – 33\d/);
    assert.match(await page.innerText("[data-told=stacks]"), /held against (29|30)\d.*per second of wall time/);
    await page.waitForTimeout(400);
    const { hash } = new URL(page.url());
    assert.match(hash, /w=1\d\d\.\d+\.\.1\d\d\.\d+&b=/);
    const again = await open({}, hash);
    assert.equal(await again.innerText("[data-chosen=window]"), await page.innerText("[data-chosen=window]"));
    assert.equal(await again.innerText("[data-told=stacks]"), await page.innerText("[data-told=stacks]"));
    await page.click("text=As the verdict");
    assert.match(await page.innerText("[data-chosen=window]"), /300.*330/);
  },

  async "compares: a frame that took more in the window is told apart from noise"() {
    const page = await open({}, "#k=cpu");
    await page.click("role=tab[name='What came, what went']");
    const more = await page.innerText(".changes > div:nth-child(3)");
    assert.match(more, /beyond noise/);
    assert.match(more, /\+[\d.]+\s(s|ms)/, "with the difference and its unit");
    await page.click("role=tab[name='In order of time']");
    await page.locator(".order canvas").waitFor();
    await page.selectOption("[data-control=normalisation]", "share");
    assert.match(await page.innerText("[data-told=stacks]"), /as a share of all samples/);
    await page.click("role=tab[name='Flame graph']");
    await page.fill(".flame-tools input", "Class12\\d");
    await page.locator("[data-flame=found]").filter({ hasText: /% in \d+ boxes/ }).waitFor();
  },

  async "a heatmap brushes the timeline, with the pointer and with keys alone"() {
    const page = await open();
    const plot = page.locator(".heat-plot");
    await plot.scrollIntoViewIfNeeded();
    await page.waitForTimeout(300);
    const box = await plot.boundingBox();
    await page.mouse.move(box.x + box.width * 0.25, box.y + 100);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.5, box.y + 100, { steps: 4 });
    await page.mouse.up();
    assert.match(await page.innerText("[data-chosen=window]"), /^1[45]\d\.\d+\ss – 30\d/);
    await page.selectOption("[data-control=heat]", "l:p0-gc.pause");
    await page.focus(".heat");
    for (const key of ["ArrowLeft", "Enter", "ArrowRight", "ArrowRight", "Enter"]) await page.keyboard.press(key);
    assert.match(await page.innerText("[data-chosen=window]"), /^29\d\.\d+\ss – 30\d\.\d+\ss \(6\.00\ss\)/);
    await page.focus(".heat");
    await page.keyboard.press("ArrowUp");
    assert.match(await page.innerText("[data-told=heat]"), /lasting \d.* to \d/);
  },

  async "a table is of the brushed window, sorts, filters and is copied"() {
    const page = await open({ permissions: ["clipboard-read", "clipboard-write"] }, "#table=p0-jit.compile|name");
    const cells = () => page.$$eval("[data-panel=tables] tbody tr", (rows) => rows.map((r) => [...r.children].map((c) => c.textContent)));
    const slow = await cells();
    assert.match(slow[0][2], /\s(s|ms)$/, "time with its unit");
    await page.click("[data-panel=tables] th:nth-child(2) button");
    const counts = (await cells()).map((row) => Number(row[1].replace(/\s/g, "")));
    assert.ok(counts.every((n, i) => i === 0 || n <= counts[i - 1]), String(counts));
    await page.fill("[data-panel=tables] input[type=search]", "Class12.method");
    assert.ok((await cells()).every((row) => row[0].includes("Class12.method")));
    await page.fill("[data-panel=tables] input[type=search]", "");
    await page.click("[data-panel=tables] >> text=Copy as CSV");
    await page.locator("[data-panel=tables] [role=status]").filter({ hasText: "rows copied as CSV" }).waitFor();
    const text = await page.evaluate(() => navigator.clipboard.readText());
    assert.match(text.split("\n")[0], /^"name","count","total \(ns\)"/);
  },

  async "keeps the details of a span that was clicked, and lets go of them"() {
    const page = await open({}, "#t=60.0..60.2");
    await page.focus("[data-plot='p0-gc.pause']");
    await page.keyboard.press("n");
    await page.keyboard.press("Enter");
    const kept = page.locator("[data-panel=details]");
    await kept.waitFor();
    assert.match(await kept.innerText(), /Pause (Young|Full)[\s\S]*heap before[\s\S]*gc\.log:\d+/);
    await kept.locator("text=As window").click();
    assert.match(await page.innerText("[data-chosen=window]"), /^60\.\d+/);
    await page.evaluate(() => document.activeElement?.blur?.());
    await page.keyboard.press("Escape");
    await kept.waitFor({ state: "detached" });
  },

  async "lanes are folded and ordered, and the address remembers both"() {
    const page = await open();
    await page.focus("[data-plot='p0-gc.pause']");
    await page.keyboard.press("<");
    await page.waitForTimeout(500);
    const lanes = () => page.$$eval("[data-lane^=p0]", (all) => all.map((l) => l.dataset.lane));
    assert.deepEqual((await lanes()).slice(0, 2), ["p0-gc.pause", "p0-heap"]);
    await page.keyboard.press("f");
    await page.waitForTimeout(500);
    const again = await open({}, new URL(page.url()).hash);
    assert.deepEqual((await again.$$eval("[data-lane^=p0]", (all) => all.map((l) => l.dataset.lane))).slice(0, 2), ["p0-gc.pause", "p0-heap"]);
    assert.equal(await again.locator("[data-plot='p0-gc.pause']").count(), 0, "still folded");
  },

  async "prints as light sheets without controls"() {
    const page = await open({ colorScheme: "dark" });
    await page.emulateMedia({ media: "print" });
    assert.equal(await page.locator(".tools:visible, .tabs:visible").count(), 0);
    assert.ok(await page.locator("h1").isVisible());
    const pdf = await page.pdf({ format: "A4" });
    assert.ok(pdf.length > 20_000);
  },

  async "takes the samples of one thread, of a pool, or thread by thread"() {
    const page = await open({}, "#k=cpu&w=all&b=none");
    const all = await page.innerText("[data-told=stacks]");
    await page.selectOption("[data-control=threads]", { label: "http-exec-0 · 100" });
    const one = await page.innerText("[data-told=stacks]");
    assert.notEqual(one, all);
    assert.match(one, /http-exec-0/);
    await page.waitForTimeout(400);
    assert.match(new URL(page.url()).hash, /th=\d+/);
  },

  async "is moved by keys alone"() {
    const page = await open();
    const whole = await range(page);
    await page.focus("[data-plot='p0-gc.pause']");
    await page.keyboard.press("+");
    const closer = await range(page);
    assert.ok(closer.width < whole.width);
    await page.keyboard.press("ArrowRight");
    assert.ok((await range(page)).from > closer.from);
    await page.keyboard.press("n");
    await page.locator("[role=status]").filter({ hasText: /Pause .*lasted/ }).waitFor();
    await page.keyboard.press("Escape");
    assert.deepEqual(await range(page), whole);
    await page.keyboard.press("s");
    const slow = await range(page);
    assert.ok(slow.from > 280 && slow.to < 350);
    await page.keyboard.press("w");
    const chosen = await page.innerText("[data-chosen=window]");
    assert.match(chosen, /^29\d/, chosen);
    await page.keyboard.press("c");
    assert.match(await page.innerText("[data-chosen=window]"), /^300/);
    await page.keyboard.press("t");
    await page.locator(".lane-table table").waitFor({ state: "visible" });
    await page.keyboard.press("f");
    await page.locator("[data-plot='p0-gc.pause']").waitFor({ state: "detached" });
    await page.evaluate(() => document.activeElement?.blur?.());
    await page.keyboard.press("?");
    await page.locator("dialog[open]").waitFor({ state: "visible" });
    await page.keyboard.press("Escape");
    await page.locator("dialog[open]").waitFor({ state: "hidden" });
    assert.deepEqual(await range(page), slow, "Escape closed the sheet and did not reset the view");
  },

  async "moves the timeline to the place that a figure comes from"() {
    const page = await open();
    await page.click("text=at 301.0");
    const there = await range(page);
    assert.ok(there.from < 301 && there.to > 301 && there.width < 100, JSON.stringify(there));
    await page.waitForTimeout(900);
    const seen = await page.locator("#timeline-title").boundingBox();
    assert.ok(seen && seen.y < 900, "and brings it into sight");
    assert.equal(await page.locator(".mark-line").count(), 1);
  },

  async "opens at the place that its address names"() {
    const page = await open({}, "#t=100.0..110.0");
    const there = await range(page);
    assert.ok(Math.abs(there.from - 100) < 1e-6 && Math.abs(there.to - 110) < 1e-6);
  },

  async "tells of the pause under the pointer"() {
    const page = await open({}, "#t=60.0..60.2");
    const plot = page.locator("[data-plot='p0-gc.pause']");
    await plot.scrollIntoViewIfNeeded();
    const box = await plot.boundingBox();
    let text = "";
    for (let x = 2; x < box.width && !text.includes("heap after"); x += 6) {
      await page.mouse.move(box.x + x, box.y + box.height - 8);
      if (await page.locator(".tooltip").count()) text = await page.innerText(".tooltip");
    }
    assert.match(text, /Pause (Young|Full)/);
    assert.match(text, /lasted/);
    assert.match(text, /gc\.log:\d+/);
  },

  async "keeps its lanes within the window at 1280 and at 2560 pixels"() {
    for (const width of [1280, 2560]) {
      const page = await open({ viewport: { width, height: 1000 } });
      const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(over <= 0, `${over} pixels too wide at ${width}`);
      const widths = await page.$$eval(".span-plot", (all) => all.map((c) => c.getBoundingClientRect().width));
      assert.ok(widths.every((w) => w > width * 0.4), String(widths));
    }
  },

  async "gives axe nothing serious to say in light and dark"() {
    for (const colorScheme of ["light", "dark"]) {
      const page = await open({ colorScheme, bypassCSP: true });
      await page.focus("[data-plot='p0-gc.pause']");
      await page.keyboard.press("t");
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => globalThis.axe.run());
      const serious = violations.filter((v) => v.impact === "serious" || v.impact === "critical");
      const told = serious.map((v) => `${colorScheme}: ${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html + n.failureSummary).join("\n")}`);
      assert.deepEqual(told, []);
    }
  },

  async "pans over 200 000 spans without stutter"() {
    const page = await open();
    await page.locator("[data-plot='p0-gc.pause']").scrollIntoViewIfNeeded();
    const session = await page.context().newCDPSession(page);
    await session.send("Performance.enable");
    const cpuMs = async () => {
      const { metrics } = await session.send("Performance.getMetrics");
      return metrics.find((m) => m.name === "ThreadTime").value * 1000;
    };
    const FRAMES = 60;
    const pan = (zoom) =>
      page.evaluate(async ([zoom, frames]) => {
        document.querySelector("[data-plot='p0-gc.pause']").focus();
        const press = (key) => dispatchEvent(new KeyboardEvent("keydown", { key }));
        for (let i = 0; i < zoom; i++) press("+");
        for (let i = 0; i < frames; i++) {
          press(i % 20 < 10 ? "ArrowRight" : "ArrowLeft");
          await new Promise((done) => requestAnimationFrame(done));
        }
      }, [zoom, FRAMES]);
    for (const [zoom, what] of [[1, "over most of the run"], [6, "closer in"]]) {
      const before = { cpu: await cpuMs(), wall: performance.now() };
      await pan(zoom);
      const cpu = (await cpuMs() - before.cpu) / FRAMES;
      const wall = (performance.now() - before.wall) / FRAMES;
      console.log(`  a frame while panning ${what}: ${cpu.toFixed(1)} ms of CPU, ${wall.toFixed(1)} ms by the clock`);
      assert.ok(cpu < FRAME_CPU_MS, `${cpu} ms of CPU a frame`);
    }
  },
};

let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  try {
    await test();
    assert.deepEqual(problems.splice(0), [], "the browser's console");
    console.log(`ok: ${name}`);
  } catch (error) {
    failed++;
    console.error(`FAILED: ${name}\n${error.stack ?? error}`);
    problems.length = 0;
  }
  for (const context of browser.contexts()) await context.close();
}
await browser.close();
rmSync(folder, { recursive: true });
process.exit(failed === 0 ? 0 : 1);
