// Opens a page several times, brushes it and pans over it, and measures how long each took by the
// clock and as CPU of its thread.

const ROUNDS = 5;
const FRAMES = 120;
/** What the page is to reach, milliseconds. */
const GOALS = { open: 1500, brush: 150, frame: 1000 / 60 };
/**
 * A frame cannot be shorter by the clock than the screen's; what the clock adds
 * by itself is no miss.
 */
const CLOCK_MS = 0.4;

/** Brushes: what, from and to as shares of the timeline, whether of the baseline. */
const BRUSHES = [
  ["a twentieth of the run", 0.5, 0.55, false],
  ["half of the run", 0.2, 0.7, false],
  ["a baseline of a third", 0.1, 0.43, true],
  ["a twentieth, compared with it", 0.5, 0.55, false],
];

/** Measures the page at `address`; `figure` takes each figure with its goal. */
export async function measure(browser, address, figure, { served = false } = {}) {
  const [opens, opening] = [[], []];
  let page;
  let cpu;
  for (let i = 0; i < ROUNDS; i++) {
    await page?.close();
    page = await browser.newPage({ viewport: { width: 1600, height: 1000 } });
    page.on("pageerror", (e) => console.error(e));
    const session = await page.context().newCDPSession(page);
    await session.send("Performance.enable");
    cpu = async () =>
      (await session.send("Performance.getMetrics")).metrics.find((m) => m.name === "ThreadTime").value * 1000;
    await page.goto(address);
    await page.waitForFunction(() => performance.getEntriesByName("fathom-ready").length > 0, null, {
      timeout: 120_000,
    });
    opening.push(await cpu());
    opens.push(await page.evaluate(() => performance.getEntriesByName("fathom-ready")[0].startTime));
  }
  const busy = (all) =>
    `CPU ${all
      .slice()
      .sort((a, b) => a - b)
      [Math.floor(all.length / 2)].toFixed(0)} ms`;
  figure({
    what: served ? "opens from the server" : "opens from its file",
    goal: GOALS.open,
    values: opens,
    more: busy(opening),
  });
  await brushes(page, cpu, figure, served);
  for (const [what, zoom] of [
    ["the whole run", 1],
    ["a hundredth", 10],
  ]) {
    const before = { cpu: await cpu(), wall: performance.now() };
    await page.evaluate(
      async ([zoom, frames]) => {
        document.querySelector(".lane-plot").focus();
        const press = (key) => dispatchEvent(new KeyboardEvent("keydown", { key }));
        press("0");
        for (let i = 0; i < zoom; i++) press("+");
        for (let i = 0; i < frames; i++) {
          press(i % 20 < 10 ? "ArrowRight" : "ArrowLeft");
          await new Promise((done) => requestAnimationFrame(done));
        }
      },
      [zoom, FRAMES],
    );
    const [spent, wall] = [((await cpu()) - before.cpu) / FRAMES, (performance.now() - before.wall) / FRAMES];
    figure({
      what: `a frame while panning over ${what}, CPU`,
      goal: Number(GOALS.frame.toFixed(1)),
      values: [spent],
      more: `${wall.toFixed(1)} ms by the clock${wall <= GOALS.frame + CLOCK_MS ? ": 60 a second" : ""}`,
    });
  }
  figure({
    what: "JavaScript heap",
    unit: "MB",
    values: [await page.evaluate(() => (performance.memory?.usedJSHeapSize ?? 0) / 1e6)],
  });
  await page.close();
}

async function brushes(page, cpu, figure, served) {
  const plot = page.locator("[data-plot]:not(.axis-plot)").first();
  await plot.scrollIntoViewIfNeeded();
  await page.waitForTimeout(500);
  const box = await plot.boundingBox();
  await page.evaluate(() => {
    const at = (type, x, y, shiftKey) =>
      new PointerEvent(type, { clientX: x, clientY: y, button: 0, bubbles: true, shiftKey });
    /**
     * From the release of the button until everything has been computed, laid out and
     * handed to the screen.
     */
    globalThis.brushed = (x0, x1, y, shift) =>
      new Promise((done) => {
        const start = performance.now();
        document.elementFromPoint(x0, y).dispatchEvent(at("pointerdown", x0, y, shift));
        for (const x of [(x0 + x1) / 2, x1]) window.dispatchEvent(at("pointermove", x, y, shift));
        window.dispatchEvent(at("pointerup", x1, y, shift));
        requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
      });
  });
  for (const [what, from, to, shift] of BRUSHES) {
    const [times, busy, exact] = [[], [], []];
    for (let i = 0; i < ROUNDS; i++) {
      const before = await cpu();
      const began = performance.now();
      const known = await page.evaluate(() => performance.getEntriesByName("fathom-exact").length);
      times.push(
        await page.evaluate(
          (args) => globalThis.brushed(...args),
          [box.x + box.width * from + i, box.x + box.width * to + i, box.y + 20, shift],
        ),
      );
      busy.push((await cpu()) - before);
      if (!served) continue;
      await page.waitForFunction((n) => performance.getEntriesByName("fathom-exact").length > n, known, {
        timeout: 120_000,
      });
      exact.push(performance.now() - began);
    }
    const middle = busy.sort((a, b) => a - b)[Math.floor(busy.length / 2)];
    figure({ what: `a brush of ${what}`, goal: GOALS.brush, values: times, more: `CPU ${middle.toFixed(0)} ms` });
    if (served) figure({ what: `  until all of its samples have come`, values: exact });
  }
}
