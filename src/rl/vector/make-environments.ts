import { EspalierError } from "../../core/index.ts";
import { checkMade, type Environment } from "../environments/environment.ts";
import { choiceGroups, type Space } from "../spaces/space.ts";
import { failedEnvironment } from "./failure.ts";

/** Properties that all environments of a vector share. Plain data. */
export type Description = Readonly<ReturnType<typeof describe>>;

/**
 * Makes the environments `first` to `first + count` of a vector and checks that they are alike. Where `masked` is not
 * given, it finds out if they give action masks with another one that it closes: an additional reset would change
 * environments that count what they have seen.
 */
export function makeEnvironments(
  make: (index: number) => Environment,
  first: number,
  count: number,
  masked?: boolean | ((actionSpace: Space) => boolean),
): { readonly description: Description; readonly environments: Environment[] } {
  const environments: Environment[] = [];
  try {
    for (let i = 0; i < count; i++) environments.push(makeOne(make, first + i));
    const { actionSpace } = environments[0] as Environment;
    const known =
      (typeof masked === "function" ? masked(actionSpace) : masked) ??
      (choiceGroups(actionSpace).length > 0 && givesMasks(make, first));
    const description = describe(environments[0] as Environment, known);
    environments.forEach((environment, i) => {
      checkAlike(description, describe(environment, known), first + i);
    });
    return { description, environments };
  } catch (error) {
    for (const environment of environments) environment.close?.();
    throw error;
  }
}

function makeOne(make: (index: number) => Environment, index: number): Environment {
  try {
    return checkMade(make(index), "make");
  } catch (cause) {
    if (cause instanceof EspalierError) throw cause;
    throw failedEnvironment({ name: "an environment", index, step: 0, during: "make" }, cause);
  }
}

function givesMasks(make: (index: number) => Environment, index: number): boolean {
  const environment = makeOne(make, index);
  try {
    return environment.reset({ seed: 0 }).actionMask !== undefined;
  } catch {
    // The vector's own reset will report it.
    return false;
  } finally {
    environment.close?.();
  }
}

const describe = (environment: Environment, masked: boolean) => ({
  name: environment.name,
  observationSpace: environment.observationSpace,
  actionSpace: environment.actionSpace,
  agents: environment.agents ?? 1,
  lessons: environment.lessons,
  /** True if they give action masks. */
  masked,
});

/** Refuses an environment whose spaces, agents or lessons are not those of the first one. */
export function checkAlike(first: Description, other: Description, index: number): void {
  const differs = (["observationSpace", "actionSpace", "agents", "lessons"] as const).find(
    (key) => jsonOf(first[key]) !== jsonOf(other[key]),
  );
  if (differs === undefined) return;
  throw new EspalierError(
    "ENVIRONMENT_INVALID",
    `the ${differs} of ${other.name} (environment ${index} of its vector) is not that of environment 0: ` +
      `${jsonOf(other[differs])} and ${jsonOf(first[differs])}`,
    { fix: "let make() return environments of the same spaces, agents and lessons" },
  );
}

/** JSON has no infinities, and bounds have. */
const jsonOf = (value: unknown): string =>
  JSON.stringify(value, (_, part) => (typeof part === "number" ? String(part) : part)) ?? "none";
