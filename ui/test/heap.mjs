// Drives the page of `fathom heap --html` in a real browser, with the dump of a real
// JVM: node test/heap.mjs
//
// Dumps a small shop (java/Shop.java), makes its page, and checks what no unit test can: that it
// says what the terminal says, that no byte is lost in it and no value is in it, that mouse and
// keys zoom, search and show the ways from the roots, that axe finds nothing serious. Skips,
// loudly, where there is no Chromium or no JDK. FATHOM names a binary; without it one is built.
// HEAP=page.html opens a page that is there and says how long that took: `java Shop 1000000 x`
// makes a dump of 12 million objects.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { inflateRawSync } from "node:zlib";

import { findChromium, launch } from "../scripts/chromium.mjs";
import { PATIENCE_MS } from "./eventually.mjs";
import { runAll } from "./running.mjs";
import { skip } from "./skipped.mjs";

const executable = findChromium();
if (!executable) {
  skip("browser test of the heap's page: no Chromium here (apt-get install chromium, or set CHROMIUM)");
  process.exit(0);
}
const SESSIONS = 20_000;
/** A value that is in every session, and in no page. */
const TOKEN = "open-sesame-4711-";
const root = fileURLToPath(new URL("../..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "fathom-heap-"));
const given = process.env.HEAP;
const file = given ?? join(folder, "shop.html");
const dump = join(folder, "shop.hprof");
const fathom = process.env.FATHOM ?? join(root, "target/debug/fathom");
const axe = readFileSync(fileURLToPath(new URL("../node_modules/axe-core/axe.min.js", import.meta.url)), "utf8");

/** What `fathom heap` says on standard output. */
const heap = (...args) =>
  execFileSync(fathom, ["heap", ...args], { maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "inherit"] }).toString();

/** Runs the shop, dumps it and makes its page. */
async function makePage() {
  if (!process.env.FATHOM)
    execFileSync("cargo", ["build", "--quiet", "--package", "fathom"], {
      cwd: root,
      stdio: ["ignore", "inherit", "inherit"],
    });
  const homes = [
    "/usr/lib/jvm/default-java",
    "/usr/lib/jvm/java-17-openjdk-amd64",
    "/usr/lib/jvm/temurin-25-jdk-amd64",
  ];
  const bin = homes.map((home) => `${home}/bin/`).find((path) => existsSync(`${path}javac`)) ?? "";
  try {
    execFileSync(
      `${bin}javac`,
      ["--release", "11", "-d", folder, fileURLToPath(new URL("java/Shop.java", import.meta.url))],
      { stdio: "pipe" },
    );
  } catch {
    skip("browser test of the heap's page: no javac here");
    process.exit(0);
  }
  const shop = spawn(`${bin}java`, ["-Xmx512m", "-cp", folder, "Shop", String(SESSIONS), TOKEN], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  try {
    await new Promise((ready, failed) => {
      shop.stdout.on("data", (text) => String(text).includes("ready") && ready());
      shop.on("exit", (code) => failed(new Error(`the shop ended with ${code}`)));
    });
    heap("-p", String(shop.pid), "--dump", dump, "--html", file);
  } finally {
    shop.kill();
  }
}

/** The data of the page: its header and its columns of small numbers. */
function data() {
  const text = /id="fathom-heap">([^<]*)</.exec(readFileSync(file, "utf8"))[1];
  const bytes = inflateRawSync(Buffer.from(text, "base64"));
  const length = bytes.readUInt32LE(0);
  const header = JSON.parse(bytes.subarray(4, 4 + length).toString());
  let at = 4 + length;
  const columns = header.columns.map((column) => {
    const block = bytes.subarray(at, at + column.bytes);
    at += column.bytes;
    const values = [];
    let [value, scale] = [0, 1];
    for (const byte of column.as === "varint" ? block : []) {
      value += (byte & 127) * scale;
      scale *= 128;
      if (byte < 128) [value, scale] = [void values.push(value) ?? 0, 1];
    }
    return values;
  });
  return { header, columns, bytes };
}

const browser = await launch(executable);
const problems = [];
const requests = [];
const address = pathToFileURL(file).href;

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

const drawn = (page) =>
  page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
async function press(page, ...keys) {
  for (const key of keys) {
    await page.keyboard.press(key);
    await drawn(page);
  }
}
const text = (page, what) => page.locator(`[data-heap=${what}]`).innerText();
const zoomed = (page) => page.locator("[data-heap=picture]").getAttribute("data-root");
const boxOf = (page, label) =>
  page.locator(".icicle .box", { has: page.locator(".label", { hasText: label }) }).first();
/** A text without what separates figures from units. */
const plain = (said) => said.replace(/[\s\u00a0\u202f]+/g, " ").trim();
async function searchFor(page, expression) {
  await press(page, "/");
  await page.keyboard.type(expression);
  await press(page, "Enter");
}

const opens = {
  async "opens from its file without a request or an error"() {
    const page = await open();
    assert.ok((await page.locator(".icicle .box").count()) > 3);
    assert.deepEqual(
      requests.filter((url) => !url.startsWith(address)),
      [],
    );
    const { header, columns } = data();
    const sum = [...columns[header.tree.own], ...columns[header.tree.folded_bytes]].reduce((a, b) => a + b, 0);
    assert.equal(sum, header.size.bytes, "what nodes take and what is folded are all that can be reached");
    console.log(
      `  open: ${page.openMs.toFixed(0)} ms, page ${(statSync(file).size / 1e3).toFixed(0)} kB, ${header.size.objects} objects, ${columns[header.tree.own].length} nodes`,
    );
  },
};

const tests = {
  ...opens,

  async "says first what the terminal says first, with totals and what is not counted"() {
    const page = await open();
    const terminal = plain(heap(dump));
    assert.ok(terminal.includes(plain(await text(page, "headline"))), await text(page, "headline"));
    assert.match(
      await text(page, "headline"),
      /ConcurrentHashMap in Shop\.SESSIONS \(static\).*20,000 entries of Shop\$Session/,
    );
    for (const line of (await text(page, "notes")).split("\n")) assert.ok(terminal.includes(plain(line)), line);
    const { size } = JSON.parse(heap(dump, "--json"));
    assert.ok((await text(page, "totals")).includes(`${size.objects.toLocaleString("en")} objects`));
  },

  async "has names and no values"() {
    assert.ok(readFileSync(dump).includes(TOKEN), "the value is in the dump");
    const { bytes } = data();
    assert.ok(bytes.includes("Shop$Session") && bytes.includes("order-writer"));
    for (const value of [TOKEN, "user-", "session-", "product-"]) assert.ok(!bytes.includes(value), value);
  },

  async "zooms by click, shows the way down and goes back"() {
    const page = await open();
    const before = await boxOf(page, /^! ConcurrentHashMap$/).boundingBox();
    const whole = await page.locator("[data-heap=picture]").boundingBox();
    const { size, holders } = JSON.parse(heap(dump, "--json"));
    const share = holders.all[0].retained_bytes / size.bytes;
    assert.ok(Math.abs(before.width / whole.width - share) < 0.01, `${before.width} of ${whole.width} for ${share}`);
    await boxOf(page, /^! ConcurrentHashMap$/).click();
    await page.waitForTimeout(300);
    const after = await boxOf(page, /^! ConcurrentHashMap$/).boundingBox();
    assert.ok(after.width > whole.width - 6, "it fills the width");
    const crumbs = page.locator("[data-heap=crumbs] li");
    assert.equal(await crumbs.first().innerText(), "All that can be reached");
    assert.equal(await crumbs.last().innerText(), "ConcurrentHashMap");
    await crumbs.first().locator("button").click();
    assert.equal(await zoomed(page), "0");
  },

  async "keeps each box within the one that keeps it"() {
    const page = await open();
    await page.waitForTimeout(300);
    const wrong = await page.evaluate(() => {
      const all = [...document.querySelectorAll(".icicle [role=treeitem]")].map((e) => {
        const at = e.getBoundingClientRect();
        return {
          level: Number(e.getAttribute("aria-level")),
          left: at.left,
          right: at.right,
          top: at.top,
          name: e.textContent,
        };
      });
      // Read in order, what keeps a box is the last one before it that is a level up.
      const above = [];
      return all.filter((box) => {
        above[box.level] = box;
        const up = above[box.level - 1];
        return up && (box.left < up.left - 1 || box.right > up.right + 1 || box.top <= up.top);
      });
    });
    assert.deepEqual(wrong, []);
  },

  async "is walked, zoomed, searched and explained by keys alone"() {
    const page = await open();
    await press(page, "ArrowDown");
    assert.equal(await text(page, "name"), "All that can be reached");
    await press(page, "ArrowDown");
    const largest = await text(page, "name");
    await press(page, "ArrowRight");
    assert.notEqual(await text(page, "name"), largest);
    await press(page, "ArrowLeft");
    assert.equal(await text(page, "name"), largest);
    assert.match(await text(page, "said"), /retains [\d.]+\s.?B, \d+% of the heap/);
    await press(page, "ArrowDown", "Enter");
    assert.notEqual(await zoomed(page), "0");
    assert.ok(
      await page.evaluate(() => document.activeElement.getAttribute("role") === "treeitem"),
      "the focus stays in the tree",
    );
    await press(page, "Escape");
    await press(page, "0");
    assert.equal(await zoomed(page), "0");
    await press(page, "?");
    await page.locator("dialog").waitFor({ state: "visible" });
    await press(page, "Escape");
    await page.locator("dialog").waitFor({ state: "hidden" });
  },

  async "says how much matching boxes retain, as the table does"() {
    const page = await open();
    await press(page, "ArrowDown");
    await searchFor(page, "^Shop\\$Session$");
    await page
      .locator("[data-heap=found]")
      .filter({ hasText: /retained by 1 box, 20,000 objects/ })
      .waitFor();
    const found = plain(await text(page, "found"));
    const { classes } = JSON.parse(heap(dump, "--json"));
    const sessions = classes.find((row) => row.name === "Shop$Session");
    const row = page
      .locator(".data-table tbody tr")
      .filter({ has: page.locator("th code", { hasText: /^Shop\$Session$/ }) });
    const cells = await row.locator("td").allInnerTexts();
    assert.equal(cells[0], sessions.objects.toLocaleString("en"));
    assert.ok(found.startsWith(`${plain(cells[2])} (`), `${found}: ${cells}`);
    assert.equal(await page.locator(".icicle .box.match").count(), 1);
    await press(page, "n");
    assert.equal(await text(page, "name"), "Shop$Session");
    await press(page, "Escape");
    assert.equal(await text(page, "found"), "");
    await searchFor(page, "(");
    await page.locator("[data-heap=found]").filter({ hasText: "not a regular expression" }).waitFor();
  },

  async "shows the shortest way from a root to what is chosen"() {
    const page = await open();
    const first = page.locator("[data-heap=holder]").first();
    const shown = plain(await first.locator("[data-heap=way]").innerText());
    assert.match(shown, /^root .*Shop\.SESSIONS \(static\) → java\.util\.concurrent\.ConcurrentHashMap 0x[0-9a-f]+$/);
    await first.getByRole("button", { name: /Show in the picture/ }).click();
    assert.equal(await text(page, "name"), "java.util.concurrent.ConcurrentHashMap");
    const details = page.locator("[data-heap=details] [data-heap=way]");
    assert.equal(plain(await details.innerText()), shown);
    // The same as `fathom heap --paths` prints.
    const steps = await details.locator("li:not(.root)").allInnerTexts();
    const { ways } = JSON.parse(heap(dump, "--paths", shown.split(" ").at(-1), "--json"));
    assert.equal(steps.length, ways[0].steps.length);
    // A backlog that only a thread's stack holds.
    await page.getByRole("tab", { name: "Threads" }).click();
    await page.getByRole("button", { name: "show: order-writer" }).click();
    assert.equal(await text(page, "name"), "java.lang.Thread");
    assert.match(plain(await details.innerText()), /^root .*thread that runs.*"order-writer"/);
    await boxOf(page, /ArrayDeque/).click();
    assert.match(
      plain(await details.innerText()),
      /local variable of Shop\.backlog\(Shop\.java:\d+\) → java\.util\.ArrayDeque/,
    );
    await page.getByRole("button", { name: "One step out" }).click();
    await boxOf(page, "6,000 × Shop$Order").click();
    assert.match(await text(page, "details"), /objects\s+6,000/);
  },

  async "sorts and filters its tables"() {
    const page = await open();
    const names = () => page.locator("[data-heap=table] tbody th code").allInnerTexts();
    await page.getByRole("button", { name: /^Objects/ }).click();
    const counts = await page.locator("[data-heap=table] tbody tr td:nth-child(2)").allInnerTexts();
    const numbers = counts.map((count) => Number(count.replaceAll(",", "")));
    assert.deepEqual(
      numbers,
      numbers.slice().sort((a, b) => b - a),
    );
    await page.getByPlaceholder("Filter: class").fill("shop$");
    await page.waitForFunction(() =>
      [...document.querySelectorAll("[data-heap=table] tbody th code")].every((e) => e.textContent.includes("Shop$")),
    );
    assert.ok((await names()).includes("Shop$Item"));
    for (const [tab, expected] of [
      ["Packages", "java.util.concurrent"],
      ["Class loaders", "AppClassLoader"],
      ["Threads", "http-0"],
      ["Waste", "boxed numbers"],
      ["References and buffers", "weak references"],
      ["Roots", "thread that runs"],
    ]) {
      await page.getByRole("tab", { name: tab }).click();
      assert.ok((await text(page, "table")).includes(expected), `${tab}: ${expected}`);
    }
  },

  async "keeps within the window, and says so to axe in light and dark"() {
    for (const colorScheme of ["light", "dark"]) {
      for (const width of [420, 1280, 2560]) {
        const page = await open({ viewport: { width, height: 1000 }, colorScheme, bypassCSP: true });
        const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(over <= 0, `${over} pixels too wide at ${width}`);
        if (width !== 1280) continue;
        await press(page, "ArrowDown", "ArrowDown", "ArrowDown");
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
  },
};

if (!given) await makePage();
await runAll(given ? opens : tests, { browser, problems, atEnd: () => rmSync(folder, { recursive: true }) });
