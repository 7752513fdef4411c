import { describe, expect, it } from "vitest";
import { compile, type EngineName, np, read, type Value, valueAndGrad } from "../../engine/index.ts";
import { sweepEngines } from "../../engine/run/engines.test-support.ts";
import { type Loss, objective } from "../../losses/index.ts";
import type { Params } from "../../nn/index.ts";
import { entropyLoss, policyGradientLoss, policyLoss, valueLoss } from "./actor-critic.ts";
import { kickstartLoss } from "./imitation.ts";
import { forward, linearPolicy, placed } from "./linear-policy.test-support.ts";
import fixture from "./losses.fixture.json" with { type: "json" };
import { tdLoss } from "./td.ts";

type LossCase = (typeof fixture.cases)[number];
const policy = linearPolicy(3, 4);

function lossOf([name, options]: LossCase["losses"][number], engine: EngineName): Loss<never, never> {
  const factories = { policyLoss, policyGradientLoss, valueLoss, entropyLoss, tdLoss } as const;
  if (name !== "kickstartLoss") return factories[name as keyof typeof factories](options as never) as never;
  const params = { w: placed(fixture.teacher.w, engine), b: placed(fixture.teacher.b, engine) };
  return kickstartLoss({ teacher: policy, params }) as never;
}

const experienceOn = (engine: EngineName, importance: boolean) =>
  Object.fromEntries(
    Object.entries(fixture.experience)
      .filter(([name]) => importance || name !== "importance")
      .map(([name, numbers]) => [name, placed(numbers, engine)]),
  );

const paramsOn = (engine: EngineName) =>
  Object.fromEntries(
    Object.entries(fixture.params).map(([name, numbers]) => [name, placed(numbers, engine)]),
  );

/** What the tests compare with: 2e-5 of it, and no less than that of 0.1. */
function expectClose(found: ArrayLike<number>, expected: readonly number[]): void {
  expect(found.length).toBe(expected.length);
  expected.forEach((x, i) => {
    expect(Math.abs((found[i] as number) - x)).toBeLessThan(2e-5 * Math.max(Math.abs(x), 0.1));
  });
}

describe.each(sweepEngines())("PyTorch's numbers on %s, over the rows that count", (engine) => {
  it.each(fixture.cases.map((one) => [one.name, one] as const))("%s", async (_name, one) => {
    const td = one.losses[0]?.[0] === "tdLoss";
    const of = forward(policy);
    const aims = objective<never, never>({
      forward: ((params: Params, batch: never) => {
        const outputs = of(params, batch);
        const { action } = batch as { readonly action: Value };
        if (!td) return outputs;
        const value = np.takeAlongAxis(outputs.parameters, action.astype("i32"), { axis: -1 });
        return { value: np.squeeze(value, { axis: -1 }) };
      }) as never,
      losses: one.losses.map((loss) => lossOf(loss, engine)),
    });
    const step = compile(
      (params: Params, batch: never) =>
        valueAndGrad((p: Params) => {
          const { loss, metrics } = aims.evaluate(aims.names)(p, batch, {}, { train: true });
          return [loss, metrics] as const;
        })(params),
      { engine },
    );
    const [[, metrics], grads] = await read(
      step(paramsOn(engine), experienceOn(engine, one.importance) as never),
    );
    expectClose((metrics as Record<string, Float32Array>).loss as Float32Array, [one.value]);
    for (const [name, expected] of Object.entries(one.metrics))
      expectClose((metrics as Record<string, Float32Array>)[`${aims.names[0]}.${name}`] as Float32Array, [
        expected as number,
      ]);
    for (const [name, expected] of Object.entries(one.gradients))
      expectClose(
        (grads as Record<string, Float32Array>)[name] as Float32Array,
        [expected].flat(2) as number[],
      );
  });
});
