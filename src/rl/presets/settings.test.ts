import { describe, expect, it } from "vitest";
import { linear } from "../../schedule/index.ts";
import { learningProgressCurriculum } from "../curriculum/learning-progress.ts";
import { makeEnvironment } from "../environments/registry.ts";
import { a2c, a2cSettings } from "./a2c.ts";
import { type DqnAgentOptions, dqn } from "./dqn.ts";
import { ppo, ppoSettings } from "./ppo.ts";

/** Defaults of `stable_baselines3.A2C` and `.PPO`, version 2.9.2; of `ActorCriticPolicy` for Adam's epsilon. */
const sb3 = {
  a2c: {
    ...{ learning_rate: 7e-4, n_steps: 5, gamma: 0.99, gae_lambda: 1, ent_coef: 0, vf_coef: 0.5 },
    ...{ max_grad_norm: 0.5, rms_prop_eps: 1e-5, alpha: 0.99, normalize_advantage: false },
  },
  ppo: {
    ...{ learning_rate: 3e-4, n_steps: 2048, batch_size: 64, n_epochs: 10, gamma: 0.99, gae_lambda: 0.95 },
    ...{ clip_range: 0.2, clip_range_vf: null, normalize_advantage: true, ent_coef: 0, vf_coef: 0.5 },
    ...{ max_grad_norm: 0.5, eps: 1e-5 },
  },
} as const;

describe("settings", () => {
  it("of A2C are Stable-Baselines3's", () => {
    const { environments: _, totalSteps: __, policy: ___, ...found } = a2cSettings();
    const of = sb3.a2c;
    expect(found).toEqual({
      ...{ rolloutSteps: of.n_steps, learningRate: of.learning_rate, annealRate: false },
      ...{ gamma: of.gamma, lambda: of.gae_lambda, entropyWeight: of.ent_coef, maxNorm: of.max_grad_norm },
      valueWeight: 2 * of.vf_coef, // Of half squares.
      ...{ epsilon: of.rms_prop_eps, decay: of.alpha, normalizeAdvantages: "none" },
      ...{ normalizeObservations: false, normalizeRewards: false },
    });
  });

  it("of PPO are Stable-Baselines3's, by that preset", () => {
    const { totalSteps: _, policy: __, ...found } = ppoSettings("sb3", "any");
    const of = sb3.ppo;
    expect(found).toEqual({
      ...{ environments: 1, rolloutSteps: of.n_steps, minibatches: of.n_steps / of.batch_size },
      ...{ updateEpochs: of.n_epochs, learningRate: of.learning_rate, annealRate: false, annealClip: false },
      ...{ gamma: of.gamma, lambda: of.gae_lambda, clip: of.clip_range, valueClip: "none" },
      valueWeight: 2 * of.vf_coef, // Of half squares.
      ...{ entropyWeight: of.ent_coef, maxNorm: of.max_grad_norm, adamEpsilon: of.eps },
      ...{ normalizeAdvantages: "minibatch", normalizeObservations: false, normalizeRewards: false },
    });
  });

  it("of PPO are those of CleanRL's ppo.py, by that preset", () => {
    expect(ppoSettings("cleanrl", "any")).toEqual({
      ...{ totalSteps: 500_000, environments: 4, rolloutSteps: 128, updateEpochs: 4, minibatches: 4 },
      ...{ learningRate: 2.5e-4, annealRate: true, annealClip: false, gamma: 0.99, lambda: 0.95 },
      ...{ clip: 0.2, valueClip: 0.2, valueWeight: 0.5, entropyWeight: 0.01, maxNorm: 0.5 },
      ...{ adamEpsilon: 1e-5, normalizeAdvantages: "minibatch", policy: {} },
      ...{ normalizeObservations: false, normalizeRewards: false },
    });
  });

  it.each([
    ...[{ learningRate: 0 }, { learningRate: -1 }, { learningRate: Number.NaN }, { learningRate: "fast" }],
    ...[{ clip: 0 }, { clip: -0.1 }, { clip: Number.NaN }, { valueClip: 0 }, { valueClip: "nine" }],
    ...[{ gamma: 1.01 }, { gamma: "0.9" }, { lambda: -0.1 }, { entropyWeight: Number.NaN }, { maxNorm: 0 }],
    ...[{ valueWeight: -1 }, { adamEpsilon: -1 }, { normalizeObservations: "yes" }, { annealRate: 1 }],
    ...[{ normalizeAdvantages: true }, { minibatches: 0 }, { totalSteps: 1.5 }, { updateEpochs: {} }],
    ...[{ environments: -1 }, { losses: {} }, { curriculum: {} }, { entropyWeight: -1 }, { timeout: 0 }],
    ...[{ targetKl: -1 }, { maxEpochs: 0 }, { centerRewards: 2 }, { threads: -1 }, { compiled: "yes" }],
  ])("that make no sense are refused when the agent is made: %o", (wrong) => {
    const [name] = Object.keys(wrong);
    expect(() => ppo({ env: "CartPole-v1", ...wrong } as never)).toThrow(
      expect.objectContaining({
        code: "OPTION_INVALID",
        message: expect.stringMatching(new RegExp(`ppo: ${name} .*\\n *fix: (give|use) `, "s")),
      }),
    );
  });

  it("of A2C are looked at, too", () => {
    expect(() => a2c({ env: "CartPole-v1", decay: 2 })).toThrow(/a2c: decay is 2.*from 0 to 1/s);
    expect(() => a2c({ env: "CartPole-v1", gamma: 2 })).toThrow(/a2c: gamma is 2/);
    expect(() => a2c({ env: "CartPole-v1", entropyWeight: -1 })).toThrow(
      /a2c: entropyWeight is -1.*from 0 on/s,
    );
    expect(() => a2c({ env: "CartPole-v1", normalizeAdvantages: "minibach" as never })).toThrow(
      /a2c: normalizeAdvantages is "minibach"/,
    );
  });

  it.each<[string, Partial<DqnAgentOptions>]>([
    ["learningRate is -1", { learningRate: -1 }],
    ["batchSize is 0", { batchSize: 0 }],
    ["learningStarts is -1", { learningStarts: -1 }],
    ["target: tau is 2", { target: { tau: 2 } }],
    ["epsilon is 1.5", { epsilon: 1.5 }],
    ["epsilon: over is 3", { epsilon: { from: 1, to: 0, over: 3 } }],
    ["environments is 0", { environments: 0 }],
  ])("of DQN are looked at when the agent is made: %s", (what, wrong) => {
    expect(() => dqn({ env: "CartPole-v1", ...wrong })).toThrow(
      expect.objectContaining({ code: "OPTION_INVALID", message: expect.stringContaining(`dqn: ${what}`) }),
    );
  });

  it.each<[string, string, () => unknown]>([
    ["an unknown environment", "ENVIRONMENT_UNKNOWN", () => ppo({ env: "CartPole-v2" })],
    ["an unknown environment of DQN", "ENVIRONMENT_UNKNOWN", () => dqn({ env: "CartPole-v2" })],
    ["what is no seed", "SEED_INVALID", () => ppo({ env: "CartPole-v1", seed: 0.5 })],
    [
      "a layer of no width",
      "OPTION_INVALID",
      () => a2c({ env: "CartPole-v1", policy: { encoder: { kind: "mlp", hidden: [64, 0] } } }),
    ],
    [
      "a cnn where there is no picture",
      "SPACE_UNSUPPORTED",
      () => ppo({ env: "CartPole-v1", policy: { encoder: { kind: "cnn", channels: [8] } } }),
    ],
    ["actions that DQN cannot value", "SPACE_UNSUPPORTED", () => dqn({ env: "Pendulum-v1" })],
    [
      "minibatches that do not divide",
      "OPTION_INVALID",
      () => ppo({ env: "CartPole-v1", environments: 2, rolloutSteps: 3, minibatches: 4 }),
    ],
    ["an unknown lesson", "LESSON_UNKNOWN", () => ppo({ env: "GridWorld-v0", lesson: "nowhere" })],
    [
      "a lesson beside a curriculum",
      "OPTION_INVALID",
      () =>
        ppo({
          env: "GridWorld-v0",
          lesson: 1,
          curriculum: learningProgressCurriculum({ lessons: makeEnvironment("GridWorld-v0").lessons ?? [] }),
        }),
    ],
    [
      "a curriculum of other lessons",
      "CURRICULUM_MISMATCH",
      () => ppo({ env: "CartPole-v1", curriculum: learningProgressCurriculum({ lessons: ["a", "b"] }) }),
    ],
  ])("refuse %s when the agent is made", (_name, code, make) => {
    expect(make).toThrow(expect.objectContaining({ code, fix: expect.any(String) }));
  });

  it("may be ramps, whose numbers nobody looks at beforehand", () => {
    const learningRate = linear({ from: -1, to: 0, over: { epochs: 2 } });
    expect(ppo({ env: "CartPole-v1", learningRate }).settings.learningRate).toBe(learningRate);
  });
});
