// Turns the built page into the template that the binary carries: crates/render/assets/report.html.
//
// Adds the content security policy: nothing may be loaded from anywhere, and only the script and the styles that were
// built may run, told by their hashes. `--check` compares instead of writing; CI runs it so that the committed template
// is the one that the sources give.

import { createHash } from "node:crypto";
import { readFileSync, writeFileSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

const built = fileURLToPath(new URL("../dist/index.html", import.meta.url));
const target = fileURLToPath(new URL("../../crates/render/assets/report.html", import.meta.url));
const MARKER = "<!--fathom:data-->";

let page = readFileSync(built, "utf8");
const hashes = (tag) =>
  [...page.matchAll(new RegExp(`<${tag}[^>]*>([\\s\\S]*?)</${tag}>`, "g"))].map(
    ([, text]) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`,
  );
const policy = [
  "default-src 'none'",
  `script-src ${hashes("script").join(" ")}`,
  `style-src ${hashes("style").join(" ")}`,
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");
page = page.replace('<meta charset="utf-8" />', `<meta charset="utf-8" />\n    <meta http-equiv="Content-Security-Policy" content="${policy}" />`);

const broken = [
  [page.split(MARKER).length !== 2, "the place for the data must be there exactly once"],
  [!page.includes("Content-Security-Policy"), "no content security policy"],
  [/<(script|link|img)[^>]+(src|href)=/.test(page), "something would be loaded from elsewhere"],
].filter(([is]) => is);
if (broken.length > 0) {
  for (const [, why] of broken) console.error(`report.html: ${why}`);
  process.exit(1);
}

if (process.argv.includes("--check")) {
  if (readFileSync(target, "utf8") !== page) {
    console.error("crates/render/assets/report.html is not what ui/ builds: run `npm --prefix ui run build` and commit it");
    process.exit(1);
  }
  console.log("report.html is current");
} else {
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, page);
  console.log(`report.html: ${(page.length / 1024).toFixed(0)} kB`);
}
