import { describe, expect, it } from "vitest";
import { compile, np, random, type Value } from "../engine/index.ts";
import { testEngines } from "../engine/run/engines.test-support.ts";
import { objective } from "./index.ts";
import type { Loss } from "./loss.ts";
import { fit, line, type Points, start } from "./losses.test-support.ts";

type PointLoss = Loss<Points, Value>;
const loss = (name: string, more: Partial<PointLoss>): PointLoss => ({ ...fit, name, ...more });
const make = (...losses: readonly PointLoss[]) => objective({ forward: line, losses });

describe("the fields losses read", () => {
  const policy = loss("policy", {
    fields: { observations: { shape: [4], dtype: "f32" }, actions: { shape: [], dtype: "i32" } },
  });
  const value = loss("value", {
    fields: { observations: { shape: [4], dtype: "f32" }, returns: { shape: [], dtype: "f32" } },
  });

  it("are put together, for all losses or some", () => {
    const { fields } = make(policy, value);
    expect(fields()).toEqual({
      observations: { shape: [4], dtype: "f32" },
      actions: { shape: [], dtype: "i32" },
      returns: { shape: [], dtype: "f32" },
    });
    expect(Object.keys(fields(["value"]))).toEqual(["observations", "returns"]);
  });

  it.each([
    [
      "shapes",
      { shape: [5], dtype: "f32" } as const,
      /is f32\[4\] to loss "policy" and f32\[5\] to loss "other"/,
    ],
    [
      "types",
      { shape: [4], dtype: "i32" } as const,
      /is f32\[4\] to loss "policy" and i32\[4\] to loss "other"/,
    ],
  ])("must agree in their %s", (_, observations, message) => {
    const { fields } = make(policy, loss("other", { fields: { observations } }));
    expect(() => fields()).toThrow(message);
    expect(() => fields()).toThrow(/LOSS_FIELD_CONFLICT/);
  });
});

describe.each(testEngines())("the fields losses add to experience on %s", (engine) => {
  const { params, batch } = start(engine);
  const gather = (aims: ReturnType<typeof make>, names = aims.names) =>
    compile(
      (b: Points, w: Value, key: Value) =>
        aims.rollout(names, { params: { w }, batch: b, outputs: np.matmul(b.x, w), train: false, key }),
      { engine },
    )(batch, params.w, Uint32Array.of(3, 4));

  it("come from those that are active", async () => {
    const aims = make(
      loss("margin", { rollout: ({ outputs, batch: { y } }) => ({ margin: outputs.sub(y) }) }),
      loss("noise", { rollout: ({ key }) => ({ noise: random.uniform(key) }) }),
      loss("quiet", {}),
    );
    const all = gather(aims);
    expect(Object.keys(all).sort()).toEqual(["margin", "noise"]);
    expect(await all.margin?.read()).toEqual(Float32Array.of(-1, 0, -2.5));
    const some = gather(aims, ["noise", "quiet"]);
    expect(Object.keys(some)).toEqual(["noise"]);
    expect(await some.noise?.item()).toBe(await all.noise?.item());
  });

  it("must not meet", () => {
    const adds = (name: string, field: string) =>
      loss(name, { rollout: ({ outputs }) => ({ [field]: outputs }) });
    expect(() => gather(make(adds("a", "extra"), adds("b", "extra")))).toThrow(
      /loss "b" adds the field "extra" to experience, which loss "a" adds too \[LOSS_FIELD_CONFLICT\]/,
    );
    expect(() => gather(make(adds("a", "y")))).toThrow(/loss "a" adds the field "y".*is there already/);
  });

  it("are made without values of other terms", () => {
    const giver = loss("giver", { gives: ["x"] });
    const reader = loss("reader", { reads: ["x"], rollout: ({ read }) => ({ y2: read("x") }) });
    expect(() => gather(make(giver, reader))).toThrow(/while experience is gathered.*LOSS_VALUE_UNKNOWN/);
  });
});
