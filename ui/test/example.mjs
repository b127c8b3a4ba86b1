// What an example of the workspace prints. EXAMPLES names a folder in which it was built before, as
// `cargo test` does; else it is built here, which takes minutes.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

export function example(packageName, name, ...args) {
  const built = process.env.EXAMPLES;
  const cargo = ["cargo", "run", "--quiet", "--release", "--package", packageName, "--example", name, "--"];
  const [program, ...before] = built ? [join(built, name)] : cargo;
  return execFileSync(program, [...before, ...args], {
    cwd: root,
    maxBuffer: 1 << 28,
    stdio: ["ignore", "pipe", "inherit"],
  });
}
