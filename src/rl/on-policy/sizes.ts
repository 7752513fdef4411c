import { badOption, checkSize } from "../../core/index.ts";
import type { Policy } from "../policies/policy.ts";
import type { Sizes } from "./layout.ts";
import type { OnPolicyOptions } from "./options.ts";

/** How a rollout is cut: into segments that stay together, and these into minibatches of one size. */
export function sizesOf(
  kind: string,
  options: Pick<OnPolicyOptions, "rolloutSteps" | "minibatches" | "segment">,
  policy: Policy,
  rows: number,
): Sizes {
  const steps = checkSize(kind, "rolloutSteps", options.rolloutSteps);
  const minibatches = checkSize(kind, "minibatches", options.minibatches ?? 1);
  const segment = checkSize(kind, "segment", options.segment ?? (policy.recurrent ? steps : 1));
  if (steps % segment !== 0)
    throw badOption(
      kind,
      `${steps} steps cannot be cut into segments of ${segment}`,
      "let segment divide rolloutSteps",
    );
  const segments = (steps / segment) * rows;
  if (segments % minibatches !== 0)
    throw badOption(
      kind,
      `${segments} ${segment === 1 ? "steps" : "segments"} (${steps} steps of ${rows} rows) cannot be cut into ${minibatches} minibatches of one size`,
      segment > 1
        ? "take fewer minibatches, more environments, or a shorter segment"
        : "let minibatches divide rolloutSteps times environments",
    );
  return { steps, rows, segment, segments, batch: segments / minibatches, minibatches };
}
