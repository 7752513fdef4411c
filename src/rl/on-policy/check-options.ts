import { checkNames, checkSize, EspalierError } from "../../core/index.ts";
import { checkMonitor } from "../../learner/index.ts";
import { checkLessons } from "../environments/environment.ts";
import type { Policy } from "../policies/policy.ts";
import { actionSize, choices, flatSize, type Space } from "../spaces/index.ts";
import { checkAbove, checkFlag, checkFromZero, checkShare, orRamp } from "./check-numbers.ts";
import { checkParts, checkTensors } from "./check-parts.ts";
import type { CompiledEnvironments, OnPolicyOptions } from "./options.ts";

export const kind = "onPolicyTask";

const names = [
  ...["environment", "policy", "losses", "optimizer", "rolloutSteps", "updateEpochs", "minibatches", "gamma"],
  ...["lambda", "normalize", "normalizeAdvantages", "centerRewards", "targetKl", "vtrace", "segment"],
  ...[
    "prioritized",
    "curriculum",
    "lesson",
    "learningRate",
    "rates",
    "monitor",
    "params",
    "seed",
    "maxEpochs",
  ],
  ...["engine", "device", "deterministic"],
];

export const isCompiled = (
  environment: OnPolicyOptions["environment"],
): environment is CompiledEnvironments => "compiled" in environment;

/** Refuses options that are misspelt or make no sense, before anything is made of them. */
export function checkOptions(options: OnPolicyOptions): void {
  checkNames(kind, options, names);
  checkParts(kind, options);
  const { environment } = options;
  if (isCompiled(environment)) checkSize(kind, "environment.count", environment.count);
  checkNumbers(kind, options);
  checkLessons(kind, options, isCompiled(environment) ? environment.compiled : environment);
}

/** Refuses numbers and switches out of their range: what can be told before there is an environment. */
export function checkNumbers(kind: string, options: Partial<OnPolicyOptions>): void {
  checkMonitor(kind, options.monitor ?? {});
  checkTensors(kind, options.params);
  const { normalize = {}, vtrace = {}, prioritized = {}, centerRewards } = options;
  checkNames(`${kind}: normalize`, normalize, ["observations", "rewards"]);
  checkNames(`${kind}: vtrace`, vtrace, ["rhoBar", "cBar"]);
  checkNames(`${kind}: prioritized`, prioritized, ["alpha", "beta"]);
  if (options.maxEpochs !== undefined) checkSize(kind, "maxEpochs", options.maxEpochs);
  for (const name of ["gamma", "lambda"] as const) checkShare(kind, name, options[name]);
  for (const name of ["observations", "rewards"] as const)
    checkFlag(kind, `normalize.${name}`, normalize[name]);
  for (const name of ["normalizeAdvantages", "deterministic"] as const) checkFlag(kind, name, options[name]);
  checkShare(kind, "prioritized.alpha", prioritized.alpha);
  orRamp(checkShare)(kind, "prioritized.beta", prioritized.beta);
  if (typeof centerRewards !== "boolean") checkShare(kind, "centerRewards", centerRewards);
  orRamp(checkFromZero)(kind, "learningRate", options.learningRate);
  checkAbove(kind, "targetKl", options.targetKl);
  for (const name of ["rhoBar", "cBar"] as const) checkAbove(kind, `vtrace.${name}`, vtrace[name]);
}

/** Refuses a policy that was made for other spaces. */
export function checkPolicy(
  kind: string,
  policy: Policy,
  spaces: { readonly observationSpace: Space; readonly actionSpace: Space },
): void {
  const of = ({ observationSpace, actionSpace }: typeof spaces): string => {
    const many = actionSpace.kind === "box" ? "" : ` of ${choices(actionSpace)} choices`;
    return `observations of ${flatSize(observationSpace)} numbers and ${actionSpace.kind} actions of ${actionSize(actionSpace)}${many}`;
  };
  if (of(policy) === of(spaces)) return;
  throw new EspalierError(
    "POLICY_MISMATCH",
    `${kind}: the policy is made for ${of(policy)}, and the environment has ${of(spaces)}`,
    { fix: "make it for the environment: buildPolicy(spec, environment), or give its description" },
  );
}

/** Refuses options that go by how far the policy moves where no loss tells it. */
export function checkDivergence(
  { targetKl, updateEpochs }: OnPolicyOptions,
  reported: readonly string[],
): void {
  const refuse = (what: string, missing: string, instead: string): never => {
    throw new EspalierError("OPTION_INVALID", `${kind}: ${what} goes by ${missing}, which no loss reports`, {
      fix: `add policyLoss() under its own name, "policy", or ${instead}`,
    });
  };
  const [kl, clipped] = ["policy.approxKl", "policy.clipFraction"] as const;
  if (targetKl !== undefined && !reported.includes(kl)) refuse("targetKl", kl, "leave targetKl out");
  if (typeof updateEpochs !== "object" || [kl, clipped].every((name) => reported.includes(name))) return;
  refuse("what chooses updateEpochs", `${kl} and ${clipped}`, "give updateEpochs as a number");
}
