import { viteSingleFile } from "vite-plugin-singlefile";
import { defineConfig } from "vitest/config";

/** Pages next to the report, which is built first. */
const OTHERS = ["flame", "compare", "heap"];

// One HTML file with everything in it: a page has to open from a disk, in a mail, without a
// network. There is one build for each page, chosen by `--mode`: one file cannot share its
// scripts with another.
export default defineConfig(({ mode }) => ({
  plugins: [viteSingleFile({ removeViteModuleLoader: true })],
  build: {
    target: "es2022",
    modulePreload: false,
    assetsInlineLimit: Number.MAX_SAFE_INTEGER,
    emptyOutDir: !OTHERS.includes(mode),
    rollupOptions: { input: OTHERS.includes(mode) ? `${mode}.html` : "index.html" },
  },
  test: { include: ["src/**/*.test.ts"], environment: "node" },
}));
