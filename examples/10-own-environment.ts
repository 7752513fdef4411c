// A world of one's own in twenty lines: a ball falls, and a bat has to be there. New ideas: what comes by itself with an
// environment that is written in functions of its state (seeds, checkpoints, pictures), a suite that says what is wrong
// with one, a name by which evaluations, replays and commands find it, and a policy that plays in a loop of one's own.
import assert from "node:assert/strict";
import { realpathSync } from "node:fs";
import { asText, box, defineEnvironment, discrete, ppo, registerEnvironment, wrap } from "espalier/rl";
import { environmentFaults } from "espalier/testing";

export const makeCatch = defineEnvironment({
  name: "Catch",
  observation: box({ shape: [3], low: 0, high: 7 }),
  action: discrete(3), // left, stay, right
  initial: (random) => ({ x: random.integer(8), y: 0, bat: 3 }),
  step: ({ x, y, bat }, action) => {
    const state = { x, y: y + 1, bat: Math.min(Math.max(bat + action - 1, 0), 7) };
    const terminated = state.y === 7;
    return { state, reward: terminated ? (state.bat === x ? 1 : -1) : 0, terminated };
  },
  observe: ({ x, y, bat }) => [x, y, bat],
  draw: ({ x, y, bat }) => ({
    width: 8,
    height: 8,
    shapes: [
      { kind: "circle", at: [x + 0.5, y + 0.5], radius: 0.5, color: "crimson" },
      { kind: "rectangle", at: [bat, 7.5], size: [1, 0.5], color: "black" },
    ],
  }),
});

registerEnvironment("Catch", { make: makeCatch });

if (realpathSync(process.argv[1] ?? ".") === import.meta.filename) {
  // Whether the same seed gives the same episode, a state brings the future back, what is seen lies in its space, ...
  assert.deepEqual(await environmentFaults(makeCatch), []);
  // The same with a mistake in it, by `wrap`, which all wrappers are made with.
  const broken = () => wrap(makeCatch(), { step: (stepped) => ({ ...stepped, reward: Number.NaN }) });
  const faults = await environmentFaults(broken);
  console.log(`of one that is wrong: ${faults[0]}`);
  assert.notEqual(faults.length, 0);

  const agent = ppo({
    env: "Catch",
    ...{ totalSteps: 50_000, environments: 16, rolloutSteps: 64, learningRate: 2e-3, seed: 1 },
    normalizeObservations: true,
  });
  await agent.train();
  const { return: mean } = await agent.evaluate({ episodes: 100 });
  console.log(`mean return ${mean} over 100 episodes, from -1 to 1`);

  // In a game it is the game that calls: it shows what is seen and gets an action.
  const player = await agent.actor<number>();
  const game = makeCatch();
  let { observation } = game.reset({ seed: 3 });
  let caught = 0;
  for (let over = false; !over; ) {
    const stepped = game.step(player.act(observation));
    [observation, over, caught] = [stepped.observation, stepped.terminated, stepped.reward];
  }
  const drawing = game.render?.();
  if (drawing) console.log(asText(drawing, { columns: 16 }));
  assert.equal(caught, 1, "it catches this one");
  assert.ok(mean > 0.9, "it catches nearly every ball");
}
