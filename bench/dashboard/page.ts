import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Browser, Page } from "playwright-core";
import { once } from "../../scripts/installed/checks.ts";
import { findChromium, startBrowser } from "../../src/dashboard/browser.test-support.ts";
import { type RunningDashboard, startDashboard } from "../../src/dashboard/index.ts";
import { pageDirectory } from "../../src/dashboard/page-files.ts";
import type { StatsStore } from "../../src/metrics/index.ts";
import type { CountedFigure, CountUnit, Limit } from "../harness/figure.ts";
import { median } from "../harness/statistics.ts";
import { fileRun, newDirectory, openStore, record } from "./stores.ts";

const [METRICS, POINTS, RUNS] = [100, 100_000, 500];

/** A browser, a store and a dashboard over it; made once, gone with the process. */
interface Bench {
  readonly browser: Browser;
  readonly store: StatsStore;
  readonly dashboard: RunningDashboard;
}

const bench = (fill: (store: StatsStore) => Promise<void>): (() => Promise<Bench>) =>
  once(async () => {
    const found = findChromium();
    if ("missing" in found) throw new Error(found.missing);
    const directory = newDirectory();
    const store = await openStore(directory);
    await fill(store);
    const dashboard = await startDashboard({ store, directory, port: 0 });
    const browser = await startBrowser(found.program);
    process.once("beforeExit", () => void Promise.all([browser.close(), dashboard.close(), store.close()]));
    return { browser, store, dashboard };
  });

const large = bench(async (store) => {
  console.error(`bench: filing a run of ${METRICS} metrics with ${POINTS} points each, once`);
  await fileRun(store, "large", METRICS, POINTS);
});

const many = bench(async (store) => {
  for (let run = 0; run < RUNS; run++) await fileRun(store, `run-${run}`, 5, 200);
});

/** Opens an address of the dashboard in a page of its own. */
async function open(from: () => Promise<Bench>, fragment: string): Promise<Page> {
  const { browser, dashboard } = await from();
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  await page.goto(dashboard.url + fragment, { waitUntil: "commit" });
  return page;
}

const figure = (name: string, unit: CountUnit, limit: Limit, ours: CountedFigure["ours"]): CountedFigure => ({
  kind: "counted",
  name,
  engine: "host",
  unit,
  bars: [{ kind: "absolute", ...limit }],
  ours,
});

/** The median of several measurements, after one that warms the server's and the browser's caches. */
async function middle(times: number, measure: () => Promise<number>): Promise<number> {
  await measure();
  const all: number[] = [];
  for (let i = 0; i < times; i++) all.push(await measure());
  return median(all);
}

/** Seconds from the request of a page until something is there. */
async function secondsTo(from: () => Promise<Bench>, fragment: string, until: string): Promise<number> {
  await from();
  const start = performance.now();
  const page = await open(from, fragment);
  await page.waitForFunction(until);
  const seconds = (performance.now() - start) / 1000;
  await page.close();
  return seconds;
}

/** True where every chart in sight is drawn. */
const CHARTS_DRAWN = `(() => {
  const charts = [...document.querySelectorAll("[data-key]")].filter((chart) => {
    const { top, bottom } = chart.getBoundingClientRect();
    return bottom > 0 && top < innerHeight;
  });
  return charts.length > 1 && charts.every((chart) => Number(chart.dataset.points) > 100);
})()`;

export const pageFigures: readonly CountedFigure[] = [
  figure("the page with its script and style, compressed", "kB", { below: 300 }, async () => {
    const directory = pageDirectory();
    const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((file) =>
      file.isFile(),
    );
    return files.reduce(
      (sum, { parentPath, name }) => sum + gzipSync(readFileSync(join(parentPath, name))).length / 1000,
      0,
    );
  }),
  figure(
    `opening a run of ${METRICS} metrics x ${POINTS.toLocaleString("en")} points, until its charts are drawn`,
    "s",
    { below: 2 },
    () => middle(5, () => secondsTo(large, "#run=large", CHARTS_DRAWN)),
  ),
  figure("panning its charts", "frames/s", { atLeast: 30 }, async () => {
    const page = await open(large, "#run=large&zoom=2000000,4000000");
    await page.waitForFunction(CHARTS_DRAWN);
    const chart = page.locator("[data-key]").first();
    await chart.focus();
    // An arrow key a frame for three seconds: the frames that the browser shows meanwhile are counted in it.
    const counted = page.evaluate(
      () =>
        new Promise<number>((done) => {
          const start = performance.now();
          let frames = 0;
          const next = (now: number): void => {
            frames += 1;
            document.activeElement?.dispatchEvent(
              new KeyboardEvent("keydown", {
                key: frames % 60 < 30 ? "ArrowRight" : "ArrowLeft",
                bubbles: true,
              }),
            );
            if (now - start < 3000) requestAnimationFrame(next);
            else done((1000 * frames) / (now - start));
          };
          requestAnimationFrame(next);
        }),
    );
    const frames = await counted;
    await page.close();
    return frames;
  }),
  figure(`the list of ${RUNS} runs, until all are there`, "s", { below: 1 }, () =>
    middle(5, () =>
      secondsTo(
        many,
        "",
        `document.querySelectorAll("[data-run]").length >= ${RUNS} || Number(document.querySelector("[data-runs]")?.dataset.runs) >= ${RUNS}`,
      ),
    ),
  ),
  figure("a value that is logged, until it is on the screen", "s", { below: 1 }, async ({ quick }) => {
    const { store } = await many();
    const id = "live";
    await store.startRun({ id, name: id, startedAt: Date.now(), config: null });
    await store.addMetrics(id, [record("loss", 1, 1, Date.now())]);
    const page = await open(many, `#run=${id}`);
    await page.waitForFunction(`document.querySelector('[data-key="train/loss"]')?.dataset.last === "1"`);
    let value = 1;
    const seconds = await middle(quick ? 3 : 15, async () => {
      value += 1;
      const start = performance.now();
      await store.addMetrics(id, [record("loss", value, value, Date.now())]);
      await page.waitForFunction(
        `document.querySelector('[data-key="train/loss"]')?.dataset.last === "${value}"`,
      );
      return (performance.now() - start) / 1000;
    });
    await page.close();
    return seconds;
  }),
];
