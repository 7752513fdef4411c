import { describe, expect, it } from "vitest";
import {
  clipActions,
  clipObservations,
  clipRewards,
  type Environment,
  environmentNames,
  frameStack,
  makeEnvironment,
  maskActions,
  normalizeObservations,
  normalizeRewards,
  timeLimit,
} from "../../rl/index.ts";
import { type Breaks, broken } from "./broken.test-support.ts";
import { checkEnvironment, environmentFaults } from "./check-environment.ts";

describe("checkEnvironment", () => {
  it.each(checkEnvironment(broken))("a right environment passes: $name", ({ run }) => run());

  // Files that run in the same process register others.
  it.each(environmentNames().filter((name) => /-v\d+$/.test(name)))("%s passes", async (name) => {
    const random = { steps: 2000 };
    expect(await environmentFaults(() => makeEnvironment(name), random)).toEqual([]);
  });

  const wrappers: readonly [name: string, wrap: (inner: Environment) => Environment][] = [
    ["timeLimit", (inner) => timeLimit(inner, 20)],
    ["clipActions", clipActions],
    ["clipRewards", (inner) => clipRewards(inner, { low: -1 })],
    ["clipObservations", (inner) => clipObservations(inner, { high: 0.5 })],
    ["frameStack", (inner) => frameStack(inner, 3)],
    ["normalizeObservations", normalizeObservations],
    ["normalizeRewards", normalizeRewards],
  ];

  it.each(wrappers)("%s around an environment passes", async (name, wrap) => {
    const faults = await environmentFaults(() => wrap(makeEnvironment("Pendulum-v1")));
    // What is normal goes on over episodes, so that two with the same seed are not the same.
    const goesOn = name.startsWith("normalize")
      ? ["reset leaves nothing of the episode before", "a step after the end is refused or harmless"]
      : [];
    expect(faults.filter((fault) => !goesOn.some((check) => fault.startsWith(check)))).toEqual([]);
  });

  it("maskActions around an environment passes", async () => {
    const masked = () => maskActions(makeEnvironment("CartPole-v1"), () => Uint8Array.of(1, 0));
    expect(await environmentFaults(masked)).toEqual([]);
  });

  const steps =
    (change: object | ((steps: number) => object)): Breaks =>
    (right) => ({
      step(action: never) {
        const stepped = right.step(action);
        return { ...stepped, ...(typeof change === "function" ? change(right.inside.steps) : change) };
      },
    });

  it.each<[what: string, breaks: Breaks, check: string, words: RegExp]>([
    ["has no name", () => ({ name: "" }), "it has a name, spaces, agents and lessons", /its name is ""/],
    [
      "has no action space",
      () => ({ actionSpace: { kind: "discrete", n: 0 } }),
      "it has a name, spaces, agents and lessons",
      /actionSpace is no space: discrete: n is 0/,
    ],
    [
      "has the same lesson twice",
      () => ({ lessons: ["a", "a"] }),
      "it has a name, spaces, agents and lessons",
      /lessons are \["a","a"\]/,
    ],
    [
      "sees what is outside",
      steps({ observation: Float32Array.of(9, 0) }),
      "observations lie in their space",
      /the observation of step 1 of the episode with seed 0 is not of its space: it is 9 at 0, above 5/,
    ],
    [
      "sees another shape",
      steps({ observation: new Float32Array(3) }),
      "observations lie in their space",
      /it has 3 numbers, where 2 are expected/,
    ],
    [
      "sees another type",
      steps({ observation: new Float64Array(2) }),
      "observations lie in their space",
      /it is a Float64Array/,
    ],
    [
      "sees NaN",
      steps((n) => (n === 3 ? { observation: Float32Array.of(NaN, 0) } : {})),
      "observations lie in their space",
      /step 3 .*it is NaN at 0/,
    ],
    [
      "sees nothing when reset",
      (right) => ({ reset: (options: object) => void right.reset(options) }),
      "observations lie in their space",
      /the reset of the episode with seed 0 gave no observation/,
    ],
    ["is paid NaN", steps({ reward: NaN }), "rewards are numbers", /the reward of step 1 .* is "NaN"/],
    ["is paid in text", steps({ reward: "1" }), "rewards are numbers", /is "1"/],
    [
      "forgets truncated",
      steps({ truncated: undefined }),
      "every step says whether the episode is terminated and truncated",
      /truncated of step 1 .* is missing, where true or false is expected/,
    ],
    [
      "ends with a number",
      steps({ terminated: 0 }),
      "every step says whether the episode is terminated and truncated",
      /terminated of step 1 .* is 0/,
    ],
    [
      "has a mask that is too short",
      steps({ actionMask: Uint8Array.of(1, 1) }),
      "action masks have an entry for every choice and allow some",
      /is \[1,1\], where 3 bytes are expected/,
    ],
    [
      "has a mask that allows nothing",
      steps({ actionMask: new Uint8Array(3) }),
      "action masks have an entry for every choice and allow some",
      /which allows nothing from 0 to 2/,
    ],
    [
      "has a mask only sometimes",
      steps({ actionMask: undefined }),
      "action masks have an entry for every choice and allow some",
      /step 1 .* has no action mask, unlike the reset before it/,
    ],
    [
      "never ends",
      steps({ terminated: false, truncated: false, observation: new Float32Array(2) }),
      "episodes end",
      /with seed 0 was not over after 100 steps: set a time limit, or say \{ endless: true \}/,
    ],
    [
      "throws",
      (right) => ({
        step(action: never) {
          if (right.inside.steps === 2) throw new Error("no more");
          return right.step(action);
        },
      }),
      "episodes end",
      /step 3 of the episode with seed 0 failed: no more/,
    ],
    [
      "draws from elsewhere",
      (right) => ({
        reset(options: object) {
          const seen = right.reset(options);
          right.inside.random = elsewhere++;
          return seen;
        },
      }),
      "the same seed gives the same episode",
      /seed 0 in another environment: step 1 is .*, where it was/,
    ],
    [
      "keeps its steps when reset",
      (right) => {
        let taken = 0;
        return {
          step(action: never) {
            taken++;
            return { ...right.step(action), truncated: taken % 30 === 0 || right.inside.steps >= 30 };
          },
        };
      },
      "reset leaves nothing of the episode before",
      /seed \d after an unfinished episode/,
    ],
    [
      "begins anew without a seed as it likes",
      (right) => ({
        reset(options: { seed?: number } = {}) {
          return right.reset({ ...options, seed: options.seed ?? elsewhere++ });
        },
      }),
      "a reset without a seed draws on",
      /the second episode after seed 0: the first observation is/,
    ],
    [
      "forgets its random numbers",
      (right) => ({
        getState: () => ({ ...right.inside, board: right.inside.board.slice(), random: 5 }),
      }),
      "a state gives back the future",
      /after setState at step \d+ of seed 0 in the same environment: step/,
    ],
    [
      "does not take what it gave",
      (right) => ({
        setState(state: { at: number }) {
          right.setState({ ...state, at: 0 } as never);
        },
      }),
      "a state gives back the future",
      /setState in the same environment does not leave the state as it was given: at/,
    ],
    ["has no state", () => ({ getState: () => null }), "a state gives back the future", /getState gave null/],
    [
      "has what cannot be saved in its state",
      (right) => ({ getState: () => ({ ...right.inside, when: new Date(0) }) }),
      "a state gives back the future",
      /holds a Date/,
    ],
    [
      "gives out its own state",
      (right) => ({ getState: () => right.inside }),
      "what is given out and taken in shares no memory",
      /after what it gave out before was written into: step 1/,
    ],
    [
      "keeps the state it is given",
      (right) => ({
        setState(state: { board: Float32Array }) {
          right.setState(state as never);
          right.inside.board = state.board;
        },
        step(action: never) {
          const board = right.inside.board[0] as number;
          const stepped = right.step(action);
          return board === 77 ? { ...stepped, reward: 77 } : stepped;
        },
      }),
      "what is given out and taken in shares no memory",
      /written into: step 1/,
    ],
    [
      "gives the same array again and again",
      (right) => {
        const own = new Float32Array(2);
        return {
          step(action: never) {
            const stepped = right.step(action);
            own.set(stepped.observation as Float32Array);
            return { ...stepped, observation: own };
          },
        };
      },
      "what is given out and taken in shares no memory",
      /what was given out, a step later: step 1/,
    ],
    [
      "breaks after its end",
      (right) => {
        let [over, broke] = [false, false];
        return {
          step(action: never) {
            if (over) broke = true;
            const stepped = right.step(action);
            over = stepped.terminated || stepped.truncated;
            return broke ? { ...stepped, reward: 0.5 } : stepped;
          },
          reset(options: object) {
            over = false;
            return right.reset(options);
          },
        };
      },
      "a step after the end is refused or harmless",
      /seed 0 after a step after the end: step 1/,
    ],
    [
      "lacks a lesson",
      () => ({ lessons: ["left", "right", "up"], reset: lackingUp }),
      "every lesson can be played",
      /reset\(\{"seed":0,"lesson":2\}\) failed: no such lesson/,
    ],
    [
      "draws and moves",
      (right) => ({
        render() {
          right.inside.at++;
          return { width: 1, height: 1, shapes: [] };
        },
      }),
      "drawing changes nothing",
      /render changes the state: at/,
    ],
    [
      "draws nothing",
      () => ({ render: () => ({}) }),
      "drawing changes nothing",
      /gave \{\}, which is no drawing/,
    ],
  ])("finds one that %s", async (_, breaks, check, words) => {
    const faults = await environmentFaults(() => broken(breaks), { steps: 100 });
    const found = faults.filter((fault) => fault.startsWith(`${check}: `));
    expect(found, faults.join("\n")).toHaveLength(1);
    expect(found[0]).toMatch(words);
  });

  it("finds lists that are not there for several agents", async () => {
    const faults = await environmentFaults(() => broken(() => ({ agents: 2 })), { steps: 100 });
    expect(faults.join("\n")).toMatch(/the observation of the reset .* a list for 2 agents is expected/);
  });

  it("does not ask episodes to end where they need not", async () => {
    const endless = steps({ terminated: false, truncated: false, observation: new Float32Array(2) });
    const faults = await environmentFaults(() => broken(endless), { steps: 100, endless: true });
    expect(faults.filter((fault) => fault.startsWith("episodes end"))).toEqual([]);
  });

  it("refuses what makes nothing", async () => {
    const [fault] = await environmentFaults(() => undefined as never);
    expect(fault).toMatch(/it was not made/);
  });
});

/** Numbers that come from outside an environment. */
let elsewhere = 100;

function lackingUp({ lesson = 0 }: { readonly lesson?: number } = {}): object {
  if (lesson === 2) throw new Error("no such lesson");
  return broken().reset();
}
