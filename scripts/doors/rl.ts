// Trainings through `espalier/rl` and no other door: one of each kind of agent, and a policy that acts.
import assert from "node:assert/strict";
import { a2c, dqn, ppo } from "espalier/rl";

for (const [name, agent] of Object.entries({
  ppo: ppo({ env: "CartPole-v1", seed: 1 }),
  a2c: a2c({ env: "CartPole-v1", seed: 1 }),
  dqn: dqn({ env: "CartPole-v1", seed: 1, learningStarts: 256 }),
})) {
  const { outcome, counters } = await agent.train({ steps: 512 });
  assert.equal(outcome, "completed");
  const { return: mean } = await agent.evaluate({ episodes: 2 });
  assert.ok(mean >= 8, `${name}: two episodes of CartPole, return ${mean}`);
  const actor = await agent.actor<number>();
  assert.ok([0, 1].includes(actor.act([0, 0, 0.05, 0])));
  console.log(`espalier/rl: ${name} after ${counters.samples} steps, return ${mean}`);
}
