// Drives the real page in a real browser: node test/browser.mjs
//
// Builds a report of a made-up recording (200 000 spans, 100 000 points, 200 000 samples, hostile
// names), opens it from its file, and checks what no unit test can: that it loads nothing, that it
// can be moved by mouse, keys and links, that axe finds nothing serious in light and dark. How long
// things take is printed and never asserted: that is of the machine, and `npm run bench` compares
// it with its goals. Skips, loudly, where there is no Chromium.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { findChromium, launch } from "../scripts/chromium.mjs";
import { eventually, PATIENCE_MS } from "./eventually.mjs";
import { example } from "./example.mjs";
import { runAll } from "./running.mjs";
import { skip } from "./skipped.mjs";

const executable = findChromium();
if (!executable) {
  skip("browser test of the report: no Chromium here (apt-get install chromium, or set CHROMIUM)");
  process.exit(0);
}

const folder = mkdtempSync(join(tmpdir(), "fathom-report-"));
// REPORT names a page that was made before, for a quicker round while the page is changed.
const report = process.env.REPORT ?? join(folder, "report.html");
if (!process.env.REPORT)
  writeFileSync(report, example("fathom-render", "synthetic_report", "200000", "100000", "200000"));
const address = pathToFileURL(report).href;
const axe = readFileSync(fileURLToPath(new URL("../node_modules/axe-core/axe.min.js", import.meta.url)), "utf8");

const browser = await launch(executable);
const problems = [];
const requests = [];

async function open(options = {}, hash = "") {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  context.setDefaultTimeout(PATIENCE_MS);
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

/** Drags over a share of the timeline, with Shift for the baseline. */
async function brush(page, from, to, shift = false) {
  const plot = page.locator(THROUGHPUT);
  await plot.scrollIntoViewIfNeeded();
  const box = await still(plot);
  if (shift) await page.keyboard.down("Shift");
  await page.mouse.move(box.x + box.width * from, box.y + 30);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * to, box.y + 30, { steps: 5 });
  await page.mouse.up();
  if (shift) await page.keyboard.up("Shift");
}

/** Where an element is once the page has stopped moving under it. */
async function still(locator) {
  let last = await locator.boundingBox();
  return eventually(async () => {
    await new Promise((later) => setTimeout(later, 100));
    const before = last;
    last = await locator.boundingBox();
    assert.deepEqual(last, before);
    return last;
  });
}

/** Text of the first that a selector names, once it is as expected. */
const says = (page, selector, expected) =>
  eventually(async () => {
    const text = await page.innerText(selector);
    assert.match(text, expected);
    return text;
  });

/** The address' hash, once it is as expected. */
const hashOf = (page, expected) =>
  eventually(() => {
    const { hash } = new URL(page.url());
    assert.match(hash, expected);
    return hash;
  });

const tests = {
  async "opens from its file without a request, an error or a name that breaks out"() {
    const page = await open();
    const text = await page.innerText("body");
    for (const expected of [
      "A made-up burst of JIT compilation",
      "proven",
      "-XX:TieredStopAtLevel=1",
      "CPU of the machine",
    ]) {
      assert.ok(text.includes(expected), expected);
    }
    assert.ok(text.includes("</script><img"), "the hostile name is shown as it is");
    assert.ok(text.includes("\\u{202e}\\u{1b}"), "and its marks as their codes");
    assert.equal(await page.locator("img").count(), 0);
    assert.notEqual(await page.title(), "owned");
    assert.deepEqual(
      requests.filter((url) => !url.startsWith(address)),
      [],
    );
    console.log(`  open: ${page.openMs.toFixed(0)} ms, page ${(statSync(report).size / 1e6).toFixed(2)} MB`);
  },

  async "zooms by wheel, pans by the axis, and goes back by double-click"() {
    const page = await open();
    const whole = await range(page);
    const plot = page.locator(THROUGHPUT);
    await plot.scrollIntoViewIfNeeded();
    const box = await still(plot);
    const middle = { x: box.x + box.width / 2, y: box.y + box.height / 2 };
    await page.mouse.move(middle.x, middle.y);
    await page.mouse.wheel(0, -400);
    const wheeled = await eventually(async () => {
      const now = await range(page);
      assert.ok(now.width < whole.width * 0.6, `${now.width} of ${whole.width}`);
      return now;
    });
    const axis = await page.locator(".axis-plot").boundingBox();
    await page.mouse.move(axis.x + axis.width * 0.6, axis.y + 5);
    await page.mouse.down();
    await page.mouse.move(axis.x + axis.width * 0.3, axis.y + 5, { steps: 5 });
    await page.mouse.up();
    await eventually(async () => {
      const panned = await range(page);
      assert.ok(panned.from > wheeled.from && Math.abs(panned.width - wheeled.width) < 1e-6);
    });
    await hashOf(page, /^#t=[\d.]+\.\.[\d.]+$/);
    await page.mouse.dblclick(middle.x, middle.y);
    await eventually(async () => assert.deepEqual(await range(page), whole));
  },

  async "a brush sets the window of everything, a second one the baseline, and the address holds both"() {
    const page = await open();
    const whole = await range(page);
    await says(page, "[data-chosen=window]", /300.*330/, "at first the verdict's");
    await brush(page, 0.2, 0.3);
    assert.deepEqual(await range(page), whole, "what is shown stays");
    await says(page, "[data-chosen=window]", /^1[12]\d\.\d+\ss – 1[78]\d\.\d+\ss/);
    await says(page, "[data-about=stacks]", /samples in 1[12]\d/);
    await brush(page, 0.5, 0.55, true);
    await says(page, "[data-chosen=base]", /^(29|30)\d\.\d+\ss – 33\d/);
    await says(page, "[data-about=stacks]", /compared with (29|30)\d.*per second of wall time/);
    const hash = await hashOf(page, /w=1\d\d\.\d+\.\.1\d\d\.\d+&b=/);
    const again = await open({}, hash);
    await eventually(async () => {
      assert.equal(await again.innerText("[data-chosen=window]"), await page.innerText("[data-chosen=window]"));
      assert.equal(await again.innerText("[data-about=stacks]"), await page.innerText("[data-about=stacks]"));
    });
    await page.click("text=As the verdict");
    await says(page, "[data-chosen=window]", /300.*330/);
  },

  async "compares: a frame that took more in the window is distinguished from noise"() {
    const page = await open({}, "#k=cpu");
    await page.click("role=tab[name='What came, what went']");
    const more = await says(page, ".changes > div:nth-child(3)", /beyond noise/);
    assert.match(more, /\+[\d.]+\s(s|ms)/, "with the difference and its unit");
    await page.click("role=tab[name='In order of time']");
    await page.locator(".order canvas").waitFor();
    await page.selectOption("[data-control=normalisation]", "share");
    await says(page, "[data-about=stacks]", /as a share of all samples/);
    await page.click("role=tab[name='Flame graph']");
    await page.fill(".flame-tools input", "Class12\\d");
    await page
      .locator("[data-flame=found]")
      .filter({ hasText: /% in \d+ boxes/ })
      .waitFor();
  },

  async "a heatmap brushes the timeline, with the pointer and with keys alone"() {
    const page = await open();
    const plot = page.locator(".heat-plot");
    await plot.scrollIntoViewIfNeeded();
    const box = await still(plot);
    await page.mouse.move(box.x + box.width * 0.25, box.y + 100);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.5, box.y + 100, { steps: 4 });
    await page.mouse.up();
    await says(page, "[data-chosen=window]", /^1[45]\d\.\d+\ss – 30\d/);
    await page.selectOption("[data-control=heat]", "l:p0-gc.pause");
    await says(page, "[data-panel=heat]", /how long over when/);
    await page.focus(".heat");
    for (const key of ["ArrowLeft", "Enter", "ArrowRight", "ArrowRight", "Enter"]) await page.keyboard.press(key);
    await says(page, "[data-chosen=window]", /^29\d\.\d+\ss – 30\d\.\d+\ss \(6\.00\ss\)/);
    await page.focus(".heat");
    await page.keyboard.press("ArrowUp");
    await says(page, "[data-about=heat]", /lasting \d.* to \d/);
  },

  async "a table is of the selected window, sorts, filters and is copied"() {
    const page = await open({ permissions: ["clipboard-read", "clipboard-write"] }, "#table=p0-jit.compile|name");
    const cells = () =>
      page.$$eval("[data-panel=tables] tbody tr", (rows) => rows.map((r) => [...r.children].map((c) => c.textContent)));
    const slow = await cells();
    assert.match(slow[0][2], /\s(s|ms)$/, "time with its unit");
    await page.click("[data-panel=tables] th:nth-child(2) button");
    await eventually(async () => {
      const counts = (await cells()).map((row) => Number(row[1].replace(/\s/g, "")));
      assert.ok(
        counts.every((n, i) => i === 0 || n <= counts[i - 1]),
        String(counts),
      );
    });
    await page.fill("[data-panel=tables] input[type=search]", "Class12.method");
    await eventually(async () => assert.ok((await cells()).every((row) => row[0].includes("Class12.method"))));
    await page.click("role=tab[name='pool']");
    const again = await open({}, await hashOf(page, /sort=1d&filter=Class12\.method&ledger=pool/));
    const shown = (of) => of.$$eval("[data-panel=tables] tbody tr", (rows) => rows.map((r) => r.textContent));
    await eventually(async () =>
      assert.deepEqual(await shown(again), await shown(page), "the address holds order and filter"),
    );
    assert.equal(await again.getAttribute("role=tab[name='pool']", "aria-selected"), "true");
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
    await says(page, "[data-chosen=window]", /^60\.\d+/);
    await page.evaluate(() => document.activeElement?.blur?.());
    await page.keyboard.press("Escape");
    await kept.waitFor({ state: "detached" });
  },

  async "lanes are folded and ordered, and the address remembers both"() {
    const page = await open();
    await page.focus("[data-plot='p0-gc.pause']");
    await page.keyboard.press("<");
    const lanes = () => page.$$eval("[data-lane^=p0]", (all) => all.map((l) => l.dataset.lane));
    await eventually(async () => assert.deepEqual((await lanes()).slice(0, 2), ["p0-gc.pause", "p0-heap"]));
    await eventually(async () =>
      assert.ok(await page.$eval("[data-plot='p0-gc.pause']", (e) => e === document.activeElement)),
    );
    await page.keyboard.press("f");
    const again = await open({}, await hashOf(page, /f=-p0-gc\.pause&o=/));
    assert.deepEqual((await again.$$eval("[data-lane^=p0]", (all) => all.map((l) => l.dataset.lane))).slice(0, 2), [
      "p0-gc.pause",
      "p0-heap",
    ]);
    assert.equal(await again.locator("[data-plot='p0-gc.pause']").count(), 0, "still folded");
  },

  async "says who waited for whom, and cuts the longest stop into its parts, each with its place"() {
    const page = await open();
    const links = await page.innerText(".chain-links");
    assert.match(
      links,
      /800\sms[\s\S]*that http-exec-7 held[\s\S]*http-exec-7: in fsync\(\) on \/var\/data\/log[\s\S]*write request on vda[\s\S]*the disk was at work/,
    );
    assert.match(await page.innerText(".stop-parts"), /time to safepoint 90\.0\sms[\s\S]*the operation 28\.0\sms/);
    assert.match(await page.innerText(".finding"), /last in: http-exec-2 \(it was the last to block\)/);
    await page.click(".chain-stack summary >> nth=0");
    await page.locator(".chain-stack[open] li", { hasText: "org.example.Store.commit" }).first().waitFor();
    await page.click(".chain-links .place >> nth=0");
    await says(page, "[data-chosen=window]", /^310\.\d+\ss – 311/);
  },

  async "takes the window along as files, without a server"() {
    const page = await open({ acceptDownloads: true }, "#k=cpu&w=100..130&b=none");
    const shown = Number((await page.innerText("[data-about=stacks]")).split(" samples")[0].replace(/\D/g, ""));
    const take = async (id) => {
      await page.click(".menu summary");
      const [file] = await Promise.all([page.waitForEvent("download"), page.click(`[data-export=${id}]`)]);
      return readFileSync(await file.path(), "utf8");
    };
    const folded = (await take("folded")).trimEnd().split("\n");
    const weights = folded.map((line) => Number(/ (\d+)$/.exec(line)?.[1]));
    const total = weights.reduce((a, b) => a + b, 0);
    assert.ok(weights.every((w) => w > 0) && shown > 0);
    assert.equal(total, shown * 10_000_000, "10 ms a sample");
    const speedscope = JSON.parse(await take("speedscope"));
    const [profile] = speedscope.profiles;
    assert.equal(
      profile.weights.reduce((a, b) => a + b, 0),
      total,
    );
    assert.ok(
      profile.unit === "nanoseconds" && profile.samples.flat().every((f) => f < speedscope.shared.frames.length),
    );
    const samples = (await take("samples")).trimEnd().split("\n");
    assert.equal(samples[0], "kind,time_s,process,thread,tid,weight,unit,stack");
    assert.equal(samples.filter((line) => line.startsWith("cpu,")).length, shown);
    assert.ok(samples.slice(1).every((line) => Number(line.split(",")[1]) >= 100 && Number(line.split(",")[1]) < 130));
    const spans = (await take("spans")).trimEnd().split("\n");
    assert.match(spans[0], /^group,lane,name,kind,start_s,duration_ns/);
    assert.ok(spans.some((line) => /GC pauses,Pause Young/.test(line)));
    const series = (await take("series")).trimEnd().split("\n");
    assert.ok(series.length > 1000 && series[1].startsWith("Application,Throughput,"));
  },

  async "tabs are one stop, and arrows walk them"() {
    const page = await open({}, "#k=cpu");
    await page.focus("role=tab[name='Flame graph']");
    await page.keyboard.press("ArrowRight");
    const chosen = () =>
      page.$eval("[role=tab]:focus", (e) => [e.textContent, e.getAttribute("aria-selected"), e.tabIndex]);
    const stands = (expected) => eventually(async () => assert.deepEqual(await chosen(), expected));
    await stands(["In order of time", "true", 0]);
    await page.locator(".order canvas").waitFor();
    await page.keyboard.press("End");
    await stands(["What came, what went", "true", 0]);
    await page.keyboard.press("ArrowRight");
    await stands(["Flame graph", "true", 0]);
    assert.equal(await page.locator("[aria-label='View of the stacks'] [tabindex='0']").count(), 1);
    const panel = await page.getAttribute("role=tab[name='Flame graph']", "aria-controls");
    assert.equal(await page.locator(`#${panel}[role=tabpanel]`).count(), 1);
  },

  async "shows what each thread did, and adds it up as the ledger does"() {
    const page = await open({}, "#t=300.0..330.0");
    const plot = page.locator("[data-plot=states]");
    await plot.scrollIntoViewIfNeeded();
    await eventually(async () => {
      const colours = await plot.locator("canvas").evaluate((canvas) => {
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        return new Set(new Uint32Array(data.buffer)).size;
      });
      assert.ok(colours > 3, `${colours} colours`);
    });
    await plot.focus();
    await page.keyboard.press("t");
    const table = await says(page, "[data-lane=states] .lane-table", /running: Java, C2[\s\S]*http-exec-0/);
    const row = table.split("\n").find((line) => line.startsWith("http-exec-0 "));
    const seconds = [...row.matchAll(/([\d.]+)\s(s|ms)(?=\t|$)/g)].reduce(
      (sum, [, n, unit]) => sum + Number(n) / (unit === "s" ? 1 : 1000),
      0,
    );
    assert.ok(Math.abs(seconds - 30) < 0.1, `what a thread did in 30 s adds up to ${seconds} s`);
  },

  async "prints as light sheets without controls"() {
    const page = await open({ colorScheme: "dark" });
    await page.emulateMedia({ media: "print" });
    assert.equal(
      await page
        .locator(".tools:visible, .tabs button[aria-selected=false]:visible, .menu:visible, .skip:visible")
        .count(),
      0,
    );
    assert.equal(
      await page.$eval(".chosen", (e) => getComputedStyle(e).position),
      "static",
      "nothing lies over the text",
    );
    assert.ok(await page.locator("h1").isVisible());
    // What a printed sheet shows is what stands there right after `beforeprint`, in the listener
    // after the page's own: every lane, scrolled to or not, drawn for the width of the sheet.
    await page.evaluate(() =>
      addEventListener("beforeprint", () => {
        const drawn = (canvas) => {
          const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
          return pixels.some((value, i) => i % 4 === 3 && value > 0);
        };
        const lanes = [...document.querySelectorAll("[data-lane]:not(.folded) canvas")];
        window.printed = lanes.map((canvas) => {
          const plot = canvas.closest(".line-plot") ?? canvas;
          return {
            lane: canvas.closest("[data-lane]").dataset.lane,
            drawn: drawn(canvas),
            off: Math.abs(canvas.width / devicePixelRatio - plot.clientWidth),
            sheet: document.body.clientWidth,
          };
        });
      }),
    );
    const pdf = await page.pdf({ format: "A4" });
    assert.ok(pdf.length > 20_000);
    const printed = await page.evaluate(() => window.printed);
    assert.ok(printed.length > 8, `${printed.length} canvases`);
    assert.deepEqual(
      printed.filter(({ drawn, off, sheet }) => !drawn || off > 1 || sheet > 700),
      [],
    );
    assert.equal(await page.$eval("html", (e) => e.classList.contains("printing")), false, "a screen again");
  },

  async "takes the samples of one thread, of a pool, or thread by thread"() {
    const page = await open({}, "#k=cpu&w=all&b=none");
    const all = await page.innerText("[data-about=stacks]");
    await page.selectOption("[data-control=threads]", { label: "http-exec-0 · 100" });
    const one = await says(page, "[data-about=stacks]", /http-exec-0/);
    assert.notEqual(one, all);
    await hashOf(page, /th=\d+/);
  },

  async "is moved by keys alone"() {
    const page = await open();
    const whole = await range(page);
    await page.focus("[data-plot='p0-gc.pause']");
    await page.keyboard.press("+");
    const closer = await eventually(async () => {
      const now = await range(page);
      assert.ok(now.width < whole.width);
      return now;
    });
    await page.keyboard.press("ArrowRight");
    await eventually(async () => assert.ok((await range(page)).from > closer.from));
    await page.keyboard.press("n");
    await page
      .locator("[role=status]")
      .filter({ hasText: /Pause .*lasted/ })
      .waitFor();
    await page.keyboard.press("Escape");
    await eventually(async () => assert.deepEqual(await range(page), whole));
    await page.keyboard.press("s");
    const slow = await eventually(async () => {
      const now = await range(page);
      assert.ok(now.from > 280 && now.to < 350);
      return now;
    });
    await page.keyboard.press("w");
    await says(page, "[data-chosen=window]", /^29\d/);
    await page.keyboard.press("c");
    await says(page, "[data-chosen=window]", /^300/);
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

  async "leads to each panel by its digit, which the help sheet names"() {
    const page = await open();
    const panels = await page.$$eval("main [data-panel]", (all) => all.map((panel) => panel.id));
    assert.deepEqual(panels.slice(0, 1), ["verdict"]);
    const inOrder = ["timeline", "stacks", "heat", "tables", "ledger"];
    assert.deepEqual(
      panels.filter((id) => inOrder.includes(id)),
      inOrder,
    );
    await page.keyboard.press("?");
    await says(page, "dialog[open]", /1 2 3 4 5\s+to timeline, stacks, heatmap, tables, where the time went/);
    await page.keyboard.press("Escape");
    for (const [i, id] of inOrder.entries()) {
      await page.evaluate(() => document.activeElement?.blur?.());
      await page.keyboard.press(String(i + 1));
      await page.locator(`#${id} :focus`).waitFor();
    }
  },

  async "moves the timeline to the place that a figure comes from"() {
    const page = await open();
    await page.click("text=at 301.0");
    await eventually(async () => {
      const there = await range(page);
      assert.ok(there.from < 301 && there.to > 301 && there.width < 100, JSON.stringify(there));
    });
    await eventually(async () => {
      const seen = await page.locator("#timeline-title").boundingBox();
      assert.ok(seen && seen.y < 900, "and brings it into sight");
    });
    assert.equal(await page.locator(".mark-line").count(), 1);
  },

  async "opens, brings into sight and marks the lane that a figure comes from"() {
    const page = await open({ viewport: { width: 1280, height: 600 } });
    const shown = async () => {
      const cited = page.locator(".lane.cited");
      assert.equal(await cited.count(), 1);
      assert.doesNotMatch(await cited.getAttribute("class"), /folded/);
      await eventually(async () => {
        const box = await cited.boundingBox();
        assert.ok(box && box.y < 600 && box.y + box.height > 0, "in sight");
      });
    };
    await page.click("text=at 301.0");
    await page.locator(".lane.cited").waitFor();
    await shown();
    await page.locator(".lane.cited [data-key=fold]").click();
    await page.locator(".lane.cited.folded").waitFor();
    await page.evaluate(() => scrollTo(0, 0));
    await page.click("text=at 301.0");
    await page.locator(".lane.cited:not(.folded)").waitFor();
    await shown();
    assert.match(await page.evaluate(() => location.hash), /lane=/);
  },

  async "opens at the place that its address names"() {
    const page = await open({}, "#t=100.0..110.0");
    const there = await range(page);
    assert.ok(Math.abs(there.from - 100) < 1e-6 && Math.abs(there.to - 110) < 1e-6);
  },

  async "describes the pause under the pointer"() {
    const page = await open({}, "#t=60.0..60.2");
    const plot = page.locator("[data-plot='p0-gc.pause']");
    await plot.scrollIntoViewIfNeeded();
    const box = await still(plot);
    let text = "";
    for (let x = 2; x < box.width && !text.includes("heap after"); x += 6) {
      await page.mouse.move(box.x + x, box.y + box.height - 8);
      await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
      text = await page.$eval(".tooltip", (e) => e.innerText).catch(() => "");
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
      assert.ok(
        widths.every((w) => w > width * 0.4),
        String(widths),
      );
    }
  },

  async "shows on the first screen a picture, the wall clock and no sentence twice, and fits a narrow one"() {
    const path = join(folder, "many.html");
    writeFileSync(path, example("fathom-render", "synthetic_report", "2000", "1000", "2000", "many"));
    const at = async (width, height) => {
      const page = await open({ viewport: { width, height } });
      await page.goto(pathToFileURL(path).href);
      await page.waitForFunction(() => performance.getEntriesByName("fathom-ready").length > 0);
      const over = await page.evaluate(() =>
        [...document.querySelectorAll("h1, .when, .windows, .finding h2")]
          .filter((e) => e.getBoundingClientRect().right > innerWidth || e.scrollWidth > e.clientWidth + 1)
          .map((e) => e.className || e.tagName),
      );
      assert.deepEqual(over, [], `beyond ${width} pixels`);
      return page;
    };
    const page = await at(1280, 900);
    const strip = await page.locator(".when-strip").boundingBox();
    assert.ok(strip.y > 0 && strip.y + strip.height < 900 && strip.width > 600, JSON.stringify(strip));
    assert.equal(await page.locator(".when-slow").count(), 50);
    assert.match(await page.innerText(".when figcaption"), /1970-01-01 00:00:00 UTC/);
    assert.match(await page.innerText(".windows"), /from 1970-01-01 00:00:00 UTC/);
    const curve = await page.locator(".when-line").evaluate((path) => [path.getBBox().width, path.getBBox().height]);
    assert.ok(curve[0] > 900 && curve[1] > 30, `the curve of the throughput: ${curve}`);
    assert.match(await page.innerText(".when figcaption"), /Throughput, from 0 to [\d.,]+\s?\S+/);
    const headings = await page.locator(".finding >> nth=0").locator("h3").allInnerTexts();
    assert.ok(headings.indexOf("What to do") < headings.indexOf("Proof"), headings.join(", "));
    const todo = await page.locator(".remedies >> nth=0").boundingBox();
    assert.ok(todo.y < 900, `what to do begins at ${todo.y} of 900 pixels`);
    const [headline, finding] = [await page.innerText("h1"), await page.innerText(".finding h2")];
    assert.ok(headline.startsWith("30 threads waited") && !finding.startsWith("30 threads waited"), finding);
    assert.match(await page.innerText(".windows"), /47 more/);
    assert.equal(
      await page.locator(".windows .place:visible").count(),
      7,
      "three windows, three of the baseline, a mark",
    );
    await page.click(".more-windows summary");
    await eventually(async () => assert.equal(await page.locator(".windows .place:visible").count(), 54));
    await at(390, 800);
    requests.length = 0;
  },

  async "has a ledger that a phone can show: bars below their names, each share below its time"() {
    const page = await open({ viewport: { width: 390, height: 800 } });
    await page.evaluate(() => document.querySelectorAll(".ledger-group").forEach((group) => (group.open = true)));
    const over = () =>
      page.evaluate(() =>
        [...document.querySelectorAll("[data-panel=ledger], [data-panel=ledger] *")]
          .filter((e) => e.getBoundingClientRect().right > innerWidth && !e.closest(".unseen"))
          .map((e) => `${e.tagName}.${e.className}`),
      );
    await eventually(async () => assert.deepEqual(await over(), [], "beyond 390 pixels"));
    const bars = await page.locator(".ledger-group .bars >> nth=0").boundingBox();
    assert.ok(bars.width > 300, `bars of ${bars.width} pixels`);
    const [time, share] = await Promise.all(
      [".time", ".of"].map((part) => page.locator(`.ledger-group td ${part} >> nth=0`).boundingBox()),
    );
    assert.ok(share.y >= time.y + time.height - 1, "the share is below its time");
    assert.ok(
      await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
      "the page does not scroll sideways",
    );
  },

  async "opens on the time that was recorded, and shows what lies outside on demand"() {
    const path = join(folder, "early.html");
    writeFileSync(path, example("fathom-render", "synthetic_report", "2000", "1000", "2000", "early"));
    const page = await open();
    await page.goto(pathToFileURL(path).href);
    await page.waitForFunction(() => performance.getEntriesByName("fathom-ready").length > 0);
    const recorded = await range(page);
    await page.click("text=Show all");
    const whole = await eventually(async () => {
      const now = await range(page);
      assert.ok(now.width > 3 * recorded.width, `${now.width} of ${recorded.width}`);
      return now;
    });
    assert.ok(whole.from < recorded.from - recorded.width);
    await hashOf(page, /^#t=-/);
    await page.click("text=As recorded");
    await eventually(async () => assert.deepEqual(await range(page), recorded));
    await eventually(() => assert.equal(new URL(page.url()).hash, ""));
    requests.length = 0;
  },

  async "gives axe nothing serious to say in light and dark, whatever is open"() {
    for (const colorScheme of ["light", "dark"]) {
      const page = await open({ colorScheme, bypassCSP: true }, "#k=cpu");
      await page.evaluate(axe);
      const ask = async (what, within) => {
        const { violations } = await page.evaluate((selector) => globalThis.axe.run(selector ?? document), within);
        const serious = violations.filter((v) => v.impact === "serious" || v.impact === "critical");
        const found = serious.map(
          (v) =>
            `${colorScheme}, ${what}: ${v.id}: ${v.nodes
              .slice(0, 3)
              .map((n) => n.html + n.failureSummary)
              .join("\n")}`,
        );
        assert.deepEqual(found, []);
      };
      for (const id of ["p0-gc.pause", "states"]) {
        await page.focus(`[data-plot='${id}']`);
        await page.keyboard.press("t");
      }
      await ask("the page with lanes as tables");
      for (const tab of ["In order of time", "What came, what went", "Flame graph"]) {
        await page.click(`role=tab[name='${tab}']`);
        await ask(tab, "[data-panel=stacks]");
      }
      await page.click("[data-panel=stacks] >> text=Table");
      await ask("frames as a table", "[data-panel=stacks]");
      await page.click(".ledger-group summary");
      await ask("a group of the ledger", "#ledger-panel");
      await page.click(".menu summary");
      await ask("exports", ".chosen");
      await page.keyboard.press("Escape");
      await page.locator(".menu[open]").waitFor({ state: "detached" });
      await page.focus("[data-plot='p0-gc.pause']");
      await page.keyboard.press("n");
      await page.keyboard.press("Enter");
      await ask("details", "[data-panel=details]");
      await page.click("text=Keys");
      await ask("the sheet of keys", "dialog[open]");
    }
  },

  async "pans over 200 000 spans, each key moving it"() {
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
      page.evaluate(
        async ([zoom, frames]) => {
          document.querySelector("[data-plot='p0-gc.pause']").focus();
          const press = (key) => dispatchEvent(new KeyboardEvent("keydown", { key }));
          for (let i = 0; i < zoom; i++) press("+");
          for (let i = 0; i < frames; i++) {
            press(i % 20 < 10 ? "ArrowRight" : "ArrowLeft");
            await new Promise((done) => requestAnimationFrame(done));
          }
        },
        [zoom, FRAMES],
      );
    const whole = await range(page);
    for (const [zoom, what] of [
      [1, "over most of the run"],
      [6, "closer in"],
    ]) {
      const before = { cpu: await cpuMs(), wall: performance.now() };
      await pan(zoom);
      const cpu = ((await cpuMs()) - before.cpu) / FRAMES;
      const wall = (performance.now() - before.wall) / FRAMES;
      console.log(`  a frame while panning ${what}: ${cpu.toFixed(1)} ms of CPU, ${wall.toFixed(1)} ms by the clock`);
      await eventually(async () => assert.ok((await range(page)).width < whole.width));
    }
  },
};

await runAll(tests, { browser, problems, atEnd: () => rmSync(folder, { recursive: true }) });
