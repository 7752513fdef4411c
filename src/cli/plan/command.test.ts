import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { createRun } from "../../config/index.ts";
import { testDirectory } from "../checkpoint/checkpoints.test-support.ts";
import { createProgram } from "../program.ts";
import { captured } from "../runs/runs.test-support.ts";
import { thisProcess } from "../terminal.ts";
import { registerPlan } from "./command.ts";

const { path } = testDirectory();

const plan = (yaml: string, ...args: readonly string[]) => {
  writeFileSync(path("run.yaml"), yaml);
  return planOf(path("run.yaml"), ...args);
};

async function planOf(...args: readonly string[]) {
  const out = captured();
  const around = { ...thisProcess(), out };
  const program = createProgram([(parent) => registerPlan(parent, around)]);
  await program.parseAsync(["plan", ...args], { from: "user" });
  return out.text();
}

const cartpole = (hooks = "") => `
engine: wasm
task: { use: ppo, env: CartPole-v1, totalSteps: 20000 }
directory: ${path("runs")}
${hooks === "" ? "" : `hooks:${hooks}`}
`;

describe("espalier plan", () => {
  it("prints the order with reasons and a timeline, and writes nothing", async () => {
    const hooks = `
  - use: evaluationHook
    player: { get: task.player }
    suites: { cartpole: { env: CartPole-v1 } }
    schedule: { use: every, epochs: 20 }`;
    const text = await plan(cartpole(hooks));
    expect(text).toMatch(/79 epochs, 1,580 batches, 1,580 updates, 20,224 samples/);
    expect(text).toMatch(/checkpoint\.start .* on all ranks; first\n +2\. +metrics\.time .* first\n/);
    expect(text).toMatch(/control\.start .* last\n/);
    expect(text).toMatch(/checkpoint .*after evaluation \(checkpoint wants "evaluation.scores"\)/);
    expect(text).toMatch(/evaluation +\.{12}#\.{12}#\.{11}#\.* +onEpochEnd 3 times: epochs 20, 40, 60\n/);
    expect(text).toMatch(/checkpoint +\?{50} +every 60 seconds, by the clock/);
    expect(existsSync(path("runs"))).toBe(false);
    expect(readdirSync(path("."))).toEqual(["run.yaml"]);
  });

  it("prints JSON, of as many epochs as asked for, with values of --set", async () => {
    const text = await plan(
      cartpole(),
      "--json",
      "--epochs",
      "10",
      "--set",
      "checkpoints.schedule.use=every",
      "--set",
      "checkpoints.schedule.epochs=4",
    );
    expect(text).not.toMatch(/Infinity|null/);
    const { order, complete, end, hooks } = JSON.parse(text);
    expect(order).toContain("checkpoint");
    expect({ complete, epochs: end.epochs }).toEqual({ complete: false, epochs: 10 });
    const checkpoint = hooks.find(({ name }: { readonly name: string }) => name === "checkpoint");
    expect(checkpoint).toMatchObject({
      schedule: "every 4 epochs",
      unit: "epochs",
      events: [{ event: "onEpochEnd", times: 2 }],
    });
  });

  it("takes a run, and set-ups without values of --set", async () => {
    const text = await plan(cartpole(), "--json");
    await (await createRun(path("run.yaml"), { quiet: true, overrides: ["training.maxUpdates=1"] })).train();
    const ofRun = JSON.parse(await planOf("run", "--runs", path("runs"), "--json"));
    expect(ofRun.order).toEqual(JSON.parse(text).order);
    expect(ofRun.end.updates).toBeLessThan(JSON.parse(text).end.updates);
    const task = `{ stepUnit: "updates", ramps: {}, components: {}, epoch: () => [], snapshot: () => ({}) }`;
    const setup = `export const setup = () => ({ task: { ...${task}, run: () => ({ rows: [] }) } });`;
    writeFileSync(path("setup.mjs"), setup);
    expect(await planOf(path("setup.mjs"))).toContain("order of hooks");
    await expect(planOf(path("setup.mjs"), "--set", "training.epochs=1")).rejects.toMatchObject({
      code: "OPTION_INVALID",
    });
  });

  it("tells mistakes with their places, as train does", async () => {
    await expect(plan("task: { use: pppo }\n")).rejects.toMatchObject({
      message: expect.stringMatching(/run\.yaml:1:.*ppo/s),
    });
  });
});
