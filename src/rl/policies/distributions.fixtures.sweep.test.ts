import { describe, expect, it } from "vitest";
import type { Dense } from "../../engine/conformance/dense.test-support.ts";
import { expectSame, parseTensor } from "../../engine/conformance/dense.test-support.ts";
import { onEngine } from "../../engine/conformance/run.test-support.ts";
import { grad, np, type Value } from "../../engine/index.ts";
import { sweepEngines } from "../../engine/run/engines.test-support.ts";
import type { Box } from "../spaces/space.ts";
import fixture from "./distributions.fixture.json" with { type: "json" };
import {
  categorical,
  type GaussianOptions,
  gaussian,
  multiCategorical,
  squashedGaussian,
} from "./distributions.ts";
import type { Distribution } from "./policy.ts";

/** What torch.distributions give: see scripts/fixtures/policies.py. */
interface DistributionCase {
  readonly distribution: readonly [kind: string, of: unknown, options?: GaussianOptions];
  readonly parameters: string;
  readonly other: string;
  readonly action: string;
  readonly mask?: string;
  readonly logProb: string;
  readonly entropy: string;
  readonly kl: string;
  readonly act: string;
  readonly logProbGradient: string;
  readonly entropyGradient: string;
  readonly klGradients: readonly [string, string];
}

const cases = fixture.cases as unknown as readonly DistributionCase[];
const tensor = (text: string): Dense => parseTensor(text) as Dense;

function made([kind, of, options]: DistributionCase["distribution"]): Distribution {
  if (kind === "categorical") return categorical(of as number);
  if (kind === "multiCategorical") return multiCategorical(of as readonly number[]);
  return (kind === "gaussian" ? gaussian : squashedGaussian)(of as Box, options);
}

const weighted = (y: Value): Value =>
  np.sum(np.multiply(y, np.reshape(np.cos(np.arange(y.size, { dtype: "f32" })), y.shape)));

function results(d: Distribution, [p, q, action, mask]: readonly Value[]): readonly Value[] {
  const allowed = (x: Value): Value => (mask ? (d.masked as NonNullable<typeof d.masked>)(x, mask) : x);
  const logProb = (x: Value): Value => d.logProb(allowed(x), action as Value);
  const entropy = (x: Value): Value => d.entropy(allowed(x));
  const kl = (x: Value, y: Value): Value => d.kl(allowed(x), allowed(y));
  const [one, two] = [p as Value, q as Value];
  return [
    logProb(one),
    entropy(one),
    kl(one, two),
    d.act(action as Value),
    grad((x: Value) => weighted(logProb(x)))(one),
    grad((x: Value) => weighted(entropy(x)))(one),
    ...grad((x: Value, y: Value) => weighted(kl(x, y)), { argnums: [0, 1] })(one, two),
  ];
}

const parts = [
  "logProb",
  "entropy",
  "kl",
  "act",
  "logProbGradient",
  "entropyGradient",
  "klGradientP",
  "klGradientQ",
];

describe.each(sweepEngines())("PyTorch's distributions on %s", (engine) => {
  it.each(
    cases.map((given) => [JSON.stringify(given.distribution), given.mask ? "masked" : "", given] as const),
  )("%s %s", async (name, _masked, given) => {
    const d = made(given.distribution);
    const inputs = [given.parameters, given.other, given.action, ...(given.mask ? [given.mask] : [])];
    const actual = await onEngine(engine, (values) => results(d, values))(inputs.map(tensor));
    const { logProb, entropy, kl, act, logProbGradient, entropyGradient, klGradients } = given;
    const expected = [logProb, entropy, kl, act, logProbGradient, entropyGradient, ...klGradients];
    expect(actual.length).toBe(expected.length);
    actual.forEach((one, i) => {
      const part = parts[i] as string;
      // The entropy of squashed numbers is an estimate.
      const estimated = d.kind === "squashedGaussian" && part.startsWith("entropy");
      expectSame(`${part} of ${name}`, one, tensor(expected[i] as string), {
        tolerance: estimated ? 1e-4 : 2e-5,
        floor: 1,
      });
    });
  });
});
