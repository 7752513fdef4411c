import { checkNames, checkSize, checkWord } from "../../../core/index.ts";
import type { StateTree } from "../../../state/index.ts";
import type { SpaceValue } from "../../spaces/space.ts";
import { copyState } from "../copy-state.ts";
import type { Environment } from "../environment.ts";
import { stackSpace, stackValues, zeroIn } from "./stack.ts";
import { forAgents, type Seen, wrap } from "./wrap.ts";

/** Options of {@link frameStack}. */
export interface FrameStackOptions {
  /** What stands for what was before the first observation: that one again, or zeros. Default "reset". */
  readonly padding?: "reset" | "zero";
  /**
   * Where frames of a box stand: `first` gives it a first axis of frames, `last` makes its last axis so many times as
   * long. Default: "last" for pictures (boxes [height, width, channels]), whose channels then hold all frames; else
   * "first".
   */
  readonly axis?: "first" | "last";
}

/**
 * Observations with those before them, the oldest first. A box gets a first axis of `frames`, as Gymnasium's
 * FrameStackObservation does it, and a picture [height, width, channels] that many times its channels, as a cnn takes
 * it; choices become several choices.
 *
 * @example
 * ```ts
 * const environment = frameStack(makeEnvironment("CartPole-v1"), 4); // observations [4, 4]
 * const screens = frameStack(makeScreen(), 4); // of pictures [84, 84, 1] observations [84, 84, 4]
 * ```
 */
export function frameStack(
  environment: Environment,
  frames: number,
  options: FrameStackOptions = {},
): Environment {
  checkNames("frameStack", options, ["padding", "axis"]);
  checkSize("frameStack", "frames", frames);
  if (options.axis !== undefined) checkWord("frameStack", "axis", options.axis, ["first", "last"]);
  const padding = checkWord("frameStack", "padding", options.padding ?? "reset", ["reset", "zero"]);
  const space = environment.observationSpace;
  const agents = environment.agents ?? 1;
  const empty = zeroIn(space);
  const copied = (value: SpaceValue): SpaceValue => copyState(value, "frameStack") as SpaceValue;
  /** Of each agent, as many as there are frames. */
  let seen: (readonly SpaceValue[])[] = Array.from({ length: agents }, () => Array(frames).fill(empty));
  const stacked = <T extends Seen>(given: T): T => ({
    ...given,
    observation: forAgents(environment, given.observation as SpaceValue, (now, agent) => {
      const kept = [...(seen[agent] ?? []).slice(1), copied(now)];
      seen[agent] = kept;
      return stackValues(space, kept, options.axis);
    }),
  });
  return wrap(environment, {
    observationSpace: stackSpace(space, frames, options.axis),
    reset(given) {
      forAgents(environment, given.observation as SpaceValue, (now, agent) => {
        seen[agent] = Array(frames).fill(padding === "zero" ? empty : copied(now));
      });
      return stacked(given);
    },
    step: stacked,
    memory: {
      getState: () => copyState(seen, "frameStack"),
      setState(state) {
        seen = copyState(state as StateTree, "frameStack") as unknown as SpaceValue[][];
      },
    },
  });
}
