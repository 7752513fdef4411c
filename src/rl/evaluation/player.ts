import type { Checkpoint } from "../../checkpoint/index.ts";
import { EspalierError, isPlainObject } from "../../core/index.ts";
import type { Tensor } from "../../engine/index.ts";
import type { Params } from "../../nn/index.ts";
import type { StateTree } from "../../state/index.ts";
import type { Setting, Task } from "../../trainer/index.ts";
import type { EnvironmentSource } from "../environments/registry.ts";
import { storedPolicy } from "../policies/build.ts";
import type { Policy, PolicySpaces } from "../policies/policy.ts";
import type { PolicySpec } from "../policies/spec.ts";
import type { Space } from "../spaces/space.ts";
import type { VectorEnvironment } from "../vector/vector.ts";

/**
 * A policy that plays episodes, and the components of a run whose states it needs for that: `params`, and
 * `normalizer` where observations are normalised.
 */
export interface Player {
  readonly policy: Policy;
  readonly reads: readonly string[];
}

/** A task that trains a policy. */
export interface AgentTask extends Task {
  readonly policy: Policy;
  /** Plays episodes with this task's policy, given a snapshot. */
  readonly player: Player;
  /** The parameters now. Training that goes on does not change them. */
  readonly params: Params<Tensor>;
  /** Agent steps of an epoch. */
  readonly samplesPerEpoch: number;
  /** Stops the environments' threads, if any. */
  close(): void;
}

/** The states of components, by name: of a snapshot, or read from a checkpoint. */
export type PlayerState = Readonly<Record<string, StateTree>>;

/** The component with the moments that observations are normalised by: `{ mean, variance, count }`. */
export const normalizer = "normalizer";

/** Refuses a state that lacks a component the player reads. */
export function checkPlayerState({ reads }: Player, state: PlayerState): void {
  for (const name of reads)
    if (!Object.hasOwn(state, name))
      throw new EspalierError("COMPONENT_UNKNOWN", `the player reads "${name}", which the state lacks`, {
        fix: `the state has ${Object.keys(state).join(", ") || "nothing"}: take snapshot(player.reads)`,
      });
}

/**
 * The environment as a run's settings keep it: the name by which an evaluator finds it. A wrapped CartPole is not what
 * its name leads to: then it is no name, and the evaluator has to be told the environment.
 */
export const environmentSetting = ({ name, unlikeNamed }: VectorEnvironment): Setting =>
  unlikeNamed ? { madeByFunction: name } : name;

/** The policy's spaces as a run's settings keep them: with these and its description it can be made again anywhere. */
export const spacesSetting = ({ observationSpace, actionSpace }: PolicySpaces): Setting => ({
  observationSpace: spaceSetting(observationSpace),
  actionSpace: spaceSetting(actionSpace),
});

/** A space in plain lists: bounds may have been given as typed arrays. */
function spaceSetting(space: Space): Setting {
  if (space.kind === "box") {
    const bound = (given: number | readonly number[]) => (typeof given === "number" ? given : [...given]);
    return { kind: "box", shape: [...space.shape], low: bound(space.low), high: bound(space.high) };
  }
  if (space.kind !== "dict") return { ...space };
  const parts = Object.entries(space.spaces).map(([name, part]) => [name, spaceSetting(part)] as const);
  return { kind: "dict", spaces: Object.fromEntries(parts) };
}

export type DescribedPlayer = ReturnType<typeof describedIn>;

/** The policy and environment that a run's settings describe in a checkpoint's manifest. */
export function describedIn({ path, manifest }: Checkpoint) {
  const { task, seed } = membersOf(manifest.config);
  const { policy, spaces, environment } = membersOf(task);
  if (!isPlainObject(policy))
    throw new EspalierError("CHECKPOINT_WITHOUT_POLICY", `the settings of ${path} describe no policy`, {
      fix: "give a checkpoint of a run that trains a policy; a task of your own has { policy, environment } in its settings",
    });
  const isModule = isPlainObject(environment) && typeof environment.module === "string";
  return {
    policy: policy as PolicySpec,
    /** The spaces it was made for. */
    spaces: isSpaces(spaces) ? spaces : undefined,
    environment: typeof environment === "string" || isModule ? (environment as EnvironmentSource) : undefined,
    seed: typeof seed === "number" ? seed : 0,
  };
}

const isSpaces = (value: unknown): value is PolicySpaces => isPlainObject(value);

const membersOf = (value: unknown): Readonly<Record<string, unknown>> => (isPlainObject(value) ? value : {});

/** The policy of a checkpoint, with the states that it needs to act. */
export async function playerIn(
  checkpoint: Checkpoint,
  { policy }: DescribedPlayer,
  spaces: PolicySpaces,
): Promise<{ readonly player: Player; readonly state: PlayerState }> {
  const reads = ["params", ...(checkpoint.components.includes(normalizer) ? [normalizer] : [])];
  const state: Record<string, StateTree> = {};
  for (const name of reads) state[name] = await checkpoint.state(name);
  return { player: { policy: await knownPolicy(policy, spaces), reads }, state };
}

/** The policy that was made last: compiled programs stay with it, for the next checkpoint of its run. */
let newest: { readonly key: string; readonly policy: Policy } | undefined;

export async function knownPolicy(spec: PolicySpec, spaces: PolicySpaces): Promise<Policy> {
  const key = JSON.stringify([spec, spacesSetting(spaces)], (_, value: unknown) =>
    typeof value === "number" ? String(value) : value,
  );
  if (newest?.key !== key) newest = { key, policy: await storedPolicy(spec, spaces) };
  return newest.policy;
}
