import { describe, expect, it } from "vitest";
import {
  compile,
  type EngineName,
  hostRandom,
  put,
  read,
  scan,
  type Tensor,
  type Value,
  valueAndGrad,
} from "../../engine/index.ts";
import { sweepEngines } from "../../engine/run/engines.test-support.ts";
import { type Loss, objective } from "../../losses/index.ts";
import type { Params } from "../../nn/index.ts";
import { linear, noCounters } from "../../schedule/index.ts";
import { describeInSample } from "../../sweep.test-support.ts";
import type { Experience, PolicyOutputs } from "../experience/experience.ts";
import { entropyLoss, policyGradientLoss, policyLoss, valueLoss } from "./actor-critic.ts";
import { cloningLoss, kickstartLoss } from "./imitation.ts";
import { forward, linearPolicy, placed } from "./linear-policy.test-support.ts";
import fixture from "./losses.fixture.json" with { type: "json" };

const policy = linearPolicy(3, 4);
type Tree = Readonly<Record<string, Tensor>>;

const batchOn = (engine: EngineName, changed: Readonly<Record<string, readonly number[]>> = {}): Tree => {
  const fields = Object.entries({ ...fixture.experience, ...changed });
  return Object.fromEntries(fields.map(([name, numbers]) => [name, placed(numbers, engine)]));
};
const paramsOn = (engine: EngineName, of: Readonly<Record<string, never>> = fixture.params as never): Tree =>
  Object.fromEntries(Object.entries(of).map(([name, numbers]) => [name, placed(numbers, engine)]));

function stepOf(losses: readonly Loss<Experience, PolicyOutputs>[], engine: EngineName) {
  const aims = objective({ forward: forward(policy), losses });
  const step = compile(
    (params: Params, batch: Experience, weights: Readonly<Record<string, Value>>, key: Value) =>
      valueAndGrad((p: Params) => {
        const { loss, metrics } = aims.evaluate(aims.names)(p, batch, weights, { train: true, key });
        return [loss, metrics] as const;
      })(params),
    { engine },
  );
  return { aims, step };
}
const key = hostRandom.hostKey(0);

describe.each(sweepEngines())("losses on %s", (engine) => {
  it("take nothing from rows that do not count, whatever stands there", async () => {
    const { step } = stepOf([policyLoss(), valueLoss({ clip: 0.2 }), entropyLoss()], engine);
    const strange = Object.fromEntries(
      (["logProb", "value", "advantage", "return"] as const).map((name) => [
        name,
        fixture.experience[name].map((x, i) => (fixture.experience.valid[i] === 0 ? Number.NaN : x)),
      ]),
    );
    const plain = await read(step(paramsOn(engine), batchOn(engine) as never, {}, key));
    const other = await read(step(paramsOn(engine), batchOn(engine, strange) as never, {}, key));
    expect(other).toEqual(plain);
  });

  it("are 0 where no row counts", async () => {
    const { step } = stepOf([policyLoss(), valueLoss(), entropyLoss()], engine);
    const none = { valid: fixture.experience.valid.map(() => 0) };
    const [[loss], grads] = await read(step(paramsOn(engine), batchOn(engine, none) as never, {}, key));
    expect(loss).toEqual(Float32Array.of(0));
    for (const grad of Object.values(grads))
      expect([...(grad as Float32Array)].every((x) => x === 0)).toBe(true);
  });

  it.each([
    ["policyLoss", policyLoss(), policyLoss({ normalize: "none" })],
    ["policyGradientLoss", policyGradientLoss({ normalize: "minibatch" }), policyGradientLoss()],
  ])("%s of a single row learns from its advantage as it is", async (_name, loss, plainLoss) => {
    const one = Object.fromEntries(
      Object.entries(fixture.experience).map(([name, rows]) => [name, rows.slice(0, 1)]),
    ) as Readonly<Record<string, readonly number[]>>;
    const { step } = stepOf([loss], engine);
    const plain = stepOf([plainLoss], engine);
    const [[found], grads] = await read(step(paramsOn(engine), batchOn(engine, one) as never, {}, key));
    const [[same], others] = await read(plain.step(paramsOn(engine), batchOn(engine, one) as never, {}, key));
    expect(found[0]).not.toBe(0);
    expect(found).toEqual(same);
    expect(grads).toEqual(others);
    expect([...(grads.w as Float32Array)].some((x) => x !== 0)).toBe(true);
  });

  it("take clip ranges from ramps, as inputs of one program", async () => {
    const clip = linear({ from: 0.4, to: 0, over: { updates: 10 } });
    const { aims, step } = stepOf([policyLoss({ clip }), valueLoss({ clip, weight: 1 })], engine);
    expect(Object.keys(aims.ramps)).toEqual(["rate.policy.clip", "rate.value.clip"]);
    const at = async (updates: number): Promise<number> => {
      const now = { ...noCounters, updates };
      const weights = Object.entries(aims.ramps).map(([name, ramp]) => [name, placed(ramp.at(now), engine)]);
      const [[, values]] = step(paramsOn(engine), batchOn(engine) as never, Object.fromEntries(weights), key);
      return (await read(values))["policy.clipFraction"]?.[0] as number;
    };
    const [wide, narrow] = [await at(0), await at(5)];
    expect(wide).toBeCloseTo(fixture.cases[1]?.metrics.clipFraction as number, 6);
    expect(narrow).toBeCloseTo(fixture.cases[0]?.metrics.clipFraction as number, 6);
    expect(step.programs).toBe(1);
  });

  it("the teacher's parameters travel with the experience, and count as if asked on the spot", async () => {
    const teacher = paramsOn(engine, fixture.teacher as never);
    const kickstart = kickstartLoss({ teacher: policy, params: teacher });
    const { aims, step } = stepOf([kickstart], engine);
    expect(aims.fields()).toEqual({ "kickstart.parameters": { shape: [4], dtype: "f32" } });
    const gather = compile(
      (params: Params, batch: Experience) =>
        aims.rollout(aims.names, { params, batch, outputs: forward(policy)(params, batch) }),
      { engine },
    );
    const batch = batchOn(engine);
    const added = gather(paramsOn(engine), batch as never) as Tree;
    expect(Object.keys(added)).toEqual(["kickstart.parameters"]);
    const [withField, without] = [{ ...batch, ...added }, batch].map((b) =>
      read(step(paramsOn(engine), b as never, {}, key)),
    );
    const [[a], grads] = await (withField as NonNullable<typeof withField>);
    const [[b], others] = await (without as NonNullable<typeof without>);
    expect(a[0]).toBeCloseTo(b[0] as number, 6);
    for (const name of ["w", "b"])
      (grads as Record<string, Float32Array>)[name]?.forEach((x, i) => {
        expect(x).toBeCloseTo((others as Record<string, Float32Array>)[name]?.[i] as number, 6);
      });
    // What was given counts, and not what the teacher would say.
    const equal = compile((params: Params, b: Experience) => forward(policy)(params, b).parameters, {
      engine,
    });
    const own = { ...batch, "kickstart.parameters": equal(paramsOn(engine), batch as never) };
    const [[none]] = await read(step(paramsOn(engine), own as never, {}, key));
    expect(none[0]).toBeCloseTo(0, 6);
  });

  it("teachers work inside loops of the program", async () => {
    const kickstart = kickstartLoss({ teacher: policy, params: paramsOn(engine, fixture.teacher as never) });
    const aims = objective({ forward: forward(policy), losses: [kickstart] });
    const train = compile(
      (params: Params, batch: Experience) =>
        scan(
          (now: Params) => {
            const [loss, grads] = valueAndGrad((p: Params) => aims.evaluate(aims.names)(p, batch, {}).loss)(
              now,
            );
            const moved = Object.entries(now).map(([name, x]) => [
              name,
              (x as Value).sub((grads[name] as Value).mul(0.5)),
            ]);
            return [Object.fromEntries(moved) as Params, loss] as const;
          },
          params,
          undefined,
          { length: 40 },
        )[1],
      { engine },
    );
    const losses = await train(paramsOn(engine), batchOn(engine) as never).read();
    expect(losses[0]).toBeCloseTo(fixture.cases.find(({ name }) => name === "kickstart")?.value as number, 4);
    expect(losses[39] as number).toBeLessThan(0.2 * (losses[0] as number));
  });

  it("cloning draws rows by its key, and learns what was shown", async () => {
    const rows = 50;
    const observations = Float32Array.from({ length: rows * 3 }, (_, i) => Math.sin(i * 12.9898));
    const actions = Float32Array.from({ length: rows }, (_, i) =>
      (observations[3 * i] as number) > 0 ? 1 : 3,
    );
    const demonstrations = { observations, actions };
    const cloning = cloningLoss({ policy, demonstrations, batchSize: 32, engine });
    const { step } = stepOf([cloning], engine);
    let params: Record<string, Tensor> = { ...paramsOn(engine) };
    const batch = batchOn(engine) as never;
    const at = async (k: number) =>
      (await read(step(params as never, batch, {}, hostRandom.hostKey(k))))[0][0][0];
    expect(await at(1)).toBe(await at(1));
    expect(await at(1)).not.toBe(await at(2));
    const apply = compile((p: Params, g: Params) =>
      Object.fromEntries(Object.entries(p).map(([n, x]) => [n, (x as Value).sub((g[n] as Value).mul(2))])),
    );
    let accuracy = 0;
    for (let k = 0; k < 60; k++) {
      const [[, metrics], grads] = step(params as never, batch, {}, hostRandom.hostKey(k));
      params = apply(params as never, grads) as never;
      accuracy = (await read(metrics))["cloning.accuracy"]?.[0] as number;
    }
    expect(accuracy).toBeGreaterThan(0.9);
  });
});

describeInSample("what cannot be meant", () => {
  const remembers = linearPolicy(3, 4, { recurrent: true, spec: { memory: { kind: "gru", width: 8 } } });
  it("teachers and cloned policies that remember are refused", () => {
    expect(() => kickstartLoss({ teacher: remembers, params: {} })).toThrow(/a teacher remembers \(gru\)/);
    const demonstrations = { observations: new Float32Array(3), actions: new Float32Array(1) };
    expect(() => cloningLoss({ policy: remembers, demonstrations })).toThrow(
      expect.objectContaining({ code: "POLICY_RECURRENT" }),
    );
  });

  it("demonstrations must fit the spaces and each other", () => {
    const of = (observations: Float32Array, actions: Float32Array) => () =>
      cloningLoss({ policy, demonstrations: { observations, actions }, engine: "wasm" });
    expect(of(new Float32Array(7), new Float32Array(2))).toThrow(/observations are 7 numbers/);
    expect(of(new Float32Array(6), new Float32Array(3))).toThrow(/2 observations and 3 actions/);
    expect(of(new Float32Array(0), new Float32Array(0))).toThrow(/0 observations/);
    const wrong = { observations: put([[1, 2]], { engine: "wasm" }), actions: new Float32Array(1) };
    expect(() => cloningLoss({ policy, demonstrations: wrong, engine: "wasm" })).toThrow(/f32\[1,2\]/);
  });

  it("demonstrations must be numbers, and choices that there are", () => {
    const of = (observations: readonly number[], actions: readonly number[]) => () =>
      cloningLoss({
        policy,
        demonstrations: {
          observations: Float32Array.from(observations),
          actions: Float32Array.from(actions),
        },
        engine: "wasm",
      });
    const zeros = [0, 0, 0, 0, 0, 0];
    expect(of(zeros, [0, 3])).not.toThrow();
    expect(of([0, 0, 0, 0, Number.NaN, 0], [0, 1])).toThrow(
      /observations have NaN in row 1.*OPTION_INVALID/s,
    );
    expect(of(zeros, [Number.POSITIVE_INFINITY, 1])).toThrow(/actions have Infinity in row 0/);
    expect(of(zeros, [0, 4])).toThrow(/actions have 4 in row 1, and there are 4 choices.*from 0 to 3/s);
    expect(of(zeros, [0, -1])).toThrow(/actions have -1 in row 1/);
    expect(of(zeros, [0.5, 1])).toThrow(/actions have 0.5 in row 0/);
    expect(() => cloningLoss({ policy } as never)).toThrow(/demonstrations is missing.*OPTION_INVALID/s);
    const lists = { observations: [[0, 0, 0]], actions: [0] };
    expect(() => cloningLoss({ policy, demonstrations: lists as never })).toThrow(
      /a Float32Array of such rows/,
    );
    const whole = {
      observations: put([[1, 2, 3]], { engine: "wasm", dtype: "i32" }),
      actions: new Float32Array(1),
    };
    expect(() => cloningLoss({ policy, demonstrations: whole })).toThrow(/observations are i32\[1,3\]/);
  });

  it("every choice of several has its own range", () => {
    const two = linearPolicy(3, 4, { actionSpace: { kind: "multiDiscrete", choices: [5, 2] } });
    const acts = { ...two, distribution: { ...two.distribution, actions: 2 } };
    const of = (actions: readonly number[]) => () =>
      cloningLoss({
        policy: acts,
        demonstrations: { observations: new Float32Array(6), actions: Float32Array.from(actions) },
        engine: "wasm",
      });
    expect(of([4, 1, 0, 0])).not.toThrow();
    expect(of([4, 1, 0, 2])).toThrow(/actions have 2 in row 1, and there are 2 choices/);
  });

  it("ranges and words are checked", () => {
    expect(() => policyLoss({ clip: 0 })).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }));
    expect(() => policyLoss({ normalize: "minibach" as never })).toThrow(/minibatch/);
    expect(() => valueLoss({ clipp: 1 } as never)).toThrow(/did you mean "clip"/);
  });

  it("names make room for two of a kind", () => {
    const teachers = ["first", "second"].map((name) => kickstartLoss({ teacher: policy, params: {}, name }));
    const aims = objective({ forward: forward(policy), losses: teachers });
    expect(Object.keys(aims.fields())).toEqual(["first.parameters", "second.parameters"]);
  });
});
