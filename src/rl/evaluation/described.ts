import { fileURLToPath } from "node:url";
import type { Checkpoint } from "../../checkpoint/index.ts";
import { EspalierError, isPlainObject } from "../../core/index.ts";
import type { StateTree } from "../../state/index.ts";
import type { EnvironmentSource } from "../environments/registry.ts";
import { storedPolicy } from "../policies/build.ts";
import type { PolicySpaces } from "../policies/policy.ts";
import type { PolicySpec } from "../policies/spec.ts";
import { normalizer, type Player, type PlayerState } from "./player.ts";

/** Whether a checkpoint's address is a path or a `file:` URI, which `evaluateCheckpoint` opens. */
export const isFileAddress = (address: string): boolean =>
  // One letter is a drive.
  address.startsWith("file:") || !/^[a-z][a-z0-9+.-]+:/i.test(address);

/** Where a checkpoint lies, by its path or `file:` URI. */
export function pathOf(address: string): string {
  if (address.startsWith("file:")) return fileURLToPath(address);
  if (isFileAddress(address)) return address;
  throw new EspalierError("CHECKPOINT_ADDRESS", `${address} cannot be opened from here`, {
    fix: "give a path or a file: URI; publish checkpoints that are to be evaluated to a directory",
  });
}

/** What a run's settings say of its policy: enough to make it again. */
export interface Described {
  readonly policy: PolicySpec;
  /** What it was made for. */
  readonly spaces: PolicySpaces | undefined;
  readonly environment: EnvironmentSource | undefined;
  readonly seed: number;
}

/** Reads it from a checkpoint's manifest. */
export function describedIn({ path, manifest }: Checkpoint): Described {
  const { task, seed } = (isPlainObject(manifest.config) ? manifest.config : {}) as Readonly<
    Record<string, unknown>
  >;
  const { policy, spaces, environment } = (isPlainObject(task) ? task : {}) as Readonly<
    Record<string, unknown>
  >;
  if (!isPlainObject(policy))
    throw new EspalierError("CHECKPOINT_WITHOUT_POLICY", `the settings of ${path} describe no policy`, {
      fix: "give a checkpoint of a run that trains a policy; a task of one's own has { policy, environment } in its settings",
    });
  const isModule = isPlainObject(environment) && typeof environment.module === "string";
  return {
    policy: policy as PolicySpec,
    spaces: isPlainObject(spaces) ? (spaces as unknown as PolicySpaces) : undefined,
    environment: typeof environment === "string" || isModule ? (environment as EnvironmentSource) : undefined,
    seed: typeof seed === "number" ? seed : 0,
  };
}

/** The policy of a checkpoint, with the states that it needs to act. */
export async function playerIn(
  checkpoint: Checkpoint,
  { policy }: Described,
  spaces: PolicySpaces,
): Promise<{ readonly player: Player; readonly state: PlayerState }> {
  const reads = ["params", ...(checkpoint.components.includes(normalizer) ? [normalizer] : [])];
  const state: Record<string, StateTree> = {};
  for (const name of reads) state[name] = await checkpoint.state(name);
  return { player: { policy: await storedPolicy(policy, spaces), reads }, state };
}
