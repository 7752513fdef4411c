import { expect, it } from "vitest";
import { dqn } from "./dqn.ts";

it("DQN learns CartPole with its own settings, and its values stay below what can be earned", async () => {
  const agent = dqn({ env: "CartPole-v1", seed: 2 });
  const { metrics } = await agent.train({ steps: 40_000 });
  // At most 1 / (1 - 0.99); where values run away they reach thousands.
  expect(metrics["td.value"]).toBeGreaterThan(5);
  expect(metrics["td.value"]).toBeLessThan(110);
  // By chance it is 22, and 9 for always the same choice.
  expect((await agent.evaluate({ episodes: 20 })).return).toBeGreaterThan(60);
}, 240_000);

it("a DQN that would learn nothing is refused, and its share of random actions may be a number", async () => {
  await expect(async () => dqn({ env: "CartPole-v1" }).train({ steps: 9000 })).rejects.toThrow(
    /learningStarts is 10000, and the training has 9000 steps: nothing would be learned/,
  );
  const small = { learningStarts: 100, cycles: 10, epsilon: 0.3, engine: "wasm" } as const;
  const agent = dqn({ env: "CartPole-v1", ...small });
  const { counters } = await agent.train({ steps: 200 });
  expect(counters.updates).toBe(11);
  expect(agent.task.ramps?.epsilon?.at(counters)).toBe(0.3);
});
