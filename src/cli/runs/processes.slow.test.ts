import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { completed, filed, record, testStores } from "./runs.test-support.ts";

const main = fileURLToPath(new URL("../main.ts", import.meta.url));
const { path, testStore } = testStores();

/** Each starts Node and translates the program. */
const patience = { timeout: 300_000 };

/** Starts the command in a process of its own. */
function started(...args: readonly string[]) {
  const child = spawn(process.execPath, ["--import", "tsx", main, ...args], {
    env: { ...process.env, ESPALIER_STORE: path("stats.db"), LANG: "C.UTF-8" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const parts: string[] = [];
  child.stderr.setEncoding("utf8").on("data", (text: string) => parts.push(text));
  const closed = once(child, "close") as Promise<[code: number | null, signal: string | null]>;
  return { child, lines: createInterface(child.stdout), closed, errors: () => parts.join("") };
}

/** Runs it to its end. */
async function run(...args: readonly string[]) {
  const { lines, closed, errors } = started(...args);
  const all: string[] = [];
  for await (const line of lines) all.push(line);
  const [code] = await closed;
  return { code, lines: all, errors: errors() };
}

/** A store in a file with a run of so many losses. */
async function stored(steps: number, ended = true) {
  const store = await testStore();
  const losses = Array.from({ length: steps }, (_, i) =>
    record("train/loss", i, 1 / (i + 1), { axis: "steps" }),
  );
  await filed(store, "abcd", losses, { name: "mine", ...(ended && { ending: completed }) });
  return store;
}

describe("in a process of its own, from a SQLite file", patience, () => {
  it("lists and shows runs without control codes", async () => {
    await stored(100);
    const runs = await run("runs");
    expect(runs).toMatchObject({ code: 0, errors: "" });
    expect(runs.lines).toHaveLength(2);
    expect(runs.lines[1]).toMatch(/^abcd +mine +completed .* 0\.01$/);
    const shown = await run("show", "mine");
    expect(shown).toMatchObject({ code: 0, errors: "" });
    expect(shown.lines.join("\n")).toMatch(/train\/loss +█[▂▃]+▁+ +0\.01 +1 +0\.01/);
    expect(shown.lines.join("")).not.toMatch(/\p{Cc}/u);
  });

  it("fails with a fix where there is no store, and makes none", async () => {
    const { code, errors } = await run("runs");
    expect(code).toBe(1);
    expect(errors).toMatch(/^error: there is no stats store .*stats\.db \[STATS_MISSING\]\n +fix: /);
    expect((await run("runs")).code).toBe(1);
  });

  it("ends cleanly when whoever reads an export goes away", async () => {
    await stored(20_000);
    const { child, lines, closed, errors } = started("export", "abcd", "--to", "jsonl", "--out", "-");
    const [first] = (await once(lines, "line")) as [string];
    expect(JSON.parse(first)).toMatchObject({ key: "train/loss", step: 0, value: 1 });
    child.stdout.destroy();
    expect(await closed).toEqual([0, null]);
    expect(errors()).toBe("");
  });

  it("follows a run that another process trains, and ends with it", async () => {
    const store = await stored(3, false);
    const { lines, closed, errors } = started("tail", "mine", "--interval", "0.05");
    const seen: string[] = [];
    for await (const line of lines) {
      seen.push(line.replace(/^\S+ +/, ""));
      if (seen.length === 3) await store.addMetrics("abcd", [record("train/loss", 3, 9, { axis: "steps" })]);
      if (seen.length === 4) await store.endRun("abcd", completed);
    }
    expect(await closed).toEqual([0, null]);
    expect(seen.slice(2)).toEqual([
      "train  steps 2  loss 0.33333",
      "train  steps 3  loss 9",
      "run has ended: completed, 3 epochs reached",
    ]);
    expect(errors()).toMatch(/^(no sign of the run for .*\n)?$/);
  });

  it.skipIf(process.platform === "win32")("stops following quietly by Ctrl-C", async () => {
    await stored(1, false);
    const { child, lines, closed, errors } = started("tail", "mine");
    await once(lines, "line");
    child.kill("SIGINT");
    expect(await closed).toEqual([0, null]);
    expect(errors()).toMatch(/^(no sign of the run for .*\n)?$/);
  });
});
