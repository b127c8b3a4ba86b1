// Turns the built pages into the templates that the binary carries: crates/render/assets/*.html.
//
// Adds the content security policy: nothing may be loaded from anywhere, and only the script and
// the styles that were built may run, known by their hashes. `--check` compares instead of writing;
// CI runs it so that the committed templates are those that the sources give.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

const PAGES = {
  "index.html": "report.html",
  "flame.html": "flame.html",
  "compare.html": "compare.html",
  "heap.html": "heap.html",
};
const MARKER = "<!--fathom:data-->";
const check = process.argv.includes("--check");

const hashes = (page, tag) =>
  [...page.matchAll(new RegExp(`<${tag}[^>]*>([\\s\\S]*?)</${tag}>`, "g"))].map(
    ([, text]) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`,
  );

/** The page with its policy. */
function withPolicy(page) {
  const policy = [
    "default-src 'none'",
    `script-src ${hashes(page, "script").join(" ")}`,
    `style-src ${hashes(page, "style").join(" ")}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  return page.replace(
    '<meta charset="utf-8" />',
    `<meta charset="utf-8" />\n    <meta http-equiv="Content-Security-Policy" content="${policy}" />`,
  );
}

let failed = false;
for (const [from, to] of Object.entries(PAGES)) {
  const built = fileURLToPath(new URL(`../dist/${from}`, import.meta.url));
  const target = fileURLToPath(new URL(`../../crates/render/assets/${to}`, import.meta.url));
  const page = withPolicy(readFileSync(built, "utf8"));
  const broken = [
    [page.split(MARKER).length !== 2, "the place for the data must be there exactly once"],
    [!page.includes("Content-Security-Policy"), "no content security policy"],
    [/<(script|link|img)[^>]+(src|href)=/.test(page), "something would be loaded from elsewhere"],
  ].filter(([is]) => is);
  for (const [, why] of broken) console.error(`${to}: ${why}`);
  if (broken.length > 0) failed = true;
  else if (!check) {
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, page);
    console.log(`${to}: ${(page.length / 1024).toFixed(0)} kB`);
  } else if (!existsSync(target) || readFileSync(target, "utf8") !== page) {
    console.error(`crates/render/assets/${to} is not what ui/ builds: run \`npm --prefix ui run build\` and commit it`);
    failed = true;
  } else console.log(`${to} is current`);
}
process.exit(failed ? 1 : 0);
