import { EspalierError } from "../../core/index.ts";
import type { Environment } from "../environments/environment.ts";
import type { Policy } from "../policies/policy.ts";
import { flatSize, type Space } from "../spaces/space.ts";

/** Refuses an environment whose spaces are not those that the policy was made for. */
export function checkFits(policy: Policy, environment: Environment): void {
  const problems = [
    ["observations", policy.observationSpace, environment.observationSpace] as const,
    ["actions", policy.actionSpace, environment.actionSpace] as const,
  ].filter(([, made, given]) => !sameSpace(made, given));
  if (problems.length === 0) return;
  const list = problems.map(
    ([what, made, given]) =>
      `its ${what} are ${spaceText(given)}, and the policy was made for ${spaceText(made)}`,
  );
  throw new EspalierError(
    "SPACES_MISMATCH",
    `the policy cannot play ${environment.name}: ${list.join("; ")}`,
    {
      fix: "evaluate on the environment that it was trained on, or wrap this one so that the spaces are the same",
    },
  );
}

/** Bounds may differ: the policy has its own. */
const sameSpace = (a: Space, b: Space): boolean => canonical(a) === canonical(b);

function canonical(space: Space): string {
  switch (space.kind) {
    case "discrete":
      return `discrete ${space.n}`;
    case "multiDiscrete":
      return `multiDiscrete ${space.choices.join(",")}`;
    case "box":
      return `box ${space.shape.join(",")}`;
    case "dict":
      return Object.keys(space.spaces)
        .sort()
        .map((name) => `${JSON.stringify(name)}: ${canonical(space.spaces[name] as Space)}`)
        .join("; ");
  }
}

/** A space in words. */
export function spaceText(space: Space): string {
  switch (space.kind) {
    case "discrete":
      return `one of ${space.n} choices`;
    case "multiDiscrete":
      return `choices of ${space.choices.join(", ")}`;
    case "box":
      return `a box of [${space.shape.join(", ")}]`;
    case "dict":
      return `a dict of ${Object.keys(space.spaces).sort().join(", ")} (${flatSize(space)} numbers)`;
  }
}
