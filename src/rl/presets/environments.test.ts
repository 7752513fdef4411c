import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { EspalierError } from "../../core/index.ts";
import { failureOf } from "../../hooks/hooks.test-support.ts";
import { defineEnvironment } from "../environments/define.ts";
import { box, discrete } from "../spaces/index.ts";
import { hostEnvironments } from "./environments.ts";

/** One of a group fails at its third step, once. */
let failures = 0;
const makeFragile = defineEnvironment({
  name: "Fragile",
  observation: box({ shape: [1], low: 0, high: 10 }),
  action: discrete(2),
  initial: () => ({ n: 0 }),
  step: ({ n }) => {
    if (n === 2 && failures++ === 0) throw new Error("it broke");
    return { state: { n: n + 1 }, reward: 1, terminated: n === 5 };
  },
  observe: ({ n }) => [n],
});

describe("an agent's environments", () => {
  it("are made anew where that is asked for, and whoever wants to know is told", () => {
    const told: EspalierError[] = [];
    const vector = hostEnvironments(
      "ppo",
      { env: makeFragile, onFailure: "restart", onRestart: (error) => void told.push(error) },
      1,
    );
    vector.reset(1);
    for (let i = 0; i < 4; i++) vector.step(new Float32Array(1));
    expect(vector.restarts?.[0]).toBe(1);
    expect(told[0]).toBeInstanceOf(EspalierError);
    expect(told[0]?.message).toMatch(/Fragile/);
  });

  it("of a function cannot go to threads: the fix says how they can", () => {
    expect(() => hostEnvironments("ppo", { env: makeFragile, threads: 2 }, 2)).toThrow(
      /threads cannot be given[\s\S]*\{ module, name \}/,
    );
  });

  it.each([
    ["URL", (url: URL) => url.href],
    ["path", fileURLToPath],
  ])("of a file go to a thread by themselves, by its %s", (_, module) => {
    const file = new URL("../environments/classics/cart-pole.ts", import.meta.url);
    const env = { module: module(file), name: "cartPole" };
    const vector = hostEnvironments("ppo", { env }, 2);
    try {
      vector.reset(1);
      vector.step(new Float32Array(2));
      expect([...vector.rewards]).toEqual([1, 1]);
    } finally {
      vector.close();
    }
  });

  it("of a file are given as texts, which threads can be sent", () => {
    const env = { module: new URL("./world.ts", import.meta.url), name: "makeWorld" } as never;
    const error = failureOf(() => hostEnvironments("ppo", { env }, 1));
    expect(error.message).toMatch(/env\.module is a URL object/);
    expect(error.fix).toMatch(/\.href/);
  });

  it("of a file need to know where it is", () => {
    const env = { module: "./world.ts", name: "makeWorld" };
    expect(() => hostEnvironments("ppo", { env }, 1)).toThrow(/neither a URL nor an absolute path/);
  });
});
