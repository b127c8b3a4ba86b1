import { defineConfig } from "vitest/config";
import { viteSingleFile } from "vite-plugin-singlefile";

// One HTML file with everything in it: the report has to open from a disk, in a mail, without a network.
export default defineConfig({
  plugins: [viteSingleFile({ removeViteModuleLoader: true })],
  build: { target: "es2022", modulePreload: false, assetsInlineLimit: Number.MAX_SAFE_INTEGER },
  test: { include: ["src/**/*.test.ts"], environment: "node" },
});
