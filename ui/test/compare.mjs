// Drives the pages of `fathom compare --html` in a real browser: node test/compare.mjs
//
// A program (Dearer.java) is run twice under the JVM's flight recorder, the second time with one
// method that costs sixteen times as much, and both recordings are compared; then commands that
// print numbers are compared in turns and as a matrix. Checked is what no unit test can: that the
// page loads nothing and says nothing in the console, that the method that was changed stands
// first, that its sums are those of --json, that hostile names stay text, that axe finds nothing
// serious. FATHOM names a binary; without it one is built. Skips, loudly, where there is no
// Chromium or no JDK. PAGES=folder takes pages that are there.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { findChromium, launch } from "../scripts/chromium.mjs";
import { PATIENCE_MS } from "./eventually.mjs";
import { runAll } from "./running.mjs";
import { skip } from "./skipped.mjs";

const executable = findChromium();
if (!executable) {
  skip("browser test of fathom compare: no Chromium here (apt-get install chromium, or set CHROMIUM)");
  process.exit(0);
}
const root = fileURLToPath(new URL("../..", import.meta.url));
if (!process.env.FATHOM)
  execFileSync("cargo", ["build", "--quiet", "--package", "fathom"], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
  });
const fathom = process.env.FATHOM ?? join(root, "target/debug/fathom");
const axe = readFileSync(fileURLToPath(new URL("../node_modules/axe-core/axe.min.js", import.meta.url)), "utf8");
const folder = process.env.PAGES ?? mkdtempSync(join(tmpdir(), "fathom-compare-"));
const browser = await launch(executable);
const problems = [];
const requests = [];

/** What a command of fathom prints with --json, in the folder of this test. */
const json = (...args) =>
  JSON.parse(
    execFileSync(fathom, args, { cwd: folder, maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "inherit"] }).toString(),
  );

/** JDKs that have a compiler and a flight recorder. */
const jdk = json("jdks", "--json").jdks.find((found) => found.javac === true && found.feature >= 11);

/** Runs the program with its dearer method so many times an operation; gives the recording. */
function recorded(name, times) {
  const place = join(folder, name);
  mkdirSync(place);
  const flight = `-XX:StartFlightRecording=filename=${place}/flight.jfr,settings=profile`;
  execFileSync(join(jdk.home, "bin/java"), [flight, "-Xmx128m", "-cp", folder, "Dearer", "8", String(times), place], {
    stdio: "ignore",
  });
  execFileSync(
    fathom,
    ["import", `${place}/flight.jfr`, `${place}/throughput.csv`, "-o", join(folder, `${name}.fathom`)],
    { stdio: "ignore" },
  );
  return `${name}.fathom`;
}

async function open(name, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  page.on("console", (m) => m.type() === "error" && problems.push(m.text()));
  page.on("pageerror", (e) => problems.push(String(e)));
  page.on("request", (r) => requests.push(r.url()));
  const address = pathToFileURL(join(folder, name)).href;
  await page.goto(address);
  await page.waitForFunction(() => performance.getEntriesByName("fathom-ready").length > 0);
  assert.deepEqual(
    requests.splice(0).filter((url) => url !== address),
    [],
  );
  return page;
}

/** Nothing serious by axe, in light and dark, and nothing beyond the window. */
async function accessible(name) {
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [1280, 2560]) {
      const page = await open(name, { viewport: { width, height: 1000 }, colorScheme, bypassCSP: true });
      const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(over <= 0, `${over} pixels too wide at ${width}`);
      if (width === 2560) continue;
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => globalThis.axe.run());
      const serious = violations.filter((v) => v.impact === "serious" || v.impact === "critical");
      assert.deepEqual(
        serious.map(
          (v) =>
            `${colorScheme}: ${v.id}: ${v.nodes
              .slice(0, 3)
              .map((n) => n.html + n.failureSummary)
              .join("\n")}`,
        ),
        [],
      );
    }
  }
}

const near = (a, b) => Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(a), Math.abs(b));
let pair;

const tests = {
  async "the page of two flight recordings says what JSON says, and the dearer method stands first"() {
    if (!jdk) return skip("comparison of recordings in the browser: no JDK from 11 on with a compiler");
    if (!existsSync(join(folder, "pair.html"))) {
      execFileSync(join(jdk.home, "bin/javac"), [
        "-d",
        folder,
        fileURLToPath(new URL("java/Dearer.java", import.meta.url)),
      ]);
      pair = json("compare", recorded("cheap", 1), recorded("dear", 16), "--html", "pair.html", "--json");
      writeFileSync(join(folder, "pair.json"), JSON.stringify(pair));
    }
    pair = JSON.parse(readFileSync(join(folder, "pair.json"), "utf8"));
    const page = await open("pair.html");
    assert.equal(await page.locator("h1").innerText(), pair.verdict.sentence);
    // A busy machine may leave open which of the two runs did more; the cost of
    // a method it does not.
    assert.equal(await page.locator("[data-verdict]").first().getAttribute("data-verdict"), pair.verdict.verdict);
    assert.notEqual(pair.verdict.verdict, "faster");
    const rows = page.locator("[data-table=frames] tbody tr");
    assert.match(await rows.first().innerText(), /Dearer\.dearer/);
    assert.match(await rows.first().innerText(), /\+.*s\/op[\s\S]*more/);
    assert.equal(await rows.count(), pair.costs.moved.length);
    // Each figure of the page is one of JSON, and the ledger adds up to the same.
    const measures = await page.$$eval("[data-measure]", (all) =>
      all.map((row) => [row.dataset.measure, Number(row.dataset.first), Number(row.dataset.second)]),
    );
    const known = new Map(pair.measures.map((m) => [m.id, m]));
    assert.ok(measures.length > 10, `${measures.length} figures`);
    for (const [id, first, second] of measures)
      assert.ok(near(first, known.get(id).first) && near(second, known.get(id).second), id);
    const groups = await page.$$eval("[data-ledger]", (all) =>
      all.map((group) => [group.dataset.ledger, Number(group.dataset.first), Number(group.dataset.second)]),
    );
    assert.ok(groups.length > 0, "a flight recording has threads");
    for (const [name, first, second] of groups) {
      const mine = pair.measures.filter((m) => m.id.startsWith("ledger.") && m.name.startsWith(`${name}: `));
      const sum = (side) => mine.reduce((all, m) => all + m[side], 0);
      assert.ok(near(first, sum("first")) && near(second, sum("second")), name);
    }
    assert.match(await page.locator("[data-section=locks]").innerText(), /waits for monitors/);
    assert.match(
      await page.locator("[data-section=syscalls]").innerText(),
      /Not known/,
      "a flight recording sees no system call",
    );
    assert.match(await page.locator("[data-section=changes]").innerText(), /same JDK/);
    assert.equal(await page.locator("[data-condition=JDK] td").last().innerText(), "yes");
  },

  async "its flame graph compares, is searched, and its table is sorted by a click"() {
    if (!pair) return;
    const page = await open("pair.html");
    await page.locator("[data-flame=plot]").scrollIntoViewIfNeeded();
    assert.match(await page.locator(".flame-legend").innerText(), /more than in the baseline/);
    await page.locator("[data-section=flame] input[type=search]").fill("Dearer\\.dearer$");
    await page
      .locator("[data-flame=found]")
      .filter({ hasText: /% in \d+ box/ })
      .waitFor();
    const head = page.locator("[data-table=frames] thead button", { hasText: "Frame" });
    await head.click();
    assert.equal(await page.locator("[data-table=frames] th[aria-sort=ascending]").count(), 1);
    const names = await page.$$eval("[data-table=frames] tbody th code", (all) => all.map((code) => code.textContent));
    assert.deepEqual(
      names,
      names.slice().sort((a, b) => a.localeCompare(b)),
    );
    await accessible("pair.html");
  },

  async "the page of runs has a point for each run, and hostile names stay text"() {
    const commands = ["echo 100", "echo 103 # </script><img src=x onerror=document.title='owned'>"];
    const report = json(
      "compare",
      "--runs",
      "6",
      "--metric",
      "number=\\d+",
      "--html",
      "runs.html",
      "--json",
      "--",
      commands[0],
      "--",
      commands[1],
    );
    const page = await open("runs.html");
    assert.equal(await page.locator("h1").innerText(), report.comparisons[0].sentence);
    assert.equal(
      await page.locator("[data-plot=runs] .cmp-run").count(),
      report.commands.reduce((n, row) => n + row.values.length, 0),
    );
    assert.equal(await page.locator("[data-plot=runs] .cmp-run").count(), 12);
    assert.ok((await page.innerText("body")).includes("</script><img"), "the hostile name is shown as it is");
    assert.equal(await page.locator("img").count(), 0);
    assert.notEqual(await page.title(), "owned");
    assert.match(await page.locator("[data-table=runs]").innerText(), /1\.03[\s\S]*slower/);
    await accessible("runs.html");
  },

  async "the page of two releases of the JDK lists what changed between them"() {
    const flights = ["jdk11", "jdk25"].map((jdk) => join(root, `crates/ingest/fixtures/jfr/${jdk}.jfr.zst`));
    const { known_changes } = json("compare", ...flights, "--html", "releases.html", "--json");
    assert.ok(known_changes.length > 0);
    const page = await open("releases.html");
    const links = await page.$$eval("[data-section=changes] a", (all) => all.map((a) => [a.textContent, a.href]));
    assert.deepEqual(links.sort(), known_changes.map(({ id, url }) => [id, url]).sort());
    await accessible("releases.html");
  },

  async "a matrix shows which variants do not differ significantly"() {
    const report = json(
      "compare",
      "--runs",
      "6",
      "--metric",
      "number=\\d+",
      "--html",
      "matrix.html",
      "--json",
      "--matrix",
      "n=100,101,200",
      "--",
      "shuf -i {n}-{n} -n 1; shuf -i 0-0 -n 1 > /dev/null",
    );
    const page = await open("matrix.html");
    assert.equal(await page.locator("[data-row]").count(), 3);
    const letters = await page.$$eval("[data-table=runs] tbody tr", (all) =>
      all.map((row) => row.lastElementChild.textContent),
    );
    assert.deepEqual(
      letters,
      report.commands.map((row) => row.letters),
    );
    await accessible("matrix.html");
  },
};

await runAll(tests, {
  browser,
  problems,
  atEnd: () => {
    if (!process.env.PAGES) rmSync(folder, { recursive: true });
  },
});
