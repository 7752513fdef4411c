import { checkNames, checkSize, type EspalierError } from "../../core/index.ts";
import type { StateTree } from "../../state/index.ts";
import type { Environment } from "../environments/environment.ts";
import { makeEnvironment } from "../environments/registry.ts";
import { type Description, sizesOf } from "./description.ts";
import { EnvironmentSet } from "./environment-set.ts";
import { failurePolicies } from "./failure.ts";
import { HostVector } from "./host-vector.ts";
import { InfoSums } from "./infos.ts";
import { makeAll } from "./make-all.ts";
import { type Memory, ownMemory } from "./memory.ts";
import { EnvironmentRows } from "./rows.ts";
import type { Restart, Stepper } from "./stepper.ts";
import { type RestartingVector, type VectorOptions, warnOfRestart } from "./vector-options.ts";

/** Options of {@link vectorEnvironment}. */
export interface VectorEnvironmentOptions extends VectorOptions {
  /** Makes the environment of an index, or the name of a registered one. */
  readonly make: string | ((index: number) => Environment);
}

/**
 * Environments that step together in this thread, one after the other: for environments as light as CartPole, whose
 * steps take less time than telling another thread of them.
 *
 * An environment that fails is named with its index and step. Under `onFailure: "restart"` it is made anew, and the
 * others never notice. Only one that does not come back from a call cannot be helped here, because nothing else runs
 * in the meantime: for that there is {@link threadedEnvironment}.
 *
 * @example
 * ```ts
 * const vector = vectorEnvironment({ make: "CartPole-v1", count: 4 });
 * vector.reset(42);
 * for (let t = 0; t < 128; t++) {
 *   vector.step(policy(vector.observations));
 *   for (const { return: total, length } of vector.ended()) console.log(total, length);
 * }
 * ```
 */
export function vectorEnvironment(options: VectorEnvironmentOptions): RestartingVector {
  checkNames("vectorEnvironment", options, ["make", "count", "onFailure", "onRestart"]);
  const count = checkSize("vectorEnvironment", "count", options.count);
  const { make: given } = options;
  const make = typeof given === "string" ? () => makeEnvironment(given) : given;
  const { description, environments } = makeAll(make, 0, count);
  const memory = ownMemory(sizesOf(description, count));
  const policies = failurePolicies(options.onFailure, count);
  const stepper = new OwnStepper(description, memory, { environments, make, policies });
  return new HostVector(description, memory, stepper, {
    onRestart: options.onRestart ?? warnOfRestart,
    make: given,
  });
}

/** Steps environments in this thread. */
class OwnStepper implements Stepper {
  readonly parts: Stepper["parts"];
  readonly restarts: Restart[] = [];
  readonly infos = new InfoSums();
  readonly outside: string[] = [];
  readonly #environments: EnvironmentSet;
  readonly #rows: EnvironmentRows;

  constructor(
    description: Description,
    memory: Memory,
    {
      environments,
      make,
      policies,
    }: {
      readonly environments: Environment[];
      readonly make: (index: number) => Environment;
      readonly policies: Uint8Array;
    },
  ) {
    this.parts = [{ first: 0, count: environments.length, memory }];
    const set = new EnvironmentSet({ memory, environments, make, first: 0 });
    this.#environments = set;
    this.#rows = new EnvironmentRows({
      description,
      memory,
      environments: set,
      policies,
      restarted: (index: number, error: EspalierError) => this.restarts.push({ index, error }),
      informed: (index, info) => this.infos.add(index, info),
      outside: (text) => this.outside.push(text),
    });
  }

  revive(): void {}

  begin(): void {
    this.#rows.begin();
  }

  step(actions: Float32Array): void {
    this.#rows.step(actions);
  }

  states(): readonly StateTree[] {
    return this.#environments.states();
  }

  restore(states: readonly StateTree[]): void {
    this.#environments.restore(states);
  }

  close(): void {
    this.#environments.close();
  }
}
