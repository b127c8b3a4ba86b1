// What speedscope reads from a file: node test/speedscope.mjs FILE
//
// Opens the page that the npm package carries, hands it the file, and prints the rows of its
// sandwich view (frame, total, self) as text. Run by crates/cli/tests/exports.rs.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { findChromium, launch } from "../scripts/chromium.mjs";

const [file] = process.argv.slice(2);
const executable = findChromium();
if (!file) {
  console.error("usage: node test/speedscope.mjs FILE");
  process.exit(2);
}
if (!executable) {
  console.log("SKIPPED: speedscope: no Chromium here (apt-get install chromium, or set CHROMIUM)");
  process.exit(0);
}
const page = fileURLToPath(new URL("../node_modules/speedscope/dist/release/index.html", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "fathom-speedscope-"));
// The way in which speedscope's own command line hands over a file.
const script = join(folder, "file.js");
writeFileSync(
  script,
  `speedscope.loadFileFromBase64(${JSON.stringify(basename(file))}, ${JSON.stringify(readFileSync(file).toString("base64"))})`,
);
const browser = await launch(executable);
let failed = false;
try {
  const tab = await browser.newPage({ viewport: { width: 1400, height: 900 } });
  tab.on("pageerror", (error) => {
    console.error(String(error));
    failed = true;
  });
  await tab.goto(`${pathToFileURL(page).href}#localProfilePath=${encodeURIComponent(script)}`);
  await tab.getByText("Sandwich").click({ timeout: 60_000 });
  await tab.locator("table tbody tr, table tr").nth(1).waitFor({ timeout: 30_000 });
  const rows = await tab.$$eval("table tr", (all) => all.map((row) => row.innerText.replace(/\s+/g, " ").trim()));
  for (const row of rows) console.log(row);
} finally {
  await browser.close();
  rmSync(folder, { recursive: true });
}
process.exit(failed ? 1 : 0);
