// Drives the real flame-graph page in a real browser: node test/flame.mjs
//
// Builds a page of a made-up recording (100 000 samples of stacks up to 40 deep, a comparison of
// its halves, hostile names), opens it from its file, and checks what no unit test can: that it
// loads nothing, that mouse and keys reach everything, that search, inversion and comparison say
// what they should, that axe finds nothing serious; how long redraws take is printed. Skips,
// loudly, where there is no Chromium. FLAME=page.html takes a page that is there.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { findChromium, launch } from "../scripts/chromium.mjs";
import { PATIENCE_MS } from "./eventually.mjs";
import { example } from "./example.mjs";
import { runAll } from "./running.mjs";
import { skip } from "./skipped.mjs";

const executable = findChromium();
if (!executable) {
  skip("browser test of the flame graph: no Chromium here (apt-get install chromium, or set CHROMIUM)");
  process.exit(0);
}

const folder = mkdtempSync(join(tmpdir(), "fathom-flame-"));
const file = process.env.FLAME ?? join(folder, "flame.html");
if (!process.env.FLAME) writeFileSync(file, example("fathom-render", "synthetic_flame", "100000", "2000"));
const address = pathToFileURL(file).href;
const axe = readFileSync(fileURLToPath(new URL("../node_modules/axe-core/axe.min.js", import.meta.url)), "utf8");

const browser = await launch(executable);
const problems = [];
const requests = [];

async function open(options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  page.on("console", (m) => m.type() === "error" && problems.push(m.text()));
  page.on("pageerror", (e) => problems.push(String(e)));
  page.on("request", (r) => requests.push(r.url()));
  const before = performance.now();
  await page.goto(address);
  await page.waitForFunction(() => performance.getEntriesByName("fathom-ready").length > 0);
  page.openMs = performance.now() - before;
  return page;
}

const name = (page) => page.locator("[data-flame=name]").innerText();
const attribute = (page, key) => page.locator("[data-flame=graph]").getAttribute(key);
const plot = (page) => page.locator("[data-flame=plot]");

/** Two frames on, everything that an event has caused is drawn. */
const drawn = (page) =>
  page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

/** Presses a key and lets the page draw what it does. */
async function press(page, key) {
  await page.keyboard.press(key);
  await drawn(page);
}

const tests = {
  async "opens from its file without a request, an error or a name that breaks out"() {
    const page = await open();
    const text = await page.innerText("body");
    assert.ok(text.includes("</script><img"), "the hostile name is shown as it is");
    assert.ok(text.includes("\\u{202e}"), "and its marks as their codes");
    assert.equal(await page.locator("img").count(), 0);
    assert.notEqual(await page.title(), "owned");
    assert.deepEqual(
      requests.filter((url) => !url.startsWith(address)),
      [],
    );
    console.log(`  open: ${page.openMs.toFixed(0)} ms, page ${(statSync(file).size / 1e6).toFixed(2)} MB`);
  },

  async "is walked, zoomed, searched, turned around and explained by keys alone"() {
    const page = await open();
    await press(page, "ArrowDown");
    assert.equal(await name(page), "all");
    await press(page, "ArrowDown");
    assert.equal(await name(page), "org.example.p0.Class0.method0");
    await press(page, "ArrowDown");
    const widest = await name(page);
    await press(page, "ArrowRight");
    assert.notEqual(await name(page), widest);
    await press(page, "ArrowLeft");
    assert.equal(await name(page), widest);
    assert.match(await page.locator("[data-flame=said]").innerText(), /total [\d.]+.s.*self/);
    await press(page, "Enter");
    assert.notEqual(await attribute(page, "data-root"), "0");
    await press(page, "Escape");
    assert.equal(await attribute(page, "data-root"), "0");
    await press(page, "/");
    await page.keyboard.type("ksys_|deflate$");
    await press(page, "Enter");
    await page
      .locator("[data-flame=found]")
      .filter({ hasText: /% in \d+ boxes of 2 frames/ })
      .waitFor();
    await press(page, "n");
    const first = await name(page);
    assert.match(first, /ksys_write|deflate/);
    await press(page, "n");
    await press(page, "N");
    assert.equal(await name(page), first);
    await press(page, "i");
    assert.equal(await attribute(page, "data-inverted"), "true");
    await press(page, "Escape");
    await press(page, "ArrowDown");
    await press(page, "ArrowDown");
    assert.match(await name(page), /\w/);
    await press(page, "t");
    await page.locator(".flame-frames tbody tr").nth(50).waitFor();
    await press(page, "i");
    await press(page, "?");
    await page.locator("dialog").waitFor({ state: "visible" });
    await press(page, "Escape");
    await page.locator("dialog").waitFor({ state: "hidden" });
  },

  async "is pointed at, chosen and zoomed by the mouse"() {
    const page = await open();
    const box = await plot(page).boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + 28);
    await drawn(page);
    assert.match(await page.innerText(".flame-tip"), /method0[\s\S]*total[\s\S]*s, 100%/);
    await page.mouse.click(box.x + box.width / 4, box.y + 47);
    await drawn(page);
    const chosen = await name(page);
    await page.mouse.dblclick(box.x + box.width / 4, box.y + 47);
    await drawn(page);
    assert.notEqual(await attribute(page, "data-root"), "0");
    assert.equal(await name(page), chosen);
    await page.getByRole("button", { name: "Whole graph" }).click();
    await drawn(page);
    assert.equal(await attribute(page, "data-root"), "0");
  },

  async "calls the method that was made slower so, and what did not change noise"() {
    const page = await open();
    await press(page, "t");
    const rows = await page.$$eval(".flame-frames tbody tr", (all) => all.map((row) => row.innerText));
    const found = rows.filter((row) => row.includes("beyond noise"));
    // The slower method calls these; more is spent in them because it is called more often.
    assert.match(found[0], /Class\d\.method2[1-8] .*\(\+[\d,]+%\).*more, beyond noise/s);
    assert.ok(rows.some((row) => row.includes("within noise")));
    await press(page, "m");
    assert.ok((await page.innerText(".flame-legend")).includes("Java, interpreted"));
    await press(page, "b");
    assert.equal(
      await page.getByRole("button", { name: "Widths of the baseline" }).getAttribute("aria-pressed"),
      "true",
    );
  },

  async "shows another kind of samples when asked to"() {
    const page = await open();
    await page.getByLabel("Samples").selectOption("1");
    await press(page, "Escape");
    assert.equal(await page.locator("[data-flame=graph]").getAttribute("aria-label"), "Flame graph: off-cpu");
    await plot(page).focus();
    await press(page, "ArrowDown");
    await press(page, "ArrowDown");
    assert.match(await name(page), /^worker-\d \[tid \d\]$/);
  },

  async "keeps within the window at 1280 and at 2560 pixels, and says so to axe in light and dark"() {
    for (const colorScheme of ["light", "dark"]) {
      for (const width of [1280, 2560]) {
        const page = await open({ viewport: { width, height: 1000 }, colorScheme, bypassCSP: true });
        const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(over <= 0, `${over} pixels too wide at ${width}`);
        if (width === 2560) continue;
        await plot(page).focus();
        await press(page, "ArrowDown");
        await press(page, "t");
        await page.evaluate(axe);
        const { violations } = await page.evaluate(() => globalThis.axe.run());
        const serious = violations.filter((v) => v.impact === "serious" || v.impact === "critical");
        const found = serious.map(
          (v) =>
            `${colorScheme}: ${v.id}: ${v.nodes
              .slice(0, 3)
              .map((n) => n.html + n.failureSummary)
              .join("\n")}`,
        );
        assert.deepEqual(found, []);
      }
    }
  },

  async "redraws a large graph without stutter"() {
    const page = await open();
    const session = await page.context().newCDPSession(page);
    await session.send("Performance.enable");
    const cpuMs = async () => {
      const { metrics } = await session.send("Performance.getMetrics");
      return metrics.find((m) => m.name === "ThreadTime").value * 1000;
    };
    await plot(page).focus();
    await page.keyboard.press("ArrowDown");
    for (const [what, keys] of [
      ["zoom in and out", ["ArrowDown", "ArrowDown", "Enter", "Escape"]],
      ["turn around and back", ["i", "i"]],
    ]) {
      const before = await cpuMs();
      for (const key of keys) await page.keyboard.press(key);
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
      const each = ((await cpuMs()) - before) / keys.length;
      console.log(`  ${what}: ${each.toFixed(1)} ms of CPU each`);
    }
  },
};

await runAll(tests, { browser, problems, atEnd: () => rmSync(folder, { recursive: true }) });
