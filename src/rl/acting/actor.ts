import { checkNames, checkSize, EspalierError } from "../../core/index.ts";
import { type EngineChoice, hostRandom } from "../../engine/index.ts";
import type { Player, PlayerState } from "../evaluation/player.ts";
import { hasMasks, PolicySteps } from "../evaluation/policy-steps.ts";
import type { Policy } from "../policies/policy.ts";
import { readAction } from "../spaces/flat.ts";
import { actionSize, type SpaceValue } from "../spaces/space.ts";
import { ownMemory, sizesOf } from "../vector/memory.ts";
import { RowWriter } from "../vector/row-writer.ts";

/** How a policy is asked. */
export interface ActorOptions {
  /** Whether it does what it finds best, or draws its actions. Default true. */
  readonly deterministic?: boolean;
  /** Where draws come from. Default 0. */
  readonly seed?: number;
  /** How many act at once, each with a memory of its own where the policy remembers. Default 1. */
  readonly count?: number;
  /** Where the policy runs. Default: where its parameters are. */
  readonly engine?: EngineChoice;
}

/** What an actor is opened with. */
export interface OpenActorOptions extends ActorOptions {
  /** A task's: `task.player`. */
  readonly player: Player;
  /** States of the components that the player reads: of a snapshot, or of a checkpoint. */
  readonly state: PlayerState;
}

/**
 * A policy that has been trained, for use: in a game, a simulation, behind a server. `A` is what its actions are, as
 * the action space has it: a number for choices, a Float32Array for a box.
 */
export interface Actor<A extends SpaceValue = SpaceValue> {
  readonly policy: Policy;
  /** How many act. */
  readonly count: number;
  /** What to do, seeing this. Both are as the environment gives and takes them. */
  act(observation: SpaceValue, actionMask?: ArrayLike<number>): A;
  /** The same for all of them, in their order. */
  actAll(observations: readonly SpaceValue[], actionMasks?: readonly (ArrayLike<number> | undefined)[]): A[];
  /** An episode begins: what was remembered is forgotten, by all or by one. */
  reset(index?: number): void;
}

const kind = "actor";
export const actorNames = ["deterministic", "seed", "count", "engine"];

/**
 * A policy with the parameters of a run, to act with. `agent.actor()` and `loadActor` are shorter.
 *
 * @example
 * ```ts
 * const { components } = await task.snapshot(task.player.reads);
 * const actor = await openActor<number>({ player: task.player, state: components });
 * const choice = actor.act([0.01, -0.2, 0.03, 0.4]);
 * ```
 */
export async function openActor<A extends SpaceValue = SpaceValue>(
  options: OpenActorOptions,
): Promise<Actor<A>> {
  checkNames(kind, options, ["player", "state", ...actorNames]);
  const { player, state, deterministic = true, seed = 0, engine } = options;
  const { policy } = player;
  const { observationSpace, actionSpace } = policy;
  const count = checkSize(kind, "count", options.count ?? 1);
  const description = { observationSpace, actionSpace, agents: 1, masked: hasMasks(policy) };
  const memory = ownMemory(sizesOf(description, count));
  const writer = new RowWriter(description, memory);
  memory.resets.fill(1);
  const keys = new Uint32Array(2 * count);
  const inputs = {
    observations: memory.observations,
    resets: memory.resets,
    masks: description.masked ? memory.actionMasks : undefined,
    keys,
  };
  const size = actionSize(actionSpace);
  const steps = await PolicySteps.open({ player, state, rows: count, deterministic, engine });
  const draws = new Draws(seed);

  const actAll: Actor<A>["actAll"] = (observations, actionMasks = []) => {
    if (observations?.length !== count)
      throw new EspalierError(
        "SHAPE_MISMATCH",
        `${kind}: there are ${observations?.length ?? "no"} observations for ${count} that act`,
        { fix: "give one for each, or open it with another count" },
      );
    observations.forEach((observation, row) => {
      const actionMask = actionMasks[row];
      const seen = { observation, ...(actionMask && { actionMask: Uint8Array.from(actionMask) }) };
      const fault = writer.observe(row, seen);
      if (fault)
        throw new EspalierError(
          "OBSERVATION_INVALID",
          `${kind}: it was given${fault.what.replace(/^gave/, "")}`,
          { fix: "give observations as the environment that it was trained on does" },
        );
    });
    if (!deterministic) draws.into(keys);
    const actions = steps.actNow(inputs);
    memory.resets.fill(0);
    return observations.map((_, row) => readAction(actionSpace, actions, row * size) as A);
  };

  return {
    ...{ policy, count, actAll },
    act: (observation, actionMask) => actAll([observation], [actionMask])[0] as A,
    reset: (index) => {
      if (index === undefined) memory.resets.fill(1);
      else if (Number.isInteger(index) && index >= 0 && index < count) memory.resets[index] = 1;
      else
        throw new EspalierError(
          "INDEX_OUT_OF_RANGE",
          `${kind}: there is no ${index} among ${count} that act`,
          {
            fix: `give an index from 0 to ${count - 1}, or none for all`,
          },
        );
    },
  };
}

/** Keys for one step after the other. */
class Draws {
  readonly #key: Uint32Array;
  #steps = 0;

  constructor(seed: number) {
    this.#key = hostRandom.hostKey(seed);
  }

  into(keys: Uint32Array): void {
    keys.set(hostRandom.hostBits(hostRandom.hostFoldIn(this.#key, this.#steps++), keys.length));
  }
}
