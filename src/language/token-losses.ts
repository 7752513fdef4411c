/**
 * Losses for reinforcement learning of language models:
 *
 *     batch    B groups of G samples of one prompt, L places each          TextBatch
 *     outputs  log-probability and entropy of every token, one pass        tokenOutputs
 *     tokens   those that count: the model's own, of groups that are real  tokensMade
 *     groups   reward - baseline of the group = advantage of a sample      groupAdvantages
 *     loss     one number per token, averaged by a named rule              averageOf
 *
 *     policy gradient  tokenPolicyLoss, grpoLoss, rlooLoss
 *     preferences      dpoLoss
 *     beside them      referenceKlLoss, tokenEntropyLoss, imitationLoss
 *
 * Numbers in places that do not count, NaN included, reach neither sums nor derivatives.
 */
import {
  badOption,
  checkOptions,
  EspalierError,
  type Options,
  option,
  resolveOptions,
} from "../core/index.ts";
import { nn as functions, np, stopGradient, type Value, type ValueLike } from "../engine/index.ts";
import type { Field, Loss, LossTerm } from "../losses/index.ts";
import type { ApplyOptions, Model, Params } from "../nn/index.ts";
import { type LossOptions, lossMembers, lossRows, orRamp, positive } from "../rl/index.ts";

/**
 * A batch of samples: B groups, G samples of one prompt in each, L places. A sample none of whose tokens the model made
 * does not count, for its group neither.
 */
export interface TextBatch {
  /** Prompts and what follows them: i32 [B, G, L]. */
  readonly tokens: Value;
  /** 1 where the model made the token, else 0: f32 [B, G, L]. The first place never counts: nothing is before it. */
  readonly mask: Value;
  /** Log-probabilities of the policy that made them: f32 [B, G, L]. */
  readonly logProbs: Value;
  /** f32 [B, G] */
  readonly reward: Value;
  /** 0 for groups that only fill the batch up: f32 [B]. */
  readonly valid: Value;
  /** Log-probabilities of a reference model, where a loss has the field: f32 [B, G, L]. */
  readonly reference?: Value;
}

/** The forward pass that all losses share. */
export interface TextOutputs {
  /** Log-probability of each token given those before it, 0 at the first place: [B, G, L]. */
  readonly logProbs: Value;
  /** Entropy of the distribution that each token is drawn from, 0 at the first place: [B, G, L]. */
  readonly entropy: Value;
}

type TextLoss = Loss<TextBatch, TextOutputs>;

/**
 * The log-probability of each token given those before it, and the entropy: tokens i32 [B, G, L] to [B, G, L]. For use
 * inside `compile`.
 *
 * @example
 * ```ts
 * const { logProbs } = tokenOutputs(model, params, batch.tokens);
 * ```
 */
export function tokenOutputs(
  model: Model,
  params: Params,
  tokens: Value,
  options: ApplyOptions = {},
): TextOutputs {
  const length = tokens.shape.at(-1) as number;
  if (tokens.ndim !== 3 || length < 2)
    throw new EspalierError("SHAPE_MISMATCH", `tokenOutputs: the tokens are ${tokens.type.text}`, {
      fix: "give i32[groups, samples, places] with two places at least",
    });
  const rows = np.reshape(tokens, [-1, length]);
  const logits = np.astype(model.apply(params, np.slice(rows, ":", ":-1"), options), "f32");
  const logSum = np.logsumexp(logits, { axis: -1, keepdims: true });
  const next = np.expandDims(np.slice(rows, ":", "1:"), -1);
  const logProbs = np.squeeze(np.takeAlongAxis(logits, next).sub(logSum), { axis: -1 });
  const logShares = logits.sub(logSum);
  const entropy = np.sum(np.exp(logShares).mul(logShares), { axis: -1 }).neg();
  const placed = (x: Value): Value =>
    np.reshape(
      np.pad(x, [
        [0, 0],
        [1, 0],
      ]),
      tokens.shape,
    );
  return { logProbs: placed(logProbs), entropy: placed(entropy) };
}

/** How losses of tokens become one number. */
const lengthRows = {
  /**
   * "sequence": the mean over the tokens of each sample, then over samples. "token": the mean over all tokens of the
   * batch, so that long samples count more. "constant": the sum over the tokens of each sample divided by `length`,
   * then the mean over samples, so that a token counts the same however long its sample is.
   */
  lengthNormalization: option.oneOf(["sequence", "token", "constant"], {}),
  /** The length of "constant": the longest completion, say, or 1 for the plain sum. */
  length: positive,
};
type LengthOptions = Options<typeof lengthRows>;

const tokenTable = { ...lossRows, ...lengthRows };

export interface TokenLossOptions extends LossOptions, LengthOptions {}

const policyRows = {
  /**
   * "standardized": (reward - mean) / (standard deviation + 1e-6), with n - 1 below the deviation's root. "centered":
   * reward - mean. "leaveOneOut": reward - mean of the others.
   */
  advantages: option.oneOf(["standardized", "centered", "leaveOneOut"], {}),
  /** Ratios of probabilities are clipped to 1 - clip and 1 + clip, as PPO has it. Default: 0.2. */
  clip: orRamp(positive),
  /** The upper limit is 1 + clipHigh. Default: clip. */
  clipHigh: orRamp(positive),
  /**
   * Instead of clipping: the gradient of a token's log-probability is multiplied by the ratio, this at most. It corrects
   * for rollouts of older weights.
   */
  truncate: positive,
};

export interface TokenPolicyLossOptions extends TokenLossOptions, Options<typeof policyRows> {}

/**
 * The policy gradient of tokens, with advantages over the other samples of the same prompt. Groups whose rewards are all
 * equal teach nothing: they are left out, of means too. Defaults are those of {@link grpoLoss}.
 *
 * Reports `approxKl` (mean of ratio - 1 - log ratio, against the policy that made the tokens), `clipFraction` (ratios
 * beyond the limits), `advantage` (mean size), `groupsDropped` (their number) and `length` (tokens of a sample).
 *
 * @example
 * ```ts
 * const policy = tokenPolicyLoss({ advantages: "centered", lengthNormalization: "token", clip: 0.2, clipHigh: 0.28 });
 * ```
 */
export const tokenPolicyLoss = (options: TokenPolicyLossOptions = {}): TextLoss =>
  policyLossOf("tokenPolicyLoss", options);

/**
 * GRPO: standardized advantages, clipped ratios (0.2), the mean over each sample's tokens. Dr. GRPO is
 * `{ advantages: "centered", lengthNormalization: "constant", length }`. The divergence from a reference is a loss of
 * its own, {@link referenceKlLoss}.
 *
 * @example
 * ```ts
 * const losses = [grpoLoss({ clip: 0.2 }), referenceKlLoss({ estimator: "k3", weight: 0.04 })];
 * ```
 */
export const grpoLoss = (options: TokenPolicyLossOptions = {}): TextLoss => policyLossOf("grpoLoss", options);

/**
 * RLOO: the log-probability of a whole sample times its reward minus the mean reward of the others. Gradients of tokens
 * are corrected for rollouts of older weights by the ratio, 2 at most (`truncate`); `clip` takes PPO's surrogate
 * instead. Defaults: `lengthNormalization: "constant"` with `length: 1`, which is the sum over tokens.
 *
 * @example
 * ```ts
 * const losses = [rlooLoss(), tokenEntropyLoss({ weight: 0.001 })];
 * ```
 */
export const rlooLoss = (options: TokenPolicyLossOptions = {}): TextLoss =>
  policyLossOf("rlooLoss", options, {
    advantages: "leaveOneOut",
    truncate: 2,
    lengthNormalization: "constant",
    length: 1,
  });

function policyLossOf(
  kind: string,
  options: TokenPolicyLossOptions,
  defaults: Pick<TokenPolicyLossOptions, "advantages" | "truncate" | keyof LengthOptions> = {},
): TextLoss {
  checkOptions(kind, options, { ...tokenTable, ...policyRows });
  const { clip = 0.2, clipHigh } = options;
  const clips = options.clip !== undefined || clipHigh !== undefined;
  if (clips && options.truncate !== undefined)
    throw badOption(kind, "clip and truncate are both given", "give clip for PPO's surrogate, or truncate");
  const advantages = options.advantages ?? defaults.advantages ?? "standardized";
  const truncate = clips ? undefined : (options.truncate ?? defaults.truncate);
  const average = averageOf(kind, options, defaults);
  return {
    ...lossMembers("policy", 1, options),
    ...(truncate === undefined && { rates: { clip, ...(clipHigh !== undefined && { clipHigh }) } }),
    count: (batch) => {
      const made = tokensMade(kind, batch);
      return average.count(learnedTokens(made, groupsOf(kind, batch, made).learned));
    },
    term: ({ batch, outputs, rate }) => {
      const made = tokensMade(kind, batch);
      const { advantage, learned, dropped } = groupAdvantages(kind, batch, made, advantages);
      const ofTokens = np.expandDims(advantage, -1);
      const logRatio = np.clip(kept(outputs.logProbs.sub(batch.logProbs), made), -farthest, farthest);
      const ratio = np.exp(logRatio);
      const [low, high] =
        truncate === undefined
          ? [np.subtract(1, rate("clip")), np.add(1, rate(clipHigh === undefined ? "clip" : "clipHigh"))]
          : [0, truncate];
      const gain =
        truncate === undefined
          ? np.minimum(ratio.mul(ofTokens), np.clip(ratio, low, high).mul(ofTokens))
          : stopGradient(np.minimum(ratio, high)).mul(kept(outputs.logProbs, made)).mul(ofTokens);
      const beyond = np.logicalOr(np.less(ratio, low), np.greater(ratio, high));
      const samples = np.any(made, { axis: -1 });
      return {
        loss: average.of(gain, learnedTokens(made, learned)).neg(),
        metrics: {
          approxKl: meanWhere(ratio.sub(1).sub(logRatio), made),
          clipFraction: meanWhere(beyond.astype("f32"), made),
          advantage: meanWhere(np.absolute(advantage), np.logicalAnd(samples, learned)),
          groupsDropped: dropped,
          length: meanWhere(lengthsOf(made), samples),
        },
      };
    },
  };
}

const dpoRows = {
  /** How much the policy is held to the reference: higher is closer. Default: 0.1. */
  beta: option.number({ above: 0, default: 0.1 }),
};

/** Log-probabilities of the reference model: the task computes them where a loss has this field, like `logProbs`. */
const fields: Readonly<Record<"reference", Field>> = { reference: { shape: [], dtype: "f32" } };

/**
 * DPO: in each group the sample with the greatest reward is preferred to the one with the least; of equal ones the first
 * is taken. Reads `reference`. Groups whose rewards are all equal are left out.
 *
 * Reports `margin` (mean of beta times the difference of both log-ratios to the reference), `accuracy` (how often it is
 * above 0) and `groupsDropped` (their number).
 *
 * @example
 * ```ts
 * const losses = [dpoLoss({ beta: 0.1 })];
 * ```
 */
export function dpoLoss(options: LossOptions & Options<typeof dpoRows> = {}): TextLoss {
  const kind = "dpoLoss";
  const { beta } = resolveOptions(kind, options, { ...lossRows, ...dpoRows });
  return {
    ...lossMembers("dpo", 1, options),
    fields,
    count: (batch) => numberOf(groupsOf(kind, batch, tokensMade(kind, batch)).learned),
    term: ({ batch, outputs }) => {
      const made = tokensMade(kind, batch);
      const { reward, samples, learned, dropped } = groupsOf(kind, batch, made);
      const logRatio = np.sum(kept(outputs.logProbs.sub(referenceOf(kind, batch)), made), { axis: -1 });
      const last = { axis: -1, keepdims: true } as const;
      const best = np.argmax(np.where(samples, reward, Number.NEGATIVE_INFINITY), last);
      const worst = np.argmin(np.where(samples, reward, Number.POSITIVE_INFINITY), last);
      const margin = np.takeAlongAxis(logRatio, best).sub(np.takeAlongAxis(logRatio, worst)).mul(beta);
      return {
        // -log(sigmoid(margin))
        loss: meanWhere(functions.softplus(margin.neg()), learned),
        metrics: {
          margin: meanWhere(margin, learned),
          accuracy: meanWhere(np.greater(margin, 0).astype("f32"), learned),
          groupsDropped: dropped,
        },
      };
    },
  };
}

function referenceOf(kind: string, { reference }: TextBatch): Value {
  if (reference) return reference;
  throw new EspalierError("LOSS_FIELD_MISSING", `${kind}: the batch has no reference`, {
    fix: "give reference, log-probabilities of a reference model: [groups, samples, places]",
  });
}

const klRows = {
  /**
   * With x = log-probability - reference: "k1" is x, "k2" x² / 2, "k3" exp(-x) - 1 + x. As losses, "k2" has the gradient
   * of the divergence of the policy from the reference, "k3" that of the reference from the policy, and "k1" none but
   * noise. Default: "k2".
   */
  estimator: option.oneOf(["k1", "k2", "k3"], { default: "k2" }),
};

/**
 * The divergence from a reference model over the tokens that the policy made. Reads `reference`. Reports `kl`, the mean
 * of k3 over tokens: an estimate of the divergence without bias for tokens of the present policy, and never below 0.
 * Default weight: 0.04. Default length normalization: "sequence".
 *
 * @example
 * ```ts
 * const losses = [grpoLoss(), referenceKlLoss({ estimator: "k2", weight: 0.04 })];
 * ```
 */
export function referenceKlLoss(options: TokenLossOptions & Options<typeof klRows> = {}): TextLoss {
  const kind = "referenceKlLoss";
  const { estimator } = resolveOptions(kind, options, { ...tokenTable, ...klRows });
  const loss = tokenLoss(kind, "referenceKl", 0.04, options, {}, ({ batch, outputs, made, mean }) => {
    const x = kept(outputs.logProbs.sub(referenceOf(kind, batch)), made);
    const k3 = np
      .exp(np.clip(x.neg(), -farthest, farthest))
      .sub(1)
      .add(x);
    const estimates = { k1: x, k2: np.square(x).mul(0.5), k3 };
    return { loss: mean(estimates[estimator]), metrics: { kl: meanWhere(k3, made) } };
  });
  return { ...loss, fields };
}

const perToken: LengthOptions = { lengthNormalization: "token" };

/**
 * Minus the mean entropy of the distributions that the model's tokens are drawn from. Reports `entropy`. Default weight:
 * 0.01. Default length normalization: "token".
 *
 * @example
 * ```ts
 * const losses = [grpoLoss(), tokenEntropyLoss({ weight: 0.001 })];
 * ```
 */
export function tokenEntropyLoss(options: TokenLossOptions = {}): TextLoss {
  const kind = "tokenEntropyLoss";
  checkOptions(kind, options, tokenTable);
  return tokenLoss(kind, "entropy", 0.01, options, perToken, ({ outputs: { entropy }, made, mean }) => ({
    loss: mean(entropy).neg(),
    metrics: { entropy: meanWhere(entropy, made) },
  }));
}

/**
 * Cross entropy of the tokens that the mask names, whatever their rewards: a supervised warm start by the task that goes
 * on with rollouts. Default length normalization: "token".
 *
 * @example
 * ```ts
 * const losses = [imitationLoss({ active: { train: between({ updates: [0, 200] }) } })];
 * ```
 */
export function imitationLoss(options: TokenLossOptions = {}): TextLoss {
  const kind = "imitationLoss";
  checkOptions(kind, options, tokenTable);
  return tokenLoss(kind, "imitation", 1, options, perToken, ({ outputs, mean }) => ({
    loss: mean(outputs.logProbs).neg(),
  }));
}

/** A loss over all tokens that the model made; `mean` is the mean over them, by the rule of the options. */
function tokenLoss(
  kind: string,
  name: string,
  weight: number,
  options: TokenLossOptions,
  defaults: LengthOptions,
  term: (inputs: {
    readonly batch: TextBatch;
    readonly outputs: TextOutputs;
    readonly made: Value;
    mean(x: Value): Value;
  }) => LossTerm,
): TextLoss {
  const average = averageOf(kind, options, defaults);
  return {
    ...lossMembers(name, weight, options),
    count: (batch) => average.count(tokensMade(kind, batch)),
    term: ({ batch, outputs }) => {
      const made = tokensMade(kind, batch);
      return term({ batch, outputs, made, mean: (x) => average.of(x, made) });
    },
  };
}

/** Log-ratios are clipped to plus and minus this, so that their exponentials are finite. */
const farthest = 20;

/** Axes that fields of a batch share with the mask. */
const axes = new Map(Object.entries({ tokens: 3, mask: 3, logProbs: 3, reference: 3, reward: 2, valid: 1 }));

/** True where a token counts: the model made it, and its group is real. [B, G, L] */
function tokensMade(kind: string, batch: TextBatch): Value {
  const { shape } = batch.mask;
  for (const [name, value] of Object.entries(batch) as [string, Value][]) {
    const wanted = axes.get(name);
    const fits = shape.length === 3 && String(shape.slice(0, wanted)) === String(value.shape);
    if (wanted === undefined || fits) continue;
    throw new EspalierError(
      "SHAPE_MISMATCH",
      `${kind}: ${name} is ${value.type.text}, and mask is ${batch.mask.type.text}`,
      { fix: "give [groups, samples, places], reward [groups, samples] and valid [groups]" },
    );
  }
  const real = np.expandDims(np.notEqual(batch.valid, 0), [1, 2]);
  const known = np.greater(np.arange(shape[2] as number, { dtype: "i32" }), 0);
  return np.logicalAnd(np.logicalAnd(np.notEqual(batch.mask, 0), real), known);
}

const kept = (x: Value, counts: Value): Value => np.where(counts, x, np.zerosLike(x));

const numberOf = (counts: Value): Value => np.sum(counts.astype("f32"));

/** The mean where it counts; 0 if nothing does. */
const meanWhere = (x: Value, counts: Value): Value =>
  np.sum(kept(x, counts)).div(np.maximum(numberOf(counts), 1));

const lengthsOf = (made: Value): Value => np.sum(made.astype("f32"), { axis: -1 });

const learnedTokens = (made: Value, learned: Value): Value => np.logicalAnd(made, np.expandDims(learned, -1));

function averageOf(kind: string, options: LengthOptions, defaults: LengthOptions) {
  const given = options.lengthNormalization !== undefined || options.length !== undefined;
  const { lengthNormalization: rule = "sequence", length } = given ? options : defaults;
  if (rule === "constant" && length === undefined)
    throw badOption(
      kind,
      'lengthNormalization is "constant" without a length',
      "give length: the longest completion, or 1 for the sum over tokens",
    );
  if (rule !== "constant" && length !== undefined)
    throw badOption(
      kind,
      `length is given, and lengthNormalization is "${rule}"`,
      'leave length out, or give lengthNormalization: "constant"',
    );
  const count = (counts: Value): Value =>
    rule === "token" ? numberOf(counts) : numberOf(np.any(counts, { axis: -1 }));
  return {
    count,
    of: (x: Value, counts: Value): Value => {
      const sums = np.sum(kept(x, counts), { axis: -1 });
      const lengths: ValueLike = rule === "sequence" ? np.maximum(lengthsOf(counts), 1) : (length ?? 1);
      return np.sum(sums.div(lengths)).div(np.maximum(count(counts), 1));
    },
  };
}

/** Advantages [B, G], the groups [B, 1] that have some, and the number of those that have none. */
function groupAdvantages(
  kind: string,
  batch: TextBatch,
  made: Value,
  how: NonNullable<TokenPolicyLossOptions["advantages"]>,
) {
  const { reward, samples, learned, dropped } = groupsOf(kind, batch, made);
  const n = np.sum(samples.astype("f32"), { axis: -1, keepdims: true });
  const others = np.maximum(n.sub(1), 1);
  const mean = np.sum(reward, { axis: -1, keepdims: true }).div(np.maximum(n, 1));
  const centered = kept(reward.sub(mean), samples);
  const variance = () => np.sum(np.square(centered), { axis: -1, keepdims: true }).div(others);
  const advantage = {
    standardized: () => centered.div(np.sqrt(variance()).add(1e-6)),
    leaveOneOut: () => centered.mul(n.div(others)),
    centered: () => centered,
  }[how]();
  return { advantage: kept(advantage, np.broadcastTo(learned, advantage.shape)), learned, dropped };
}

/**
 * Rewards of samples that count, 0 elsewhere; groups [B, 1] whose rewards are not all equal; the number of the other
 * groups that are real. A reward that is NaN is not equal to any: it shows in the loss.
 */
function groupsOf(kind: string, batch: TextBatch, made: Value) {
  if ((batch.reward.shape[1] as number) < 2)
    throw new EspalierError("SHAPE_MISMATCH", `${kind}: groups have one sample each`, {
      fix: "draw two samples of each prompt at least: a reward counts against those of the others",
    });
  const samples = np.any(made, { axis: -1 });
  const reward = kept(batch.reward, samples);
  const most = np.max(np.where(samples, reward, Number.NEGATIVE_INFINITY), { axis: -1, keepdims: true });
  const spread = np.sum(kept(np.absolute(reward.sub(most)), samples), { axis: -1, keepdims: true });
  const learned = np.logicalNot(np.lessEqual(spread, 0));
  const real = np.expandDims(np.notEqual(batch.valid, 0), 1);
  return { reward, samples, learned, dropped: numberOf(np.logicalAnd(real, np.logicalNot(learned))) };
}
