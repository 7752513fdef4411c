import type { Setting, Settings } from "../../trainer/index.ts";
import { environmentSetting, spacesSetting } from "../evaluation/player.ts";
import { isCompiled } from "./check-options.ts";
import type { OnPolicyOptions } from "./options.ts";
import type { SetUp } from "./setup.ts";

/**
 * What of a task's set-up decides the bits that training gives, as far as plain values tell it. The policy and the
 * environment's name are what an evaluator makes them from again.
 */
export function taskSettings(options: OnPolicyOptions, { policy, sizes, lesson }: SetUp): Settings {
  const { environment, optimizer, gamma = 0.99, lambda = 0.95, seed, updateEpochs = 1 } = options;
  const { steps, rows, segment, minibatches } = sizes;
  const { normalize = {}, normalizeAdvantages = false, centerRewards = false, targetKl, vtrace } = options;
  const { prioritized } = options;
  return {
    environment: isCompiled(environment) ? environment.compiled.name : environmentSetting(environment),
    compiled: isCompiled(environment),
    policy: policy.spec as Setting,
    spaces: spacesSetting(policy),
    rolloutSteps: steps,
    ...{ rows, segment, minibatches, gamma, lambda, normalizeAdvantages, centerRewards },
    normalize: normalize as Setting,
    updateEpochs:
      typeof updateEpochs === "number" ? updateEpochs : `${updateEpochs.min} to ${updateEpochs.max}`,
    ...(targetKl !== undefined && { targetKl }),
    ...(vtrace && { vtrace }),
    ...(prioritized && { prioritized: { ...prioritized, beta: text(prioritized.beta ?? 0.2) } }),
    losses: Object.fromEntries(options.losses.map((loss) => [loss.name, lossSettings(loss)])),
    optimizer: { kind: optimizer.kind, rates: optimizer.rates as Setting },
    ...(options.lesson !== undefined && { lesson }),
    ...(seed !== undefined && { seed }),
    ...(options.deterministic !== undefined && { deterministic: options.deterministic }),
  };
}

function lossSettings({ weight = 1, rates = {}, active }: OnPolicyOptions["losses"][number]): Settings {
  return {
    weight: text(weight),
    ...Object.fromEntries(Object.entries(rates).map(([name, rate]) => [name, text(rate)])),
    ...(active?.rollout && { rollout: active.rollout.describe() }),
    ...(active?.train && { train: active.train.describe() }),
  };
}

const text = (number: number | { describe(): string }): Setting =>
  typeof number === "number" ? number : number.describe();
