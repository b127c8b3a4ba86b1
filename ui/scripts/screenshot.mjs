// Pictures of a report for README and docs: node scripts/screenshot.mjs REPORT.html OUT-DIR
//
// Writes report-light.png and report-dark.png: the verdict and the timeline at its side, as a wide
// screen shows them. The pictures in docs/images are of fathom-demo/report.html that `fathom demo`
// leaves on an idle machine. With ONLY=SELECTOR it writes that part of the page alone, as
// report-recording.png or NAME=FILE, light, 980 pixels of it: ONLY=#timeline of
// `fathom record -p PID` of ui/test/java/Orders.java (java Orders 60 DIR), with its throughput.csv.
// PAGE=heap writes heap-light.png and heap-dark.png: WIDTH=1500 HEIGHT=980 of `fathom heap -p PID
// --dump shop.hprof --html shop.html` of ui/test/java/Shop.java (java Shop 20000 x),
// KEYS='ArrowDown …' pressed before.

import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

import { findChromium, launch } from "./chromium.mjs";

const [report, out] = process.argv.slice(2);
const executable = findChromium();
if (!report || !out || !executable) {
  console.error("usage: node scripts/screenshot.mjs REPORT.html OUT-DIR   (needs Chromium, or CHROMIUM=path)");
  process.exit(2);
}
mkdirSync(out, { recursive: true });
const width = Number(process.env.WIDTH ?? 1800);
const height = Number(process.env.HEIGHT ?? 1180);
const browser = await launch(executable);
const only = process.env.ONLY;
for (const scheme of only ? ["light"] : ["light", "dark"]) {
  const page = await browser.newPage({ viewport: { width, height }, colorScheme: scheme });
  page.on("console", (m) => m.type() === "error" && console.error(m.text()));
  page.on("pageerror", (e) => console.error(e));
  await page.goto(pathToFileURL(resolve(report)).href + (process.env.HASH ?? ""));
  await page.waitForFunction(() => performance.getEntriesByName("fathom-ready").length > 0);
  await page.waitForTimeout(400);
  for (const key of process.env.KEYS?.split(" ") ?? []) await page.keyboard.press(key);
  await page.waitForTimeout(400);
  const path = join(
    out,
    only ? (process.env.NAME ?? "report-recording.png") : `${process.env.PAGE ?? "report"}-${scheme}.png`,
  );
  if (only) {
    // The bar that stays in sight would lie over the lanes.
    await page.evaluate(() => (document.querySelector(".chosen").style.position = "static"));
    // Lanes are drawn when they come into sight.
    await page.locator(only).evaluate((element) => element.scrollIntoView());
    await page.waitForTimeout(1000);
    const box = await page.locator(only).boundingBox();
    const clip = {
      x: Math.max(0, box.x - 16),
      y: Math.max(0, box.y - 8),
      width: box.width + 32,
      height: Math.min(980, box.height),
    };
    await page.screenshot({ path, clip });
  } else await page.screenshot({ path, fullPage: process.env.FULL === "1" });
  // A third of the size with 96 colours, and no difference to see; ImageMagick is
  // not needed otherwise.
  const smaller = spawnSync("convert", [path, "+dither", "-colors", "96", "-define", "png:compression-level=9", path]);
  if (smaller.error) console.error(`${path}: left large, ImageMagick's convert is not here`);
}
await browser.close();
