import type { Space } from "../../rl/index.ts";
import { box, choices, dict, discrete, multiDiscrete } from "../../rl/index.ts";
import { fault, text } from "./bench.ts";

/** Refuses a mask that forbids all of some choice. */
export function checkAllows(space: Space, mask: Uint8Array, from: number, place: string): void {
  if (space.kind === "dict") {
    let at = from;
    for (const name of Object.keys(space.spaces).sort()) {
      const part = space.spaces[name] as Space;
      checkAllows(part, mask, at, place);
      at += choices(part);
    }
    return;
  }
  let at = from;
  for (const n of space.kind === "discrete"
    ? [space.n]
    : space.kind === "multiDiscrete"
      ? space.choices
      : []) {
    if (mask.subarray(at, at + n).every((one) => one === 0))
      throw fault(
        `the action mask of ${place} is ${text(mask)}, which allows nothing from ${at} to ${at + n - 1}`,
      );
    at += n;
  }
}

/** Makes the space again, so that what its maker refuses is a fault. */
export function checkSpace(what: string, space: Space): void {
  try {
    remade(space);
  } catch (cause) {
    throw fault(`${what} is no space: ${(cause as Error).message.split("\n")[0]}`, cause);
  }
}

function remade(space: Space): Space {
  switch (space?.kind) {
    case "discrete":
      return discrete(space.n);
    case "multiDiscrete":
      return multiDiscrete(space.choices);
    case "box":
      return box(space);
    case "dict":
      for (const part of Object.values(space.spaces)) remade(part);
      return dict(space.spaces);
    default:
      throw new Error(`it is ${text(space)}`);
  }
}
