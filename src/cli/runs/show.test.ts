import { describe, expect, it } from "vitest";
import type { StatsStore } from "../../metrics/index.ts";
import { noCounters } from "../../schedule/index.ts";
import { captured, completed, espalier, filed, NOW, record, testStores } from "./runs.test-support.ts";

const { path, testStore } = testStores();
const show = (...args: readonly string[]) => espalier(["show", ...args, "--store", path("stats.db")]);

const losses = (count: number, key = "train/loss") =>
  Array.from({ length: count }, (_, i) => record(key, 10 * (i + 1), 8 - i));

/** A run with something of everything. */
async function full(): Promise<StatsStore> {
  const store = await testStore();
  await filed(
    store,
    "abcd1234",
    [
      ...losses(8),
      record("val/accuracy", 80, 0.9, { unit: "share" }),
      record("health/exploding", 80, 2, { reduction: "sum" }),
      record("train/note", 80, "a\u001b[2Jb"),
    ],
    { name: "mnist" },
  );
  await store.setHookTimings("abcd1234", [
    { hook: "checkpoint", count: 3, mean: 20, p99: 30, max: 31, total: 6000 },
    { hook: "metrics", count: 300, mean: 0.02, p99: 0.1, max: 1, total: 6 },
  ]);
  await store.add(
    "abcd1234",
    "evaluation",
    [1, 2, 3, 4, 5, 6, 7].map((i) => ({
      step: i,
      name: "held out",
      scores: { accuracy: i / 10 },
      wall: NOW,
    })),
  );
  await store.add("abcd1234", "checkpoint", [
    { step: 80, path: "runs/a/epoch-1", uri: "s3://bucket/a", wall: NOW - 1000 },
  ]);
  await store.add("abcd1234", "intervention", [
    { step: 40, wall: NOW, who: "gradients", what: "halted", details: { inRow: 3 } },
  ]);
  await store.add("abcd1234", "heartbeat", [
    { wall: NOW - 12_000, step: 80, pid: 7, host: "here", phase: "train" },
  ]);
  return store;
}

describe("espalier show", () => {
  it("shows summary, curves, hooks, evaluations, checkpoints, interventions and health", async () => {
    await full();
    const { code, text } = await show("mnist");
    expect(code).toBe(0);
    expect(text).toMatch(/^mnist\n +run +abcd1234\n +outcome +running\n +started +2026-11-15 11:50\n/);
    expect(text).toMatch(/^ +config +lr 0\.001, net\.layers \[64,64\]$/m);
    expect(text).toMatch(/^ +train\/loss +█▇▆▅▄▃▂▁ +1 +8 +1 +80 updates$/m);
    expect(text).toMatch(/^ +val\/accuracy +▁ +0\.9 +0\.9 +0\.9 +share +80 updates$/m);
    expect(text).toMatch(/^ +checkpoint +3 +20 ms +30 ms +31 ms +6\.0 s +1\.\d %$/m);
    expect(text).toMatch(/^ +metrics +300 +20 us +100 us +1 ms +6 ms +0\.0 %$/m);
    expect(text).toContain("evaluations (the last 5 of 7)");
    expect(text).toMatch(/^ +7 +held out +accuracy 0\.7$/m);
    expect(text).not.toMatch(/accuracy 0\.2$/m);
    expect(text).toMatch(/^ +80 +2026-11-15 11:59 +runs\/a\/epoch-1 \(s3:\/\/bucket\/a\)$/m);
    expect(text).toMatch(/gradients +halted \{"inRow":3\}$/m);
    expect(text).toMatch(/^ +heartbeat +12 s ago$/m);
    expect(text).toMatch(/^ +exploding +2, at 80 updates$/m);
  });

  it("prints nothing that a terminal would obey where it is not one", async () => {
    await full();
    const { text } = await show("mnist");
    expect(text).toMatch(/train\/note .* a\\x1b\[2Jb/);
    expect(text).toMatch(/^(?:\P{Cc}|\n)*$/u);
  });

  it("has colours on a terminal, and keeps within its width", async () => {
    await full();
    const out = captured({ isTTY: true, columns: 70 });
    await espalier(["show", "mnist", "--store", path("stats.db")], { out });
    expect(out.text()).toContain("\u001b[1mmnist\u001b[22m");
    const curves = out
      .text()
      .split("\n")
      .filter((line) => /[▁█]/.test(line));
    expect(curves.length).toBeGreaterThan(0);
    for (const line of curves) expect(line.length).toBeLessThanOrEqual(70);
  });

  it("draws with letters where asked to, or where the locale has no blocks", async () => {
    await full();
    expect((await show("mnist", "--ascii")).text).toMatch(/train\/loss +#\*\+=-:\._ /);
    const { text } = await espalier(["show", "mnist", "--store", path("stats.db")], { env: { LANG: "C" } });
    expect(text).not.toMatch(/[▁▂▃▄▅▆▇█×]/);
  });

  it("marks and counts what is not finite", async () => {
    const store = await testStore();
    await filed(store, "a", [
      record("train/loss", 1, 1),
      record("train/loss", 2, Number.NaN),
      record("train/loss", 3, 2),
    ]);
    const { text } = await show("a");
    expect(text).toMatch(/train\/loss +▁×█ +1 +2 +2/);
    expect(text).toContain("× a value that is not finite");
    expect(text).toMatch(/not finite +train\/loss 1$/m);
  });

  it("shows twelve metrics, losses and checks first, and says how many more there are", async () => {
    const store = await testStore();
    const others = Array.from({ length: 30 }, (_, i) => record(`train/a${i}`, 1, i));
    await filed(store, "a", [...others, record("eval/score", 1, 1), record("train/loss", 1, 1)]);
    const { text } = await show("a");
    const keys = [...text.matchAll(/^ +((?:train|eval)\/\S+)/gm)].map(([, key]) => key);
    expect(keys).toHaveLength(12);
    expect(keys.slice(0, 2)).toEqual(["train/loss", "eval/score"]);
    expect(text).toContain('20 more metrics: --metric KEY shows some, --metric "*" all');
    expect((await show("a", "--metric", "*")).text).not.toContain("more metric");
  });

  it("shows the metrics that are asked for, and no others", async () => {
    await full();
    const { text } = await show("mnist", "--metric", "val/accuracy", "health/*");
    expect(text).toContain("val/accuracy");
    expect(text).toMatch(/health\/exploding +▁ +2 +2 +2/);
    expect(text).not.toContain("train/loss");
    expect((await show("mnist", "--metric", "train/los")).error).toMatch(
      /did you mean "train\/loss"\? \[METRIC_UNKNOWN\]/,
    );
  });

  it("shows the means of histograms", async () => {
    const store = await testStore();
    const histogram = { edges: [0, 1], counts: [2], min: 0, max: 1, sum: 1, sumSquares: 1, count: 2 };
    await filed(store, "a", [record("train/weights", 1, histogram, { reduction: "histogram" })]);
    expect((await show("a")).text).toMatch(/train\/weights +▁ +0\.5 +0\.5 +0\.5/);
  });

  it("says how a run ended, and how often it was resumed", async () => {
    const store = await testStore();
    await filed(store, "a", losses(3), { ending: completed });
    const resumedAt = { ...noCounters, updates: 20, steps: 20 };
    await store.startRun({ id: "a", name: "a", startedAt: NOW - 60_000, config: null, resumedAt });
    await store.endRun("a", { ...completed, outcome: "failed", reason: "Error: out of memory\n  at here" });
    const { text } = await show("a");
    expect(text).toMatch(/^ +outcome +failed: Error: out of memory$/m);
    expect(text).toMatch(/^ +resumed +once$/m);
    // It counts its seconds itself, and does not count those between its processes.
    expect(text).toMatch(/^ +duration +2 min 05 s$/m);
    expect(text).toMatch(/^ +counters .*3 epochs.*300 updates.*19,200 samples/m);
  });

  it("says what to see of a run that has filed nothing yet", async () => {
    const store = await testStore();
    await filed(store, "a", []);
    const { text } = await show("a");
    expect(text).toContain("no metrics yet");
    expect(text).toMatch(/heartbeat +none was filed/);
    expect(text).not.toMatch(/^(hooks|evaluations|checkpoints|interventions)/m);
  });

  it("gives everything as JSON, thinned curves included", async () => {
    const store = await full();
    await store.addMetrics("abcd1234", losses(1000, "train/long"));
    const { text } = await show("mnist", "--metric", "train/loss", "train/long", "--json");
    const found = JSON.parse(text);
    expect(found).toMatchObject({
      run: { id: "abcd1234", name: "mnist", outcome: "running", silent: false, config: { lr: 0.001 } },
      metrics: 5,
      curves: [
        { key: "train/loss", points: 8, min: 1, max: 8, last: 1, lastStep: 80, axis: "updates" },
        { key: "train/long", points: 1000, last: 8 - 999 },
      ],
      timings: [{ hook: "checkpoint" }, { hook: "metrics" }],
      interventions: [{ who: "gradients" }],
      health: [{ key: "health/exploding", value: 2 }],
    });
    expect(found.curves[0].series).toHaveLength(8);
    expect(found.curves[1].series).toHaveLength(200);
    expect(found.curves[1].series.at(-1)).toEqual({ step: 10_000, value: 8 - 999 });
  });

  it("finds a run by the beginning of its id, and says which are near to one it does not know", async () => {
    const store = await testStore();
    await filed(store, "abc1", [], { name: "mnist" });
    await filed(store, "abd2", [], { name: "rings" });
    expect((await show("abd")).text).toMatch(/^rings\n/);
    const unknown = await show("mnits");
    expect(unknown.code).toBe(1);
    expect(unknown.error).toMatch(
      /no run "mnits"; did you mean "mnist"\? \[STATS_UNKNOWN_RUN\]\n +fix: .*espalier runs/,
    );
    expect((await show("ab")).error).toMatch(
      /2 runs .* begins with "ab": .*abc1.*\[STATS_AMBIGUOUS_RUN\]\n +fix: /,
    );
  });
});
