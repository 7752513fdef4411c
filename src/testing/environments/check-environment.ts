import type { Environment } from "../../rl/index.ts";
import type { ConformanceCase } from "../conformance.ts";
import { Bench, type EnvironmentCheck } from "./bench.ts";
import { futureChecks } from "./future-checks.ts";
import { givenChecks } from "./given-checks.ts";

const checks = { ...givenChecks, ...futureChecks };

/**
 * The conformance suite of environments: what it gives lies in its spaces, episodes end, the same seed gives the same
 * episode, a state gives back the future, and nothing is shared that is written into. `make` gives a new environment
 * each time. Actions are random, within action masks.
 *
 * @example
 * ```ts
 * for (const { name, run } of checkEnvironment(() => new MyEnvironment())) test(name, run);
 * ```
 */
export function checkEnvironment(
  make: () => Environment,
  options: EnvironmentCheck = {},
): readonly ConformanceCase[] {
  return Object.entries(checks).map(([name, check]) => ({
    name,
    run: async () => check(new Bench(make, options)),
  }));
}

/**
 * All that {@link checkEnvironment} finds wrong, in words: none where all is well.
 *
 * @example
 * ```ts
 * for (const fault of await environmentFaults(makeWalk)) console.log(fault);
 * ```
 */
export async function environmentFaults(
  make: () => Environment,
  options: EnvironmentCheck = {},
): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const { name, run } of checkEnvironment(make, options))
    await run().catch((error: unknown) => {
      faults.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    });
  return faults;
}
