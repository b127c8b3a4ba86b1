// Drives the page of `fathom serve` in a real browser: node test/serve.mjs
//
// First with logs that are finished: the address opens, a brush moves what is shown, and whoever
// does not know the key, comes under another name or from another site is refused. Then with a JVM
// (Orders.java) that is recorded meanwhile: the page follows, keeps what was selected, and says so
// when the recording has ended. FATHOM names a binary; without it one is built. Skips, loudly,
// where there is no Chromium, no JDK or no right to record.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createServer, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { findChromium, launch } from "../scripts/chromium.mjs";
import { eventually, PATIENCE_MS } from "./eventually.mjs";
import { skip } from "./skipped.mjs";

const executable = findChromium();
if (!executable) {
  skip("browser test of fathom serve: no Chromium here (apt-get install chromium, or set CHROMIUM)");
  process.exit(0);
}
const root = fileURLToPath(new URL("../..", import.meta.url));
if (!process.env.FATHOM)
  execFileSync("cargo", ["build", "--quiet", "--package", "fathom"], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
  });
const fathom = process.env.FATHOM ?? join(root, "target/debug/fathom");
const folder = mkdtempSync(join(tmpdir(), "fathom-serve-"));
const children = [];
const browser = await launch(executable);
const problems = [];

/** A program whose standard error is looked through for a text; resolves with what matched. */
function start(command, args, pattern, options = {}) {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"], ...options });
  children.push(child);
  child.said = "";
  return new Promise((found, failed) => {
    const look = (chunk) => {
      child.said += chunk;
      const match = pattern.exec(child.said);
      if (match) found({ child, match });
    };
    child.stdout.on("data", look);
    child.stderr.on("data", look);
    child.on("error", failed);
    child.on("exit", (code) => failed(new Error(`${command} ended with ${code}: ${child.said}`)));
  });
}

const serve = async (...inputs) => {
  const { match } = await start(fathom, ["serve", ...inputs, "--port", "0"], /open (http:\/\/\S+)/);
  return match[1];
};

async function open(address) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  context.setDefaultTimeout(4 * PATIENCE_MS);
  const page = await context.newPage();
  page.on("console", (m) => m.type() === "error" && problems.push(m.text()));
  page.on("pageerror", (e) => problems.push(String(e)));
  await page.goto(address);
  await page.waitForFunction(() => performance.getEntriesByName("fathom-ready").length > 0);
  return page;
}

async function brush(page, from, to) {
  // A page that follows a recording may be drawn anew between two movements of the
  // mouse: then once more.
  await eventually(async () => {
    const axis = await page.locator(".axis-plot").boundingBox();
    const plot = page.locator(".lane-plot").first();
    await plot.scrollIntoViewIfNeeded();
    const box = await plot.boundingBox();
    await page.mouse.move(axis.x + axis.width * from, box.y + 30);
    await page.mouse.down();
    await page.mouse.move(axis.x + axis.width * to, box.y + 30, { steps: 4 });
    await page.mouse.up();
    await page.locator(".chosen", { hasText: "selected" }).waitFor({ timeout: 2000 });
  });
}

/** Status of a request whose headers no browser would let a page choose. */
const status = (address, headers = {}) =>
  new Promise((done, failed) => {
    const { hostname, port, pathname } = new URL(address);
    const asked = request({ hostname, port, path: pathname, headers }, (answer) => {
      answer.resume();
      done(answer.statusCode);
    });
    asked.on("error", failed);
    asked.end();
  });

const end = (page) => page.$eval(".range", (e) => Number(e.dataset.to));

const tests = {
  async "the printed address opens, and a brush moves everything"() {
    const page = await open(await serve(join(root, "crates/ingest/fixtures/elasql")));
    assert.match(await page.innerText("footer"), /comes from this server alone/);
    await brush(page, 0.3, 0.4);
    assert.match(await page.innerText("[data-chosen=window]"), /s – /);
  },

  async "whoever has no key, another name or another site is refused"() {
    const address = await serve(join(root, "crates/ingest/fixtures/elasql"));
    const { origin, port } = new URL(address);
    assert.equal(await status(address), 200);
    assert.equal(await status(`${origin}/`), 404, "no key");
    assert.equal(await status(`${origin}/0123456789abcdef0123456789abcdef/state`), 404, "a wrong key");
    assert.equal(await status(address, { host: `evil.example:${port}` }), 421, "a name that was made to resolve here");
    assert.equal(await status(address, { origin: "http://evil.example" }), 403, "a page of another site");
    // A real page of another origin in the real browser, which even knows the key.
    const other = createServer((_, answer) =>
      answer.setHeader("content-type", "text/html").end("<p>another site"),
    ).listen(0, "127.0.0.1");
    await new Promise((ready) => other.once("listening", ready));
    const page = await (await browser.newContext()).newPage();
    await page.goto(`http://127.0.0.1:${other.address().port}/`);
    const got = await page.evaluate(async (at) => {
      const ask = async (options) => {
        try {
          const answer = await fetch(at, options);
          return `${answer.type} ${answer.status} ${(await answer.text()).length}`;
        } catch (error) {
          return `refused: ${error.name}`;
        }
      };
      return [await ask({}), await ask({ mode: "no-cors" })];
    }, `${address}state`);
    assert.deepEqual(got, ["refused: TypeError", "refused: TypeError"]);
    problems.length = 0;
    other.close();
  },

  async "a recording is followed while it is written, with the selection kept"() {
    const javac =
      ["/usr/lib/jvm/default-java/bin/javac", "/usr/lib/jvm/java-17-openjdk-amd64/bin/javac"].find(existsSync) ??
      "javac";
    try {
      execFileSync(
        javac,
        ["--release", "11", "-d", folder, fileURLToPath(new URL("java/Orders.java", import.meta.url))],
        { stdio: "pipe" },
      );
    } catch {
      skip("following a recording: no javac here");
      return;
    }
    const java = javac.replace(/javac$/, "java");
    const { child } = await start(java, ["-Xmx96m", "-cp", folder, "Orders", "900", folder], /ready/);
    const live = join(folder, "live.fathom");
    let recorder;
    try {
      recorder = await start(fathom, ["record", "-p", String(child.pid), "-o", live], /recording pid/);
    } catch (error) {
      skip(`following a recording: ${error.message.split("\n")[0]}`);
      return;
    }
    const ended = new Promise((done) => recorder.child.on("exit", done));
    // The first checkpoint makes it a recording that can be read.
    const address = await eventually(() => serve(live));
    const page = await open(address);
    const following = page.getByText("following the recording");
    await following.waitFor();
    const ends = [await end(page)];
    await brush(page, 0.2, 0.6);
    // Both ends in seconds. The zero that they count from is placed by clocks, which later readings
    // may move by microseconds.
    const chosen = async () =>
      (await page.innerText("[data-chosen=window]"))
        .match(/\d+\.\d+(?=\s+s\b)/g)
        .slice(0, 2)
        .map(Number);
    const brushed = await chosen();
    for (let look = 0; look < 2; look++) {
      await page.waitForFunction(
        (before) => Number(document.querySelector(".range")?.dataset.to) > before,
        ends.at(-1),
      );
      ends.push(await end(page));
    }
    console.log(`  the end of the run as the page saw it: ${ends.map((s) => `${s.toFixed(1)} s`).join(", ")}`);
    const now = await chosen();
    assert.ok(
      brushed.length === 2 && brushed.every((at, i) => Math.abs(at - now[i]) < 0.001),
      `the selection keeps its times: ${brushed} s, then ${now} s`,
    );
    assert.equal(await page.getByText("is truncated").count(), 0, "what is being written is not truncated");
    await page.route("**/state", (route) => route.abort());
    await page.getByText("does not answer any more").waitFor();
    await page.unroute("**/state");
    await following.waitFor();
    problems.length = 0; // The browser's console names the requests that were refused.
    recorder.child.kill("SIGINT");
    assert.equal(await ended, 0, recorder.child.said);
    await following.waitFor({ state: "detached" });
    const whole = await end(page);
    assert.ok(whole >= ends.at(-1), `${whole} s at the end, all that was seen before`);
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
  for (const child of children.splice(0)) child.kill();
}
await browser.close();
rmSync(folder, { recursive: true, force: true });
process.exit(failed === 0 ? 0 : 1);
