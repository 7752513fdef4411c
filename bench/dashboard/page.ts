import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Page } from "playwright-core";
import { once } from "../../scripts/installed/checks.ts";
import { findChromium, startBrowser, waitUntil } from "../../src/dashboard/browser.test-support.ts";
import { startDashboard } from "../../src/dashboard/index.ts";
import { pageDirectory } from "../../src/dashboard/page-files.ts";
import type { StatsStore } from "../../src/metrics/index.ts";
import type { CountedFigure, CountUnit, Limit } from "../harness/figure.ts";
import { median } from "../harness/statistics.ts";
import { fileRun, newDirectory, openStore, record } from "./stores.ts";

const [METRICS, POINTS, RUNS] = [100, 100_000, 500];

/** A store that is filled once, and the directory that it is in. */
interface Filled {
  readonly store: StatsStore;
  readonly directory: string;
}

const filled = (fill: (store: StatsStore) => Promise<void>): (() => Promise<Filled>) =>
  once(async () => {
    const directory = newDirectory();
    const store = await openStore(directory);
    await fill(store);
    process.once("beforeExit", () => void store.close());
    return { store, directory };
  });

const large = filled(async (store) => {
  console.error(`bench: filing a run of ${METRICS} metrics with ${POINTS} points each, once`);
  await fileRun(store, "large", METRICS, POINTS);
});

const many = filled(async (store) => {
  for (let run = 0; run < RUNS; run++) await fileRun(store, `run-${run}`, 5, 200);
});

/** Opens a view of the dashboard by its fragment, in a page of its own. */
type Open = (fragment: string) => Promise<Page>;

/** Measures with a browser and a dashboard over a store, which are closed afterwards. */
async function inBrowser(
  from: () => Promise<Filled>,
  measure: (open: Open, store: StatsStore) => Promise<number>,
): Promise<number> {
  const found = findChromium();
  if ("missing" in found) throw new Error(found.missing);
  const { store, directory } = await from();
  const dashboard = await startDashboard({ store, directory, port: 0 });
  const browser = await startBrowser(found.program);
  try {
    return await measure(async (fragment) => {
      const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
      await page.goto(dashboard.url + fragment, { waitUntil: "commit" });
      return page;
    }, store);
  } finally {
    await browser.close();
    await dashboard.close();
  }
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
async function secondsTo(open: Open, fragment: string, until: string): Promise<number> {
  const start = performance.now();
  const page = await open(fragment);
  await waitUntil(page, until);
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

/** True where the list says that all runs are there, and has rows down to the end of the window. */
const LIST_DRAWN = `document.querySelector("main [role=status]")?.textContent === "${RUNS} of ${RUNS} runs"
  && document.querySelector(".runs").getBoundingClientRect().bottom > innerHeight`;

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
    () => inBrowser(large, (open) => middle(5, () => secondsTo(open, "#run=large", CHARTS_DRAWN))),
  ),
  figure("panning its charts", "frames/s", { atLeast: 30 }, () =>
    inBrowser(large, async (open) => {
      const page = await open("#run=large&zoom=2000000,4000000&zoomOn=steps");
      await waitUntil(page, CHARTS_DRAWN);
      // An arrow key a frame for three seconds: the frames that the browser shows meanwhile are counted in it.
      return page.evaluate<number>(`new Promise((done) => {
        const start = performance.now();
        let frames = 0;
        const next = (now) => {
          frames += 1;
          const key = frames % 60 < 30 ? "ArrowRight" : "ArrowLeft";
          document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
          if (now - start < 3000) requestAnimationFrame(next);
          else done((1000 * frames) / (now - start));
        };
        requestAnimationFrame(next);
      })`);
    }),
  ),
  figure(`the list of ${RUNS} runs, until those in sight are drawn`, "s", { below: 1 }, () =>
    inBrowser(many, (open) => middle(5, () => secondsTo(open, "", LIST_DRAWN))),
  ),
  figure("a value that is logged, until it is on the screen", "s", { below: 1 }, ({ quick }) =>
    inBrowser(many, async (open, store) => {
      const id = "live";
      await store.startRun({ id, name: id, startedAt: Date.now(), config: null });
      await store.addMetrics(id, [record("loss", 1, 1, Date.now())]);
      const page = await open(`#run=${id}`);
      const shown = (value: number): Promise<void> =>
        waitUntil(page, `document.querySelector('[data-key="train/loss"]')?.dataset.last === "${value}"`);
      await shown(1);
      let value = 1;
      return middle(quick ? 3 : 15, async () => {
        value += 1;
        const start = performance.now();
        await store.addMetrics(id, [record("loss", value, value, Date.now())]);
        await shown(value);
        return (performance.now() - start) / 1000;
      });
    }),
  ),
];
