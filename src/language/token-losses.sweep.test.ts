import { describe, expect, it } from "vitest";
import { treeMap } from "../core/index.ts";
import {
  compile,
  type EngineName,
  grad,
  nn,
  np,
  put,
  read,
  spec,
  type Tensor,
  type Value,
  valueAndGrad,
} from "../engine/index.ts";
import { sweepEngines } from "../engine/run/engines.test-support.ts";
import { type Loss, objective } from "../losses/index.ts";
import { type Model, type Params, transformer } from "../nn/index.ts";
import { linear } from "../schedule/index.ts";
import { describeInSample } from "../sweep.test-support.ts";
import { generate } from "./generate.ts";
import fixture from "./token-losses.fixture.json" with { type: "json" };
import * as language from "./token-losses.ts";
import { grpoLoss, type TextBatch, type TextOutputs, tokenOutputs } from "./token-losses.ts";

const { tokenOutputs: _outputs, ...factories } = language;
type Factory = (options: object) => Loss<TextBatch, TextOutputs>;
const lossOf = ([name, options]: readonly (string | object)[]) =>
  (factories as Readonly<Record<string, Factory>>)[name as string]?.(options as object) as Loss<
    TextBatch,
    TextOutputs
  >;

/** Logits of a token: the row of the token before it, as scripts/fixtures/token_losses.py has it. */
const table: Model = {
  kind: "table",
  init: () => ({}),
  apply: (params, tokens) => np.take(params.w as Value, tokens, { axis: 0 }),
};

type Numbers = readonly (number | Numbers)[];
const flat = (numbers: Numbers): number[] => numbers.flat(3 as 1) as number[];

/** The fixture's batch with NaN wherever nothing may look, and the same NaN to add to the outputs. */
function poisoned(engine: EngineName) {
  const { tokens, mask, valid, reward, logProbs, reference } = fixture.batch;
  const [groups, samples, length] = [tokens.length, 4, 8];
  const counts = flat(mask).map((one, i) => {
    const group = Math.floor(i / (samples * length));
    return one !== 0 && valid[group] !== 0 && i % length > 0;
  });
  const sampleCounts = flat(reward).map((_, i) => counts.slice(i * length, (i + 1) * length).some(Boolean));
  const hidden = (numbers: Numbers) => flat(numbers).map((x, i) => (counts[i] ? x : Number.NaN));
  const places = (numbers: readonly number[], dtype: "f32" | "i32" = "f32") =>
    put(numbers, { shape: [groups, samples, length], dtype, engine });
  return {
    tokens: places(flat(tokens), "i32"),
    mask: places(flat(mask)),
    logProbs: places(hidden(logProbs)),
    reference: places(hidden(reference)),
    reward: put(
      flat(reward).map((x, i) => (sampleCounts[i] ? x : Number.NaN)),
      { shape: [groups, samples], engine },
    ),
    valid: put(valid, { dtype: "f32", engine }),
    poison: places(counts.map((one) => (one ? 0 : Number.NaN))),
  };
}
type Batch = TextBatch & { readonly poison: Value };

const aimsOf = (losses: readonly Loss<TextBatch, TextOutputs>[]) =>
  objective<Batch, TextOutputs>({
    forward: (params, { tokens, poison }) => {
      const { logProbs, entropy } = tokenOutputs(table, params, tokens);
      return { logProbs: logProbs.add(poison), entropy: entropy.add(poison) };
    },
    losses,
  });

/** The value, its metrics and its gradients. */
const evaluation = (losses: readonly Loss<TextBatch, TextOutputs>[]) => {
  const aims = aimsOf(losses);
  return (params: Params, batch: Batch) =>
    valueAndGrad((p: Params) => {
      const { loss, metrics } = aims.evaluate(aims.names)(p, batch, {}, { train: true });
      return [loss, metrics] as const;
    })(params);
};
const stepOf = (losses: readonly Loss<TextBatch, TextOutputs>[], engine: EngineName) =>
  compile(evaluation(losses), { engine });

/** 1e-5 of it, and no less than that of 0.1. */
function expectClose(found: ArrayLike<number>, expected: readonly number[]): void {
  expect(found.length).toBe(expected.length);
  expected.forEach((x, i) => {
    expect(Math.abs((found[i] as number) - x)).toBeLessThan(1e-5 * Math.max(Math.abs(x), 0.1));
  });
}

const paramsOn = (engine: EngineName) => ({ w: put(fixture.table, { engine }) });

/** All cases of the fixture, in one program. */
const allCases = async (engine: EngineName) => {
  const steps = fixture.cases.map((one) => evaluation(one.losses.map(lossOf)));
  const run = compile((params: Params, batch: Batch) => steps.map((step) => step(params, batch)), { engine });
  return read(run(paramsOn(engine), poisoned(engine)));
};

describe.each(sweepEngines())("PyTorch's numbers on %s, over the tokens that count", (engine) => {
  let results: ReturnType<typeof allCases> | undefined;
  it.each(fixture.cases.map((one, i) => [one.name, one, i] as const))("%s", async (_name, one, i) => {
    results ??= allCases(engine);
    const [[, metrics], grads] = (await results)[i] as Awaited<typeof results>[number];
    const found = metrics as Readonly<Record<string, Float32Array>>;
    expectClose(found.loss as Float32Array, [one.value]);
    const first = lossOf(one.losses[0] as (typeof one.losses)[number]).name;
    for (const [name, expected] of Object.entries(one.metrics))
      expectClose(found[`${first}.${name}`] as Float32Array, [expected as number]);
    expectClose((grads as { readonly w: Float32Array }).w, flat(one.gradient));
  });
});

describeInSample("losses over tokens", () => {
  const engine = "wasm";

  it("count what their means are divided by: parts of a batch make the whole", async () => {
    const losses = fixture.cases.map(({ losses: [first] }, i) => ({
      ...lossOf(first as NonNullable<typeof first>),
      name: `loss${i}`,
      weight: 1,
    }));
    const aims = aimsOf(losses);
    const values = compile(
      (params: Params, batch: Batch) =>
        [":", ":3", "3:"].map((range) => {
          const part = treeMap((x: Value) => np.slice(x, range), batch);
          const { metrics } = aims.evaluate(aims.names)(params, part, {}, { train: true });
          return losses.map(({ name, count }) => ({
            loss: metrics[`${name}.loss`] as Value,
            count: count?.(part) as Value,
          }));
        }),
      { engine },
    );
    const parts = await read(values(paramsOn(engine), poisoned(engine)));
    losses.forEach((_, i) => {
      const [whole, first, second] = parts.map((part) => ({
        loss: part[i]?.loss[0] as number,
        count: part[i]?.count[0] as number,
      })) as [Counted, Counted, Counted];
      expect(first.count).toBeGreaterThan(0);
      expect(whole.count).toBe(first.count + second.count);
      const sum = first.loss * first.count + second.loss * second.count;
      expect(sum / whole.count).toBeCloseTo(whole.loss, 5);
    });
  });

  it("are 0 with gradients of 0 where every group is dropped, and say how many were", async () => {
    const [rlooLike, dpo] = [lossOf(["rlooLoss", {}]), lossOf(["dpoLoss", {}])];
    const batch = {
      ...poisoned(engine),
      reward: put(new Float32Array(24).fill(0.1), { shape: [6, 4], engine }),
    };
    const [[, metrics], grads] = await read(
      stepOf([grpoLoss({ name: "grpo" }), rlooLike, dpo], engine)(paramsOn(engine), batch),
    );
    const { loss, ...found } = metrics as Readonly<Record<string, Float32Array>>;
    expect(loss?.[0]).toBeCloseTo(0);
    expect(["grpo", "policy", "dpo"].map((name) => found[`${name}.groupsDropped`]?.[0])).toEqual([5, 5, 5]);
    expect((grads as { readonly w: Float32Array }).w.every((x) => x === 0)).toBe(true);
  });

  it("do not hide a reward that is NaN as a group without variance", async () => {
    const batch = poisoned(engine);
    const rewards = Float32Array.from(await batch.reward.read());
    rewards.fill(0.3, 0, 4);
    rewards[2] = Number.NaN;
    const given = { ...batch, reward: put(rewards, { shape: [6, 4], engine }) };
    for (const name of ["grpoLoss", "rlooLoss"]) {
      const [[loss]] = await read(stepOf([lossOf([name, {}])], engine)(paramsOn(engine), given));
      expect(loss[0]).toBeNaN();
    }
  });

  it("stay finite where the policy has moved very far", async () => {
    const batch = poisoned(engine);
    const logProbs = (await batch.logProbs.read()).map((x, i) => x + (i % 2 === 0 ? 300 : -300));
    const far = put(Float32Array.from(logProbs), { shape: [6, 4, 8], engine });
    const given = { ...batch, logProbs: far, reference: far };
    const losses = [
      grpoLoss(),
      lossOf(["rlooLoss", { name: "rloo" }]),
      lossOf(["referenceKlLoss", { estimator: "k3" }]),
    ];
    const [[loss], grads] = await read(stepOf(losses, engine)(paramsOn(engine), given));
    expect(Number.isFinite(loss[0])).toBe(true);
    expect((grads as { readonly w: Float32Array }).w.every(Number.isFinite)).toBe(true);
  });

  it("have the gradients that are promised: k2 of KL(policy, reference), k3 of KL(reference, policy)", async () => {
    const n = fixture.table.length;
    const expectations = compile(
      (params: Params) => {
        const q = np.log(np.array([0.4, 0.3, 0.15, 0.1, 0.05]));
        const row = (p: Params) => nn.logSoftmax(np.slice(p.w as Value, 0));
        // Every token once after token 0, a group each: gradients times probabilities, summed, are the expectation.
        const next = np.arange(n, { dtype: "i32" });
        const tokens = np.reshape(np.stack([np.zerosLike(next), next], { axis: 1 }), [n, 1, 2]);
        const zeros = np.zeros([n, 1, 2]);
        const batch = {
          tokens,
          mask: np.onesLike(zeros),
          logProbs: zeros,
          poison: zeros,
          reference: np.reshape(np.stack([q, q], { axis: 1 }), [n, 1, 2]),
          reward: np.zeros([n, 1]),
        };
        const shares = np.exp(row(params));
        const expected = (estimator: string) => {
          const aims = aimsOf([lossOf(["referenceKlLoss", { estimator, weight: 1 }])]);
          return grad((p: Params) =>
            Array.from({ length: n }, (_, i) => {
              const valid = np.equal(next, i).astype("f32");
              return aims
                .evaluate(aims.names)(p, { ...batch, valid }, {})
                .loss.mul(np.slice(shares, i));
            }).reduce((a, b) => a.add(b)),
          )(params).w as Value;
        };
        return {
          k1: expected("k1"),
          k2: expected("k2"),
          k3: expected("k3"),
          ofPolicy: grad((p: Params) => np.sum(np.exp(row(p)).mul(row(p).sub(q))))(params).w as Value,
          ofReference: grad((p: Params) => np.sum(np.exp(q).mul(q.sub(row(p)))))(params).w as Value,
        };
      },
      { engine },
    );
    const found = await read(expectations(paramsOn(engine)));
    expectClose(found.k1, new Array<number>(n * n).fill(0));
    expectClose(found.k2, Array.from(found.ofPolicy));
    expectClose(found.k3, Array.from(found.ofReference));
  });

  it("take limits that change over time", async () => {
    const clip = linear({ from: 0.4, to: 0.1, over: { updates: 10 } });
    const aims = aimsOf([grpoLoss({ clip })]);
    expect(Object.keys(aims.ramps)).toEqual(["rate.policy.clip"]);
    const run = compile(
      (params: Params, batch: Batch, now: Value) =>
        aims.evaluate(aims.names)(params, batch, { "rate.policy.clip": now }).loss,
      { engine },
    );
    const loss = await run(paramsOn(engine), poisoned(engine), put(0.2, { engine })).read();
    expectClose(loss, [fixture.cases[0]?.value as number]);
  });

  it("say which field and which shape is wrong", () => {
    const { reference: _reference, ...batch } = poisoned(engine);
    const run = (loss: Loss<TextBatch, TextOutputs>, given: object) => () =>
      stepOf([loss], engine)(paramsOn(engine), { ...batch, ...given });
    const kl = lossOf(["referenceKlLoss", {}]);
    expect(kl.fields).toHaveProperty("reference");
    expect(run(kl, {})).toThrow(expect.objectContaining({ code: "LOSS_FIELD_MISSING" }));
    const valid = put(new Float32Array(4), { engine });
    expect(run(grpoLoss(), { valid })).toThrow(/valid is f32\[4\].*mask is f32\[6, ?4, ?8\]/);
    const one = treeMap(
      (x: Tensor) =>
        put(new Float32Array(6 * (x.ndim === 3 ? 8 : 1)), {
          shape: x.ndim === 3 ? [6, 1, 8] : x.ndim === 2 ? [6, 1] : [6],
          dtype: x.dtype,
          engine,
        }),
      batch,
    );
    expect(run(grpoLoss(), one)).toThrow(expect.objectContaining({ code: "SHAPE_MISMATCH" }));
  });

  it.each([
    ["grpoLoss", { clip: 0 }],
    ["grpoLoss", { clip: -0.2 }],
    ["grpoLoss", { clipHigh: Number.NaN }],
    ["grpoLoss", { advantages: "rloo" }],
    ["grpoLoss", { clip: 0.2, truncate: 2 }],
    ["rlooLoss", { truncate: 0 }],
    ["rlooLoss", { clip: 0.1, truncate: 2 }],
    ["tokenPolicyLoss", { lengthNormalization: "constant" }],
    ["tokenPolicyLoss", { lengthNormalization: "token", length: 8 }],
    ["tokenPolicyLoss", { length: 8 }],
    ["tokenPolicyLoss", { lengthNormalization: "mean" }],
    ["dpoLoss", { beta: 0 }],
    ["dpoLoss", { weight: "much" }],
    ["referenceKlLoss", { estimator: "k4" }],
    ["tokenEntropyLoss", { length: 0 }],
    ["imitationLoss", { name: "" }],
  ])("%s refuses %j", (name, options) => {
    expect(() => lossOf([name, options])).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }));
  });

  it("refuse options that they do not have", () => {
    for (const name of Object.keys(factories))
      expect(() => lossOf([name, { clipp: 0.2 }])).toThrow(
        expect.objectContaining({ code: "OPTION_UNKNOWN" }),
      );
  });
});

describeInSample("the forward pass over tokens", () => {
  it("gives the log-probabilities that generation gave", async () => {
    const model = transformer({ vocabulary: 11, width: 8, layers: 2, heads: 2, context: 16 });
    const params = model.init(3, spec([1, 8], "i32"), { engine: "wasm" });
    const prompts = [
      [1, 2, 3],
      [4, 5, 6],
    ];
    const made = await generate(model, params, prompts, { length: 5, seed: 7, logProbs: true });
    const tokens = prompts.flatMap((prompt, i) => [...prompt, ...(made[i]?.tokens ?? [])]);
    const run = compile((p: Params, x: Value) => tokenOutputs(model, p, x), { engine: "wasm" });
    const outputs = await read(run(params, put(tokens, { shape: [1, 2, 8], dtype: "i32", engine: "wasm" })));
    const [first, second] = [outputs.logProbs.subarray(0, 8), outputs.logProbs.subarray(8)];
    expect(first[0]).toBe(0);
    for (const [i, row] of [first, second].entries())
      for (const [t, x] of (made[i]?.logProbs ?? new Float32Array()).entries())
        expect(Math.abs((row[3 + t] as number) - x)).toBeLessThan(1e-4);
    expect(outputs.entropy[1]).toBeGreaterThan(0);
    expect(outputs.entropy[1]).toBeLessThanOrEqual(Math.log(11) + 1e-6);
  });

  it("refuses tokens that are not groups of samples", () => {
    const run = compile((p: Params, x: Value) => tokenOutputs(table, p, x), { engine: "wasm" });
    for (const shape of [
      [2, 4],
      [2, 4, 1],
    ])
      expect(() => run(paramsOn("wasm"), put(new Int32Array(8), { shape, engine: "wasm" }))).toThrow(
        expect.objectContaining({ code: "SHAPE_MISMATCH" }),
      );
  });
});

interface Counted {
  readonly loss: number;
  readonly count: number;
}
