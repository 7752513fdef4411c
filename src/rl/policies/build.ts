import { EspalierError } from "../../core/index.ts";
import { checkSpec } from "./check-spec.ts";
import { withScale } from "./cnn-encoder.ts";
import type { Policy } from "./policy.ts";
import { importedPolicy } from "./policy-module.ts";
import type { PolicySpec } from "./spec.ts";
import { type PolicySpaces, towerPolicy } from "./tower-policy.ts";

export type { PolicySpaces } from "./tower-policy.ts";

export interface BuildOptions {
  /** Observations are normalised before the policy sees them, so that bounds say nothing of pictures. Default: false. */
  readonly normalized?: boolean;
}

/**
 * The policy that a description asks for, over these spaces. `buildPolicy({}, environment)` is CleanRL's: two towers of
 * two layers of 64 with tanh.
 *
 * Parameters have readable paths: `policy.hidden0.w`, `policy.head.w`, `policy.logDeviation`, `value.hidden0.w`,
 * `value.head.w`; what both share stands under `shared`. Each tower has a memory of its own (`policy.memory`), so that
 * a shared tower has one for both. A description with a `module` is for {@link loadPolicy}.
 *
 * @example
 * ```ts
 * const policy = buildPolicy({ memory: { kind: "gru", width: 64 } }, environment);
 * const params = policy.init(0);
 * const act = compile((p: Params, input: PolicyStep, key: Value) => {
 *   const { parameters, state } = policy.step(p, input);
 *   return { action: policy.distribution.sample(parameters, key), state };
 * });
 * ```
 */
export function buildPolicy(spec: PolicySpec, spaces: PolicySpaces, options: BuildOptions = {}): Policy {
  checkSpec(spec);
  if (spec.module === undefined)
    return towerPolicy(options.normalized ? spec : withScale(spec, spaces.observationSpace), spaces);
  throw new EspalierError(
    "POLICY_MODULE",
    `buildPolicy: this policy is "${spec.module.name}" of ${spec.module.url}, which must be imported first`,
    { fix: "use await loadPolicy(spec, spaces)" },
  );
}

/**
 * The policy that a description asks for, as {@link buildPolicy} makes it, or one of your own from its `module`: a file
 * by its URL or absolute path, which exports `(spaces) => Policy` under the name given.
 *
 * @example
 * ```ts
 * const url = new URL("./my-policy.ts", import.meta.url).href;
 * const policy = await loadPolicy({ module: { url, name: "myPolicy" } }, environment);
 * ```
 */
export async function loadPolicy(spec: PolicySpec, spaces: PolicySpaces): Promise<Policy> {
  checkSpec(spec);
  return storedPolicy(withScale(spec, spaces.observationSpace), spaces);
}

/** The policy that the description of another one asks for: what that one left out stays as it was there. */
export async function storedPolicy(spec: PolicySpec, spaces: PolicySpaces): Promise<Policy> {
  checkSpec(spec);
  const { module } = spec;
  if (module === undefined) return towerPolicy(spec, spaces);
  const own = await importedPolicy(module, spaces);
  const { observationSpace, actionSpace } = spaces;
  return {
    // It is made again from the description it came from, whatever it says itself.
    spec,
    observationSpace,
    actionSpace,
    distribution: own.distribution,
    recurrent: own.recurrent,
    convolves: own.convolves,
    init: (key, options) => own.init(key, options),
    initialState: (rows) => own.initialState(rows),
    step: (params, input, options) => own.step(params, input, options),
    unroll: (params, input, options) => own.unroll(params, input, options),
  };
}
