// A recording of async-profiler of a million samples, for comparing viewers. Profiler and converter
// come from Maven Central.

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const PROFILER = { artifact: "async-profiler", version: "4.3" };
const CONVERTER = { artifact: "jfr-converter", version: "4.5" };
const SECONDS = 30;
/** Samples that the viewers are to bear. */
const WANTED = 1_000_000;

const run = (command, ...args) =>
  execFileSync(command, args, { stdio: ["ignore", "pipe", "pipe"], maxBuffer: 1 << 28 }).toString();

function fromMaven({ artifact, version }) {
  run("mvn", "-q", "-B", "dependency:get", `-Dartifact=tools.profiler:${artifact}:${version}`);
  return join(homedir(), `.m2/repository/tools/profiler/${artifact}/${version}/${artifact}-${version}.jar`);
}

/**
 * Runs Orders.java under the profiler and puts what it wrote together until there are enough
 * samples; says why it cannot.
 */
export function recordWithAsyncProfiler(folder, fathom) {
  try {
    const [profiler, converter] = [fromMaven(PROFILER), fromMaven(CONVERTER)];
    const library = `linux-${process.arch === "arm64" ? "arm64" : "x64"}/libasyncProfiler.so`;
    execFileSync("jar", ["xf", profiler, library], { cwd: folder, stdio: "pipe" });
    run("javac", "--release", "11", "-d", folder, fileURLToPath(new URL("java/Orders.java", import.meta.url)));
    const once = join(folder, "once.jfr");
    run(
      "java",
      `-agentpath:${join(folder, library)}=start,event=wall,interval=1ms,jfr,file=${once}`,
      "-Xmx256m",
      "-cp",
      folder,
      "Orders",
      String(SECONDS),
      folder,
    );
    const samples = JSON.parse(run(fathom, "info", once, "--json")).samples;
    const one = Object.values(samples).reduce((sum, n) => sum + n, 0);
    const times = Math.max(1, Math.ceil(WANTED / Math.max(1, one)));
    const jfr = join(folder, "wall.jfr");
    // A flight recording is chunks one after the other: the same ones again lie over themselves.
    writeFileSync(jfr, Buffer.concat(Array(times).fill(readFileSync(once))));
    return { jfr, converter, samples: one * times, times, seconds: SECONDS };
  } catch (error) {
    return `${error.message.split("\n")[0]} (needs mvn, a JDK, and Maven Central or its artifacts in ~/.m2)`;
  }
}
