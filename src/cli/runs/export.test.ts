import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { StatsStore } from "../../metrics/index.ts";
import type { Surroundings } from "../terminal.ts";
import { captured, completed, espalier, filed, record, testStores } from "./runs.test-support.ts";

const { path, testStore } = testStores();
const exported = (args: readonly string[], more: Partial<Surroundings> = {}) =>
  espalier(["export", "a", ...args, "--store", path("stats.db")], more);

/** What lies beside the store. */
const left = () => readdirSync(path()).filter((name) => !name.startsWith("stats.db"));

async function small() {
  const store = await testStore();
  await filed(
    store,
    "a",
    [
      record("train/loss", 1, 0.5, { axis: "steps" }),
      record("train/accuracy", 1, Number.NaN, { axis: "steps" }),
      record("train/loss", 2, 0.25, { axis: "steps" }),
      record("eval/note", 2, "well, done", { axis: "steps" }),
    ],
    { ending: completed },
  );
  return store;
}

/** More than fit into one page, in windows of three that pages cut. */
async function large(windows = 4000) {
  const store = await testStore();
  const names = ["loss", "accuracy", "rate"];
  const records = Array.from({ length: windows }, (_, step) =>
    names.map((name, i) => record(`train/${name}`, step, step + i / 10, { axis: "steps" })),
  );
  await filed(store, "a", records.flat(), { ending: completed });
  return store;
}

/** The store, with something that happens whenever a page is asked for. */
const asked = (store: StatsStore, happens: () => void) => async (): Promise<StatsStore> => ({
  ...store,
  close: async () => undefined,
  since: (...args) => {
    happens();
    return store.since(...args);
  },
});

describe("espalier export", () => {
  it("writes a table, and says where", async () => {
    await small();
    const { code, text } = await exported(["--to", "csv", "--out", path("a.csv")]);
    expect([code, text]).toEqual([0, `4 values of run a in ${path("a.csv")}\n`]);
    const again = await exported(["--to", "csv", "--out", path("a.csv"), "--force", "--json"]);
    expect(JSON.parse(again.text)).toEqual({ run: "a", format: "csv", path: path("a.csv"), values: 4 });
    const [head, ...rows] = readFileSync(path("a.csv"), "utf8").trimEnd().split("\n");
    expect(head).toBe("step,axis,wall,train/loss,train/accuracy,eval/note");
    expect(rows.map((row) => row.replace(/,[^,]*Z,/, ","))).toEqual([
      "1,steps,0.5,NaN,",
      '2,steps,0.25,,"well, done"',
    ]);
    expect(left()).toEqual(["a.csv"]);
  });

  it("writes lines of JSON, with the counters that the store knows", async () => {
    await small();
    await exported(["--to", "jsonl", "--out", path("a.jsonl")]);
    const lines = readFileSync(path("a.jsonl"), "utf8").trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { key: "train/loss", step: 1, value: 0.5, axis: "steps", counters: { steps: 1 } },
      { key: "train/accuracy", step: 1, value: "NaN", notFinite: 1 },
      { key: "train/loss", step: 2, value: 0.25 },
      { key: "eval/note", step: 2, text: "well, done" },
    ]);
    expect(Object.keys(JSON.parse(lines[0] ?? "").counters)).toEqual(["steps"]);
  });

  it("writes event files", async () => {
    const store = await small();
    await store.addMetrics("a", [record("train/late", 3, 1, { axis: "epochs" })]);
    await exported(["--to", "tensorboard", "--out", path("tb")]);
    const files = readdirSync(path("tb"), { recursive: true }).map(String);
    expect(files.filter((name) => /^events\.out\.tfevents\./.test(name))).toHaveLength(1);
    expect(files.filter((name) => /^by-epochs.events\.out\.tfevents\./.test(name))).toHaveLength(1);
  });

  it("keeps windows together over pages, each row of a table whole", async () => {
    await large();
    await exported(["--to", "csv", "--out", path("a.csv")]);
    const rows = readFileSync(path("a.csv"), "utf8").trimEnd().split("\n").slice(1);
    expect(rows).toHaveLength(4000);
    expect(rows.every((row) => /^\d+,steps,[^,]+Z,[\d.]+,[\d.]+,[\d.]+$/.test(row))).toBe(true);
  });

  it("names what it writes after the run", async () => {
    await small();
    const before = process.cwd();
    process.chdir(path());
    try {
      for (const to of ["csv", "jsonl", "tensorboard"]) await exported(["--to", to]);
    } finally {
      process.chdir(before);
    }
    expect(left().sort()).toEqual(["a-tensorboard", "a.csv", "a.jsonl"]);
  });

  it("writes over nothing unless it is told to, and then leaves what is not its own", async () => {
    await small();
    writeFileSync(path("a.csv"), "mine");
    const args = ["--to", "csv", "--out", path("a.csv")];
    const refused = await exported(args);
    expect(refused.code).toBe(1);
    expect(refused.error).toMatch(/a\.csv is there already \[EXPORT_EXISTS\]\n +fix: .*--force/);
    expect(readFileSync(path("a.csv"), "utf8")).toBe("mine");
    await exported([...args, "--force"]);
    expect(readFileSync(path("a.csv"), "utf8")).toMatch(/^step,/);

    mkdirSync(path("tb"));
    expect((await exported(["--to", "tensorboard", "--out", path("tb")])).code).toBe(0);
    writeFileSync(path("tb", "notes.txt"), "mine");
    const again = ["--to", "tensorboard", "--out", path("tb")];
    expect((await exported(again)).error).toContain("EXPORT_EXISTS");
    expect((await exported([...again, "--force"])).code).toBe(0);
    expect(readdirSync(path("tb")).map((name) => name.replace(/tfevents.*/, ""))).toEqual([
      "events.out.",
      "notes.txt",
    ]);
    expect((await exported(["--to", "csv", "--out", path("tb"), "--force"])).error).toContain(
      "is a directory",
    );
  });

  it("writes to standard output", async () => {
    await large();
    const { text } = await exported(["--to", "jsonl", "--out", "-"]);
    const lines = text.trimEnd().split("\n");
    expect(lines).toHaveLength(12_000);
    expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({ key: "train/rate", step: 3999 });
    expect((await exported(["--to", "csv", "--out", "-"])).text.split("\n")).toHaveLength(4002);
    expect((await exported(["--to", "tensorboard", "--out", "-"])).error).toMatch(/EXPORT_TARGET.*fix: /s);
  });

  it("stops reading when nobody reads what it writes", async () => {
    const store = await large(20_000);
    let pages = 0;
    const openStore = asked(store, () => {
      pages++;
    });
    const reader = new AbortController();
    const out = captured({ gone: reader.signal, write: async () => reader.abort() });
    const { code, error } = await exported(["--to", "jsonl", "--out", "-"], { out, openStore });
    expect([code, error]).toEqual([0, ""]);
    expect(pages).toBeLessThan(4);
  });

  it("leaves nothing behind where it is interrupted or fails", async () => {
    const store = await large();
    const interrupt = new AbortController();
    const openStore = asked(store, () => interrupt.abort());
    const interrupts = () => ({ signal: interrupt.signal, stop: () => undefined });
    expect(await exported(["--to", "csv", "--out", path("a.csv")], { interrupts, openStore })).toMatchObject({
      ...{ code: 130, text: "", error: "" },
    });
    writeFileSync(path("file"), "");
    const failed = await exported(["--to", "csv", "--out", path("file", "a.csv")]);
    expect(failed.error).toMatch(/EXPORT_FAILED\]\n +fix: /);
    expect(left()).toEqual(["file"]);
  });

  it("shows how far it is on a terminal, and only there", async () => {
    await large();
    const err = captured({ isTTY: true, columns: 60 });
    await exported(["--to", "csv", "--out", path("a.csv")], { err });
    expect(err.text()).toContain("of 12,000 values");
    expect((await exported(["--to", "csv", "--out", path("b.csv")])).errors).toBe("");
  });
});
