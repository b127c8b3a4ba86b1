// The report compared with other viewers of the same samples: node test/rivals.mjs
// RECORDING.jfr [JFR-CONVERTER.jar]
//
// Makes fathom's report, speedscope's page with the same samples thread by thread, and
// async-profiler's heatmap (its converter is on Maven Central, tools.profiler:jfr-converter), and
// opens each in Chromium ROUNDS times, in turn. Printed are the size, the time and the page's CPU
// until it has been drawn and rests, and the same for a drag over a tenth of the run where there is
// something to drag over. FATHOM names the binary. `npm run bench` makes the recording itself.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { findChromium, launch } from "../scripts/chromium.mjs";

const ROUNDS = 5;
const median = (all) => all.slice().sort((a, b) => a - b)[Math.floor(all.length / 2)];

function made(name, command, args) {
  const before = performance.now();
  execFileSync(command, args, { stdio: ["ignore", "pipe", "pipe"], maxBuffer: 1 << 28 });
  return { name, seconds: (performance.now() - before) / 1000 };
}

/** The pages of the same samples, each as its program makes it. */
function viewersOf({ fathom, folder, recording, converter }) {
  const viewers = [];
  {
    const page = join(folder, "report.html");
    const how = made("fathom report", fathom, ["report", recording, "-o", page]);
    viewers.push({
      ...how,
      bytes: statSync(page).size,
      address: pathToFileURL(page).href,
      ready: (tab) => tab.waitForFunction(() => performance.getEntriesByName("fathom-ready").length > 0),
      plot: ".lane-plot",
      drag: [0.45, 0.5, 0.55],
    });
  }
  {
    const file = join(folder, "x.speedscope.json");
    const how = made("speedscope", fathom, ["export", recording, "--format", "speedscope", "--per-thread", "-o", file]);
    const script = join(folder, "file.js");
    writeFileSync(
      script,
      `speedscope.loadFileFromBase64("x.speedscope.json", ${JSON.stringify(readFileSync(file).toString("base64"))})`,
    );
    const page = pathToFileURL(
      fileURLToPath(new URL("../node_modules/speedscope/dist/release/index.html", import.meta.url)),
    ).href;
    viewers.push({
      ...how,
      bytes: statSync(file).size,
      address: `${page}#localProfilePath=${encodeURIComponent(script)}`,
      ready: (tab) => tab.getByText("Sandwich").waitFor({ timeout: 120_000 }),
      plot: null,
      drag: [],
    });
  }
  if (converter) {
    const page = join(folder, "heatmap.html");
    const how = made("async-profiler heatmap", "java", [
      "-jar",
      converter,
      ...(process.env.KIND ?? "--wall").split(" "),
      "-o",
      "heatmap",
      recording,
      page,
    ]);
    viewers.push({
      ...how,
      bytes: statSync(page).size,
      address: pathToFileURL(page).href,
      ready: (tab) => tab.waitForLoadState("load"),
      // Its cells have a fixed size: a minute of samples takes the left part of the canvas.
      plot: "canvas",
      drag: [0.2, 0.22, 0.25],
    });
  }
  return viewers;
}

/**
 * Until the page's thread has let two frames pass without being late: what had to be computed and
 * drawn is there. On a machine on which every frame is late, ten seconds.
 */
const rest = (tab) =>
  tab.evaluate(
    () =>
      new Promise((done) => {
        let calm = 0;
        let last = performance.now();
        const end = last + 10_000;
        const frame = () => {
          const now = performance.now();
          calm = now - last < 60 ? calm + 1 : 0;
          last = now;
          if (calm >= 2 || now > end) done();
          else requestAnimationFrame(frame);
        };
        requestAnimationFrame(frame);
      }),
  );

/** Opens each in turn and prints a line about each. */
export async function compareViewers({ browser, print, ...how }) {
  const viewers = viewersOf(how);
  const results = new Map(viewers.map((v) => [v.name, { open: [], openCpu: [], drag: [], dragCpu: [] }]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const viewer of viewers) {
      const result = results.get(viewer.name);
      const tab = await (await browser.newContext({ viewport: { width: 1600, height: 1000 } })).newPage();
      const session = await tab.context().newCDPSession(tab);
      await session.send("Performance.enable");
      const cpu = async () =>
        (await session.send("Performance.getMetrics")).metrics.find((m) => m.name === "ThreadTime").value * 1000;
      const began = performance.now();
      await tab.goto(viewer.address);
      await viewer.ready(tab);
      await rest(tab);
      result.open.push(performance.now() - began);
      result.openCpu.push(await cpu());
      if (viewer.plot) {
        const box = await tab.locator(viewer.plot).first().boundingBox();
        const y = box.y + Math.min(box.height / 2, 40);
        // The release of the button is what makes viewers compute: the time from it
        // until the page rests.
        const [from, middle, to] = viewer.drag.map((share) => box.x + box.width * share);
        await tab.mouse.move(from, y);
        await tab.mouse.down();
        await tab.mouse.move(middle, y, { steps: 3 });
        await tab.mouse.move(to, y, { steps: 3 });
        await rest(tab);
        const [before, start] = [await cpu(), performance.now()];
        await tab.mouse.up();
        await rest(tab);
        result.drag.push(performance.now() - start);
        result.dragCpu.push((await cpu()) - before);
      }
      await tab.context().close();
    }
  }
  for (const { name, seconds, bytes } of viewers) {
    const { open, openCpu, drag, dragCpu } = results.get(name);
    const dragged =
      drag.length > 0
        ? `; a drag ${median(drag).toFixed(0)} ms (CPU ${median(dragCpu).toFixed(0)} ms)`
        : "; has no selection of time";
    print(
      `${name}: made in ${seconds.toFixed(1)} s, ${(bytes / 1e6).toFixed(2)} MB; drawn and at rest after ${median(open).toFixed(0)} ms (CPU ${median(openCpu).toFixed(0)} ms)${dragged}`,
    );
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [recording, converter] = process.argv.slice(2);
  const executable = findChromium();
  if (!recording || !executable) {
    console.error("usage: node test/rivals.mjs RECORDING.jfr [JFR-CONVERTER.jar]   (needs Chromium)");
    process.exit(2);
  }
  const root = fileURLToPath(new URL("../..", import.meta.url));
  const folder = mkdtempSync(join(tmpdir(), "fathom-rivals-"));
  const browser = await launch(executable);
  console.log(`${recording}, median of ${ROUNDS}, load ${loadavg()[0].toFixed(1)}`);
  await compareViewers({
    browser,
    fathom: process.env.FATHOM ?? join(root, "target/release/fathom"),
    folder,
    recording: resolve(recording),
    converter: converter && resolve(converter),
    print: console.log,
  });
  await browser.close();
  rmSync(folder, { recursive: true });
}
