import { EspalierError } from "../../core/index.ts";
import { checkMade, type Environment } from "../environments/environment.ts";
import { checkAlike, type Description, describeEnvironment } from "./description.ts";
import { failedEnvironment } from "./failure.ts";
import { choiceGroups } from "./masks.ts";

/** Makes environments of a vector and checks that they are alike. Finds out whether they have masks, unless told. */
export function makeAll(
  make: (index: number) => Environment,
  first: number,
  count: number,
  known?: boolean,
): { readonly description: Description; readonly environments: Environment[] } {
  const environments = Array.from({ length: count }, (_, i) => makeOne(make, first + i));
  const { actionSpace } = environments[0] as Environment;
  const masked = known ?? (choiceGroups(actionSpace).length > 0 && givesMasks(make, first));
  const description = describeEnvironment(environments[0] as Environment, masked);
  environments.forEach((environment, i) => {
    checkAlike(description, describeEnvironment(environment, masked), first + i);
  });
  return { description, environments };
}

function makeOne(make: (index: number) => Environment, index: number): Environment {
  try {
    return checkMade(make(index), "make");
  } catch (cause) {
    if (cause instanceof EspalierError) throw cause;
    throw failedEnvironment({ name: "an environment", index, step: 0, during: "make" }, cause);
  }
}

/**
 * Whether environments say which actions are allowed, found out with one that is thrown away: a reset more would
 * change those that count what they have seen.
 */
function givesMasks(make: (index: number) => Environment, index: number): boolean {
  const environment = makeOne(make, index);
  try {
    return environment.reset({ seed: 0 }).actionMask !== undefined;
  } catch {
    // Whatever is wrong with it is told when it is really begun.
    return false;
  } finally {
    environment.close?.();
  }
}
