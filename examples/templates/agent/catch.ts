import { box, defineEnvironment, discrete, registerEnvironment } from "espalier/rl";

/** A ball falls from a random column, and a bat in the last row has to be where it lands. */
export const makeCatch = defineEnvironment({
  name: "Catch",
  observation: box({ shape: [3], low: 0, high: 5 }),
  action: discrete(3), // left, stay, right
  initial: (random) => ({ x: random.integer(6), y: 0, bat: 3 }),
  step: ({ x, y, bat }, action) => {
    const state = { x, y: y + 1, bat: Math.min(Math.max(bat + action - 1, 0), 5) };
    const terminated = state.y === 5;
    return { state, reward: terminated ? (state.bat === x ? 1 : -1) : 0, terminated };
  },
  observe: ({ x, y, bat }) => [x, y, bat],
  draw: ({ x, y, bat }) => ({
    width: 6,
    height: 6,
    shapes: [
      { kind: "circle", at: [x + 0.5, y + 0.5], radius: 0.5, color: "crimson" },
      { kind: "rectangle", at: [bat, 5.5], size: [1, 0.5], color: "black" },
    ],
  }),
});

registerEnvironment("Catch", { make: makeCatch });
