import { boundAt, box, multiDiscrete } from "../../spaces/make.ts";
import { boxSize, partNames, partOf } from "../../spaces/sizes.ts";
import type { Dict, Space, SpaceValue } from "../../spaces/space.ts";

type Parts = Readonly<Record<string, SpaceValue>>;

const byPart = <T>(space: Dict, make: (part: Space, name: string) => T): Record<string, T> =>
  Object.fromEntries(partNames(space).map((name) => [name, make(partOf(space, name), name)]));

/** The space of so many values of a space at once. */
export function stackSpace(space: Space, count: number): Space {
  const times = <T>(list: readonly T[]): T[] => Array.from({ length: count }, () => list).flat();
  switch (space.kind) {
    case "discrete":
      return multiDiscrete(times([space.n]));
    case "multiDiscrete":
      return multiDiscrete(times(space.choices));
    case "box": {
      const each = (bound: number | readonly number[]) =>
        typeof bound === "number"
          ? bound
          : times(Array.from({ length: boxSize(space) }, (_, i) => boundAt(bound, i)));
      return box({ shape: [count, ...space.shape], low: each(space.low), high: each(space.high) });
    }
    case "dict":
      return { kind: "dict", spaces: byPart(space, (part) => stackSpace(part, count)) };
  }
}

/** Values of a space as one of its stacked space. */
export function stackValues(space: Space, values: readonly SpaceValue[]): SpaceValue {
  switch (space.kind) {
    case "discrete":
      return Int32Array.from(values as readonly number[]);
    case "multiDiscrete":
      return Int32Array.from((values as readonly number[][]).flatMap((value) => [...value]));
    case "box": {
      const size = boxSize(space);
      const all = new Float32Array(size * values.length);
      values.forEach((value, i) => all.set(value as Float32Array, i * size));
      return all;
    }
    case "dict":
      return byPart(space, (part, name) =>
        stackValues(
          part,
          values.map((value) => (value as Parts)[name] as SpaceValue),
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
