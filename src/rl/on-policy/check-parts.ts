import { badOption, checkSize, shown, treeLeaves } from "../../core/index.ts";
import { Tensor } from "../../engine/index.ts";
import type { VectorEnvironment } from "../vector/vector.ts";
import type { OnPolicyOptions } from "./options.ts";

const has = (given: unknown, members: readonly string[]): boolean =>
  members.every(
    (name) => typeof (given as Readonly<Record<string, unknown>> | null | undefined)?.[name] === "function",
  );

function refuse(kind: string, name: string, given: unknown, fix: string): never {
  const what = typeof given === "object" && given !== null ? "an object of another kind" : shown(given);
  throw badOption(kind, `${name} is ${what}`, fix);
}

/** Refuses parts that are left out, or are something else. */
export function checkParts(kind: string, options: OnPolicyOptions): void {
  const { environment, losses, optimizer } = options;
  const inside = (environment as { readonly compiled?: unknown } | null | undefined)?.compiled;
  const { observationSpace, rows } = (inside ?? environment ?? {}) as Partial<VectorEnvironment>;
  if (observationSpace === undefined || (inside === undefined && rows === undefined))
    refuse(
      kind,
      inside === undefined ? "environment" : "environment.compiled",
      inside ?? environment,
      'give vectorEnvironment({ make, count }), or { compiled: compiledEnvironment("CartPole-v1"), count }',
    );
  if (!Array.isArray(losses))
    refuse(kind, "losses", losses, "give a list: [policyLoss(), valueLoss(), entropyLoss()]");
  if (!has(optimizer, ["init", "update"]))
    refuse(kind, "optimizer", optimizer, "give one, such as optim.adam({ learningRate: 3e-4 })");
  checkUpdateEpochs(kind, options.updateEpochs);
  checkCurriculum(kind, options.curriculum);
}

/** Refuses what is neither a number of update epochs nor what chooses it. */
export function checkUpdateEpochs(kind: string, given: unknown): void {
  if (given === undefined || has(given, ["observe", "getState", "setState"])) return;
  if (typeof given !== "object") checkSize(kind, "updateEpochs", given);
  else refuse(kind, "updateEpochs", given, "give a whole number from 1 on, or autoUpdateEpochs({ ... })");
}

/** Refuses what is no curriculum. */
export function checkCurriculum(kind: string, given: OnPolicyOptions["curriculum"]): void {
  if (given === undefined) return;
  const members = ["shares", "trained", "evaluated", "metrics", "getState", "setState"];
  if (!has(given, members) || !Array.isArray(given.lessons))
    refuse(
      kind,
      "curriculum",
      given,
      "give lessonCurriculum({ lessons }), learningProgressCurriculum({ lessons }), or all members of Curriculum",
    );
}

/** Refuses parameters that are no tensors. */
export function checkTensors(kind: string, params: OnPolicyOptions["params"]): void {
  if (params === undefined) return;
  const leaves = treeLeaves<unknown>(params as never);
  if (leaves.length > 0 && leaves.every((leaf) => leaf instanceof Tensor)) return;
  throw badOption(
    kind,
    leaves.length === 0 ? "params have no tensors" : "params hold something else than tensors",
    "give what policy.init(seed) gives, or the params of another task",
  );
}
