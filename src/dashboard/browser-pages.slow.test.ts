import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openStatsStore, type StatsStore } from "../metrics/index.ts";
import { noCounters } from "../schedule/index.ts";
import {
  addressOf,
  blankCharts,
  brightness,
  findChromium,
  fitsInWidth,
  seriousViolations,
  startBrowser,
  tabs,
  upperCurve,
  type WatchedPage,
  WatchedPages,
  waitUntil,
} from "./browser.test-support.ts";
import { fileRun, fileValue, makeDirectory } from "./dashboard.test-support.ts";
import { makeReport } from "./report.ts";
import { type RunningDashboard, startDashboard } from "./server.ts";

// The page over runs that are filed by the tests: list, comparison, URL, keys, sizes, live values, names that attack.

const found = findChromium();
const folder = mkdtempSync(join(tmpdir(), "espalier-pages-"));
const directory = join(folder, "runs");

/** Looks again until it is so. */
const until = <T>(look: () => T | Promise<T>) => expect.poll(look, { timeout: 30_000 });

describe.skipIf("missing" in found)("pages of the dashboard", { timeout: 120_000 }, () => {
  let store: StatsStore;
  let dashboard: RunningDashboard;
  let browser: Browser;
  let pages: WatchedPages;

  const open = (view: Readonly<Record<string, string>> = {}, more = {}): Promise<WatchedPage> =>
    pages.open(addressOf(dashboard, view), dashboard.url, more);

  /** A run that has ended, with curves of 100 values around a level. */
  async function fileEnded(id: string, level: number, more: object = {}): Promise<void> {
    await fileRun(store, id, { startedAt: 1_800_000_000_000, ...more });
    const value = (step: number, scale: number): number => level * scale + Math.sin(step / 9) / 10;
    await store.addMetrics(
      id,
      ["train/loss", "train/accuracy", "validation/loss"].flatMap((key, i) => {
        const [category = "", name = ""] = key.split("/");
        return Array.from({ length: 100 }, (_, at) => ({
          category,
          name,
          key,
          step: at + 1,
          value: value(at, i + 1),
          unit: undefined,
          axis: "steps",
          counters: { ...noCounters, steps: at + 1 },
          wall: 1_800_000_000_000 + 1000 * at,
          reduction: "mean" as const,
          count: 1,
          notFinite: 0,
        }));
      }),
    );
    await store.endRun(id, {
      outcome: "completed",
      counters: { ...noCounters, steps: 100 },
    });
  }

  beforeAll(async () => {
    if ("missing" in found) return;
    store = await openStatsStore(join(folder, "stats.db"));
    await fileEnded("low", 1, { name: "small model" });
    await fileEnded("high", 3, { name: "large model", config: { rate: 0.2 } });
    await fileEnded("third", 5, { name: "third model" });
    await fileEnded("doomed", 4);
    makeDirectory(directory, "doomed", { "run.log": "a line\n" });
    dashboard = await startDashboard({ store, directory, port: 0 });
    browser = await startBrowser(found.program);
    pages = new WatchedPages(browser);
  }, 120_000);

  afterAll(async () => {
    await browser?.close();
    await dashboard?.close();
    await store?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const rowsOf = (page: WatchedPage) => page.locator("table.runs tbody tr");
  const names = (page: WatchedPage): Promise<readonly string[]> =>
    rowsOf(page).getByRole("link").allInnerTexts();

  describe("the list", () => {
    it("is there without a stats store, and says how to begin", async () => {
      const empty = await startDashboard({ store: join(folder, "none.db"), directory: folder, port: 0 });
      const page = await pages.open(addressOf(empty), empty.url);
      await page.getByText("espalier train RUN.yaml").waitFor();
      expect(await seriousViolations(page)).toEqual([]);
      const later = await openStatsStore(join(folder, "none.db"));
      await fileRun(later, "newest");
      await until(() => names(page)).toEqual(["newest"]);
      await page.context().close();
      await empty.close();
      await later.close();
    });

    it("finds runs by words and by tags", async () => {
      const page = await open();
      await until(() => names(page)).toHaveLength(4);
      await page.getByRole("searchbox", { name: "Search runs" }).fill("MODEL sma");
      await until(() => names(page)).toEqual(["small model"]);
      await page.getByRole("searchbox", { name: "Search runs" }).fill("");
      await page.getByLabel("Select small model low").check();
      await page.getByLabel("Select large model high").check();
      await page.getByRole("button", { name: "Tags …" }).click();
      const dialog = page.getByRole("dialog", { name: "Tags of 2 runs" });
      expect(await seriousViolations(page)).toEqual([]);
      await dialog.getByRole("textbox").fill("paper, good one");
      await dialog.getByRole("button", { name: "Save" }).click();
      await until(async () => (await store.run("high")).tags).toEqual(["paper", "good one"]);
      await rowsOf(page).getByRole("button", { name: "good one" }).first().click();
      await until(async () => (await names(page)).toSorted()).toEqual(["large model", "small model"]);
      await until(() => page.url()).toContain("tags=good+one");
      await page.reload();
      await until(async () => (await names(page)).toSorted()).toEqual(["large model", "small model"]);
      await page.context().close();
    });

    it("is there whatever a link says that it is sorted by", async () => {
      for (const sort of ["__proto__", "constructor", "-toString"]) {
        const page = await open({ sort });
        await until(() => rowsOf(page).count()).toBeGreaterThan(2);
        await page.context().close();
      }
    });

    it("hides, archives and restores runs", async () => {
      const page = await open();
      await page.getByLabel("Select third model third").check();
      await page.getByRole("button", { name: "Hide" }).click();
      await until(() => names(page)).not.toContain("third model");
      await page.getByRole("button", { name: "Show 1 hidden" }).click();
      await page.getByLabel("Select third model third").check();
      await page.getByRole("button", { name: "Archive" }).click();
      await until(() => names(page)).not.toContain("third model");
      expect((await store.run("third")).archived).toBe(true);
      await page.getByRole("checkbox", { name: /^Archived/ }).check();
      await page.getByLabel("Select third model third").check();
      await page.getByRole("button", { name: "Restore" }).click();
      await until(async () => (await store.run("third")).archived).toBe(false);
      await page.context().close();
    });

    it("deletes a run whose id is typed, and no other", async () => {
      const page = await open();
      await page.getByLabel("Select doomed doomed").check();
      await page.getByRole("button", { name: "Delete …" }).click();
      const dialog = page.getByRole("dialog");
      expect(await seriousViolations(page)).toEqual([]);
      await dialog.getByLabel("Confirm").fill("doom");
      expect(await dialog.getByRole("button", { name: "Delete" }).isDisabled()).toBe(true);
      await dialog.getByLabel("Confirm").fill("doomed");
      await dialog.getByRole("button", { name: "Delete" }).click();
      await until(() => names(page)).toHaveLength(3);
      expect((await store.runs()).map(({ id }) => id)).not.toContain("doomed");
      await page.context().close();
    });
  });

  describe("charts", () => {
    it("draws two runs over one another, and brings one to the front by a click on its curve", async () => {
      const page = await open();
      await page.getByLabel("Select small model low").check();
      await page.getByLabel("Select large model high").check();
      await page.getByRole("link", { name: "Overlay in charts" }).click();
      const chart = page.locator('[data-key="train/loss"]');
      await until(() => chart.getAttribute("data-points")).toBe("200");
      expect(await blankCharts(page)).toEqual([]);
      expect(await page.getByRole("group", { name: "Runs in the charts" }).getByRole("button").count()).toBe(
        2,
      );
      expect(await seriousViolations(page)).toEqual([]);
      expect(new URL(page.url()).hash).toContain("run=low");
      // The upper curve is that of the larger values.
      await chart.locator(".u-over").click({ position: await upperCurve(page, "train/loss") });
      await until(() => new URL(page.url()).hash).toContain("run=high");
      await page.getByRole("heading", { name: "large model" }).waitFor();
      await page.goBack();
      await until(() => new URL(page.url()).hash).toContain("run=low");
      await page.context().close();
    });

    it("restores the whole view from its URL", async () => {
      const page = await open({ run: "low" });
      await blankCharts(page);
      await page.getByLabel("Log scale").check();
      await page.getByRole("slider", { name: "Smoothing" }).fill("0.6");
      const plot = page.locator('[data-key="train/loss"] .u-over');
      const { x = 0, y = 0, width = 0 } = (await plot.boundingBox()) ?? {};
      await page.mouse.move(x + width / 4, y + 50);
      await page.mouse.down();
      await page.mouse.move(x + width / 2, y + 60, { steps: 4 });
      await page.mouse.up();
      await until(() => page.url()).toMatch(/log=1.*smoothing=0\.6.*zoom=/);
      const zoom = /zoom=([\d.]+)(?:%2C|,)([\d.]+)/.exec(page.url()) ?? [];
      expect(Number(zoom[1])).toBeGreaterThan(20);
      expect(Number(zoom[2])).toBeLessThan(60);
      await page.reload();
      expect(await blankCharts(page)).toEqual([]);
      expect(await page.getByLabel("Log scale").isChecked()).toBe(true);
      expect(await page.getByRole("slider", { name: "Smoothing" }).inputValue()).toBe("0.6");
      expect(await page.getByRole("button", { name: "Reset zoom" }).isEnabled()).toBe(true);
      await page.getByRole("combobox", { name: "Axis" }).selectOption("time");
      await until(() => page.url()).toContain("axis=time");
      expect(await blankCharts(page)).toEqual([]);
      await page.reload();
      await until(() => page.getByRole("combobox", { name: "Axis" }).inputValue()).toBe("time");
      await tabs(page).getByRole("link", { name: "Configuration" }).click();
      await page.reload();
      await page.getByRole("article", { name: "Configuration" }).waitFor();
      await page.goBack();
      await page.getByRole("article", { name: "Charts" }).waitFor();
      await page.context().close();
    });

    it("obeys the keyboard", async () => {
      const page = await open();
      await until(() => names(page)).toHaveLength(3);
      await page.keyboard.press("?");
      await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
      expect(await seriousViolations(page)).toEqual([]);
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "hidden" });
      await page.keyboard.press("/");
      await page.keyboard.type("large");
      await until(() => names(page)).toEqual(["large model"]);
      await page.getByRole("searchbox").fill("");
      await page.getByRole("searchbox").blur();
      const pressed = async (key: string, address: RegExp): Promise<void> => {
        await page.keyboard.press(key);
        await until(() => page.url()).toMatch(address);
      };
      await pressed("]", /run=\w+/);
      const first = new URLSearchParams(new URL(page.url()).hash.slice(1)).get("run");
      await pressed("]", new RegExp(`run=(?!${first})`));
      await pressed("[", new RegExp(`run=${first}`));
      await blankCharts(page);
      await pressed("y", /log=1/);
      await pressed("s", /smoothing=0\.1/);
      await pressed("S", /^(?!.*smoothing)/);
      await pressed("+", /zoom=/);
      const zoomed = page.url();
      await pressed("ArrowRight", new RegExp(`^(?!${zoomed.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$)`));
      await pressed("r", /^(?!.*zoom=)/);
      await pressed("a", /axis=time/);
      await pressed("7", /tab=configuration/);
      await pressed("1", /^(?!.*tab=)/);
      await pressed("d", /theme=light/);
      await pressed("l", /^(?!.*run=)/);
      await page.context().close();
    });

    it("adds values as they are logged, and asks for no series again", async () => {
      await fileRun(store, "growing");
      await fileValue(store, "growing", 1, 1);
      const page = await open({ run: "growing" });
      const chart = page.locator('[data-key="train/loss"]');
      await until(() => chart.getAttribute("data-last")).toBe("1");
      const before = page.requests.length;
      for (let step = 2; step <= 4; step++) {
        await fileValue(store, "growing", step, step * 10);
        await until(() => chart.getAttribute("data-last")).toBe(String(step * 10));
      }
      expect(await chart.getAttribute("data-points")).toBe("4");
      expect(page.requests.slice(before)).toEqual([]);
      await page.context().close();
    });

    it("comes back when the server does, with what was logged meanwhile", async () => {
      const page = await open({ run: "growing" });
      const chart = page.locator('[data-key="train/loss"]');
      await until(() => chart.getAttribute("data-points")).toBe("4");
      const { url, token } = dashboard;
      await dashboard.close();
      await page.getByText("connection lost").waitFor();
      await fileValue(store, "growing", 5, 50);
      dashboard = await startDashboard({ store, directory, token, port: Number(new URL(url).port) });
      await page.getByText("● live").waitFor();
      await until(() => chart.getAttribute("data-last")).toBe("50");
      await fileValue(store, "growing", 6, 60);
      await until(() => chart.getAttribute("data-last")).toBe("60");
      await page.context().close();
    });
  });

  describe("a run", () => {
    it("that goes on from an earlier point has the curve of what it then logs", async () => {
      await fileRun(store, "back", { startedAt: 1 });
      for (let step = 1; step <= 5; step++) await fileValue(store, "back", step, step);
      const page = await open({ run: "back" });
      const chart = page.locator('[data-key="train/loss"]');
      await until(() => chart.getAttribute("data-points")).toBe("5");
      const resumedAt = { ...noCounters, steps: 2 };
      await store.startRun({
        id: "back",
        name: "back",
        startedAt: 2,
        config: {},
        resumedAt,
        continues: true,
      });
      await until(() => chart.getAttribute("data-points")).toBe("2");
      await fileValue(store, "back", 3, 30);
      await until(() => chart.getAttribute("data-last")).toBe("30");
      expect(await chart.getAttribute("data-points")).toBe("3");
      await page.context().close();
    });

    it("that is deleted while a page shows it is gone from there, until it is there again", async () => {
      await fileRun(store, "brief");
      await fileValue(store, "brief", 1, 1);
      const page = await open({ run: "brief" });
      await page.locator('[data-key="train/loss"]').waitFor();
      await store.deleteRun("brief");
      await page.getByText('there is no run "brief"').first().waitFor();
      await fileRun(store, "brief");
      await fileValue(store, "brief", 1, 7);
      const chart = page.locator('[data-key="train/loss"]');
      await until(() => chart.getAttribute("data-last")).toBe("7");
      await page.context().close();
    });

    it("of which every second value is not finite has the others as points, and its id as it is", async () => {
      await fileRun(store, "abc", { name: "turned \u202e around" });
      for (let step = 1; step <= 60; step++)
        await fileValue(store, "abc", step, step % 2 ? step : Number.NaN);
      const page = await open({ run: "abc" });
      expect(await blankCharts(page)).toEqual([]);
      await page.getByText("30 not finite").waitFor();
      const places = await page.evaluate(`[0, 1, 2].map((i) => {
        const range = document.createRange();
        const text = document.querySelector("h2 .id").firstChild;
        range.setStart(text, i);
        range.setEnd(text, i + 1);
        return range.getBoundingClientRect().left;
      })`);
      expect(places).toEqual((places as number[]).toSorted((a, b) => a - b));
      await page.context().close();
    });

    it("is asked for again where it was refused", async () => {
      const page = await open({ run: "low", tab: "configuration" });
      await page.getByText('"rate"').waitFor();
      let refusals = 0;
      await page.route(/api\/runs(\/high)?$/, (route) => {
        refusals += 1;
        return refusals > 4 ? route.continue() : route.fulfill({ status: 503, body: "{}" });
      });
      await page.evaluate("location.hash = 'run=high&tab=configuration'; location.reload()");
      await page.getByText("was answered 503").first().waitFor();
      await page.getByText('"rate"').waitFor();
      await page.context().close();
    });
  });

  it("has a connection for pages that are seen, however many are open", async () => {
    const first = await open({ run: "low" });
    const hide = (page: Page, hidden: boolean) =>
      page.evaluate(`{
        Object.defineProperty(document, "hidden", { get: () => ${hidden}, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
      }`);
    for (let i = 0; i < 6; i++) {
      await hide(first.context().pages().at(-1) ?? first, true);
      const page = await first.context().newPage();
      await page.goto(addressOf(dashboard, { run: "low" }));
      await page.getByText("● live").waitFor();
    }
    await fileValue(store, "low", 101, 77);
    await hide(first, false);
    const chart = first.locator('[data-key="train/loss"]');
    await until(() => chart.getAttribute("data-last")).toBe("77");
    await first.context().close();
  });

  it("makes rows of a long list as they come near, and finds those that are not made yet", async () => {
    const many = await openStatsStore(join(folder, "many.db"));
    // More than one address can name.
    for (let i = 0; i < 300; i++) {
      const id = `run-${i}-${"of-a-long-name".repeat(4)}`;
      await fileRun(many, id, { name: `run-${i}`, startedAt: 1_800_000_000_000 - i });
      await fileValue(many, id, 1, i);
    }
    const server = await startDashboard({ store: many, directory: join(folder, "many"), port: 0 });
    const page = await pages.open(addressOf(server), server.url);
    await until(() => rowsOf(page).count()).toBe(60);
    expect(await page.locator("table.runs").getAttribute("aria-rowcount")).toBe("301");
    expect(await page.getByRole("status").allInnerTexts()).toContain("300 of 300 runs");
    expect(await seriousViolations(page)).toEqual([]);
    await rowsOf(page).last().scrollIntoViewIfNeeded();
    await until(() => rowsOf(page).count()).toBeGreaterThan(100);
    await page.getByRole("searchbox", { name: "Search runs" }).fill("run-299");
    await until(() => names(page)).toEqual(["run-299"]);
    await page.getByRole("searchbox", { name: "Search runs" }).fill("");
    await page.getByLabel("Select all runs in the list").check();
    await page.getByText("300 selected").waitFor();
    // Not by the mouse: it would bring the button into sight, and rows before it.
    await page.getByRole("button", { name: "Show all 300" }).dispatchEvent("click");
    await until(() => rowsOf(page).count()).toBe(300);
    await until(() =>
      rowsOf(page)
        .getByRole("img", { name: /^train\/loss of/ })
        .count(),
    ).toBe(300);
    expect(await rowsOf(page).last().getAttribute("aria-rowindex")).toBe("301");
    await page.getByRole("link", { name: "Overlay the first 50 in charts" }).click();
    await until(() =>
      page.getByRole("group", { name: "Runs in the charts" }).getByRole("button").count(),
    ).toBe(50);
    await page.getByText("● live").waitFor();
    // Names and values of all of them leave room for their curves.
    await page.locator("[data-key]").scrollIntoViewIfNeeded();
    expect(await blankCharts(page)).toEqual([]);
    await page.context().close();
    await server.close();
    await many.close();
  });

  it("shows the time of a run with more hooks than one request may name", async () => {
    const limits = { epochs: 10 };
    await fileRun(store, "busy", { limits });
    for (let i = 0; i < 130; i++) await fileValue(store, "busy", 1, 0.005, `time/hooks/hook-${i}`);
    await store.endRun("busy", { outcome: "stopped", counters: { ...noCounters, epoch: 2, epochs: 2 } });
    const page = await open({ run: "busy", tab: "time" });
    const shares = page.getByRole("list", { name: "Shares of time" }).getByRole("listitem");
    await until(() => shares.count()).toBe(131);
    expect(await page.locator("header.run").innerText()).toMatch(/epoch 3 of 10(?!.*epochs)/);
    await page.context().close();
  });

  describe("names that attack", () => {
    const markup = `<img src=x onerror="window.ran=1">`;
    const script = "</script><script>window.ran=1</script>";
    /** Escapes of terminals, and marks that turn the direction of writing. */
    const turned = "\u001b[2J\u202Eevil\u2066";
    const id = `bad"><img src=x onerror=window.ran=1>`;

    beforeAll(async () => {
      if ("missing" in found) return;
      const name = `${markup}${script}${turned}`;
      await fileRun(store, id, { name, config: { [markup]: script } });
      await store.mark(id, { tags: [markup, script, turned] });
      const metrics = [`train/${markup}`, `${script.replaceAll("/", "")}/loss`, `evaluation/${turned}`];
      for (const key of [...metrics, `time/hooks/${markup}`])
        for (let step = 1; step <= 5; step++) await fileValue(store, id, step, step, key);
      await store.add(id, "evaluation", [
        { step: 1, name: markup, scores: { [markup]: 1 }, wall: 1, checkpoint: script },
      ]);
      await store.add(id, "intervention", [
        { step: 1, wall: 1, who: markup, what: script, details: { [turned]: markup } },
      ]);
      await store.add(id, "decision", [
        { hook: markup, event: script, ran: true, why: markup, fromStep: 1, toStep: 1, times: 1 },
      ]);
      await store.setHookTimings(id, [{ hook: markup, count: 1, mean: 1, p99: 1, max: 1, total: 1 }]);
      const own = makeDirectory(directory, id, {
        "config.yaml": `name: '${markup}'\n`,
        "plan.txt": `1. ${markup} ${script}\n`,
        "run.log": `${markup} ${script} ${turned}\n`,
      });
      appendFileSync(join(own, "run.log"), `${"long".repeat(2000)}\n`);
    });

    it("are shown as text, and nothing of them runs", async () => {
      const page = await open();
      await rowsOf(page).getByText(markup).first().waitFor();
      await page.getByLabel(`Select ${markup}`).check();
      await page.getByRole("button", { name: "Tags …" }).click();
      await page.getByRole("dialog").getByText(markup).waitFor();
      await page.keyboard.press("Escape");
      await rowsOf(page).getByRole("link").filter({ hasText: markup }).click();
      expect(await blankCharts(page)).toEqual([]);
      const titles = await tabs(page).getByRole("link").allInnerTexts();
      for (const tab of titles) {
        await tabs(page).getByRole("link", { name: tab }).click();
        const panel = page.getByRole("article", { name: tab });
        const shown = {
          Time: markup,
          Hooks: markup,
          Configuration: markup,
          Log: markup,
          Interventions: markup,
        }[tab];
        if (shown) await panel.getByText(shown).filter({ visible: true }).first().waitFor();
        if (tab === "Hooks") await panel.getByRole("button", { name: `Why ${markup}` }).click();
      }
      expect(await page.locator("img[src=x], main script").count()).toBe(0);
      expect(await page.evaluate("window.ran")).toBe(0);
      await page.context().close();
    });

    it("do nothing in a report either", async () => {
      const file = join(folder, "report.html");
      writeFileSync(file, (await makeReport(id, { store, directory })).text);
      const address = pathToFileURL(file).href;
      const page = await pages.open(address, address, { offline: true });
      await page.getByRole("heading", { name: markup }).first().waitFor();
      expect(await blankCharts(page)).toEqual([]);
      for (const tab of await tabs(page).getByRole("link").all()) await tab.click();
      expect(await page.locator("img[src=x]").count()).toBe(0);
      expect([await page.evaluate("window.ran"), page.requests]).toEqual([0, [address]]);
      await page.context().close();
    });

    it("do not widen the page, on a narrow one or a wide one", async () => {
      for (const width of [400, 3840]) {
        const page = await open({}, { viewport: { width, height: width === 400 ? 800 : 2160 } });
        await rowsOf(page).getByText(markup).first().waitFor();
        expect([width, "list", await fitsInWidth(page)]).toEqual([width, "list", true]);
        for (const run of ["low", id]) {
          const own = await open({ run }, { viewport: { width, height: 800 } });
          await own.locator("[data-key]").first().scrollIntoViewIfNeeded();
          await own.locator("canvas").first().waitFor();
          for (const tab of await tabs(own).getByRole("link").allInnerTexts()) {
            await tabs(own).getByRole("link", { name: tab }).click();
            await own.getByRole("article", { name: tab }).waitFor();
            await waitUntil(own, "!document.querySelector('main').textContent.includes('Loading')");
            expect([width, run, tab, await fitsInWidth(own)]).toEqual([width, run, tab, true]);
          }
          await own.context().close();
        }
        await page.context().close();
      }
    });
  });

  it("is dark or light as the system is, or as it is told", async () => {
    const page = await open({ run: "low" }, { colorScheme: "dark" });
    expect(await blankCharts(page)).toEqual([]);
    expect(await brightness(page)).toBeLessThan(60);
    expect(await seriousViolations(page)).toEqual([]);
    await page.getByRole("combobox", { name: "Theme" }).selectOption("light");
    await until(() => brightness(page)).toBeGreaterThan(200);
    await page.emulateMedia({ colorScheme: "light" });
    await page.getByRole("combobox", { name: "Theme" }).selectOption("dark");
    await until(() => brightness(page)).toBeLessThan(60);
    expect(await blankCharts(page)).toEqual([]);
    await page.context().close();
  });

  it("says how a run goes on whose process is gone", async () => {
    await fileRun(store, "gone", { startedAt: 1 });
    makeDirectory(directory, "gone");
    const page = await open({ run: "gone" });
    await page.getByText("espalier resume gone").waitFor();
    await fileRun(store, "stopped");
    makeDirectory(directory, "stopped");
    await store.endRun("stopped", { outcome: "interrupted", counters: { ...noCounters } });
    await page.goto(addressOf(dashboard, { run: "stopped" }));
    await page.getByText("espalier resume stopped").waitFor();
    await page.context().close();
  });

  it("asked no other host, and no script failed", () => {
    expect(pages.foreign).toEqual([]);
    expect(pages.problems).toEqual([]);
  });
});
