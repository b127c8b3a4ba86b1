// The browser that tests and screenshots drive: CHROMIUM, or where Debian and others put it.

import { existsSync } from "node:fs";

import { chromium } from "playwright-core";

const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Path of a Chromium, or null when this machine has none. */
export function findChromium() {
  return [process.env.CHROMIUM, ...PLACES].find((path) => path && existsSync(path)) ?? null;
}

/** Starts it without a window. */
export function launch(executablePath) {
  // In a container tests run as root, where Chromium's own sandbox cannot be set up.
  const args = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  return chromium.launch({ executablePath, args, headless: true });
}
