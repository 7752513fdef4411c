import { expect, it } from "vitest";
import { registerEnvironment } from "../environments/registry.ts";
import { matching } from "../on-policy/worlds.test-support.ts";
import { a2c } from "./a2c.ts";
import { dqn } from "./dqn.ts";
import { ppo } from "./ppo.ts";

registerEnvironment("Matching", { make: matching.make, compiled: () => matching.compiled });
const small = { encoder: { kind: "mlp", hidden: [16] } } as const;

it.each([
  ["ppo", () => ppo({ env: "Matching", policy: small, learningRate: 0.01, seed: 2, engine: "wasm" }), 8000],
  [
    "a2c",
    () => a2c({ env: "Matching", policy: small, learningRate: 0.005, gamma: 0.5, seed: 2, engine: "wasm" }),
    12_000,
  ],
  [
    "dqn",
    () =>
      dqn({
        ...{
          env: "Matching",
          learningRate: 0.002,
          gamma: 0.5,
          learningStarts: 500,
          seed: 2,
          engine: "wasm",
        },
        ...{ policy: small, environments: 4, rolloutSteps: 5 },
      }),
    8000,
  ],
] as const)("an agent of %s learns and is evaluated", async (_name, make, steps) => {
  const agent = make();
  await agent.train({ steps });
  // Four steps of 1 each are the most; by chance it is 4 / 3.
  const { return: found, returns, length } = await agent.evaluate({ episodes: 12, seed: 3 });
  expect(found).toBeGreaterThan(3.7);
  expect([returns.length, length]).toEqual([12, 4]);
  agent.close();
});
