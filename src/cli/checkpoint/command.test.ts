import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { localStore } from "../../checkpoint/index.ts";
import { put } from "../../engine/index.ts";
import { checkpoint, saved, testDirectory } from "./checkpoints.test-support.ts";

const { path } = testDirectory();
const floats = (...numbers: number[]) => Float32Array.from(numbers);
const weights = () => put(floats(1, 2, 3, 4, 5, 6), { shape: [2, 3], engine: "wasm" });

const flip = (file: string, from: number) => {
  const bytes = readFileSync(file);
  bytes[from] = (bytes[from] ?? 0) ^ 1;
  writeFileSync(file, bytes);
};

describe("espalier checkpoint inspect", () => {
  it("shows counters, metrics, components, tensors with types and sizes", async () => {
    const at = await saved(
      path("run"),
      {
        params: { layers: [{ w: weights() }] },
        trainer: { next: "onBatchStart", done: 3 },
        memory: floats(1, 2),
      },
      {
        counters: { epochs: 2, updates: 10 },
        metrics: { loss: 0.25 },
        scores: { reward: 7 },
        metadata: { note: "x" },
      },
    );
    const { code, text } = await checkpoint("inspect", at);
    expect(code).toBe(0);
    expect(text).toMatch(/^ +run +a test$/m);
    expect(text).toMatch(/^ +counters .*epochs 2.*updates 10/m);
    expect(text).toMatch(/^ +metrics +train\/loss 0\.25, evaluation\/reward 7$/m);
    expect(text).toMatch(/^ +metadata +\{"note":"x"\}$/m);
    expect(text).toMatch(/^ +layers\[0\]\.w +f32\[2,3\] +24 B$/m);
    expect(text).toMatch(/^ +value +f32\[2\] +8 B$/m);
    expect(text).toMatch(/^trainer +\d+ B\n +2 plain values$/m);
  });

  it("gives everything as JSON", async () => {
    const at = await saved(path("run"), { params: { w: weights(), n: 3 } }, { counters: { updates: 4 } });
    expect(JSON.parse((await checkpoint("inspect", at, "--json")).text)).toMatchObject({
      name: "epoch-0000-update-000004",
      counters: { updates: 4 },
      components: [
        {
          name: "params",
          tensors: [{ path: "w", kind: "tensor", dtype: "f32", shape: [2, 3], bytes: 24 }],
          values: { n: 3 },
        },
      ],
    });
  });

  it("lists a directory of checkpoints, damaged ones included", async () => {
    await saved(path("run"), { a: 1 }, { counters: { updates: 1 }, metrics: { loss: 2 } });
    const second = await saved(path("run"), { a: 2 }, { counters: { updates: 2 } });
    rmSync(`${second}/manifest.json`);
    const { text } = await checkpoint("inspect", path("run"));
    expect(text).toMatch(/^epoch-0000-update-000001 .* train\/loss 2$/m);
    expect(text).toMatch(/^epoch-0000-update-000002 .*cannot be read/m);
  });

  it("takes a run: its name, or its directory", async () => {
    await saved(path("runs/one-1/checkpoints"), { a: 1 }, { counters: { updates: 1 } });
    const record = { id: "one-1", name: "one", source: "run.yaml", base: ".", overrides: [] };
    writeFileSync(path("runs/one-1/run.json"), JSON.stringify(record));
    for (const run of [["one", "--runs", path("runs")], [path("runs/one-1")]]) {
      expect((await checkpoint("inspect", ...run)).text).toMatch(/^epoch-0000-update-000001 /m);
      expect((await checkpoint("verify", ...run)).text).toBe("epoch-0000-update-000001: whole");
      const [asked = "", ...where] = run;
      const newest = path("runs/one-1/checkpoints/epoch-0000-update-000001");
      expect((await checkpoint("diff", asked, newest, ...where)).text).toMatch(/^the same, bit for bit/);
      expect((await checkpoint("prune", ...run, "--last", "1")).text).toMatch(/^kept 1 of 1 /);
    }
  });

  it("says what lies beside a path that leads nowhere", async () => {
    await saved(path("run"), { a: 1 }, { counters: { updates: 1 } });
    const { code, error } = await checkpoint("inspect", path("run", "epoch-9"));
    expect(code).toBe(1);
    expect(error).toMatch(
      /there is no whole checkpoint at .*epoch-9 \[CHECKPOINT_MISSING\]\n.*epoch-0000-update-000001/,
    );
    writeFileSync(path("notes.txt"), "");
    expect((await checkpoint("inspect", path("notes.txt"))).error).toContain("is a file");
  });
});

describe("espalier checkpoint verify", () => {
  it("finds whole checkpoints whole", async () => {
    const at = await saved(path("run"), { a: floats(1, 2) }, { counters: { updates: 1 } });
    await saved(path("run"), { a: floats(3) }, { counters: { updates: 2 } });
    expect(await checkpoint("verify", at)).toMatchObject({
      code: 0,
      text: "epoch-0000-update-000001: whole",
    });
    expect(await checkpoint("verify", path("run"))).toMatchObject({
      code: 0,
      text: expect.stringContaining("2 of 2 are whole"),
    });
    const json = await checkpoint("verify", at, "--json");
    expect(JSON.parse(json.text)).toEqual({
      checkpoints: [{ name: "epoch-0000-update-000001", problems: [] }],
      damaged: 0,
    });
  });

  it.each([
    [
      "a flipped bit",
      (at: string) => flip(`${at}/values.bin`, readFileSync(`${at}/values.bin`).length - 1),
      "it was altered",
    ],
    ["a cut file", (at: string) => writeFileSync(`${at}/values.bin`, "x"), "it has 1 bytes of"],
    ["a missing file", (at: string) => rmSync(`${at}/values.bin`), "its file is missing"],
    ["a missing manifest", (at: string) => rmSync(`${at}/manifest.json`), "it has no manifest.json"],
    ["an altered manifest", (at: string) => flip(`${at}/manifest.json`, 60), "manifest.json"],
  ])("says what is damaged by %s, and fails", async (_what, damage, said) => {
    const at = await saved(path("run"), { a: floats(1, 2), b: 1 }, { counters: { updates: 1 } });
    await saved(path("run"), { a: floats(1) }, { counters: { updates: 2 } });
    damage(at);
    const one = await checkpoint("verify", at);
    expect(one.code).toBe(1);
    expect(one.text).toContain("epoch-0000-update-000001: damaged");
    expect(one.text).toContain(said);
    const all = await checkpoint("verify", path("run"));
    expect(all.code).toBe(1);
    expect(all.text).toContain("1 of 2 are whole");
  });

  it("does not take an empty directory for a whole store", async () => {
    mkdirSync(path("empty"));
    expect(await checkpoint("verify", path("empty"))).toMatchObject({
      code: 1,
      error: expect.stringContaining("holds no checkpoints"),
    });
  });
});

describe("espalier checkpoint diff", () => {
  it("finds equal checkpoints the same, whatever the order of keys", async () => {
    const a = await saved(path("a"), { params: { w: weights(), n: 1 } });
    const b = await saved(path("b"), { params: { n: 1, w: weights() } });
    expect(await checkpoint("diff", a, b)).toMatchObject({
      code: 0,
      text: "the same, bit for bit, in all 1 components",
    });
  });

  it("names the first difference by component, tensor and index, and the greatest", async () => {
    const other = put(floats(1, 2, 3, 4, 5.5, 8), { shape: [2, 3], engine: "wasm" });
    const a = await saved(path("a"), {
      same: 1,
      params: { b: floats(1), w: weights() },
      time: { seconds: 1 },
    });
    const b = await saved(path("b"), { same: 1, params: { b: floats(1), w: other }, time: { seconds: 2 } });
    const { code, text } = await checkpoint("diff", a, b);
    expect(code).toBe(1);
    expect(text).toMatch(/^first difference: component params, w\[1,1\]: 5 and 5\.5$/m);
    expect(text).toMatch(/^params +w +f32\[2,3\] +2 of 6 +2 +\[1,1\] 5 and 5\.5$/m);
    expect(text).toMatch(/^time +seconds +1 and 2$/m);
    expect(text).toContain("2 of 3 components differ, 1 are the same");
    const ignoring = await checkpoint("diff", a, b, "--json", "--ignore", "time");
    expect(ignoring.code).toBe(1);
    expect(JSON.parse(ignoring.text)).toMatchObject([
      { component: "same", leaves: [] },
      {
        component: "params",
        leaves: [{ path: "w", numbers: { index: [1, 1], count: 2, of: 6, greatest: 2 } }],
      },
    ]);
  });

  it("names components, tensors and values that are missing or of another type", async () => {
    const a = await saved(path("a"), { one: 1, both: { x: floats(1), y: [] } });
    const b = await saved(path("b"), { two: 2, both: { x: floats(1, 2), y: ["a"] } });
    const { text } = await checkpoint("diff", a, b);
    expect(text).toMatch(/^one +is missing in the second$/m);
    expect(text).toMatch(/^two +is missing in the first$/m);
    expect(text).toMatch(/^both +x +f32\[1\] and f32\[2\]$/m);
    expect(text).toMatch(/^both +y\[0\] +"a" is missing in the first$/m);
  });

  it("refuses to leave out what neither has", async () => {
    const a = await saved(path("a"), { time: 1, params: 1 });
    expect(await checkpoint("diff", a, a, "--ignore", "tme")).toMatchObject({
      code: 2,
      error: expect.stringMatching(/--ignore tme: neither .*; did you mean "time"\? \[COMPONENT_UNKNOWN\]/),
    });
  });

  it("cannot compare what is damaged or missing: exit code 2", async () => {
    const a = await saved(path("a"), { x: floats(1) });
    const b = await saved(path("b"), { x: floats(1) });
    expect(await checkpoint("diff", a, path("none"))).toMatchObject({
      code: 2,
      error: expect.stringContaining("CHECKPOINT_MISSING"),
    });
    // Of a directory the newest.
    expect((await checkpoint("diff", a, path("b"))).code).toBe(0);
    flip(`${b}/values.bin`, readFileSync(`${b}/values.bin`).length - 1);
    const damaged = await checkpoint("diff", a, b);
    expect(damaged.code).toBe(2);
    expect(damaged.error.match(/CHECKPOINT_DAMAGED/g)).toHaveLength(1);
  });
});

describe("espalier checkpoint prune", () => {
  const run = async () => {
    for (const [epochs, loss] of [
      [1, 3],
      [2, 1],
      [3, 2],
      [4, 4],
      [5, 5],
    ] as const)
      await saved(path("run"), { a: epochs }, { counters: { epochs, updates: epochs }, metrics: { loss } });
  };
  const left = () =>
    readdirSync(path("run"))
      .map((name) => Number(/^epoch-(\d+)/.exec(name)?.[1]))
      .sort();

  it("keeps what a rule keeps, and says what went", async () => {
    await run();
    const { code, text } = await checkpoint(
      "prune",
      path("run"),
      "--last",
      "1",
      "--best",
      "train/loss:min:1",
      "--every",
      "epochs:3",
    );
    expect(code).toBe(0);
    expect(left()).toEqual([2, 3, 5]);
    expect(text).toMatch(/^removed epoch-0001-update-000001 \(\d+ B\)$/m);
    expect(text).toMatch(/^kept 3 of 5 checkpoints, \d+ B freed$/m);
  });

  it("keeps what a person has protected", async () => {
    await run();
    const store = localStore(path("run"));
    await store.protect?.("epoch-0002-update-000002", true);
    const { text } = await checkpoint("prune", path("run"), "--last", "1", "--dry-run");
    expect(text).toMatch(/would keep 2 of 5/);
    await checkpoint("prune", path("run"), "--last", "1");
    expect([...(await store.list())].sort()).toEqual([
      "epoch-0002-update-000002",
      "epoch-0005-update-000005",
    ]);
    await store.protect?.("epoch-0002-update-000002", false);
    await checkpoint("prune", path("run"), "--last", "1");
    expect(await store.list()).toEqual(["epoch-0005-update-000005"]);
  });

  it("removes nothing in a dry run", async () => {
    await run();
    const { text } = await checkpoint("prune", path("run"), "--last", "2", "--dry-run");
    expect(text).toMatch(/would remove epoch-0003/);
    expect(text).toMatch(/would keep 2 of 5/);
    const json = await checkpoint("prune", path("run"), "--last", "2", "--dry-run", "--json");
    expect(JSON.parse(json.text)).toMatchObject({ dryRun: true, kept: 2, removed: { length: 3 }, notes: [] });
    expect(left()).toEqual([1, 2, 3, 4, 5]);
  });

  it("refuses while another writes there", async () => {
    await run();
    const lock = await localStore(path("run")).lock("training");
    const { code, error } = await checkpoint("prune", path("run"), "--last", "2");
    await lock.release();
    expect(code).toBe(1);
    expect(error).toMatch(/in use by .*\(training\).*STORE_LOCKED/s);
    expect(left()).toEqual([1, 2, 3, 4, 5]);
  });

  it.each([
    [[], "nothing says which checkpoints stay"],
    [["--last", "0"], '--last is "0"'],
    [["--last", "two"], '--last is "two"'],
    [["--best", "loss"], "write validation/loss:min:2"],
    [["--best", "loss:low:2"], "write validation/loss:min:2"],
    [["--best", "loss:min:x"], "give a whole number from 1 on"],
    [["--every", "10"], "write epochs:10"],
    [["--every", "epohcs:10"], 'did you mean "epochs"?'],
    [
      ["--best", "train/los:min:1"],
      'score or metric "train/los" (there are train/loss); did you mean "train/loss"?',
    ],
    [["--best", "validation/x:min:1", "--last", "1"], "(there are train/loss)"],
    [["--best", "loss:min:1"], '"train/loss"'],
  ])("refuses the rules %j", async (rules, said) => {
    await run();
    const { code, error } = await checkpoint("prune", path("run"), ...rules);
    expect(code).toBe(1);
    expect(error).toContain(said);
    expect(left()).toEqual([1, 2, 3, 4, 5]);
  });

  it("refuses one checkpoint", async () => {
    const at = await saved(path("run"), { a: 1 });
    expect((await checkpoint("prune", at, "--last", "1")).error).toContain("STORE_EXPECTED");
  });
});

describe("a directory of several ranks", () => {
  /** Two checkpoints of two ranks. */
  const run = async () => {
    for (const epochs of [1, 2])
      for (const rank of [0, 1]) {
        const metadata = {
          counters: { epochs, updates: epochs },
          metrics: { loss: epochs },
          config: { ranks: 2 },
        };
        const at = await saved(path("parts"), { a: floats(epochs, rank) }, metadata);
        const whole = path("run", `epoch-000${epochs}-update-00000${epochs}`);
        mkdirSync(whole, { recursive: true });
        renameSync(at, `${whole}/rank-000${rank}`);
      }
  };
  const [one, two] = ["epoch-0001-update-000001", "epoch-0002-update-000002"];

  it("is verified with the parts of all", async () => {
    await run();
    for (const at of [path("run"), path("run", two)])
      expect(await checkpoint("verify", at)).toMatchObject({
        code: 0,
        text: expect.stringContaining(`${two}: whole`),
      });
    expect(await checkpoint("verify", path("run", two, "rank-0001"))).toMatchObject({ code: 0 });
    rmSync(path("run", two, "rank-0001"), { recursive: true });
    flip(path("run", one, "rank-0001", "manifest.json"), 60);
    const { code, text } = await checkpoint("verify", path("run"));
    expect(code).toBe(1);
    expect(text).toMatch(/000001: damaged\n.*rank-0001.*\n.*000002: damaged\n.*rank-0001/);
    expect(await checkpoint("verify", path("run", two))).toMatchObject({ code: 1 });
  });

  it("is listed as what it is, and so are the parts", async () => {
    await run();
    expect((await checkpoint("inspect", path("run"))).text).toMatch(
      /^epoch-0001-update-000001 \(2 ranks\) .* train\/loss 1$/m,
    );
    expect((await checkpoint("inspect", path("run", one))).text).toMatch(/^rank-0001 .* train\/loss 1$/m);
    expect((await checkpoint("inspect", path("run", one, "rank-0001"))).text).toMatch(/value +f32\[2\]/);
  });

  it("is pruned by wholes", async () => {
    await run();
    const { code, text } = await checkpoint("prune", path("run"), "--last", "1");
    expect(code).toBe(0);
    expect(text).toMatch(/^removed epoch-0001-update-000001/m);
    expect(readdirSync(path("run"))).toEqual([two]);
  });

  it("does not lose its newest whole one to a damaged newer one", async () => {
    await run();
    rmSync(path("run", two, "rank-0001"), { recursive: true });
    await checkpoint("prune", path("run"), "--last", "1");
    expect(readdirSync(path("run")).sort()).toEqual([one, two]);
  });

  it("is compared part by part", async () => {
    await run();
    const { code, error } = await checkpoint("diff", path("run", one), path("run", two));
    expect(code).toBe(2);
    expect(error).toMatch(/is a checkpoint of 2 ranks \[CHECKPOINT_RANKS\]\n.*rank-0000/);
    expect(
      (await checkpoint("diff", path("run", one, "rank-0000"), path("run", two, "rank-0000"))).code,
    ).toBe(1);
  });
});
