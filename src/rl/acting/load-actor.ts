import { openCheckpoint } from "../../checkpoint/index.ts";
import { checkNames, EspalierError } from "../../core/index.ts";
import { type EnvironmentSource, spacesOf } from "../environments/registry.ts";
import { describedIn, pathOf, playerIn } from "../evaluation/player.ts";
import type { SpaceValue } from "../spaces/space.ts";
import { type Actor, type ActorOptions, actorNames, openActor } from "./actor.ts";

/** Options of {@link loadActor}. */
export interface LoadActorOptions extends ActorOptions {
  /** What it was trained on, for checkpoints of tasks that do not say what they observe and do. */
  readonly environment?: EnvironmentSource;
}

/**
 * The policy of a checkpoint, to act with: by a path or a `file:` URI, of a directory of checkpoints the newest whole
 * one. Nothing of the training is needed, nor its environment.
 *
 * @example
 * ```ts
 * const pilot = await loadActor<number>("runs/cartpole");
 * const choice = pilot.act(observation);
 * ```
 */
export async function loadActor<A extends SpaceValue = SpaceValue>(
  address: string | URL,
  options: LoadActorOptions = {},
): Promise<Actor<A>> {
  checkNames("loadActor", options, ["environment", ...actorNames]);
  const { environment, ...rest } = options;
  const checkpoint = await openCheckpoint(pathOf(String(address)));
  const described = describedIn(checkpoint);
  const source = environment ?? described.environment;
  const spaces = described.spaces ?? (source && (await spacesOf(source)));
  if (!spaces)
    throw new EspalierError(
      "ENVIRONMENT_MISSING",
      `the settings of ${checkpoint.path} do not say what it observes and does`,
      { fix: "give the environment that it was trained on: loadActor(path, { environment })" },
    );
  return openActor<A>({ ...rest, ...(await playerIn(checkpoint, described, spaces)) });
}
