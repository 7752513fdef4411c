import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { openStatsStore, type StatsStore } from "../metrics/index.ts";
import type { RunDetail, RunSummary } from "./api.ts";
import {
  addressOf,
  blankCharts,
  findChromium,
  screenshot,
  seriousViolations,
  startBrowser,
  tabs,
  type WatchedPage,
  WatchedPages,
  waitUntil,
} from "./browser.test-support.ts";
import { type RunningDashboard, startDashboard } from "./server.ts";

// A run that trains in a process of its own, a sweep beside it, and the dashboard in this process. Tests look at the run
// in a browser, steer it there, and stop it at the end.

const found = findChromium();
const folder = mkdtempSync(join(tmpdir(), "espalier-browser-"));
const main = fileURLToPath(new URL("../cli/main.ts", import.meta.url));
const children = new Set<ChildProcess>();

/** Agents in a grid, lesson after lesson: curves, evaluations, replays, a curriculum and checkpoints within seconds. */
const live = `name: explorer
engine: wasm
define:
  curriculum:
    use: lessonCurriculum
    plateau: { variation: 0.5 }
    lessons:
      - { name: near, after: [], threshold: 0.6 }
      - { name: far, after: [near], threshold: 0.6 }
      - { name: wall, after: [far], threshold: 0.6 }
      - { name: door, after: [wall], threshold: 0.6 }
      - { name: rooms, after: [door], threshold: 0.6 }
      - { name: corridors, after: [rooms], threshold: 0.6 }
      - { name: maze, after: [corridors], threshold: 0.6 }
task: { use: ppo, env: GridWorld-v0, curriculum: { get: curriculum }, environments: 16, rolloutSteps: 16, minibatches: 2,
  learningRate: 2e-3, totalSteps: 10000000, seed: 1 }
hooks:
  - { use: evaluationHook, player: { get: task.player }, suites: { maze: { env: GridWorld-v0 } }, episodes: 1,
      schedule: { use: every, epochs: 20 }, replays: {} }
  - { use: gradientMonitor }
metrics: { system: { schedule: { use: every, seconds: 1 } }, timing: { schedule: { use: every, seconds: 1 } } }
checkpoints: { schedule: { use: at, epochs: 25 } }
`;

const trials = `name: cart
engine: wasm
task: { use: ppo, env: CartPole-v1, totalSteps: 512 }
training: { seed: 1 }
metrics: { system: false, timing: false }
sweep: { metric: rollout/episode.return, method: grid, parameters: { task.learningRate: [0.001, 0.0001] } }
`;

function espalier(...args: readonly string[]): ChildProcess {
  const child = spawn(process.execPath, ["--import", import.meta.resolve("tsx"), main, ...args], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
  });
  children.add(child);
  child.once("close", () => children.delete(child));
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text) => said.push(text));
  return child;
}
/** Looks again until it is so. */
const until = <T>(look: () => T | Promise<T>) => expect.poll(look, { timeout: 30_000 });
/** What the processes printed: shown where a test does not find its run. */
const said: string[] = [];

describe.skipIf("missing" in found)("the dashboard in a browser", { timeout: 120_000 }, () => {
  let store: StatsStore;
  let dashboard: RunningDashboard;
  let browser: Browser;
  let pages: WatchedPages;
  /** The page of the run, with the token: tests go on from where the one before left it. */
  let page: WatchedPage;
  let run: string;
  let training: ChildProcess;

  const api = async <T>(path: string): Promise<T> => {
    const response = await fetch(new URL(path, dashboard.url));
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  };
  const runs = (): Promise<readonly RunSummary[]> => api("api/runs");
  const detail = (): Promise<RunDetail> => api(`api/runs/${run}`);
  const open = (
    view: Readonly<Record<string, string>> = {},
    control = true,
    more = {},
  ): Promise<WatchedPage> => pages.open(addressOf(dashboard, view, control), dashboard.url, more);

  beforeAll(async () => {
    if ("missing" in found) return;
    const directory = join(folder, "runs");
    mkdirSync(directory);
    writeFileSync(join(folder, "explorer.yaml"), live);
    writeFileSync(join(folder, "cart.yaml"), trials);
    store = await openStatsStore(join(directory, "stats.db"));
    training = espalier("train", "explorer.yaml");
    const sweep = once(espalier("sweep", "cart.yaml", "--parallel", "2"), "close");
    dashboard = await startDashboard({ store, directory, port: 0 });
    browser = await startBrowser(found.program);
    pages = new WatchedPages(browser);
    expect(await sweep, said.join("")).toEqual([0, null]);
    // Checkpoints are the last that a run of this kind brings.
    await vi.waitFor(
      async () => {
        run = (await store.runs()).find(({ name }) => name === "explorer")?.id ?? "";
        expect((await store.counts(run)).checkpoint, said.join("")).toBeGreaterThan(0);
      },
      { timeout: 60_000, interval: 100 },
    );
    page = await open();
  }, 120_000);

  afterAll(async () => {
    await browser?.close();
    await dashboard?.close();
    for (const child of children) {
      child.kill("SIGKILL");
      await once(child, "close");
    }
    await store?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const tab = async (name: string): Promise<void> => {
    await tabs(page).getByRole("link", { name }).click();
    await page.getByRole("article", { name }).waitFor();
  };
  const panel = (): ReturnType<WatchedPage["locator"]> => page.getByRole("article");

  it("lists runs that train and that have ended", async () => {
    const rows = page.locator("table.runs tbody tr");
    await until(() => rows.count()).toBe(3);
    const row = rows.filter({ hasText: "explorer" });
    await until(() => row.innerText()).toMatch(/running/);
    await row.locator("svg polyline").waitFor();
    expect(await rows.filter({ hasText: "completed" }).count()).toBe(2);
    expect(await seriousViolations(page)).toEqual([]);
    await screenshot(page, "list", 420);
  });

  it("opens a run with a click, and draws its charts", async () => {
    await page.getByRole("link", { name: "explorer" }).click();
    await page.getByRole("heading", { name: "explorer" }).waitFor();
    expect(await blankCharts(page)).toEqual([]);
    await page.locator('[data-key="rollout/episode.return"]').scrollIntoViewIfNeeded();
    expect(await blankCharts(page)).toEqual([]);
    await page.evaluate("scrollTo(0, 0)");
    expect(await seriousViolations(page)).toEqual([]);
    await screenshot(page, "run");
    const narrow = await open({ run }, true, { viewport: { width: 400, height: 1000 } });
    expect(await blankCharts(narrow)).toEqual([]);
    await screenshot(narrow, "narrow");
    await narrow.context().close();
  });

  it("shows evaluations and lessons of the curriculum", async () => {
    const answers: string[] = [];
    page.on("response", (response) => {
      if (response.url().includes("/events?kind=evaluation")) answers.push(String(response.status()));
    });
    await tab("Evaluations");
    expect(await blankCharts(page)).toEqual([]);
    await panel().getByRole("group", { name: "curriculum" }).locator("[data-key]").first().waitFor();
    const rows = panel()
      .getByRole("table", { name: /Evaluations/ })
      .locator("tbody tr");
    const before = await rows.count();
    expect(before).toBeGreaterThan(0);
    await until(() => rows.count()).toBeGreaterThan(before);
    // All of them once, then those that are new, or that there are none.
    expect(answers.join(" ")).toMatch(/^200( 304)* 226( 226| 304)*$/);
    expect(await seriousViolations(page)).toEqual([]);
  });

  it("shows gradients, health and the machine", async () => {
    await tab("Health");
    await page.locator('[data-key*="gradientNorm"]').waitFor();
    expect(await blankCharts(page)).toEqual([]);
    const keys = await page
      .locator("[data-key]")
      .evaluateAll((all) => all.map((one) => one.getAttribute("data-key")));
    expect(keys.join(" ")).toMatch(/health\/.*system\//s);
    expect(await seriousViolations(page)).toEqual([]);
  });

  it("shows where the time goes", async () => {
    await tab("Time");
    await panel().locator("svg.stack path").first().waitFor();
    await until(() => panel().getByRole("list", { name: "Shares of time" }).innerText()).toMatch(/\d+\.\d %/);
    expect(await seriousViolations(page)).toEqual([]);
  });

  it("shows the plan of hooks, their timings, and why one ran", async () => {
    await tab("Hooks");
    expect(await panel().locator("pre").last().innerText()).toMatch(/curriculum .* after evaluation/);
    expect(await panel().getByRole("table", { name: "Hooks" }).innerText()).toMatch(/evaluation.*ms/s);
    await panel().getByRole("button", { name: "Why evaluation ran" }).click();
    const why = panel().getByRole("region", { name: "Why evaluation" });
    await until(() => why.locator("pre").innerText()).toMatch(/20 epochs/);
    expect(await seriousViolations(page)).toEqual([]);
  });

  it("shows checkpoints, looks into one, verifies and protects it", async () => {
    await tab("Checkpoints");
    const name = (await panel().locator("tbody th").first().innerText()).trim();
    await panel()
      .getByRole("button", { name: `Inspect ${name}` })
      .click();
    const inside = panel().getByRole("region", { name: `Inside ${name}` });
    await inside.getByText(/^params,/).click();
    await until(() => inside.getByRole("table", { name: "Contents of params" }).innerText()).toMatch(
      /f32 \[/,
    );
    const row = panel().locator("tr", { hasText: name }).first();
    await row.getByRole("button", { name: "Verify" }).click();
    await until(() => row.innerText()).toContain("whole");
    await row.getByRole("button", { name: "Protect" }).click();
    await row.getByRole("button", { name: "Protect", pressed: true }).waitFor();
    const [kept] = (
      await api<readonly { name: string; protected: boolean }[]>(`api/runs/${run}/checkpoints`)
    ).filter((one) => one.name === name);
    expect(kept?.protected).toBe(true);
    await panel()
      .getByRole("button", { name: `Inspect ${name}` })
      .click();
    expect(await seriousViolations(page)).toEqual([]);
  });

  it("shows the configuration, and in what it differs from that of another run", async () => {
    await tab("Configuration");
    expect(await panel().locator("pre").innerText()).toContain("env: GridWorld-v0");
    const other = (await runs()).find(({ name }) => name.startsWith("cart"))?.id ?? "";
    await panel().getByLabel("Difference with").selectOption(other);
    const settings = panel().getByRole("table", { name: "Settings that differ" });
    await until(() => settings.innerText()).toMatch(/task\.env\s+"?GridWorld-v0"?\s+"?CartPole-v1/);
    expect(await seriousViolations(page)).toEqual([]);
    await panel().getByLabel("Difference with").selectOption("");
  });

  it("shows the log as it is written", async () => {
    await tab("Log");
    const last = panel().getByRole("log").locator("div").last();
    await until(() => last.innerText()).toMatch(/step \d+/);
    const before = await last.innerText();
    await until(() => last.innerText()).not.toBe(before);
    expect(await seriousViolations(page)).toEqual([]);
    // The newest line is in sight as lines come. Where somebody has scrolled to, nothing moves.
    const box = (await panel().getByRole("log").boundingBox()) ?? { y: 0, height: 0 };
    const placeOf = async (line: typeof last): Promise<number> => (await line.boundingBox())?.y ?? Number.NaN;
    await until(() => placeOf(last)).toBeLessThan(box.y + box.height);
    await page.evaluate("document.querySelector('.log').scrollTo(0, -1000)");
    const [old, newest] = [panel().getByRole("log").locator("div div").nth(20), await last.innerText()];
    const place = await placeOf(old);
    await until(() => last.innerText()).not.toBe(newest);
    // Browsers round to parts of a pixel. A line has 20 of them.
    expect(Math.abs((await placeOf(old)) - place)).toBeLessThan(2);
  });

  it("plays replays", async () => {
    await tab("Replays");
    await panel()
      .getByRole("button", { name: /^Watch/ })
      .first()
      .click();
    const frame = panel().getByRole("img", { name: /^Frame/ });
    await frame.waitFor();
    await until(() => frame.getAttribute("alt")).not.toMatch(/^Frame 1 of/);
    await panel().getByRole("slider", { name: "Frame" }).press("Home");
    await until(() => frame.getAttribute("alt")).toMatch(/^Frame 1 of/);
    // The picture is one that the browser can draw.
    const picture = `document.querySelector('img[alt^="Frame"]')`;
    expect(await page.evaluate(`${picture}.decode().then(() => ${picture}.naturalWidth)`)).toBeGreaterThan(0);
    expect(await seriousViolations(page)).toEqual([]);
  });

  it("says of a cluster that there is none", async () => {
    await tab("Cluster");
    await until(() => panel().innerText()).toMatch(/NATS|server/i);
    expect(await seriousViolations(page)).toEqual([]);
  });

  it("shows the trials of a sweep", async () => {
    const trial = (await runs()).find(({ sweep }) => sweep !== undefined)?.id ?? "";
    const own = await open({ run: trial, tab: "sweep" });
    const table = own.getByRole("table", { name: /^Trials of/ });
    await until(() => table.locator("tbody tr").count()).toBe(2);
    expect(await table.innerText()).toMatch(/rollout\/episode\.return\s+task\.learningRate(.|\n)*0\.0001/);
    expect(await seriousViolations(own)).toEqual([]);
    await own.context().close();
  });

  const controls = (): ReturnType<WatchedPage["locator"]> => page.getByRole("region", { name: "Controls" });
  /** Waits until the page shows that the run has done what it was told. */
  const confirmed = (what: string): Promise<void> =>
    controls()
      .getByRole("listitem")
      .filter({ hasText: `${what}: applied at batch` })
      .first()
      .waitFor();
  const told = async (): Promise<readonly string[]> =>
    (await store.list(run, "intervention"))
      .map(({ who, what }) => `${who}: ${what}`)
      .filter((row) => row.startsWith("Ada"));
  const state = async () => {
    const { control } = await detail();
    if (!control) throw new Error("nothing listens");
    return control;
  };

  it("shows everything and changes nothing without the token", async () => {
    const reader = await open({ run, tab: "hooks" }, false);
    await reader.getByText("open the address with the token").waitFor();
    await reader.getByRole("button", { name: "Disable gradients", exact: true }).waitFor();
    const name = /^(Pause|Stop|Checkpoint now|Evaluate now|Set|Release|Disable|Archive|Tags|Delete)/;
    expect(await reader.getByRole("button", { name }).count()).toBeGreaterThan(10);
    expect(await reader.getByRole("button", { name, disabled: false }).allInnerTexts()).toEqual([]);
    // They look so, too.
    const opacity = (button: string) =>
      reader.evaluate(`Number(getComputedStyle([...document.querySelectorAll("button")]
        .find(({ textContent }) => textContent === "${button}")).opacity)`);
    expect([await opacity("Pause"), await opacity("Why")]).toEqual([0.5, 1]);
    await tabs(reader).getByRole("link", { name: "Checkpoints" }).click();
    await reader
      .getByRole("button", { name: /^Verify/, disabled: true })
      .first()
      .waitFor();
    await reader
      .getByRole("button", { name: /^Protect/, disabled: true })
      .first()
      .waitFor();
    expect(await reader.getByRole("banner").innerText()).toContain("read only");
    await reader.context().close();
  });

  it("pauses the run, which stands still", async () => {
    await controls().getByLabel("Your name").fill("Ada");
    await controls().getByLabel("Your name").blur();
    await controls().getByRole("button", { name: "Pause" }).click();
    await confirmed("pause");
    await controls().getByRole("button", { name: "Resume" }).waitFor();
    const before = await state();
    expect(before.state).toBe("paused");
    await until(async () => (await state()).wall).toBeGreaterThan(before.wall);
    expect((await state()).counters).toEqual(before.counters);
    await page.locator("header.run .state.paused").waitFor();
  });

  it("saves a checkpoint when it is told to", async () => {
    await tab("Checkpoints");
    const { counters } = await state();
    await controls().getByRole("button", { name: "Checkpoint now" }).click();
    await confirmed("checkpoint");
    await panel()
      .getByRole("rowheader", { name: new RegExp(`update-0*${counters.updates}$`) })
      .waitFor();
  });

  it("evaluates when it is told to", async () => {
    await tab("Evaluations");
    const { evaluation } = await store.counts(run);
    const rows = panel()
      .getByRole("table", { name: /Evaluations/ })
      .locator("tbody tr");
    await until(() => rows.count()).toBe(evaluation);
    await controls().getByRole("button", { name: "Evaluate now" }).click();
    await confirmed("evaluate");
    await until(() => rows.count()).toBe(evaluation + 1);
  });

  it("goes on after a pause", async () => {
    const before = await state();
    await controls().getByRole("button", { name: "Resume" }).click();
    await confirmed("resume");
    await controls().getByRole("button", { name: "Pause" }).waitFor();
    await until(async () => (await store.run(run)).counters.batches ?? 0).toBeGreaterThan(
      before.counters.batches,
    );
  });

  it("sets a scheduled number, and gives it back to its schedule", async () => {
    const rate = async (): Promise<number> =>
      (await store.latest(run)).find(({ key }) => key === "train/learningRate")?.value ?? 0;
    const form = controls().getByRole("form", { name: "learningRate" });
    expect(await rate()).toBeGreaterThan(0.0015);
    await form.getByRole("textbox").fill("0.0005");
    await form.getByRole("button", { name: "Set" }).click();
    await confirmed("set learningRate to 0.0005");
    await until(() => form.innerText()).toContain("set by hand");
    await until(rate).toBeCloseTo(0.0005, 6);
    await form.getByRole("button", { name: "Release" }).click();
    await confirmed("release learningRate");
    await until(rate).toBeGreaterThan(0.0015);
    await until(() => form.innerText()).toContain("by its schedule");
  });

  it("disables a hook, and enables it again", async () => {
    await tab("Hooks");
    for (const name of ["Disable control", "Disable control.start"])
      expect(await panel().getByRole("button", { name, exact: true }).isDisabled()).toBe(true);
    const row = panel().locator("tr", {
      has: page.getByRole("rowheader", { name: "gradients", exact: true }),
    });
    await row.getByRole("button", { name: "Disable gradients" }).click();
    await confirmed("disable gradients");
    await until(() => row.innerText()).toContain("disabled");
    expect((await state()).hooks.gradients?.enabled).toBe(false);
    await page.emulateMedia({ colorScheme: "dark" });
    expect(await seriousViolations(page)).toEqual([]);
    await screenshot(page, "steering");
    await page.emulateMedia({ colorScheme: "light" });
    await row.getByRole("button", { name: "Enable gradients" }).click();
    await confirmed("enable gradients");
    await until(() => row.innerText()).toContain("enabled");
  });

  it("files who told the run what", async () => {
    const all = [
      "pause",
      "checkpoint",
      "evaluate",
      "resume",
      "set learningRate to 0.0005",
      "set learningRate to its own value",
      "disable gradients",
      "enable gradients",
    ];
    expect(await told()).toEqual(all.map((what) => `Ada: ${what}`));
    await tab("Interventions");
    const rows = panel()
      .getByRole("table", { name: /Interventions/ })
      .locator("tbody tr");
    for (const what of all)
      await rows
        .filter({ hasText: `Ada${what}` })
        .first()
        .waitFor();
    expect(await seriousViolations(page)).toEqual([]);
  });

  it("does not delete a run that trains", async () => {
    await page.getByRole("button", { name: "Delete …" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Confirm").fill(run);
    await dialog.getByRole("button", { name: "Delete" }).click();
    await until(() => page.getByRole("alert").innerText()).toMatch(/stop/i);
    expect(await seriousViolations(page)).toEqual([]);
    expect((await state()).state).toBe("running");
  });

  it("stops the run, which ends in good order", async () => {
    const ended = once(training, "close");
    await controls().getByRole("button", { name: "Stop…" }).click();
    const question = page.getByRole("dialog", { name: "Stop this run?" });
    await question.getByRole("button", { name: "Cancel" }).click();
    await controls().getByRole("button", { name: "Stop…" }).click();
    await question.getByRole("button", { name: "Stop" }).click();
    await confirmed("stop");
    expect(await ended).toEqual([0, null]);
    await page.locator("header.run .state.stopped").waitFor();
    await controls().getByText("This run has ended").waitFor();
    expect((await store.run(run)).outcome).toBe("stopped");
    expect(await told()).toContain("Ada: stop");
  });

  it("is written by espalier report as one file that needs no network", async () => {
    expect(
      await once(espalier("report", "explorer", "--out", "explorer.html"), "close"),
      said.join(""),
    ).toEqual([0, null]);
    const file = pathToFileURL(join(folder, "explorer.html")).href;
    const report = await pages.open(file, file, { offline: true });
    expect(await blankCharts(report)).toEqual([]);
    expect(await seriousViolations(report)).toEqual([]);
    const all = await tabs(report).getByRole("link").allInnerTexts();
    expect(all).not.toContain("Cluster");
    expect(all).toEqual(expect.arrayContaining(["Evaluations", "Hooks", "Checkpoints", "Log", "Replays"]));
    for (const name of all) {
      await tabs(report).getByRole("link", { name }).click();
      await waitUntil(report, "!document.querySelector('main').textContent.includes('Loading')");
      expect([name, await report.getByRole("article", { name }).getByRole("alert").allInnerTexts()]).toEqual([
        name,
        [],
      ]);
    }
    await tabs(report).getByRole("link", { name: "Replays" }).click();
    await report
      .getByRole("button", { name: /^Watch/ })
      .first()
      .click();
    await report.getByRole("img", { name: /^Frame/ }).waitFor();
    expect(report.requests).toEqual([file]);
    await report.context().close();
  });

  it("has asked no other host, and no script has failed", () => {
    expect(pages.foreign).toEqual([]);
    expect(pages.problems).toEqual([]);
  });
});
