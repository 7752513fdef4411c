import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { CheckpointManager, localStore } from "../../checkpoint/index.ts";
import { ask, journalOf, stateOf, until } from "../../metrics/health/control.test-support.ts";
import { isAlive, openStatsStore } from "../../metrics/index.ts";
import { hashState } from "../../state/index.ts";

const main = fileURLToPath(new URL("../main.ts", import.meta.url));
const tsx = import.meta.resolve("tsx");
const folder = mkdtempSync(join(tmpdir(), "espalier-steered-"));
const started = new Set<ChildProcess>();
afterAll(async () => {
  for (const child of started) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
});

function start(...args: readonly string[]) {
  const child = spawn(process.execPath, ["--import", tsx, main, ...args], {
    cwd: folder,
    env: { ...process.env, ...(args[0] !== "prove-resume" && { SLOWLY: "1" }) },
  });
  started.add(child);
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const ended = once(child, "close").then(([code]) => ({ code: code as number | null, stdout, stderr }));
  return { child, ended };
}

/** Waits until a process of the run listens. */
const listening = (directory: string, { child, ended }: ReturnType<typeof start>) =>
  Promise.race([
    until(() => {
      if (!existsSync(join(directory, "control/state.json"))) return undefined;
      return stateOf(directory).pid === child.pid ? true : undefined;
    }),
    ended.then(({ stderr }) => expect.fail(stderr)),
  ]);

/** What the stats store has of what the run was told. */
async function interventions(runs: string, id: string): Promise<readonly string[]> {
  const store = await openStatsStore(join(runs, "stats.db"));
  const rows = await store.list(id, "intervention");
  await store.close();
  return rows.filter(({ who }) => who === "tester").map(({ what }) => what);
}

describe("a run of espalier train", { timeout: 900_000 }, () => {
  it("is steered, killed, paused, interrupted and stopped, and is proved to resume exactly", async () => {
    writeFileSync(
      join(folder, "counter.mjs"),
      `export const counter = () => {
        const state = { epochs: 0 };
        return { name: "counter", state, onEpochEnd: () => { state.epochs++; } };
      };
      // Lets the run that is steered come less far while it is steered: the proof trains as much again, twice.
      export const slowly = () => {
        const wait = () => new Promise((resolve) => setTimeout(resolve, process.env.SLOWLY ? 50 : 0));
        return { name: "slowly", onEpochEnd: wait };
      };`,
    );
    writeFileSync(
      join(folder, "run.yaml"),
      `engine: wasm
task: { use: ppo, env: CartPole-v1, totalSteps: 100000000, environments: 4, rolloutSteps: 16 }
training: { seed: 1 }
metrics: { system: false, timing: false }
checkpoints: { schedule: { use: every, epochs: 7 }, keep: { last: 2 } }
hooks:
  - ./counter.mjs#counter
  - ./counter.mjs#slowly
  - { use: evaluationHook, player: { get: task.player }, suites: { cart: { env: CartPole-v1 } },
      schedule: { use: every, epochs: 1000000 }, episodes: 2 }
`,
    );
    const first = start("train", "run.yaml", "--quiet");
    const runs = join(folder, "runs");
    const id = await Promise.race([
      until(() => (existsSync(runs) ? readdirSync(runs).find((name) => name.startsWith("run-")) : undefined)),
      first.ended.then(({ stderr }) => expect.fail(stderr)),
    ]);
    const directory = join(runs, id);
    await listening(directory, first);
    const { ramps, evaluations, checkpoints } = stateOf(directory);
    expect(Object.keys(ramps)).toContain("learningRate");
    expect({ evaluations, checkpoints }).toEqual({
      evaluations: ["evaluation"],
      checkpoints: ["checkpoint"],
    });
    const applied = async (action: Parameters<typeof ask>[1]) =>
      expect(await ask(directory, action)).toMatchObject({ outcome: "applied" });
    await applied({ action: "set", ramp: "learningRate", value: 0.001 });
    await applied({ action: "disable", hook: "counter" });
    await applied({ action: "evaluate" });
    await applied({ action: "pause" });
    await applied({ action: "set", ramp: "learningRate", value: 0.002 });
    await until(() => (stateOf(directory).state === "paused" ? true : undefined));
    expect(isAlive(join(directory, "heartbeat.json"))).toBe(true);
    first.child.kill("SIGKILL");
    await first.ended;
    const told = journalOf(directory);

    // Resumed, it is told the same again; a pause that a signal ends leaves a checkpoint.
    const second = start("resume", id, "--quiet");
    await listening(directory, second);
    const reached = told.at(-1)?.counters.batches ?? 0;
    await until(() => (stateOf(directory).counters.batches >= reached ? true : undefined));
    await applied({ action: "enable", hook: "counter" });
    await applied({ action: "pause" });
    second.child.kill("SIGINT");
    expect(await second.ended).toMatchObject({ code: 130 });
    expect(stateOf(directory)).toMatchObject({ state: "ended", outcome: "interrupted" });

    const third = start("resume", id, "--quiet");
    await listening(directory, third);
    await applied({ action: "set", ramp: "learningRate", value: null });
    await applied({ action: "stop" });
    expect(await third.ended).toMatchObject({ code: 0 });
    const records = journalOf(directory);
    expect(records.slice(0, told.length)).toEqual(told);
    expect(records).toHaveLength(told.length + 4);

    // Each once, though some were applied twice.
    expect((await interventions(runs, id)).toSorted()).toEqual(
      [
        ...["set learningRate to 0.001", "disable counter", "evaluate", "pause", "set learningRate to 0.002"],
        ...["enable counter", "pause", "set learningRate to its own value", "stop"],
      ].toSorted(),
    );

    const proof = await start("prove-resume", id, "--json").ended;
    expect(proof.stderr).not.toContain("error");
    const { exact, batches, components } = JSON.parse(proof.stdout) as {
      exact: boolean;
      batches: number;
      components: readonly { name: string; hashes: readonly [string, string] }[];
    };
    expect({ code: proof.code, exact, batches }).toEqual({
      code: 0,
      exact: true,
      batches: records.at(-1)?.counters.batches,
    });

    // The run itself, with its kill and its pauses, has these bits too.
    const manager = new CheckpointManager({ store: localStore(join(directory, "checkpoints")) });
    const last = await manager.latest();
    const shared = components.filter(
      ({ name }) => last?.components.includes(name) && !name.startsWith("hook.metrics"),
    );
    expect(shared.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["params", "optimizer", "trainer", "slots", "hook.counter", "hook.control"]),
    );
    for (const { name, hashes } of shared)
      expect(await hashState((await last?.state(name)) ?? null), name).toBe(hashes[0]);
  });
});
