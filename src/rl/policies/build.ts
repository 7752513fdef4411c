/**
 * From a description to a policy, in reading order:
 *
 *     PolicySpec (spec.ts) -> buildPolicy | loadPolicy
 *       towerPolicy (tower-policy.ts): observation -> tower -> heads -> distribution parameters, value
 *         encoder (encoders.ts): dense layers, or convolutions over images
 *         distributionFor(actionSpace) (distributions.ts): sample, logProb, entropy, kl, act
 *
 * policy.ts has the contract that all of them implement.
 */
import { EspalierError } from "../../core/index.ts";
import { importFunction } from "../environments/import-function.ts";
import { withScale } from "./encoders.ts";
import type { Policy, PolicySpaces } from "./policy.ts";
import { checkSpec, type PolicySpec } from "./spec.ts";
import { towerPolicy } from "./tower-policy.ts";

export interface BuildOptions {
  /** Observations are normalized before the policy sees them, so bounds do not scale images. Default: false. */
  readonly normalized?: boolean;
}

/**
 * Builds the policy that a spec describes. `buildPolicy({}, environment)` is CleanRL's: two towers of two layers of 64
 * with tanh.
 *
 * Parameters have readable paths: `policy.hidden0.w`, `policy.head.w`, `policy.logDeviation`, `value.hidden0.w`,
 * `value.head.w`; shared layers are under `shared`. Each tower has its own memory (`policy.memory`), so a shared tower
 * has one for both. A spec with a `module` is for {@link loadPolicy}.
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
 * Builds the policy that a spec describes as {@link buildPolicy} does, or imports a custom one from its `module`: a
 * file by its URL or absolute path, which exports `(spaces) => Policy` under the name given.
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

/** Builds a policy from the stored spec of another one, whose defaults were resolved when that one was built. */
export async function storedPolicy(spec: PolicySpec, spaces: PolicySpaces): Promise<Policy> {
  checkSpec(spec);
  const { module } = spec;
  if (module === undefined) return towerPolicy(spec, spaces);
  const own = await importPolicy(module, spaces);
  const { observationSpace, actionSpace } = spaces;
  return {
    // It is built again from this spec, whatever the policy says itself.
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

const members = ["distribution", "init", "initialState", "step", "unroll"] as const;

async function importPolicy(
  { url, name }: NonNullable<PolicySpec["module"]>,
  spaces: PolicySpaces,
): Promise<Policy> {
  if (url.startsWith("."))
    throw moduleError(`"${url}" is relative to nothing`, "give new URL(file, import.meta.url).href");
  const make = await importFunction(url, name, (what, fix, cause) =>
    moduleError(`${url} ${what}`, fix, cause),
  );
  const policy = (await make(spaces)) as Partial<Policy> | undefined;
  const lacks = members.filter((member) => !policy?.[member]);
  if (lacks.length > 0)
    throw moduleError(`what "${name}" of ${url} made has no ${lacks.join(", ")}`, "make it return a Policy");
  return policy as Policy;
}

const moduleError = (message: string, fix: string, cause?: unknown): EspalierError =>
  new EspalierError("POLICY_MODULE", `loadPolicy: ${message}`, { fix, cause });
