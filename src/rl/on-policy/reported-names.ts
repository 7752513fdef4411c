import { evalShape, spec, type Value } from "../../engine/index.ts";
import type { Params } from "../../nn/index.ts";
import type { Experience } from "../experience/experience.ts";
import type { Policy } from "../policies/policy.ts";
import type { Layout, PolicyObjective, Sizes } from "./layout.ts";

export interface ReportSpec {
  readonly policy: Policy;
  readonly objective: PolicyObjective;
  readonly layout: Layout;
  readonly sizes: Sizes;
  readonly params: Params<unknown>;
}

/** The names of what an update reports when all losses take part. */
export function reportedNames({ policy, objective, layout, sizes, params }: ReportSpec): readonly string[] {
  const find = (p: Params, rows: Value, key: Value) => {
    const memory = policy.initialState(sizes.batch);
    const batch = { ...layout.learned.fields(rows), memory } as unknown as Experience;
    const weights = Object.fromEntries(Object.keys(objective.ramps).map((name) => [name, 1]));
    return objective.evaluate(objective.names)(p, batch, weights, { train: true, key }).metrics;
  };
  const rows = spec([sizes.batch * sizes.segment, layout.learned.width]);
  return Object.keys(evalShape(find as never, params, rows, spec([2], "u32")) as object);
}
