import { flatSize } from "../spaces/index.ts";
import { partNames, partOf, type Space } from "../spaces/space.ts";

/** A part of a flat observation row that has no parts itself. */
export interface ObservationPart {
  /** Its names from the outermost dict on, joined by `_`; empty for a space without names. */
  readonly name: string;
  /** Where it lies in the row. */
  readonly from: number;
  readonly to: number;
  /** [height, width, channels] of a picture: a box of three axes. */
  readonly picture: readonly [number, number, number] | undefined;
  /** The greatest magnitude that its numbers may have; Infinity where they have no bounds. */
  readonly limit: number;
}

/** The parts of a flat row in order. */
export function observationParts(space: Space, name = "", from = 0): readonly ObservationPart[] {
  if (space.kind === "dict") {
    let at = from;
    return partNames(space).flatMap((key) => {
      const part = partOf(space, key);
      const found = observationParts(part, name === "" ? key : `${name}_${key}`, at);
      at += flatSize(part);
      return found;
    });
  }
  const picture =
    space.kind === "box" && space.shape.length === 3
      ? (space.shape as readonly [number, number, number])
      : undefined;
  return [{ name, from, to: from + flatSize(space), picture, limit: limitOf(space) }];
}

function limitOf(space: Space): number {
  if (space.kind !== "box") return 1; // Choices are ones and zeros.
  const magnitudes = [space.low, space.high].flat().map(Math.abs);
  return magnitudes.reduce((most, each) => Math.max(most, each), 0);
}
