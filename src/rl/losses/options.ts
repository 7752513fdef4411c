import { badOption, shown } from "../../core/index.ts";
import type { Loss } from "../../losses/index.ts";
import type { Ramp, Schedule } from "../../schedule/index.ts";

/** What every loss here takes. */
export interface LossSettings {
  /** How much it counts. */
  readonly weight?: Ramp | number | undefined;
  /** When it takes part. Left out: always. */
  readonly active?: { readonly rollout?: Schedule; readonly train?: Schedule } | undefined;
  /** What it is called, where there are two of a kind. */
  readonly name?: string | undefined;
}

/** The members of a loss that are given as they are. */
export function settingsOf(
  name: string,
  weight: number,
  given: LossSettings,
): Pick<Loss, "name" | "weight" | "active"> {
  return {
    name: given.name ?? name,
    weight: given.weight ?? weight,
    ...(given.active && { active: given.active }),
  };
}

/** A range to clip to: above 0 where it is a number. */
export function checkClip(kind: string, clip: Ramp | number): void {
  if (typeof clip === "number" && !(clip > 0))
    throw badOption(kind, `clip is ${shown(clip)}`, "give a number above 0, or a ramp");
}
