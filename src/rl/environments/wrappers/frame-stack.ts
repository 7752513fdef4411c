import { checkSize, type Options, option, resolveOptions } from "../../../core/index.ts";
import type { StateTree } from "../../../state/index.ts";
import { readAction } from "../../spaces/flat.ts";
import {
  actionSize,
  type Box,
  boundAt,
  box,
  boxSize,
  type Dict,
  multiDiscrete,
  partNames,
  partOf,
  type Space,
  type SpaceValue,
} from "../../spaces/space.ts";
import { copyState, type Environment } from "../environment.ts";
import { forAgents, type Seen, wrap } from "./wrap.ts";

const optionTable = {
  /** Frames before the first observation: that observation, or zeros. Default: "reset". */
  padding: option.oneOf(["reset", "zero"], { default: "reset", doc: "Frames before the first observation." }),
  /**
   * The axis of a box's frames: `first` adds a first axis of frames, `last` concatenates frames along the last axis.
   * Default: "last" for pictures (boxes [height, width, channels]), else "first".
   */
  axis: option.oneOf(["first", "last"], { doc: "The axis of a box's frames." }),
};

/**
 * Stacks observations with those before them, the oldest first. A box gets a first axis of `frames`, as Gymnasium's
 * FrameStackObservation does, and a picture [height, width, channels] `frames` times its channels, as a cnn takes it;
 * choices become several choices.
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
  options: Options<typeof optionTable> = {},
): Environment {
  const { padding } = resolveOptions("frameStack", options, optionTable);
  checkSize("frameStack", "frames", frames);
  const space = environment.observationSpace;
  const agents = environment.agents ?? 1;
  /** A value of zeros, even if zero is not in the space. */
  const empty = readAction(space, new Float32Array(actionSize(space)), 0) as SpaceValue;
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

type StackParts = Readonly<Record<string, SpaceValue>>;

const byPart = <T>(space: Dict, make: (part: Space, name: string) => T): Record<string, T> =>
  Object.fromEntries(partNames(space).map((name) => [name, make(partOf(space, name), name)]));

type Axis = "first" | "last" | undefined;

/** True if frames are concatenated along a box's last axis. */
const stacksLast = ({ shape }: Box, axis: Axis): boolean =>
  shape.length > 0 && (axis ?? (shape.length === 3 ? "last" : "first")) === "last";

/** How many numbers of a frame lie together in a stack: all of them, or those along the last axis. */
const chunkOf = (space: Box, axis: Axis): number =>
  stacksLast(space, axis) ? (space.shape.at(-1) as number) : boxSize(space);

/** The space of `count` values of a space. */
function stackSpace(space: Space, count: number, axis?: Axis): Space {
  const times = <T>(list: readonly T[]): T[] => Array.from({ length: count }, () => list).flat();
  switch (space.kind) {
    case "discrete":
      return multiDiscrete(times([space.n]));
    case "multiDiscrete":
      return multiDiscrete(times(space.choices));
    case "box": {
      const [size, chunk] = [boxSize(space), chunkOf(space, axis)];
      const each = (bound: number | readonly number[]) =>
        typeof bound === "number"
          ? bound
          : Array.from({ length: size / chunk }, (_, place) =>
              times(Array.from({ length: chunk }, (_, i) => boundAt(bound, place * chunk + i))),
            ).flat();
      const shape = stacksLast(space, axis)
        ? [...space.shape.slice(0, -1), chunk * count]
        : [count, ...space.shape];
      return box({ shape, low: each(space.low), high: each(space.high) });
    }
    case "dict":
      return { kind: "dict", spaces: byPart(space, (part) => stackSpace(part, count, axis)) };
  }
}

/** Stacks values of a space into one of its stacked space. */
function stackValues(space: Space, values: readonly SpaceValue[], axis?: Axis): SpaceValue {
  switch (space.kind) {
    case "discrete":
      return Int32Array.from(values as readonly number[]);
    case "multiDiscrete":
      return Int32Array.from((values as readonly number[][]).flatMap((value) => [...value]));
    case "box": {
      const [size, chunk] = [boxSize(space), chunkOf(space, axis)];
      const all = new Float32Array(size * values.length);
      values.forEach((value, frame) => {
        const numbers = value as Float32Array;
        for (let from = 0; from < size; from += chunk)
          for (let i = 0; i < chunk; i++)
            all[from * values.length + frame * chunk + i] = numbers[from + i] as number;
      });
      return all;
    }
    case "dict":
      return byPart(space, (part, name) =>
        stackValues(
          part,
          values.map((value) => (value as StackParts)[name] as SpaceValue),
          axis,
        ),
      );
  }
}
