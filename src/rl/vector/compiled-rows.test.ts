import { describe, expect, it } from "vitest";
import { compile, hostRandom, np, random, scan, type Tensor, type Value } from "../../engine/index.ts";
import { testEngines } from "../../engine/run/engines.test-support.ts";
import { compiledCartPole } from "../environments/classics/cart-pole.ts";
import type { CompiledEnvironment } from "../environments/compiled.ts";
import { defineEnvironment } from "../environments/define.ts";
import { SeededRandom } from "../environments/random.ts";
import { box, discrete } from "../spaces/index.ts";
import { compiledRows, type RowsState } from "./compiled-rows.ts";
import { vectorEnvironment } from "./vector-environment.ts";

const spaces = { observation: box({ shape: [2] }), action: discrete(3) };

/** Two agents climb by their actions until one is at 6 (terminated) or 4 steps are over (truncated). */
const makeClimb = defineEnvironment({
  name: "Climb",
  ...spaces,
  agents: 2,
  timeLimit: 4,
  initial: () => ({ at: [0, 1] as readonly number[] }),
  step: ({ at }, actions) => {
    const next = at.map((height, i) => height + (actions[i] as number));
    return { state: { at: next }, reward: actions.map((a, i) => a + i), terminated: Math.max(...next) >= 6 };
  },
  observe: ({ at }) => at.map((height, i) => [height, i]),
});

type ClimbState = { readonly at: Value; readonly steps: Value };
const climb: CompiledEnvironment<ClimbState> = {
  name: "Climb",
  observationSpace: spaces.observation,
  actionSpace: spaces.action,
  agents: 2,
  reset: () => ({ at: np.array([0, 1]), steps: np.zeros([], { dtype: "i32" }) }),
  step: ({ at, steps }, action) => {
    const taken = np.reshape(action, [2]);
    const next = at.add(taken);
    return {
      state: { at: next, steps: steps.add(1) },
      reward: taken.add(np.array([0, 1])),
      terminated: np.greaterEqual(np.max(next), 6),
      truncated: np.greaterEqual(steps.add(1), 4),
    };
  },
  observe: ({ at }) => np.stack([at, np.array([0, 1])], { axis: 1 }),
};

/** The lesson is all there is; every episode takes one step. */
const lessonOnly: CompiledEnvironment<{ readonly lesson: Value }> = {
  name: "Lesson",
  observationSpace: box({ shape: [1] }),
  actionSpace: discrete(2),
  lessons: ["a", "b", "c", "d"],
  reset: (_, lesson) => ({ lesson }),
  step: (state) => ({
    state,
    reward: np.zeros([]),
    terminated: np.ones([], { dtype: "bool" }),
    truncated: np.zeros([], { dtype: "bool" }),
  }),
  observe: ({ lesson }) => np.reshape(lesson.astype("f32"), [1]),
};

const key = hostRandom.hostKey(11);
const list = async (tensor: Tensor): Promise<number[]> => Array.from(await tensor.read(), Number);

describe.each(testEngines())("compiled rows on %s", (engine) => {
  it("step, end and reset as the ordinary vector does", async () => {
    const [count, steps] = [3, 40];
    const rows = compiledRows(climb, count);
    expect(rows).toMatchObject({ rows: 6, size: 2, actions: 1, agents: 2, lessons: 0 });
    const init = compile((k: Value) => rows.init(k), { engine });
    const step = compile(
      (state: RowsState<ClimbState>, actions: Value, k: Value) => {
        const { state: next, ...rest } = rows.step(state, np.reshape(actions, [rows.rows, 1]), k);
        return { next, observation: rows.observe(next), ...rest };
      },
      { engine },
    );
    const vector = vectorEnvironment({ make: makeClimb, count });
    vector.reset(0);
    const draw = new SeededRandom(2);
    let state = init(key);
    let episodes = 0;
    const endings = new Set<boolean>();
    for (let t = 0; t < steps; t++) {
      const actions = Float32Array.from({ length: 6 }, () => draw.integer(3));
      vector.step(actions);
      const found = step(state, actions, hostRandom.hostFoldIn(key, t));
      expect(await list(found.observation)).toEqual([...vector.observations]);
      expect(await list(found.reward)).toEqual([...vector.rewards]);
      expect(await list(found.terminated)).toEqual([...vector.terminated]);
      expect(await list(found.truncated)).toEqual([...vector.truncated]);
      expect(await list(found.reset)).toEqual([...vector.resets]);
      const [ended, returns, lengths] = [new Array(6).fill(0), new Array(6).fill(0), new Array(6).fill(0)];
      for (const end of vector.ended()) {
        const row = end.environment * 2 + end.agent;
        [ended[row], returns[row], lengths[row]] = [1, end.return, end.length];
        endings.add(end.terminated);
        episodes++;
      }
      expect(await list(found.ended)).toEqual(ended);
      expect(await list(found.endedReturn)).toEqual(returns);
      expect(await list(found.endedLength)).toEqual(lengths);
      state = found.next;
    }
    expect(episodes).toBeGreaterThan(40);
    expect(endings.size).toBe(2);
  });

  it("go on with the same bits wherever a scan is cut", async () => {
    const rows = compiledRows(compiledCartPole(), 4);
    const init = compile((k: Value) => rows.init(k), { engine });
    const run = compile(
      (state: ReturnType<typeof rows.init>, first: Value, length: Value) =>
        scan(
          (now: typeof state, _: undefined, i: Value) => {
            const own = random.foldIn(random.key(5), i.add(first.astype("i32")));
            // A poor policy, so that episodes end often.
            const actions = np.greater(np.slice(rows.observe(now), ":", "1:2"), 0).astype("f32");
            const { state: next, ...rest } = rows.step(now, actions, own);
            return [next, { observation: rows.observe(next), ...rest }];
          },
          state,
          undefined,
          { length: length.astype("i32"), maxLength: 128 },
        ),
      { engine },
    );
    const whole = async (cuts: readonly number[]) => {
      let state = init(key);
      const found: Record<string, number[]> = {};
      let at = 0;
      for (const length of cuts) {
        const [next, results] = run(state, at, length);
        for (const [name, tensor] of Object.entries(results)) {
          const all = await list(tensor);
          found[name] = [...(found[name] ?? []), ...all.slice(0, (all.length / 128) * length)];
        }
        state = next;
        at += length;
      }
      return { found, last: await list(state.environment.motion) };
    };
    const uncut = await whole([128]);
    expect(uncut.found.reset?.filter((x) => x === 1).length).toBeGreaterThan(20);
    expect(await whole([1, 127])).toEqual(uncut);
    expect(await whole([50, 3, 75])).toEqual(uncut);
  });

  it("begin every episode elsewhere", async () => {
    const rows = compiledRows(compiledCartPole(), 4);
    const starts = compile(
      (k: Value) => {
        const [a, b] = random.split(k);
        const first = rows.init(a);
        const ended = { ...first, resetDue: np.ones([4], { dtype: "bool" }) };
        return [first.environment.motion, rows.step(ended, np.zeros([4, 1]), b).state.environment.motion];
      },
      { engine },
    );
    const numbers = (await Promise.all(starts(key).map(list))).flat();
    expect(new Set(numbers).size).toBe(32);
    expect(Math.max(...numbers.map(Math.abs))).toBeLessThanOrEqual(Math.fround(0.05));
  });

  it("draw lessons by their shares when episodes begin", async () => {
    const rows = compiledRows(lessonOnly, 1000);
    const play = compile(
      (k: Value, shares: Value) => {
        const [a, b, c] = random.split(k, 3);
        const first = rows.init(a, shares);
        const done = rows.step(first, np.zeros([1000, 1]), b, shares);
        const again = rows.step(done.state, np.zeros([1000, 1]), c, np.array([0, 0, 1, 0]));
        return [first, done.state, again.state].map((state) => ({
          lesson: state.lesson as Value,
          seen: rows.observe(state),
        }));
      },
      { engine },
    );
    const [first, done, again] = await Promise.all(
      play(key, Float32Array.of(0.5, 0, 0.3, 0)).map(async ({ lesson, seen }) => {
        expect(await list(lesson)).toEqual(await list(seen));
        return list(lesson);
      }),
    );
    const share = (of: number): number => (first as number[]).filter((lesson) => lesson === of).length / 1000;
    // Of 0.8 in all.
    expect(share(0)).toBeCloseTo(0.625, 1);
    expect(share(0) + share(2)).toBe(1);
    expect(done).toEqual(first);
    expect(again).toEqual(new Array(1000).fill(2));
  });

  it("have the first lesson where nobody says otherwise", async () => {
    const rows = compiledRows(lessonOnly, 5);
    const { lesson } = compile((k: Value) => rows.init(k), { engine })(key);
    expect(await list(lesson as Tensor)).toEqual([0, 0, 0, 0, 0]);
  });
});

describe("a compiled environment that breaks its contract", () => {
  const wrong: readonly (readonly [string, Partial<CompiledEnvironment<ClimbState>>, RegExp])[] = [
    ["no state", { reset: () => undefined as never }, /Climb: reset\(\) gave undefined as state/],
    [
      "another state",
      { step: (s, a, k) => ({ ...climb.step(s, a, k), state: { at: s.at } as never }) },
      /at, .*at,steps/,
    ],
    [
      "a state of another shape",
      {
        step: (s, a, k) => {
          const next = climb.step(s, a, k);
          return { ...next, state: { ...next.state, steps: np.stack([next.state.steps]) } };
        },
      },
      /step\(\) gave a state whose steps is i32\[1\], where it was i32\[\]/,
    ],
    [
      "a mask of another length",
      { actionMask: () => np.ones([2, 7]) },
      /actionMask\(\) gave a mask .*\[2,7\]/,
    ],
    ["no function observe", { observe: undefined as never }, /Climb has no function observe/],
    [
      "no end",
      { step: (s, a, k) => ({ ...climb.step(s, a, k), truncated: undefined as never }) },
      /step.*truncated/,
    ],
    [
      "one reward",
      { step: (s, a, k) => ({ ...climb.step(s, a, k), reward: np.zeros([]) }) },
      /reward .*\[\].*\[2\]/,
    ],
    ["observations in a row", { observe: ({ at }) => at }, /observe.*\[2\].*\[2,2\]/],
  ];
  it.each(wrong)("is named with what it gave: %s", (_, members, text) => {
    const run = compile(
      (key: Value) => {
        const rows = compiledRows({ ...climb, ...members }, 3);
        const state = rows.init(key);
        rows.mask?.(state);
        return { seen: rows.observe(state), reward: rows.step(state, np.zeros([6, 1]), key).reward };
      },
      { engine: "wasm" },
    );
    const fault = expect.objectContaining({
      code: "ENVIRONMENT_INVALID",
      message: expect.stringMatching(text),
    });
    expect(() => run(hostRandom.hostKey(0) as never)).toThrow(fault);
  });
});
