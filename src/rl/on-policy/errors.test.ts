import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { checkpointHook } from "../../checkpoint/index.ts";
import { np, type Value } from "../../engine/index.ts";
import { adam } from "../../optim/index.ts";
import { every } from "../../schedule/index.ts";
import { learningProgressCurriculum } from "../curriculum/learning-progress.ts";
import type { CompiledEnvironment } from "../environments/compiled.ts";
import { defineEnvironment } from "../environments/define.ts";
import type { Environment } from "../environments/environment.ts";
import { autoUpdateEpochs } from "../experience/update-epochs.ts";
import { entropyLoss, policyGradientLoss, policyLoss, valueLoss } from "../losses/actor-critic.ts";
import { buildPolicy } from "../policies/build.ts";
import { box, discrete } from "../spaces/index.ts";
import { vectorEnvironment } from "../vector/vector-environment.ts";
import { environments, smallTask, trained } from "./on-policy.test-support.ts";
import type { OnPolicyOptions } from "./options.ts";
import { onPolicyTask } from "./task.ts";

const given = (more: Partial<OnPolicyOptions>) => smallTask("compiled", "wasm", more);

/** Never ends. Its 21st step gives a reward that is none, where it is broken and its index is 2. */
const fragile = (broken: boolean) => (index: number) =>
  defineEnvironment({
    ...{ name: "Fragile", observation: box({ shape: 1 }), action: discrete(2) },
    initial: () => ({ t: 0 }),
    step: ({ t }, action) => ({
      ...{ state: { t: t + 1 }, terminated: false },
      reward: broken && index === 2 && t === 20 ? Number.NaN : action,
    }),
    observe: ({ t }) => [t / 100],
  })() as Environment;

describe("a task refuses", () => {
  it.each<[string, RegExp, Partial<OnPolicyOptions>]>([
    [
      "minibatches that do not divide",
      /64 steps \(16 steps of 4 rows\) cannot be cut into 5 minibatches.*OPTION_INVALID.*divide rolloutSteps times/s,
      { minibatches: 5 },
    ],
    [
      "a segment that does not divide",
      /16 steps cannot be cut into segments of 5.*segment divide/s,
      { segment: 5 },
    ],
    [
      "too few segments",
      /4 segments \(16 steps of 4 rows\) cannot be cut into 8 minibatches.*shorter segment/s,
      { segment: 16, minibatches: 8 },
    ],
    ["no steps", /rolloutSteps is 0/, { rolloutSteps: 0 }],
    ["part of an update epoch", /updateEpochs is 1.5/, { updateEpochs: 1.5 }],
    [
      "an unknown option",
      /"minibatch"; did you mean "minibatches".*OPTION_UNKNOWN/s,
      { minibatch: 2 } as never,
    ],
    [
      "an unknown option within another",
      /onPolicyTask: normalize: there is no option "observation"; did you mean "observations"/,
      { normalize: { observation: true } } as never,
    ],
    ["an unknown bound", /vtrace: there is no option "rho"/, { vtrace: { rho: 1 } } as never],
    ["a discount above 1", /gamma is 1.5.*from 0 to 1/s, { gamma: 1.5 }],
    ["a learning rate below 0", /learningRate is -1.*from 0 on.*/s, { learningRate: -1 }],
    ["a learning rate that is no number", /learningRate is NaN/, { learningRate: Number.NaN }],
    [
      "a word for a switch",
      /normalize: observations is "yes".*OPTION_INVALID.*true or false/s,
      { normalize: { observations: "yes" } } as never,
    ],
    ["no optimizer", /optimizer is missing.*OPTION_INVALID.*optim.adam/s, { optimizer: undefined } as never],
    ["no list of losses", /losses is missing.*policyLoss\(\)/s, { losses: undefined } as never],
    [
      "no environment at all",
      /env is missing.*OPTION_INVALID.*vectorEnvironment/s,
      { env: undefined } as never,
    ],
    [
      "a single environment",
      /env is .*OPTION_INVALID.*vectorEnvironment/s,
      { env: fragile(false)(0) } as never,
    ],
    [
      "the name of an environment",
      /env is .*"compiled":"CartPole-v1".*OPTION_INVALID.*compiledEnvironment\("CartPole-v1"\)/s,
      { env: { compiled: "CartPole-v1", count: 2 } } as never,
    ],
    [
      "an object that is no curriculum",
      /curriculum is \{\}.*OPTION_INVALID.*lessonCurriculum/s,
      { curriculum: {} } as never,
    ],
    [
      "what does not choose update epochs",
      /updateEpochs is \{\}.*OPTION_INVALID.*autoUpdateEpochs/s,
      { updateEpochs: {} } as never,
    ],
    ["no parameters", /params is \{\}.*OPTION_INVALID.*policy.init/s, { params: {} }],
    [
      "arrays as parameters",
      /params is .*OPTION_INVALID.*policy.init/s,
      { params: { w: new Float32Array(2) } } as never,
    ],
    ["a word for a policy", /policy is "mlp".*OPTION_INVALID/s, { policy: "mlp" } as never],
    ["a divergence of 0", /targetKl is 0.*above 0/s, { targetKl: 0 }],
    ["no room for epochs", /maxEpochs is 0/, { maxEpochs: 0 }],
    ["no environments", /env.count is 0/, { env: { ...environments("compiled"), count: 0 } as never }],
    ["no losses", /LOSS_NONE/, { losses: [] }],
    [
      "a rate that the optimizer has not",
      /no rate "learningrate"; did you mean/,
      { rates: { learningrate: 1 } },
    ],
    [
      "a curriculum for an environment without lessons",
      /the lessons a, b, and the environment none.*CURRICULUM_MISMATCH/s,
      { curriculum: learningProgressCurriculum({ lessons: ["a", "b"] }) },
    ],
    [
      "a curriculum with other lessons",
      /the lessons a, b, and the environment .*CURRICULUM_MISMATCH.*in its order/s,
      {
        env: environments("compiled", "GridWorld-v0"),
        curriculum: learningProgressCurriculum({ lessons: ["a", "b"] }),
      },
    ],
    [
      "a policy for another environment",
      /made for observations of 3 numbers and discrete actions of 1 of 2 choices, and the environment has observations of 4.*POLICY_MISMATCH/s,
      { policy: buildPolicy({}, { observationSpace: box({ shape: 3 }), actionSpace: discrete(2) }) },
    ],
  ])("%s", (_name, message, more) => {
    expect(() => given(more)).toThrow(message);
  });

  it.each<[string, Partial<OnPolicyOptions>]>([
    ["no loss of a policy", { losses: [valueLoss()] }],
    ["one that tells no divergence", { losses: [policyGradientLoss(), valueLoss()] }],
    ["one of another name", { losses: [policyLoss({ name: "surrogate" }), valueLoss()] }],
  ])("what goes by how far the policy moves, with %s", (_name, losses) => {
    expect(() => given({ ...losses, targetKl: 0.01 })).toThrow(
      /targetKl goes by policy.approxKl, which no loss reports.*OPTION_INVALID.*policyLoss\(\)/s,
    );
    expect(() => given({ ...losses, updateEpochs: autoUpdateEpochs() })).toThrow(
      /what chooses updateEpochs goes by policy.approxKl and policy.clipFraction.*updateEpochs as a number/s,
    );
    expect(() => given(losses)).not.toThrow();
  });

  it("nothing that makes sense: steps drawn one by one, a policy's loss that is not always there", async () => {
    const { counters } = await trained(given({ prioritized: {} }), { epochs: 1 });
    expect(counters.updates).toBe(4);
    const losses = [policyLoss({ active: { train: every({ updates: 2 }) } }), valueLoss(), entropyLoss()];
    const scheduled = given({ losses, targetKl: 1, updateEpochs: autoUpdateEpochs({ start: 2, max: 2 }) });
    expect((await trained(scheduled, { epochs: 1 })).counters.updates).toBe(4);
  });
});

describe("a component", () => {
  it("that is not there is named when a snapshot asks for it", () => {
    expect(() => given({}).snapshot(["parms"])).toThrow(/no component "parms"; did you mean "params"/);
  });
});

/** `fragile` inside the program, with all environments alike. */
const compiledFragile = (broken: "observation" | "reward" | undefined): CompiledEnvironment => ({
  ...{ name: "Fragile", observationSpace: box({ shape: 1 }), actionSpace: discrete(2) },
  reset: () => ({ t: np.zeros([]) }),
  step: ({ t }: { readonly t: Value }, action: Value) => ({
    state: { t: t.add(1) },
    reward:
      broken === "reward" ? np.where(t.equal(20), Number.NaN, np.slice(action, 0)) : np.slice(action, 0),
    terminated: np.full([], false, { dtype: "bool" }),
    truncated: np.full([], false, { dtype: "bool" }),
  }),
  observe: ({ t }: { readonly t: Value }) =>
    np.reshape(
      broken === "observation" ? np.where(t.equal(20), Number.POSITIVE_INFINITY, t.div(100)) : t.div(100),
      [1],
    ),
});

const directories: string[] = [];
afterAll(() => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

describe("an environment that gives no number", () => {
  const ordinary = (broken: boolean) => vectorEnvironment({ make: fragile(broken), count: 4 });
  const compiled = (broken?: "observation" | "reward") => ({ compiled: compiledFragile(broken), count: 4 });
  it.each<[string, RegExp, () => OnPolicyOptions["env"], () => OnPolicyOptions["env"]]>([
    [
      "ordinary",
      /Fragile \(environment 2 of its vector, step 21\): step\(\) .*(NaN|number).*ENVIRONMENT_INVALID/s,
      () => ordinary(true),
      () => ordinary(false),
    ],
    [
      "compiled, a reward",
      /Fragile \(environment 0 of its vector, step 21\): gave a reward that is not finite.*ENVIRONMENT_INVALID/s,
      () => compiled("reward"),
      () => compiled(),
    ],
    [
      "compiled, an observation",
      /Fragile \(environment 0 of its vector, step 20\): gave an observation that is not finite/,
      () => compiled("observation"),
      () => compiled(),
    ],
  ])("%s: is named, and the checkpoint before it is whole", async (_name, message, broken, mended) => {
    const directory = mkdtempSync(join(tmpdir(), "espalier-fragile-"));
    directories.push(directory);
    const made = (environment: OnPolicyOptions["env"]) => given({ env: environment });
    const saving = () => checkpointHook({ directory });
    await expect(trained(made(broken()), {}, [saving()])).rejects.toThrow(message);
    const { hashes, counters } = await trained(made(mended()), {}, [saving()]);
    const whole = await trained(made(mended()));
    expect(hashes).toEqual(whole.hashes);
    expect(counters).toEqual(whole.counters);
  });

  it("is found in whichever of many rollouts of a call it is", async () => {
    const task = onPolicyTask({
      ...{ env: compiled("reward"), losses: [policyLoss(), valueLoss()], optimizer: adam() },
      ...{ rolloutSteps: 4, engine: "wasm", maxEpochs: 16 },
    });
    await expect(trained(task, { epochs: 10 })).rejects.toThrow(/step 21\): gave a reward/);
  });
});
