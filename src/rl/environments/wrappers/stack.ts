import { boundAt, box, multiDiscrete } from "../../spaces/make.ts";
import { boxSize, partNames, partOf } from "../../spaces/sizes.ts";
import type { Box, Dict, Space, SpaceValue } from "../../spaces/space.ts";

type Parts = Readonly<Record<string, SpaceValue>>;

const byPart = <T>(space: Dict, make: (part: Space, name: string) => T): Record<string, T> =>
  Object.fromEntries(partNames(space).map((name) => [name, make(partOf(space, name), name)]));

type Axis = "first" | "last" | undefined;

/** Whether frames stand on a box's last axis: those of pictures, unless `axis` says otherwise. */
const stacksLast = ({ shape }: Box, axis: Axis): boolean =>
  shape.length > 0 && (axis ?? (shape.length === 3 ? "last" : "first")) === "last";

/** How many numbers of a frame stand together in a stack: all of them, or those of one place of the last axis. */
const chunkOf = (space: Box, axis: Axis): number =>
  stacksLast(space, axis) ? (space.shape.at(-1) as number) : boxSize(space);

/** The space of so many values of a space at once. */
export function stackSpace(space: Space, count: number, axis?: Axis): Space {
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

/** Values of a space as one of its stacked space. */
export function stackValues(space: Space, values: readonly SpaceValue[], axis?: Axis): SpaceValue {
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
          values.map((value) => (value as Parts)[name] as SpaceValue),
          axis,
        ),
      );
  }
}

/** A value of zeros, whether or not zero lies in the space. */
export function zeroIn(space: Space): SpaceValue {
  switch (space.kind) {
    case "discrete":
      return 0;
    case "multiDiscrete":
      return new Int32Array(space.choices.length);
    case "box":
      return new Float32Array(boxSize(space));
    case "dict":
      return byPart(space, zeroIn);
  }
}
