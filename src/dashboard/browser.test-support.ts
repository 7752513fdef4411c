import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import type { RunningDashboard } from "./server.ts";

/**
 * The Chromium of this machine. Where ESPALIER_REQUIRE names `chromium` its absence is an error, elsewhere the reason to
 * skip.
 */
export function findChromium(): { readonly program: string } | { readonly missing: string } {
  const names = ["chromium", "chromium-browser", "google-chrome"];
  const places = (process.env.PATH ?? "").split(delimiter);
  const program = names
    .flatMap((name) => places.map((place) => join(place, name)))
    .find((path) => existsSync(path));
  if (program !== undefined) return { program };
  const missing = `there is no ${names.join(", ")} in PATH`;
  if (process.env.ESPALIER_REQUIRE?.split(",").includes("chromium"))
    throw new Error(`ESPALIER_REQUIRE=${process.env.ESPALIER_REQUIRE}: ${missing}`);
  return { missing };
}

/** Starts a Chromium that reaches nothing but what it is told to open. */
export const startBrowser = (program: string): Promise<Browser> =>
  chromium.launch({
    executablePath: program,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });

/** Pages of one browser, and everything about them that no test expects. */
export class WatchedPages {
  readonly #browser: Browser;
  /** Addresses that pages asked for outside of the dashboard. */
  readonly foreign: string[] = [];
  /** Dialogs, errors of scripts, and what the browser refused by the page's policy. */
  readonly problems: string[] = [];

  constructor(browser: Browser) {
    this.#browser = browser;
  }

  /** Opens an address in a window of its own. Requests to `origin` and pictures within the page are its own. */
  async open(address: string, origin: string, options: BrowserContextOptions = {}): Promise<WatchedPage> {
    const context = await this.#browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    // What hostile names try to set.
    await context.addInitScript("window.ran = 0");
    const page = await context.newPage();
    page.setDefaultTimeout(30_000);
    const requests: string[] = [];
    page.on("request", (request) => {
      const url = request.url();
      if (url.startsWith("data:")) return;
      requests.push(url);
      if (!url.startsWith(origin)) this.foreign.push(url);
    });
    page.on("dialog", (dialog) => {
      this.problems.push(`a dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on("pageerror", (error) => this.problems.push(String(error)));
    page.on("console", (message) => {
      // A request that was refused is shown by the page: tests look there.
      if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
        this.problems.push(message.text());
    });
    await page.goto(address);
    return Object.assign(page, { requests });
  }
}

/** A page that notes what it requests. */
export type WatchedPage = Page & { readonly requests: string[] };

/** The address of a view of the dashboard, with the token where the page may steer. */
export function addressOf(
  { url, token }: RunningDashboard,
  view: Readonly<Record<string, string>> = {},
  control = true,
): string {
  const fragment = new URLSearchParams({ ...(control && { token }), ...view });
  return fragment.size === 0 ? url : `${url}#${fragment}`;
}

/** The tabs of a run: links. */
export const tabs = (page: Page) => page.getByRole("navigation", { name: "Views of the run" });

// What runs in the page is text: the types of browsers are not known here, so that nothing of Node relies on them.
const charts = `[...document.querySelectorAll("[data-key]")].filter((chart) => {
  const { top, bottom } = chart.getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
})`;

/** True of a pixel of a curve: grids and numbers are grey. */
const isColoured = `([red, green, blue, opaque]) =>
  opaque > 100 && Math.max(red, green, blue) - Math.min(red, green, blue) > 60`;

/** Waits until an expression holds in the page. Playwright's own way evaluates it anew, which the page's policy forbids. */
export const waitUntil = (page: Page, expression: string): Promise<void> =>
  page.evaluate(`new Promise((done, fail) => {
    const text = ${JSON.stringify(expression)};
    const over = setTimeout(() => fail(new Error("it was never so: " + text)), 30_000);
    const look = () => (${expression}) ? done(clearTimeout(over)) : setTimeout(look, 20);
    look();
  })`);

/** Waits until the charts in sight have points, and gives the titles of those on which no curve is to be seen. */
export async function blankCharts(page: Page): Promise<readonly string[]> {
  await waitUntil(
    page,
    // A chart whose colours have changed is made anew, and has no canvas until then.
    `${charts}.length > 0 && ${charts}.every((chart) => chart.dataset.points > 0 && chart.querySelector("canvas"))`,
  );
  return page.evaluate(`${charts}.flatMap((chart) => {
    const canvas = chart.querySelector("canvas");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let pixels = 0;
    for (let i = 0; i < data.length; i += 4) if ((${isColoured})(data.subarray(i, i + 4))) pixels += 1;
    return pixels < 5 ? [chart.dataset.key] : [];
  })`);
}

/** Where the uppermost curve of a chart is, in the middle of the chart. */
export const upperCurve = (page: Page, key: string): Promise<{ readonly x: number; readonly y: number }> =>
  page.evaluate(`(() => {
    const chart = document.querySelector('[data-key="${key}"]');
    const [canvas, over] = [chart.querySelector("canvas"), chart.querySelector(".u-over")];
    const [whole, part] = [canvas.getBoundingClientRect(), over.getBoundingClientRect()];
    const ratio = canvas.width / whole.width;
    const x = part.width / 2;
    const { data } = canvas.getContext("2d")
      .getImageData(Math.round((part.left - whole.left + x) * ratio), 0, 1, canvas.height);
    for (let row = 0; row < canvas.height; row += 1)
      if ((${isColoured})(data.subarray(4 * row, 4 * row + 4)))
        return { x, y: row / ratio - (part.top - whole.top) };
    throw new Error("there is no curve");
  })()`);

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What axe finds wrong with a page that keeps people out: its serious and critical violations. */
export async function seriousViolations(page: Page): Promise<readonly string[]> {
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe);
  const found = (await page.evaluate(
    "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)",
  )) as readonly {
    readonly id: string;
    readonly impact: string | null;
    readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
  }[];
  return found
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html}\n${node.failureSummary ?? ""}`));
}

/** True where nothing stands beyond the right edge of the page. */
export const fitsInWidth = (page: Page): Promise<boolean> =>
  page.evaluate("document.documentElement.scrollWidth <= innerWidth");

/** How bright the background of a page is, from 0 to 255. */
export const brightness = (page: Page): Promise<number> =>
  page.evaluate(
    "getComputedStyle(document.body).backgroundColor.match(/[\\d.]+/g).slice(0, 3).reduce((sum, each) => sum + each / 3, 0)",
  );

/** Saves a picture of a page, or of its upper part, for the docs, where ESPALIER_SCREENSHOTS names a directory. */
export async function screenshot(page: Page, name: string, upper?: number): Promise<void> {
  const directory = process.env.ESPALIER_SCREENSHOTS;
  if (!directory) return;
  // Not the path of a test.
  await page.evaluate(`document.querySelector(".where").textContent = "runs"`);
  const { width, height } = page.viewportSize() ?? { width: 1280, height: 900 };
  const clip = { x: 0, y: 0, width, height: upper ?? height };
  await page.screenshot({ path: join(directory, `dashboard-${name}.png`), clip });
}
