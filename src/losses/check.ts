import { EspalierError, isPlainObject, nearest } from "../core/index.ts";
import { isRamp } from "../schedule/index.ts";
import type { Loss } from "./loss.ts";

const members = [
  ...["name", "weight", "rates", "active", "fields", "rollout", "term", "reads", "gives", "state", "hooks"],
];
const phases = ["rollout", "train"];

/** Refuses losses that share a name or are not what a loss is. */
export function checkLosses(losses: readonly Loss<never, never>[]): void {
  if (losses.length === 0)
    throw new EspalierError("LOSS_NONE", "an objective has no losses", { fix: "give it at least one loss" });
  const names = new Set<string>();
  for (const loss of losses) {
    checkLoss(loss);
    if (names.has(loss.name))
      throw new EspalierError("LOSS_DUPLICATE", `two losses are called "${loss.name}"`, {
        fix: 'give each a name of its own; plain functions are named by asLoss(fn, "name")',
      });
    names.add(loss.name);
  }
}

function checkLoss(loss: Loss<never, never>): void {
  if (typeof loss.name !== "string" || loss.name.trim() === "")
    throw new EspalierError("LOSS_INVALID", `a loss has the name ${JSON.stringify(loss.name)}`, {
      fix: "give it a name that is not empty",
    });
  const refuse = (what: string, fix: string): never => {
    throw new EspalierError("LOSS_INVALID", `loss "${loss.name}": ${what}`, { fix });
  };
  // A loss may carry things of its own; only what looks like a slip is refused.
  if (isPlainObject(loss))
    for (const member of Object.keys(loss)) {
      const meant = members.includes(member) ? undefined : nearest(member, members);
      if (meant !== undefined)
        refuse(
          `"${member}" means nothing; did you mean "${meant}"?`,
          `write ${meant}, or choose another name`,
        );
    }
  const { weight = 1, active = {} } = loss;
  if (!isNumber(weight))
    refuse(`its weight is ${String(weight)}`, "give a finite number or a ramp, such as linear({ ... })");
  for (const [name, rate] of Object.entries(loss.rates ?? {}))
    if (!isNumber(rate))
      refuse(
        `its rate "${name}" is ${String(rate)}`,
        "give a finite number or a ramp, such as linear({ ... })",
      );
  for (const [phase, schedule] of Object.entries(active)) {
    if (!phases.includes(phase) || (schedule !== undefined && typeof schedule?.due !== "function"))
      refuse(
        `active has "${phase}", which is not a schedule for rollout or train`,
        "write active: { train: schedule, rollout: schedule }, either or both",
      );
  }
  for (const [name, { shape }] of Object.entries(loss.fields ?? {}))
    if (!Array.isArray(shape) || !shape.every((n) => Number.isInteger(n) && n >= 0))
      refuse(`its field "${name}" has the shape ${JSON.stringify(shape)}`, "use whole numbers from 0 on");
}

/** A finite number or a ramp. */
const isNumber = (given: unknown): boolean =>
  typeof given === "number" ? Number.isFinite(given) : isRamp(given);
