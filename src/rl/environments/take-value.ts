import type { EspalierError } from "../../core/index.ts";
import { whyOutside } from "../spaces/contains.ts";
import { boxSize, partNames, partOf } from "../spaces/sizes.ts";
import type { Space, SpaceValue } from "../spaces/space.ts";
import { inPlace } from "./given.ts";

type Numbers = Float32Array | Int32Array | readonly number[];

/** Makes the error for a value that is not of its space. */
export type Fault = (why: string) => EspalierError;

/**
 * A copy of a value as its space has it: Float32Array for a box, Int32Array for several choices. Of a box only the
 * count of its numbers is looked at, and whether they are numbers: actions beyond bounds are the environment's to clip,
 * and looking at bounds is for `checkEnvironment`.
 */
export function takeValue(space: Space, value: SpaceValue, fault: Fault): SpaceValue {
  switch (space.kind) {
    case "discrete":
      if (Number.isInteger(value) && (value as number) >= 0 && (value as number) < space.n) return value;
      throw fault(whyOutside(space, value) as string);
    case "box":
      return takeNumbers(value as Numbers, boxSize(space), fault);
    case "multiDiscrete": {
      const why = whyOutside(space, value);
      if (why !== undefined) throw fault(why);
      return Int32Array.from(value as Numbers);
    }
    case "dict": {
      const parts: Record<string, SpaceValue> = {};
      for (const name of partNames(space)) {
        const part = (value as Readonly<Record<string, SpaceValue>> | null | undefined)?.[name];
        if (part === undefined) throw fault(`"${name}" is missing`);
        parts[name] = takeValue(partOf(space, name), part, fault);
      }
      return parts;
    }
  }
}

function takeNumbers(given: Numbers | null | undefined, size: number, fault: Fault): Float32Array {
  if (given?.length === undefined) throw fault(`it is ${inPlace(given)}, where ${size} numbers are expected`);
  if (Array.isArray(given[0]) || ArrayBuffer.isView(given[0]))
    throw fault(`it is a list of lists, where ${size} flat numbers are expected, one row after the other`);
  if (given.length !== size) throw fault(`it has ${given.length} numbers, where ${size} are expected`);
  const taken = new Float32Array(size);
  for (let i = 0; i < size; i++) taken[i] = given[i] as number;
  for (let i = 0; i < size; i++) if (Number.isNaN(taken[i])) throw fault(`it is ${given[i]} at ${i}`);
  return taken;
}
