// What has to be remembered. New ideas: an environment of one's own, in functions of its state; and a policy with a
// memory: a GRU, whose state is carried from step to step and forgotten where an episode begins. The same training
// without it can only guess.
import assert from "node:assert/strict";
import { realpathSync } from "node:fs";
import { box, defineEnvironment, discrete, type PolicySpec, ppo } from "espalier/rl";

const WAIT = 6;

/** Shows a sign in its first step, and asks some steps later which one it was: 1 for the right answer, -1 otherwise. */
export const makeRecall = defineEnvironment({
  name: "Recall",
  observation: box({ shape: [2], low: -1, high: 1 }),
  action: discrete(2),
  initial: (random) => ({ sign: random.pick([-1, 1]), at: 0 }),
  step: ({ sign, at }, action) => {
    const asked = at === WAIT;
    const right = action === (sign === 1 ? 1 : 0);
    return { state: { sign, at: at + 1 }, reward: asked ? (right ? 1 : -1) : 0, terminated: asked };
  },
  // All that is seen: the sign at first, then nothing, then that it is asked for.
  observe: ({ sign, at }) => [at === 0 ? sign : 0, at === WAIT ? 1 : 0],
});

async function trained(memory: PolicySpec["memory"]): Promise<number> {
  const agent = ppo({
    env: makeRecall,
    policy: { encoder: { kind: "mlp", hidden: [32] }, ...(memory && { memory }), towers: "shared" },
    ...{ totalSteps: 40_000, environments: 16, rolloutSteps: 64, learningRate: 3e-3, seed: 1 },
  });
  const { counters } = await agent.train();
  const { return: mean } = await agent.evaluate({ episodes: 200 });
  console.log(`${memory?.kind ?? "no memory"}: mean return ${mean} after ${counters.episodes} episodes`);
  return mean;
}

if (realpathSync(process.argv[1] ?? ".") === import.meta.filename) {
  const remembers = await trained({ kind: "gru", width: 32 });
  const forgets = await trained(undefined);

  assert.ok(remembers > 0.95, "one who remembers knows the answer");
  assert.ok(Math.abs(forgets) < 0.3, "one who does not is right half of the time");
}
