import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import type { RunDetail } from "./api.ts";
import { fileRun, fileValue, makeDirectory, recordOf, serveDashboard } from "./dashboard.test-support.ts";
import { makeReport } from "./report.ts";

const hostile = `</script><script>window.ran = 1</script><!--\u2028`;

/** The answers that a report carries, as a browser finds them. */
function answersOf(report: string): Readonly<Record<string, unknown>> {
  const script = /<script>([\s\S]*?)<\/script>/.exec(report)?.[1] ?? "";
  const window: { __ESPALIER_REPORT__?: Record<string, unknown>; ran?: number } = {};
  runInNewContext(script, { window });
  expect(window.ran).toBeUndefined();
  // Made in another context, with other prototypes.
  return JSON.parse(JSON.stringify(window.__ESPALIER_REPORT__));
}

it("is one file with everything that the page asks for, whatever is in it", async () => {
  const { store, directory, get } = await serveDashboard();
  await fileRun(store, "a", { name: hostile, config: { [hostile]: hostile } });
  for (let step = 1; step <= 20; step++) await fileValue(store, "a", step, step === 3 ? Number.NaN : step);
  await fileValue(store, "a", 1, 1, `train/${hostile}`);
  await store.setHookTimings("a", [{ hook: hostile, count: 1, mean: 1, p99: 1, max: 1, total: 1 }]);
  await store.endRun("a", { outcome: "completed", counters: {} as never });
  makeDirectory(directory, "a", { "run.log": `${hostile}\n` });
  const page = join(directory, "..", "page");
  writeFileSync(
    join(page, "index.html"),
    `<!doctype html><html><head><title>Espalier</title>
<script type="module" crossorigin src="./assets/index-a1B2c3D4.js"></script>
<link rel="stylesheet" crossorigin href="./assets/style-a1B2c3D4.css"></head><body><div id="app"></div></body></html>`,
  );
  writeFileSync(join(page, "assets", "index-a1B2c3D4.js"), `const text = "</script> $& <b>";`);
  writeFileSync(join(page, "assets", "style-a1B2c3D4.css"), "body { color: red } /* $& */");
  const { text: report } = await makeReport("a", { store, directory, page });

  const answers = answersOf(report);
  for (const path of [
    "/api/runs",
    "/api/runs/a/hooks",
    "/api/runs/a/log",
    "/api/runs/a/events?kind=evaluation",
  ])
    expect(answers[path]).toEqual(await get(path));
  expect(answers["/api/runs/a"]).toEqual(await get<RunDetail>("/api/runs/a"));
  expect(answers["/api/session"]).toMatchObject({ control: false, store: "", directory: "" });
  const series = Object.entries(answers).filter(([path]) => path.startsWith("/api/series?"));
  const asked = series.map(([path]) => [...new URLSearchParams(path.split("?")[1]).values()]);
  const keys = ["train/loss", `train/${hostile}`];
  expect(asked.sort()).toEqual(
    ["step", "time"].flatMap((axis) => keys.map((key) => [axis, "a", key])).sort(),
  );
  for (const [path, answer] of series) expect(answer).toEqual(await get(path));
  expect(JSON.stringify(answers)).not.toContain(directory);

  // The page is in it, and nothing is loaded.
  expect(report).toContain(`<script type="module">const text = "<\\/script> $& <b>";</script>`);
  expect(report).toContain("<style>body { color: red } /* $& */</style>");
  expect(report).not.toMatch(/\ssrc=|\shref=/);
  expect(report).toContain("default-src 'none'");
  expect(report.match(/<\/?script/g)).toHaveLength(4);
});

it("of a run that is not there is refused", async () => {
  const { store, directory } = await serveDashboard();
  const page = join(directory, "..", "page");
  await expect(makeReport("none", { store, directory, page })).rejects.toMatchObject({
    code: "STATS_UNKNOWN_RUN",
  });
});

it("is made of a run that has a directory alone", async () => {
  const { directory } = await serveDashboard();
  const page = join(directory, "..", "page");
  const created = "2026-01-31T12:00:00Z";
  makeDirectory(directory, "alone", { "run.json": recordOf({ id: "alone", name: "mine", created }) });
  const store = join(directory, "none.db");
  expect(await makeReport("mine", { store, directory, page })).toMatchObject({ id: "alone" });
  await expect(makeReport("other", { store, directory, page })).rejects.toMatchObject({
    code: "STATS_MISSING",
  });
});
