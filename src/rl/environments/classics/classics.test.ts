import { describe, expect, it } from "vitest";
import type { Environment } from "../environment.ts";
import { SeededRandom } from "../random.ts";
import { acrobot } from "./acrobot.ts";
import { cartPole } from "./cart-pole.ts";
import fixture from "./gymnasium.fixture.json" with { type: "json" };
import { type Fixture, findGymnasium, recorded } from "./gymnasium.test-support.ts";
import { mountainCar, mountainCarContinuous } from "./mountain-car.ts";
import { pendulum } from "./pendulum.ts";

interface Classic {
  readonly make: () => Environment;
  /** What Gymnasium holds in its states, in order. */
  readonly parts: readonly string[];
  readonly name: string;
}

const classics: readonly Classic[] = [
  { make: cartPole, parts: ["x", "speed", "angle", "turn"] },
  { make: acrobot, parts: ["upper", "lower", "upperTurn", "lowerTurn"] },
  { make: mountainCar, parts: ["position", "velocity"] },
  { make: mountainCarContinuous, parts: ["position", "velocity"] },
  { make: pendulum, parts: ["angle", "turn"] },
].map((classic) => ({ ...classic, name: classic.make().name }));

/** The bounds of Gymnasium's initial states. */
const starts: Readonly<Record<string, readonly (readonly [low: number, high: number])[]>> = {
  "CartPole-v1": Array.from({ length: 4 }, () => [-0.05, 0.05] as const),
  "Acrobot-v1": Array.from({ length: 4 }, () => [-0.1, 0.1] as const),
  "MountainCar-v0": [
    [-0.6, -0.4],
    [0, 0],
  ],
  "MountainCarContinuous-v0": [
    [-0.6, -0.4],
    [0, 0],
  ],
  "Pendulum-v1": [
    [-Math.PI, Math.PI],
    [-1, 1],
  ],
};

interface Saved {
  readonly state: Readonly<Record<string, number>>;
}

/** The largest difference of states and observations over all steps; rewards and ends must be equal. */
function compare({ make, parts }: Classic, found: Fixture): number {
  const environment = make();
  const steps = recorded(found, environment.name);
  const random = new SeededRandom(0).getState();
  const width = steps.observation.length / steps.rows;
  let most = 0;
  for (let row = 0; row < steps.rows; row++) {
    const state = Object.fromEntries(
      parts.map((part, i) => [part, steps.state[row * parts.length + i] as number]),
    );
    environment.setState({ phase: "going", steps: steps.elapsed[row] as number, random, state });
    const action = steps.action[row] as number;
    const step = environment.step(environment.actionSpace.kind === "box" ? [action] : action);
    const ends = [steps.terminated[row] === 1, steps.truncated[row] === 1];
    expect([step.terminated, step.truncated], `row ${row}`).toEqual(ends);
    expect(step.reward, `reward of row ${row}`).toBe(steps.arrays[row]);
    const after = (environment.getState() as unknown as Saved).state;
    parts.forEach((part, i) => {
      most = Math.max(
        most,
        Math.abs((after[part] as number) - (steps.next[row * parts.length + i] as number)),
      );
    });
    const seen = step.observation as Float32Array;
    for (let i = 0; i < width; i++)
      most = Math.max(most, Math.abs((seen[i] as number) - (steps.observation[row * width + i] as number)));
  }
  return most;
}

describe.each(classics)("$name", (classic) => {
  it("steps as Gymnasium's does in the fixture", () => {
    const { terminated, truncated } = recorded(fixture, classic.name);
    expect([...terminated, ...truncated]).toContain(1);
    expect(compare(classic, fixture)).toBeLessThan(1e-6);
  });

  it("begins where Gymnasium's does", () => {
    const environment = classic.make();
    const begun = Array.from({ length: 2000 }, (_, seed) => {
      environment.reset({ seed });
      const { state } = environment.getState() as unknown as Saved;
      return classic.parts.map((part) => state[part] as number);
    });
    const column = (i: number): number[] => begun.map((state) => state[i] as number);
    // Uniform between bounds: the least and the most of 2,000 are within a hundredth of them, the mean in the middle.
    starts[classic.name]?.forEach(([low, high], i) => {
      const [values, width] = [column(i), high - low];
      expect(Math.min(...values)).toBeGreaterThanOrEqual(Math.fround(low));
      expect(Math.max(...values)).toBeLessThanOrEqual(Math.fround(high));
      expect(Math.min(...values) - low).toBeLessThanOrEqual(width / 100);
      expect(high - Math.max(...values)).toBeLessThanOrEqual(width / 100);
      const mean = values.reduce((sum, x) => sum + x, 0) / values.length;
      expect(Math.abs(mean - (low + high) / 2)).toBeLessThanOrEqual(width / 25);
    });
  });

  it("draws itself", () => {
    const environment = classic.make();
    environment.reset({ seed: 1 });
    const before = environment.render?.();
    environment.step(environment.actionSpace.kind === "box" ? [1] : 0);
    for (let i = 0; i < 5; i++) environment.step(environment.actionSpace.kind === "box" ? [1] : 0);
    const after = environment.render?.();
    expect(after).not.toEqual(before);
    expect(after?.shapes.length).toBeGreaterThanOrEqual(3);
  });
});

const gymnasium = findGymnasium();

describe.skipIf(gymnasium.missing)(
  `10,000 steps of Gymnasium as it is installed${gymnasium.missing ? ` (${gymnasium.missing})` : ""}`,
  () => {
    let found: Fixture | undefined;

    it.each(classics)(
      "$name",
      (classic) => {
        found ??= gymnasium.run?.("gymnasium_classics.py", "10000") as Fixture;
        expect(found.rows).toBe(10_000);
        const { terminated, truncated } = recorded(found, classic.name);
        if (classic.name !== "Pendulum-v1") expect(terminated.includes(1)).toBe(true);
        expect(truncated.includes(1)).toBe(true);
        expect(compare(classic, found)).toBeLessThan(1e-6);
      },
      120_000,
    );

    it.each(classics)(
      "$name's rewards are those of single numbers too, but for a C library's squares",
      ({ name }) => {
        found ??= gymnasium.run?.("gymnasium_classics.py", "10000") as Fixture;
        const { reward, arrays } = recorded(found, name);
        const apart = reward.map((x, row) => Math.abs(x - (arrays[row] as number)));
        if (name !== "Pendulum-v1") expect(apart.every((x) => x === 0)).toBe(true);
        expect(Math.max(...apart)).toBeLessThan(1e-9);
        expect(apart.filter((x) => x > 0).length).toBeLessThan(50);
      },
    );
  },
);
