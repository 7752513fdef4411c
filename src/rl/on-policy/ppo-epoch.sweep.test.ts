import { describe, expect, it } from "vitest";
import { type EngineName, np, put, read, type Tensor, type Value } from "../../engine/index.ts";
import { sweepEngines } from "../../engine/run/engines.test-support.ts";
import { compileUpdate } from "../../learner/index.ts";
import type { Params } from "../../nn/index.ts";
import { adam, chain, clipByGlobalNorm } from "../../optim/index.ts";
import { entropyLoss, policyLoss, valueLoss } from "../losses/actor-critic.ts";
import { learn, type Shuffle } from "./learn.ts";
import fixture from "./ppo-epoch.fixture.json" with { type: "json" };
import { finishRollout } from "./rollout.ts";
import { setUp } from "./setup.ts";

const { settings, rollout, cases } = fixture;
type EpochCase = (typeof cases)[number] & {
  readonly vtrace?: { readonly rhoBar: number; readonly cBar: number };
  readonly batch?: boolean;
  readonly targetKl?: number;
};
type NestedNumbers = number | readonly NestedNumbers[];

/** A world that is never stepped: the fixture has what happened in it. */
const world = {
  ...{ name: "Fixture", observationSpace: { kind: "box", shape: [settings.size], low: -9, high: 9 } },
  actionSpace: { kind: "discrete", n: settings.choices },
} as never;

const placed = (tree: unknown, engine: EngineName): Params<Tensor> =>
  Object.fromEntries(
    Object.entries(tree as Record<string, unknown>).map(([name, x]) => [
      name,
      Array.isArray(x) ? put(x as never, { engine }) : placed(x, engine),
    ]),
  );

const setUpFor = ({ batch = false, vtrace, targetKl }: EpochCase, engine: EngineName) =>
  setUp({
    env: { compiled: world, count: settings.rows },
    policy: { encoder: { kind: "mlp", hidden: [settings.hidden] } },
    losses: [
      policyLoss({ clip: settings.clip, normalize: batch ? "batch" : "minibatch" }),
      valueLoss({ clip: settings.clip, weight: settings.value }),
      entropyLoss({ weight: settings.entropy }),
    ],
    optimizer: chain(clipByGlobalNorm(settings.norm), adam({ epsilon: settings.epsilon })),
    learningRate: settings.rate,
    params: placed(fixture.params, engine),
    ...{ rolloutSteps: settings.steps, updateEpochs: 2, minibatches: 2, normalizeAdvantages: batch, engine },
    ...{ gamma: settings.gamma, lambda: settings.lambda },
    ...(vtrace && { vtrace }),
    ...(targetKl !== undefined && { targetKl }),
  });

/** The fixture's orders in place of drawn ones. */
const given: Shuffle = ({ table }, { epoch }) => {
  const orders = np.array(fixture.orders).astype("i32");
  return { table: np.take(table, np.take(orders, epoch, { axis: 0 }), { axis: 0 }), memory: {} };
};

/** All updates from the fixture's rollout. */
async function updated(one: EpochCase, engine: EngineName) {
  const setup = { ...setUpFor(one, engine), shuffle: given };
  const { layout, learner, objective } = setup;
  const { collected, learned } = layout;
  let names: readonly string[] = [];
  const number = (x: number): Value => np.full([], x, { dtype: "i32" });
  const program = compileUpdate(
    { updates: {}, reads: { params: learner.params, state: learner.state } },
    ({ params, state }, { ramps }: { readonly ramps: Value }) => {
      const fields = Object.fromEntries(
        collected.names.map((name) => [
          name,
          name in rollout
            ? np.array((rollout as unknown as Record<string, number[]>)[name] as number[])
            : np.zeros([settings.steps, settings.rows]),
        ]),
      );
      const evaluated = {
        logProb: np.array(rollout.logProb),
        values: np.concatenate([np.array(rollout.value), np.array([fixture.last])], { axis: 0 }),
      };
      const rows = collected.pack(fields);
      const finished = finishRollout(setup, { rows, evaluated, memory: {}, stats: {} });
      const zero = np.zeros([2], { dtype: "u32" });
      const next = learn(setup, {
        evaluate: objective.evaluate(objective.names),
        state: { params, state, stoppedEarly: np.zeros([]), first: number(-1) },
        rollout: finished.rollout,
        range: { from: number(0), count: number(4), updates: number(0), rollout: number(0), row: number(0) },
        ramps,
        keys: { order: zero, losses: zero },
        loops: true,
      });
      names = next.names;
      const advantages = learned.field(finished.rollout.table, "advantage");
      return [
        {},
        {
          params: next.state.params,
          values: np.reshape(next.metrics, [4, -1]),
          advantages: np.reshape(advantages, [settings.steps, settings.rows]),
        },
      ];
    },
    { engine },
  );
  const rates = put(new Float32Array(4).fill(settings.rate), { engine });
  const found = await read(program({ ramps: rates }));
  return { ...found, names };
}

const near = (found: ArrayLike<number>, expected: NestedNumbers, within = 1e-5): void => {
  const flat = [expected].flat(9) as number[];
  expect(found.length).toBe(flat.length);
  flat.forEach((x, i) => expect(Math.abs((found[i] as number) - x)).toBeLessThan(within));
};

/** The same over trees of parameters. */
const nearAll = (found: unknown, expected: object, within?: number): void => {
  const all = found as Readonly<Record<string, unknown>>;
  expect(Object.keys(all).sort()).toEqual(Object.keys(expected).sort());
  for (const [name, x] of Object.entries(expected))
    if (Array.isArray(x)) near(all[name] as Float32Array, x, within);
    else nearAll(all[name], x as object, within);
};

// Compiling takes its time on xla: one case stands for all there.
describe.each(sweepEngines())("PyTorch's updates from a rollout, on %s", (engine) => {
  const some = engine === "wasm" ? cases : cases.slice(2, 3);
  it.each(some.map((one) => [one.name, one as EpochCase] as const))("%s", async (_name, one) => {
    const { params, values, advantages, names } = await updated(one, engine);
    near(advantages, one.advantages);
    for (const [name, expected] of Object.entries(one.values)) {
      const column = names.indexOf(name);
      expect(column, name).not.toBe(-1);
      near(
        expected.map((_, i) => values[i * names.length + column] as number),
        expected,
      );
    }
    nearAll(params, one.params);
  });

  it("leaves the parameters alone before the first", async () => {
    const { params } = await updated({ ...cases[0], targetKl: 1e-9 } as EpochCase, engine);
    nearAll(params, fixture.params, 1e-7);
  });
});
