// What the Firefox Profiler reads from a file: node test/firefox.mjs FILE
//
// Loads the profile with the profiler's own importer and profile logic, as its npm package of a
// command line carries them, and prints per thread its functions (self and total, in the profile's
// weight), its markers, and the counters. Run by crates/cli/tests/exports.rs.

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const [file] = process.argv.slice(2);
if (!file) {
  console.error("usage: node test/firefox.mjs FILE");
  process.exit(2);
}
const program = fileURLToPath(
  new URL("../node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js", import.meta.url),
);
const folder = mkdtempSync(join(tmpdir(), "fathom-firefox-"));
const env = {
  ...process.env,
  PROFILER_CLI_SESSION_DIR: folder,
  PROFILER_CLI_LOAD_TIMEOUT_MS: "120000",
  PROFILER_CLI_NO_SYMBOLICATE: "1",
};
const ask = (...args) => spawnSync(process.execPath, [program, ...args], { env, encoding: "utf8", maxBuffer: 1 << 28 });
const asked = (...args) => {
  const { status, stdout, stderr } = ask(...args);
  if (status !== 0) throw new Error(`${args.join(" ")}: ${stdout}${stderr}`);
  return stdout;
};

let failed = false;
try {
  ask("load", file);
  // A busy machine takes longer to start the program's daemon than the program waits for it.
  const patience = Date.now() + 120_000;
  while (ask("thread", "list", "--json").status !== 0 && Date.now() < patience)
    await new Promise((done) => setTimeout(done, 500));
  const { threads } = JSON.parse(asked("thread", "list", "--limit", "0", "--json"));
  for (const thread of threads) {
    console.log(
      `thread ${thread.name} of ${thread.processName ?? thread.process ?? ""}: ${thread.markerCount ?? thread.markers ?? 0} markers`,
    );
    const { functions } = JSON.parse(
      asked("thread", "functions", "--thread", thread.threadHandle ?? thread.handle, "--include-idle", "--json"),
    );
    for (const f of functions)
      console.log(`  ${f.name}: self ${f.selfSamples.toFixed(3)} total ${f.totalSamples.toFixed(3)}`);
  }
  console.log(asked("counter", "list"));
} catch (error) {
  console.error(String(error));
  failed = true;
} finally {
  ask("stop", "--all");
  rmSync(folder, { recursive: true, force: true });
}
process.exit(failed ? 1 : 0);
