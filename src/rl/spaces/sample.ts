import { EspalierError } from "../../core/index.ts";
import { hostRandom } from "../../engine/index.ts";
import type { Stream } from "../../random/index.ts";
import {
  type Box,
  boundAt,
  boxSize,
  choices,
  partNames,
  partOf,
  type Space,
  type SpaceValue,
  type ValueIn,
} from "./space.ts";

/**
 * Draws a random value of a space: choices are equally likely, bounded numbers uniform, unbounded ones normal, and those
 * with one bound exponentially far from it. A mask (1 or 0 for each option, of all choices in a row) excludes options.
 *
 * @example
 * ```ts
 * const action = sampleSpace(environment.actionSpace, streams.get("actions"));
 * ```
 */
export function sampleSpace<S extends Space>(space: S, stream: Stream, mask?: Uint8Array): ValueIn<S> {
  if (mask && mask.length !== choices(space))
    throw new EspalierError(
      "SPACE_MISMATCH",
      `the action mask has ${mask.length} entries, and the space ${choices(space)} choices`,
      { fix: "give one entry for every choice, of all choices in a row" },
    );
  return sample(space, stream, mask, 0) as ValueIn<S>;
}

function sample(space: Space, stream: Stream, mask: Uint8Array | undefined, at: number): SpaceValue {
  switch (space.kind) {
    case "discrete":
      return choose(space.n, stream, mask, at);
    case "multiDiscrete": {
      let from = at;
      return Int32Array.from(space.choices, (n) => {
        from += n;
        return choose(n, stream, mask, from - n);
      });
    }
    case "box":
      return numbers(space, stream);
    case "dict": {
      const parts: Record<string, SpaceValue> = {};
      let from = at;
      for (const name of partNames(space)) {
        const part = partOf(space, name);
        parts[name] = sample(part, stream, mask, from);
        if (mask) from += choices(part);
      }
      return parts;
    }
  }
}

function choose(n: number, stream: Stream, mask: Uint8Array | undefined, at: number): number {
  if (!mask) return stream.integer(n);
  const allowed: number[] = [];
  for (let i = 0; i < n; i++) if (mask[at + i] !== 0) allowed.push(i);
  if (allowed.length === 0)
    throw new EspalierError("SPACE_MISMATCH", "the action mask allows no action", {
      fix: "allow at least one action, or end the episode",
    });
  return allowed[stream.integer(allowed.length)] as number;
}

function numbers(space: Box, stream: Stream): Float32Array {
  const size = boxSize(space);
  // Two for each, as a normal one takes both.
  const uniform = hostRandom.hostUniform(stream.key(), 2 * size);
  return Float32Array.from({ length: size }, (_, i) =>
    spread(
      boundAt(space.low, i),
      boundAt(space.high, i),
      uniform[2 * i] as number,
      uniform[2 * i + 1] as number,
    ),
  );
}

function spread(low: number, high: number, u: number, v: number): number {
  const [below, above] = [Number.isFinite(low), Number.isFinite(high)];
  if (below && above) return low + u * (high - low);
  const exponential = -Math.log1p(-u);
  if (below) return low + exponential;
  if (above) return high - exponential;
  return Math.sqrt(2 * exponential) * Math.cos(2 * Math.PI * v);
}
