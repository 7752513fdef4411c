import { openCheckpoint } from "../../checkpoint/index.ts";
import { checkOptions, EspalierError, type Options, option, required } from "../../core/index.ts";
import { hostRandom } from "../../engine/index.ts";
import { spacesOf } from "../environments/registry.ts";
import { describedIn, type Player, type PlayerState, playerIn } from "../evaluation/player.ts";
import { hasMasks, policySteps } from "../evaluation/policy-steps.ts";
import * as rows from "../option-rows.ts";
import type { Policy } from "../policies/policy.ts";
import { readAction } from "../spaces/flat.ts";
import { actionSize, type SpaceValue } from "../spaces/space.ts";
import { ownMemory, sizesOf } from "../vector/memory.ts";
import { RowWriter } from "../vector/row-writer.ts";

/**
 * A trained policy for use in a game, a simulation, behind a server. `A` is the type of its actions: a number for
 * choices, a Float32Array for a box.
 */
export interface Actor<A extends SpaceValue = SpaceValue> {
  readonly policy: Policy;
  /** Agents that act at once. */
  readonly count: number;
  /** The action for an observation, both as the environment gives and takes them. */
  act(observation: SpaceValue, actionMask?: ArrayLike<number | boolean>): A;
  /** The actions of all agents, in order. */
  actAll(
    observations: readonly SpaceValue[],
    actionMasks?: readonly (ArrayLike<number | boolean> | undefined)[],
  ): A[];
  /** Begins an episode: clears the memory of all agents, or of one. */
  reset(index?: number): void;
}

const kind = "actor";
export const actorOptions = {
  /** Takes the most likely action instead of sampling. Default: true. */
  deterministic: rows.flag,
  /** The seed of samples. Default: 0. */
  seed: rows.checkedElsewhere.seed,
  /** Agents that act at once, each with its own memory. Default: 1. */
  count: rows.size,
  /** The engine of the policy. Default: that of its parameters. */
  engine: rows.checkedElsewhere.engine,
};

/** Options of actors. */
export interface ActorOptions extends Options<typeof actorOptions> {}

const openOptions = {
  ...actorOptions,
  /** `task.player`. */
  player: required(option.anything<Player>("task.player")),
  /** States of the components that the player reads: of a snapshot, or of a checkpoint. */
  state: required(option.anything<PlayerState>("states of components by name")),
};

/**
 * Opens a policy with the parameters of a run. `agent.actor()` and `loadActor` are shorter.
 *
 * @example
 * ```ts
 * const { components } = await task.snapshot(task.player.reads);
 * const actor = await openActor<number>({ player: task.player, state: components });
 * const choice = actor.act([0.01, -0.2, 0.03, 0.4]);
 * ```
 */
export async function openActor<A extends SpaceValue = SpaceValue>(
  options: Options<typeof openOptions>,
): Promise<Actor<A>> {
  checkOptions(kind, options, openOptions);
  const { player, state, deterministic = true, seed = 0, engine } = options;
  const { policy } = player;
  const { observationSpace, actionSpace } = policy;
  const { count = 1 } = options;
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
  const steps = await policySteps({ player, state, rows: count, deterministic, engine });
  const key = hostRandom.hostKey(seed);
  let drawn = 0;

  const actAll: Actor<A>["actAll"] = (observations, actionMasks = []) => {
    if (observations?.length !== count)
      throw new EspalierError(
        "SHAPE_MISMATCH",
        `${kind}: there are ${observations?.length ?? "no"} observations for ${count} that act`,
        { fix: "give one for each, or open it with another count" },
      );
    observations.forEach((observation, row) => {
      const actionMask = actionMasks[row];
      const seen = { observation, ...(actionMask && { actionMask: Uint8Array.from(actionMask, Number) }) };
      const fault = writer.observe(row, seen);
      if (fault)
        throw new EspalierError(
          "OBSERVATION_INVALID",
          `${kind}: it was given${fault.what.replace(/^gave/, "")}`,
          { fix: "give observations as the environment that it was trained on does" },
        );
    });
    if (!deterministic) keys.set(hostRandom.hostBits(hostRandom.hostFoldIn(key, drawn++), keys.length));
    const actions = steps.actNow(inputs);
    memory.resets.fill(0);
    return observations.map((_, row) => readAction(actionSpace, actions, row * size) as A);
  };

  return {
    policy,
    count,
    actAll,
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

const loadOptions = {
  ...actorOptions,
  /** The environment of the training, for checkpoints of tasks whose settings have no spaces. */
  env: rows.source,
};

/**
 * Loads the policy of a checkpoint by a path, a `file:` URI or `s3://bucket/prefix`; of a directory of checkpoints,
 * that of the newest complete one. Neither the training's code nor its environment is needed.
 *
 * @example
 * ```ts
 * const pilot = await loadActor<number>("runs/cartpole");
 * const choice = pilot.act(observation);
 * ```
 */
export async function loadActor<A extends SpaceValue = SpaceValue>(
  address: string | URL,
  options: Options<typeof loadOptions> = {},
): Promise<Actor<A>> {
  checkOptions("loadActor", options, loadOptions);
  const { env, ...rest } = options;
  const checkpoint = await openCheckpoint(address);
  const described = describedIn(checkpoint);
  const source = env ?? described.environment;
  const spaces = described.spaces ?? (source && (await spacesOf(source)));
  if (!spaces)
    throw new EspalierError(
      "ENVIRONMENT_MISSING",
      `the settings of ${checkpoint.path} do not say what it observes and does`,
      { fix: "give the environment that it was trained on: loadActor(path, { env })" },
    );
  return openActor<A>({ ...rest, ...(await playerIn(checkpoint, described, spaces)) });
}
