import { EspalierError } from "../../../core/index.ts";
import type { Space } from "../../spaces/space.ts";
import type { Distribution } from "../policy.ts";
import type { PolicySpec } from "../spec.ts";
import { categorical, multiCategorical } from "./categorical.ts";
import { gaussian } from "./gaussian.ts";
import { squashedGaussian } from "./squashed-gaussian.ts";

/**
 * The distribution over a space of actions that a policy's description asks for.
 *
 * @example
 * ```ts
 * distributionFor(discrete(2)).kind; // "categorical"
 * distributionFor(box({ shape: [1], low: -2, high: 2 }), { squash: true }).kind; // "squashedGaussian"
 * ```
 */
export function distributionFor(
  space: Space,
  { deviation = "independent", squash = false }: Pick<PolicySpec, "deviation" | "squash"> = {},
): Distribution {
  switch (space.kind) {
    case "discrete":
      return categorical(space.n);
    case "multiDiscrete":
      return multiCategorical(space.choices);
    case "box":
      return squash ? squashedGaussian(space, { deviation }) : gaussian(space, { deviation });
    case "dict":
      throw new EspalierError("SPACE_UNSUPPORTED", "a policy cannot act in a dict of actions", {
        fix: "make the actions one multiDiscrete or one box, and take it apart in the environment",
      });
  }
}
