import type { Setting } from "../../trainer/index.ts";
import type { PolicySpaces } from "../policies/policy.ts";
import type { Space } from "../spaces/space.ts";
import type { VectorEnvironment } from "./vector.ts";

/**
 * The environment of a run as it files it: the name by which an evaluator finds it. Where that name leads elsewhere, as
 * for CartPole in a wrapper, it is no name, and whoever evaluates has to say which environment is meant.
 */
export const environmentSetting = ({ name, unlikeNamed }: VectorEnvironment): Setting =>
  unlikeNamed ? { madeByFunction: name } : name;

/** What a policy observes and does, as a run files it: from this and its description it is made again anywhere. */
export const spacesSetting = ({ observationSpace, actionSpace }: PolicySpaces): Setting => ({
  observationSpace: plain(observationSpace),
  actionSpace: plain(actionSpace),
});

/** In plain lists: bounds may have been given as typed arrays. */
function plain(space: Space): Setting {
  if (space.kind === "box") {
    const bound = (given: number | readonly number[]) => (typeof given === "number" ? given : [...given]);
    return { kind: "box", shape: [...space.shape], low: bound(space.low), high: bound(space.high) };
  }
  if (space.kind !== "dict") return { ...space };
  const parts = Object.entries(space.spaces).map(([name, part]) => [name, plain(part)] as const);
  return { kind: "dict", spaces: Object.fromEntries(parts) };
}
